// SentencePiece's BPE: any two neighbours whose text together is a token may merge, best score first.
#include <algorithm>
#include <unordered_map>

#include "core/error.h"
#include "text/encoder.h"
#include "text/hash.h"

namespace ingle::text {
namespace {

class SentencePieceBpe final : public NormalEncoder {
 public:
  SentencePieceBpe(const Vocabulary& vocabulary, const GoOn& go_on)
      : v_(vocabulary), cuts_(vocabulary), short_(128 * 129, -1) {
    table_.reserve(static_cast<size_t>(v_.size()));
    for (TokenId id = 0; id < v_.size(); ++id) {
      if (static_cast<size_t>(id) % kAskEvery == 0) check_go_on(go_on, v_.file);
      const std::string_view text = text_of(id);
      if (!v_.is_plain(id) || text.empty()) continue;
      table_.insert(text, id, [this](TokenId t) { return text_of(t); });
      if (is_short(text)) short_[short_index(text)] = id;
      longest_ = std::max(longest_, text.size());
      has_unused_ = has_unused_ || is_unused(id);
    }
    // Unknown neighbours are one token to the library, also where ▁ is unknown.
    may_cut_ = !v_.by_library || find(kSpaceMark) >= 0;
  }

  void encode(std::string_view text, bool first, std::vector<TokenId>& out,
              EncodeState& state) const override {
    std::string escaped;
    if (first && v_.add_space_prefix) escaped = kSpaceMark;
    escaped += escape_spaces(text);
    encode_normal(escaped, out, state);
  }

  void encode_normal(std::string_view text, std::vector<TokenId>& out, EncodeState& state) const override {
    Buffers buffers;
    const auto encode_part = [&](std::string_view part, std::vector<TokenId>& to) {
      this->encode_part(part, to, buffers, state.work);
    };
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = may_cut_ ? cuts_.next(text, begin) : text.size();
      state.cache.encode(text.substr(begin, end - begin), out, encode_part);
      begin = end;
    }
  }

 private:
  static constexpr uint32_t kEnd = ~0u;
  struct Symbol {
    uint32_t start, bytes;  // bytes == 0: merged into its left neighbour
    uint32_t previous, next;
    TokenId id;
  };
  struct Candidate {
    float score;
    uint32_t left, bytes;
    TokenId id;
    // std::*_heap keep the greatest on top: the best score, and of equals the leftmost.
    bool operator<(const Candidate& other) const {
      return score != other.score ? score < other.score : left > other.left;
    }
  };
  struct Buffers {
    std::vector<Symbol> symbols;
    std::vector<Candidate> heap;
    std::unordered_map<TokenId, uint32_t> unused;  // bytes of the left part of which each was made
  };

  std::string_view text_of(TokenId id) const { return v_.texts[static_cast<size_t>(id)]; }
  // Most look-ups are of one or two ASCII characters, and those have a small table of their own.
  static bool is_short(std::string_view text) {
    return text.size() <= 2 && static_cast<unsigned char>(text[0] | text[text.size() - 1]) < 128;
  }
  static size_t short_index(std::string_view text) {
    const auto first = static_cast<unsigned char>(text[0]);
    return text.size() == 1 ? first : 128 + first * size_t{128} + static_cast<unsigned char>(text[1]);
  }
  TokenId find(std::string_view text) const {
    if (is_short(text)) return short_[short_index(text)];
    return table_.find(text, [this](TokenId id) { return text_of(id); });
  }

  bool is_unused(TokenId id) const {
    return v_.by_library && v_.kinds[static_cast<size_t>(id)] == TokenKind::unused;
  }

  bool candidate(std::string_view part, Buffers& b, uint32_t left, Candidate& c) const {
    if (left == kEnd || b.symbols[left].next == kEnd) return false;
    const uint32_t bytes = b.symbols[left].bytes + b.symbols[b.symbols[left].next].bytes;
    if (bytes > longest_) return false;
    const TokenId id = find(part.substr(b.symbols[left].start, bytes));
    if (id < 0) return false;
    if (has_unused_ && is_unused(id)) b.unused[id] = b.symbols[left].bytes;
    c = {v_.scores[static_cast<size_t>(id)], left, bytes, id};
    return true;
  }

  void encode_part(std::string_view part, std::vector<TokenId>& out, Buffers& b, Work& work) const {
    if (part.size() > UINT32_MAX / 2) {
      fail(Code::invalid_argument, v_.file, format("a part of {} bytes cannot be encoded", part.size()));
    }
    b.symbols.clear(), b.heap.clear(), b.unused.clear();
    const char* end = part.data() + part.size();
    for (uint32_t at = 0; at < part.size();) {
      const uint32_t n = decode_utf8(part.data() + at, end).bytes;
      const auto i = static_cast<uint32_t>(b.symbols.size());
      b.symbols.push_back({at, n, i - 1, i + 1, find(part.substr(at, n))});  // 0 - 1 is kEnd
      at += n;
    }
    b.symbols.back().next = kEnd;
    Candidate c{};
    for (uint32_t i = 0; i < b.symbols.size(); ++i) {
      if (candidate(part, b, i, c)) b.heap.push_back(c);
    }
    work.scanned += b.symbols.size();
    work.merges += b.heap.size();
    std::make_heap(b.heap.begin(), b.heap.end());
    merge(part, b, work);
    bool after_unknown = false;
    for (uint32_t i = 0; i != kEnd; i = b.symbols[i].next) {
      const Symbol& s = b.symbols[i];
      const std::string_view text = part.substr(s.start, s.bytes);
      if (s.id >= 0 && has_unused_ && is_unused(s.id)) {
        append_parts(text, out, b);
      } else if (s.id >= 0) {
        out.push_back(s.id);
      } else {
        append_fallback(v_, text, out);
        if (v_.by_library && after_unknown && out.back() == v_.special.unknown) out.pop_back();
      }
      after_unknown = s.id < 0;
    }
  }

  // An unused token comes apart again into what it was merged from.
  void append_parts(std::string_view text, std::vector<TokenId>& out, const Buffers& b) const {
    std::vector<std::string_view> rest = {text};
    while (!rest.empty()) {
      const std::string_view one = rest.back();
      rest.pop_back();
      const TokenId id = find(one);
      const auto made = id >= 0 && is_unused(id) ? b.unused.find(id) : b.unused.end();
      if (made != b.unused.end()) {
        rest.push_back(one.substr(made->second));
        rest.push_back(one.substr(0, made->second));
      } else if (id >= 0) {
        out.push_back(id);
      } else {
        append_fallback(v_, one, out);
      }
    }
  }

  void merge(std::string_view part, Buffers& b, Work& work) const {
    Candidate c{};
    const auto push = [&](uint32_t left) {
      if (!candidate(part, b, left, c)) return;
      b.heap.push_back(c);
      std::push_heap(b.heap.begin(), b.heap.end());
      ++work.merges;
    };
    while (!b.heap.empty()) {
      std::pop_heap(b.heap.begin(), b.heap.end());
      const Candidate best = b.heap.back();
      b.heap.pop_back();
      Symbol& left = b.symbols[best.left];
      if (left.bytes == 0 || left.next == kEnd || left.bytes + b.symbols[left.next].bytes != best.bytes)
        continue;
      Symbol& right = b.symbols[left.next];
      left.bytes = best.bytes, left.id = best.id, left.next = right.next;
      right.bytes = 0;
      if (left.next != kEnd) b.symbols[left.next].previous = best.left;
      push(left.previous);
      push(best.left);
    }
  }

  const Vocabulary& v_;
  MarkCuts cuts_;
  StringTable table_;
  std::vector<TokenId> short_;
  size_t longest_ = 0;
  bool has_unused_ = false, may_cut_ = true;
};

}  // namespace

std::unique_ptr<NormalEncoder> make_sentencepiece_bpe(const Vocabulary& vocabulary, const GoOn& go_on) {
  return std::make_unique<SentencePieceBpe>(vocabulary, go_on);
}

}  // namespace ingle::text
