// Byte-pair encoding by ranked merges (Sennrich et al. 2016; the byte alphabet is GPT-2's).
#include <algorithm>

#include "core/error.h"
#include "text/bpe_merge.h"
#include "text/encoder.h"
#include "text/hash.h"

namespace ingle::text {
namespace {

constexpr std::string_view kMerges = "tokenizer.ggml.merges";

class BytePairEncoder final : public Encoder {
 public:
  BytePairEncoder(const Vocabulary& vocabulary, const formats::Checkpoint& file, const GoOn& go_on)
      : v_(vocabulary), raw_(vocabulary.model == VocabularyModel::raw_bpe), cuts_(vocabulary) {
    index_tokens(go_on);
    read_merges(file, go_on);
  }

  void encode(std::string_view text, bool, std::vector<TokenId>& out, EncodeState& state) const override {
    std::string escaped;
    if (raw_) {
      escaped = escape_spaces(text);
      text = escaped;
    }
    std::vector<size_t> ends;
    pre_tokenize(*v_.pre, text, ends, state.work);
    Merges::Buffers buffers;
    const auto encode_piece = [&](std::string_view piece, std::vector<TokenId>& to) {
      this->encode_piece(piece, to, buffers, state.work);
    };
    size_t begin = 0;
    for (const size_t end : ends) {
      if (!raw_) {
        state.cache.encode(text.substr(begin, end - begin), out, encode_piece);
        begin = end;
        continue;
      }
      const std::string_view fragment = text.substr(0, end);
      while (begin < end) {
        const size_t next = cuts_.next(fragment, begin);
        state.cache.encode(text.substr(begin, next - begin), out, encode_piece);
        begin = next;
      }
    }
  }

 private:
  std::string_view key_of(TokenId id) const {
    return raw_ ? v_.texts[static_cast<size_t>(id)] : v_.pieces[static_cast<size_t>(id)];
  }
  TokenId find(std::string_view key) const {
    return table_.find(key, [this](TokenId id) { return key_of(id); });
  }

  // Of tokens that are spelt alike the last counts, as in llama.cpp. Control tokens cannot be written in
  // plain text.
  void index_tokens(const GoOn& go_on) {
    table_.reserve(static_cast<size_t>(v_.size()));
    const auto text_of = [this](TokenId id) { return key_of(id); };
    std::string bytes;
    for (TokenId id = 0; id < v_.size(); ++id) {
      if (static_cast<size_t>(id) % kAskEvery == 0) check_go_on(go_on, v_.file);
      const std::string_view text = v_.texts[static_cast<size_t>(id)];
      if (!v_.is_plain(id) || text.empty()) continue;
      bytes.clear();
      // A user-defined token's piece is its text: in the table only where both readings agree.
      if (!raw_ && (!unmap_byte_level(text, bytes) || bytes != key_of(id))) continue;
      unique_ = table_.insert(key_of(id), id, text_of) && unique_;
    }
    for (int b = 0; b < 256; ++b) {
      const char c = static_cast<char>(b);
      byte_ids_[b] = find({&c, 1});
    }
  }

  // One merge of the file: where its parts lie in a buffer, the second right after the first.
  struct Parts {
    size_t index, begin, middle, end;
  };

  void read_merges(const formats::Checkpoint& file, const GoOn& go_on) {
    const std::vector<std::string>* merges = file.find_strings(kMerges);
    if (!merges) fail(Code::corrupt, v_.file, format("{} is missing", kMerges));
    merges_.reserve(merges->size());
    // In batches, so that the table's cache misses overlap.
    constexpr size_t kBatch = 32;
    std::vector<Parts> batch;
    std::string buffer;
    for (size_t begin = 0; begin < merges->size(); begin += kBatch) {
      if (begin % kAskEvery == 0) check_go_on(go_on, v_.file);
      batch.clear(), buffer.clear();
      for (size_t i = begin; i < std::min(begin + kBatch, merges->size()); ++i) {
        batch.push_back(split_merge((*merges)[i], i, buffer));
      }
      const std::string_view bytes(buffer);
      for (const Parts& p : batch) {
        table_.prefetch(bytes.substr(p.begin, p.middle - p.begin));
        table_.prefetch(bytes.substr(p.middle, p.end - p.middle));
      }
      for (const Parts& p : batch) add_merge(p, bytes, (*merges)[p.index]);
    }
  }

  Parts split_merge(const std::string& merge, size_t index, std::string& buffer) const {
    Parts p{index, buffer.size(), 0, 0};
    const size_t space = merge.find(' ', 1);  // the first part may be a space itself
    bool good = space != merge.npos && space + 1 < merge.size();
    good = good && append_key(std::string_view(merge).substr(0, space), buffer);
    p.middle = buffer.size();
    good = good && append_key(std::string_view(merge).substr(space + 1), buffer);
    p.end = buffer.size();
    if (!good)
      fail(Code::corrupt, v_.file, format("{}[{}] is '{}', expected two parts", kMerges, index, merge));
    return p;
  }

  void add_merge(const Parts& p, std::string_view bytes, const std::string& merge) {
    const std::string_view all = bytes.substr(p.begin, p.end - p.begin);
    const TokenId left = find(all.substr(0, p.middle - p.begin)),
                  right = find(all.substr(p.middle - p.begin));
    const TokenId merged = find_near(all);
    if (left < 0 || right < 0 || merged < 0) {
      const char* part = left < 0 ? "first part" : right < 0 ? "second part" : "result";
      fail(Code::corrupt, v_.file,
           format("{}[{}] is '{}', whose {} is no token", kMerges, p.index, merge, part));
    }
    merges_.add(left, right, static_cast<uint32_t>(p.index), merged);
  }

  // Results mostly follow one another in the order of ids.
  TokenId find_near(std::string_view key) {
    TokenId id = last_found_;
    for (int guess = 0; guess < 2 && id < v_.size(); ++guess, ++id) {
      if (unique_ && v_.is_plain(id) && key_of(id) == key) return last_found_ = id;
    }
    id = find(key);
    if (id >= 0) last_found_ = id;
    return id;
  }

  bool append_key(std::string_view text, std::string& out) const {
    if (!raw_) return unmap_byte_level(text, out);
    out.append(text);
    return true;
  }

  void encode_piece(std::string_view piece, std::vector<TokenId>& out, Merges::Buffers& b, Work& work) const {
    const bool newlines = v_.pre->whole_newlines && piece.find_first_not_of('\n') == piece.npos;
    if (v_.pre->ignore_merges || newlines) {
      if (const TokenId id = find(piece); id >= 0) return out.push_back(id);
    }
    if (piece.size() > UINT32_MAX / 2) {
      fail(Code::invalid_argument, v_.file, format("a piece of {} bytes cannot be encoded", piece.size()));
    }
    split_characters(piece, b);
    merges_.apply(b, work);
    for (size_t i = 0; i < b.ids.size(); ++i) {
      const size_t end = i + 1 < b.ids.size() ? b.starts[i + 1] : piece.size();
      if (b.ids[i] >= 0) {
        out.push_back(b.ids[i]);
      } else {
        append_fallback(v_, piece.substr(b.starts[i], end - b.starts[i]), out);
      }
    }
  }

  void split_characters(std::string_view piece, Merges::Buffers& b) const {
    b.ids.clear(), b.starts.clear();
    if (!raw_) {
      for (size_t i = 0; i < piece.size(); ++i) {
        b.ids.push_back(byte_ids_[static_cast<unsigned char>(piece[i])]);
        b.starts.push_back(static_cast<uint32_t>(i));
      }
      return;
    }
    const char* end = piece.data() + piece.size();
    for (size_t at = 0; at < piece.size();) {
      const size_t n = decode_utf8(piece.data() + at, end).bytes;
      b.ids.push_back(find(piece.substr(at, n)));
      b.starts.push_back(static_cast<uint32_t>(at));
      at += n;
    }
  }

  const Vocabulary& v_;
  bool raw_;
  MarkCuts cuts_;
  StringTable table_;
  Merges merges_;
  TokenId byte_ids_[256] = {};
  bool unique_ = true;      // no two tokens are spelt alike
  TokenId last_found_ = 0;  // while merges are read
};

}  // namespace

std::unique_ptr<Encoder> make_bpe(const Vocabulary& vocabulary, const formats::Checkpoint& file,
                                  const GoOn& go_on) {
  return std::make_unique<BytePairEncoder>(vocabulary, file, go_on);
}

}  // namespace ingle::text
