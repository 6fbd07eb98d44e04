// What the four kinds of vocabulary have in common: text without added tokens goes in, ids come out.
#pragma once
#include <memory>

#include "text/hash.h"
#include "text/pretokenize.h"
#include "text/vocabulary.h"

namespace ingle::text {

// Ids that pieces became earlier in the same call: natural text repeats its words.
class PieceCache {
 public:
  explicit PieceCache(size_t text_bytes);
  // Appends the ids of `piece` to `out`: copied from where an equal piece put them before, or made by
  // `encode_piece(piece, out)`. All calls are with the same `out`, which only grows.
  template <class Encode>
  void encode(std::string_view piece, std::vector<TokenId>& out, const Encode& encode_piece);

 private:
  static constexpr size_t kLongest = 44;  // longer pieces seldom repeat
  struct Entry {                          // one cache line
    uint64_t hash = 0;
    size_t first = 0;
    uint16_t bytes = 0, count = 0;
    char text[kLongest];
  };
  std::vector<Entry> entries_;
};

// What one call of Tokenizer::encode carries along.
struct EncodeState {
  explicit EncodeState(size_t text_bytes) : cache(text_bytes) {}
  Work work;
  PieceCache cache;
};

class Encoder {
 public:
  virtual ~Encoder() = default;
  // Appends the ids of `text`. `first`: nothing but an added token, or nothing at all, stands before it.
  virtual void encode(std::string_view text, bool first, std::vector<TokenId>& out,
                      EncodeState& state) const = 0;
};

// An encoder whose text SentencePiece has normalised.
class NormalEncoder : public Encoder {
 public:
  // Appends the ids of a text with ▁ for spaces.
  virtual void encode_normal(std::string_view normal, std::vector<TokenId>& out,
                             EncodeState& state) const = 0;
};

// The vocabulary must outlive the encoder.
std::unique_ptr<Encoder> make_bpe(const Vocabulary& vocabulary, const formats::Checkpoint& file,
                                  const GoOn& go_on);
std::unique_ptr<NormalEncoder> make_sentencepiece_bpe(const Vocabulary& vocabulary, const GoOn& go_on = {});
std::unique_ptr<NormalEncoder> make_unigram(const Vocabulary& vocabulary);
std::unique_ptr<Encoder> make_wordpiece(const Vocabulary& vocabulary);

// Appends the byte tokens of `bytes`, or one unknown token (nothing where there is none either).
void append_fallback(const Vocabulary& vocabulary, std::string_view bytes, std::vector<TokenId>& out);

// Which last bytes of a character may stand before ▁ inside one token. Between any other byte and ▁ no merge
// can reach across, so the text may be cut there.
class MarkCuts {
 public:
  explicit MarkCuts(const Vocabulary& vocabulary);
  // The end of the part that starts at `begin`.
  size_t next(std::string_view text, size_t begin) const;

 private:
  bool joined_[256] = {};
};

inline PieceCache::PieceCache(size_t text_bytes) {
  if (text_bytes >= 512) entries_.resize(text_bytes < 65536 ? 1024 : text_bytes < 1048576 ? 8192 : 65536);
}

template <class Encode>
void PieceCache::encode(std::string_view piece, std::vector<TokenId>& out, const Encode& encode_piece) {
  if (entries_.empty() || piece.size() > kLongest) return encode_piece(piece, out);
  const uint64_t hash = hash_bytes(piece);
  Entry& e = entries_[hash >> 20 & (entries_.size() - 1)];
  const size_t at = out.size();
  if (e.hash == hash && std::string_view(e.text, e.bytes) == piece) {
    out.resize(at + e.count);
    std::memcpy(out.data() + at, out.data() + e.first, e.count * sizeof(TokenId));
    return;
  }
  encode_piece(piece, out);
  e.hash = hash, e.first = at;
  e.bytes = static_cast<uint16_t>(piece.size()), e.count = static_cast<uint16_t>(out.size() - at);
  std::memcpy(e.text, piece.data(), piece.size());
}

}  // namespace ingle::text
