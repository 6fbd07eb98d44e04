// "BPE" of tokenizer.json (`tokenizers`, models/bpe).
#include <algorithm>

#include "core/error.h"
#include "text/bpe_merge.h"
#include "text/hf/model.h"

namespace ingle::text::hf {
namespace {

struct Options {
  std::string prefix, suffix;  // of what continues a word, of what ends it
  std::optional<TokenId> unknown;
  bool fuse_unknown = false, byte_fallback = false, ignore_merges = false;
};

// Where a text may be cut before ▁ without changing what the merges make of it: a token that has ▁ behind
// another character joins the two.
class Joints {
 public:
  void learn(std::string_view token) {
    for (size_t at = token.find(kSpaceMark, 1); at != token.npos; at = token.find(kSpaceMark, at + 1)) {
      joined_[static_cast<unsigned char>(token[at - 1])] = true;
    }
  }
  size_t next(std::string_view text, size_t begin) const {
    for (size_t at = text.find(kSpaceMark, begin + 1); at != text.npos; at = text.find(kSpaceMark, at + 1)) {
      if (!joined_[static_cast<unsigned char>(text[at - 1])]) return at;
    }
    return text.size();
  }

 private:
  bool joined_[256] = {};
};

class Bpe final : public Model {
 public:
  Bpe(const TokenizerJson& json, const Node& node, const TokenList& tokens, Input input)
      : tokens_(tokens), bytes_(input == Input::bytes) {
    read_options(json, node);
    index(json);
    read_merges(json);
    if (options_.byte_fallback) byte_tokens_ = find_byte_entries(json);
    check_unknown(node);
  }

  void encode(const Cutting& c, std::vector<TokenId>& out, EncodeState& state) const override {
    Merges::Buffers buffers;
    const auto encode_piece = [&](std::string_view piece, std::vector<TokenId>& to) {
      this->encode_piece(piece, to, buffers, state.work);
    };
    for (const Cutting::Piece& p : c.pieces) {
      if (!may_cut_) {
        state.cache.encode(c.view(p), out, encode_piece);
        continue;
      }
      const std::string_view fragment = c.text.substr(0, p.end);
      for (size_t begin = p.begin; begin < p.end;) {
        const size_t end = joints_.next(fragment, begin);
        state.cache.encode(fragment.substr(begin, end - begin), out, encode_piece);
        begin = end;
      }
    }
  }

 private:
  void read_options(const TokenizerJson& json, const Node& node) {
    if (const Node dropout = node["dropout"]; !dropout.is_null() && !dropout.is_zero()) {
      dropout.unsupported("not zero: ids would differ from call to call");
    }
    options_.prefix = node["continuing_subword_prefix"].string_or("");
    options_.suffix = node["end_of_word_suffix"].string_or("");
    options_.fuse_unknown = node["fuse_unk"].boolean_or(false);
    options_.byte_fallback = node["byte_fallback"].boolean_or(false);
    options_.ignore_merges = node["ignore_merges"].boolean_or(false);
    if (!node["unk_token"].is_null()) {
      options_.unknown = find_entry(json, node["unk_token"].string());
    }
  }

  // An unknown token that the vocabulary lacks does harm only where some character is unknown.
  void check_unknown(const Node& node) const {
    const Node unknown = node["unk_token"];
    if (unknown.is_null() || options_.unknown) return;
    bool complete = bytes_ && options_.prefix.empty() && options_.suffix.empty();
    for (int b = 0; complete && b < 256; ++b) complete = short_[b] >= 0;
    if (!complete) unknown.corrupt("'" + unknown.string() + "', which is no token of the model");
  }

  std::string_view key_of(TokenId id) const {
    return bytes_ ? std::string_view(keys_[static_cast<size_t>(id)]) : tokens_.texts[static_cast<size_t>(id)];
  }
  TokenId find(std::string_view key) const {
    return table_.find(key, [this](TokenId id) { return key_of(id); });
  }
  TokenId find_plain(std::string_view key) const {
    const TokenId id = find(key);
    return id >= 0 && tokens_.is_plain(id) ? id : -1;
  }

  void index(const TokenizerJson& json) {
    table_.reserve(json.vocabulary.size());
    const auto text_of = [this](TokenId id) { return key_of(id); };
    std::vector<bool> listed(tokens_.kinds.size(), false);
    for (const auto& entry : json.vocabulary) listed[static_cast<size_t>(entry.id)] = true;
    std::string unmapped;
    for (TokenId id = 0; id < tokens_.size(); ++id) {
      const std::string_view text = tokens_.texts[static_cast<size_t>(id)];
      bool usable = listed[static_cast<size_t>(id)] && !text.empty();
      if (bytes_) {
        unmapped.clear();
        usable = usable && unmap_byte_level(text, unmapped);
        keys_.push_back(usable ? unmapped : std::string_view());
      }
      if (!usable) continue;
      table_.insert(key_of(id), id, text_of);
      joints_.learn(key_of(id));
    }
    for (int b = 0; b < 256; ++b) {
      const char c = static_cast<char>(b);
      short_[b] = bytes_ || b < 128 ? find_plain({&c, 1}) : -1;
    }
    may_cut_ = !bytes_ && options_.prefix.empty() && options_.suffix.empty() && find_plain(kSpaceMark) >= 0;
  }

  bool append_key(std::string_view text, std::string& out) const {
    if (bytes_) return unmap_byte_level(text, out);
    out.append(text);
    return true;
  }

  void read_merges(const TokenizerJson& json) {
    merges_.reserve(json.merge_count());
    std::string left, right, all;
    for (size_t i = 0; i < json.merge_count(); ++i) {
      const std::string_view a = json.merges[2 * i], b = json.merges[2 * i + 1];
      left.clear(), right.clear(), all.clear();
      if (b.size() < options_.prefix.size()) refuse(i, a, b, "second part lacks the prefix");
      // In bytes, what is not in their alphabet can never come up.
      if (!append_key(a, left) || !append_key(b, right)) continue;
      all = left;
      if (!append_key(b.substr(options_.prefix.size()), all)) continue;
      const TokenId l = find(left), r = find(right), merged = find(all);
      if (l < 0 || r < 0 || merged < 0) {
        refuse(i, a, b,
               l < 0   ? "first part is no token"
               : r < 0 ? "second part is no token"
                       : "result is no token");
      }
      merges_.set(l, r, static_cast<uint32_t>(i), merged);
    }
  }
  [[noreturn]] void refuse(size_t i, std::string_view a, std::string_view b, const char* why) const {
    fail(Code::corrupt, tokens_.file, format("model.merges[{}] is '{} {}', whose {}", i, a, b, why));
  }

  void encode_piece(std::string_view piece, std::vector<TokenId>& out, Merges::Buffers& b, Work& work) const {
    if (options_.ignore_merges) {
      if (const TokenId id = find_plain(piece); id >= 0) return out.push_back(id);
    }
    if (piece.size() > UINT32_MAX / 2) {
      fail(Code::invalid_argument, tokens_.file,
           format("a piece of {} bytes cannot be encoded", piece.size()));
    }
    b.ids.clear();
    split(piece, b.ids);
    work.scanned += piece.size();
    b.starts.resize(b.ids.size());
    merges_.apply(b, work);
    out.insert(out.end(), b.ids.begin(), b.ids.end());
  }

  // Characters, or bytes, to tokens. What is none becomes bytes, else the unknown token, else nothing.
  void split(std::string_view piece, std::vector<TokenId>& ids) const {
    const char* end = piece.data() + piece.size();
    bool unknown_due = false;
    for (size_t at = 0; at < piece.size();) {
      const size_t n = bytes_ ? 1 : decode_utf8(piece.data() + at, end).bytes;
      const std::string_view one = piece.substr(at, n);
      const TokenId id = symbol(one, at == 0, at + n == piece.size());
      at += n;
      if (id >= 0) {
        if (unknown_due) ids.push_back(*options_.unknown);
        unknown_due = false;
        ids.push_back(id);
        continue;
      }
      if (options_.byte_fallback && append_bytes(one, ids)) continue;
      if (!options_.unknown) continue;
      if (unknown_due && !options_.fuse_unknown) ids.push_back(*options_.unknown);
      unknown_due = true;
    }
    if (unknown_due) ids.push_back(*options_.unknown);
  }

  TokenId symbol(std::string_view one, bool first, bool last) const {
    const bool prefixed = !first && !options_.prefix.empty(), suffixed = last && !options_.suffix.empty();
    if (prefixed || suffixed) {
      std::string key;
      if (prefixed) key = options_.prefix;
      key.append(one);
      if (suffixed) key.append(options_.suffix);
      return find_plain(key);
    }
    if (one.size() == 1) return short_[static_cast<unsigned char>(one[0])];
    return find_plain(one);
  }

  bool append_bytes(std::string_view one, std::vector<TokenId>& ids) const {
    for (const char c : one) {
      if (byte_tokens_[static_cast<unsigned char>(c)] < 0) return false;
    }
    for (const char c : one) ids.push_back(byte_tokens_[static_cast<unsigned char>(c)]);
    return true;
  }

  const TokenList& tokens_;
  bool bytes_, may_cut_ = false;
  Options options_;
  StringList keys_;  // by id, when the input is bytes: the bytes that each stands for
  StringTable table_;
  Merges merges_;
  Joints joints_;
  TokenId short_[256] = {};  // of single bytes, or ASCII characters
  std::array<TokenId, 256> byte_tokens_{};
};

}  // namespace

std::unique_ptr<Model> make_bpe_model(const TokenizerJson& json, const Node& node, const TokenList& tokens,
                                      Input input) {
  return std::make_unique<Bpe>(json, node, tokens, input);
}

}  // namespace ingle::text::hf
