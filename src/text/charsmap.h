// SentencePiece's precompiled normaliser: a double-array trie of character sequences and what replaces them
// (google/sentencepiece, normalizer.cc; the array is darts-clone's).
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ingle::text {

class CharsMap {
 public:
  CharsMap() = default;  // replaces nothing
  // Layout: u32 bytes of the array; the array; replacements, each ended by a zero byte. Throws Code::corrupt.
  // `key` is what errors call it.
  CharsMap(const std::vector<unsigned char>& blob, const std::string& file, const std::string& key);

  struct Replacement {
    size_t bytes = 0;  // of text that it stands for; 0: nothing here is replaced
    std::string_view text;
  };
  Replacement longest(std::string_view text, size_t at) const { return find(text, at, false); }
  Replacement shortest(std::string_view text, size_t at) const { return find(text, at, true); }

 private:
  Replacement find(std::string_view text, size_t at, bool first) const;

  std::vector<uint32_t> units_;
  std::string texts_;
};

}  // namespace ingle::text
