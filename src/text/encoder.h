// What the four kinds of vocabulary have in common: text without added tokens goes in, ids come out.
#pragma once
#include <memory>

#include "text/pretokenize.h"
#include "text/vocabulary.h"

namespace ingle::text {

class Encoder {
 public:
  virtual ~Encoder() = default;
  // Appends the ids of `text`. `first`: nothing but an added token, or nothing at all, stands before it.
  virtual void encode(std::string_view text, bool first, std::vector<TokenId>& out, Work& work) const = 0;
};

// The vocabulary must outlive the encoder.
std::unique_ptr<Encoder> make_bpe(const Vocabulary& vocabulary, const formats::Checkpoint& file);
std::unique_ptr<Encoder> make_sentencepiece_bpe(const Vocabulary& vocabulary);
std::unique_ptr<Encoder> make_unigram(const Vocabulary& vocabulary);
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

// Ids that pieces became earlier in the same call: natural text repeats its words.
class PieceCache {
 public:
  explicit PieceCache(size_t text_bytes);
  // Copies the ids of an equal piece to the end of `out`, or tells where to remember the new ones.
  template <class Encode>
  void encode(std::string_view piece, std::vector<TokenId>& out, const Encode& encode_piece);

 private:
  static constexpr size_t kLongest = 64;  // longer pieces seldom repeat
  struct Entry {
    uint64_t hash = 0;
    const char* text = nullptr;
    uint32_t bytes = 0, count = 0;
    size_t first = 0;
  };
  std::vector<Entry> entries_;
};

}  // namespace ingle::text

#include "text/hash.h"

namespace ingle::text {

inline PieceCache::PieceCache(size_t text_bytes) {
  if (text_bytes >= 512) entries_.resize(text_bytes < 65536 ? 1024 : 8192);
}

template <class Encode>
void PieceCache::encode(std::string_view piece, std::vector<TokenId>& out, const Encode& encode_piece) {
  if (entries_.empty() || piece.size() > kLongest) return encode_piece(piece, out);
  const uint64_t hash = hash_bytes(piece);
  Entry& e = entries_[hash >> 20 & (entries_.size() - 1)];
  if (e.hash == hash && std::string_view(e.text, e.bytes) == piece) {
    const size_t at = out.size();
    out.resize(at + e.count);
    std::memcpy(out.data() + at, out.data() + e.first, e.count * sizeof(TokenId));
    return;
  }
  const size_t first = out.size();
  encode_piece(piece, out);
  e = {hash, piece.data(), static_cast<uint32_t>(piece.size()), static_cast<uint32_t>(out.size() - first),
       first};
}

}  // namespace ingle::text
