// The tokens of a GGUF file, checked: texts, kinds, scores, special ids. Every encoder starts from this.
#pragma once
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"

namespace ingle::text {

// Many short strings in one block.
class StringList {
 public:
  void reserve(size_t n, size_t bytes) { ends_.reserve(n + 1), bytes_.reserve(bytes); }
  void push_back(std::string_view s) {
    bytes_.append(s);
    ends_.push_back(bytes_.size());
  }
  std::string_view operator[](size_t i) const {
    const size_t begin = i == 0 ? 0 : ends_[i - 1];
    return std::string_view(bytes_).substr(begin, ends_[i] - begin);
  }
  size_t size() const { return ends_.size(); }

 private:
  std::string bytes_;
  std::vector<size_t> ends_;
};

enum class VocabularyModel : uint8_t { byte_bpe, raw_bpe, sentencepiece_bpe, unigram, wordpiece };

struct PreTokenizerSpec;  // text/pretokenize.h

struct Vocabulary {
  std::string file;  // for error messages
  VocabularyModel model = VocabularyModel::byte_bpe;
  const PreTokenizerSpec* pre = nullptr;  // byte_bpe and raw_bpe only

  StringList texts;   // as the file spells them
  StringList pieces;  // the bytes that each adds to a text
  std::vector<TokenKind> kinds;
  std::vector<float> scores;  // empty when the file has none
  enum Strip : uint8_t { kStripLeft = 1, kStripRight = 2 };
  std::vector<uint8_t> strips;  // by id; empty when no token has any

  std::array<TokenId, 256> byte_tokens;  // -1 where there is none
  Tokenizer::Special special;
  std::vector<TokenId> suffix;  // what add_special appends
  bool add_space_prefix = false;
  bool remove_extra_whitespaces = false;
  bool by_library = false;  // where llama.cpp and SentencePiece differ, the latter counts (tokenizer.model)
  bool lowercase = true, strip_accents = true;  // wordpiece
  std::vector<unsigned char> charsmap;          // unigram

  int32_t size() const { return static_cast<int32_t>(kinds.size()); }
  // May plain text become this token?
  bool is_plain(TokenId id) const {
    return kinds[static_cast<size_t>(id)] == TokenKind::normal ||
           kinds[static_cast<size_t>(id)] == TokenKind::user_defined ||
           kinds[static_cast<size_t>(id)] == TokenKind::unused;
  }
};

// Throws Code::corrupt or Code::unsupported naming key and index.
Vocabulary load_vocabulary(const formats::Checkpoint& file, const GoOn& go_on = {});

// Every so many tokens or merges `go_on` is asked: some 2 ms.
constexpr size_t kAskEvery = 16384;
// Throws Code::cancelled where `go_on` says so.
void check_go_on(const GoOn& go_on, const std::string& file);

// GPT-2's one-to-one map of bytes to printable characters, backwards: false when a character is none of its
// 256.
bool unmap_byte_level(std::string_view text, std::string& out);

// The byte that a text of the exact form <0xHH> names, or -1.
int named_byte(std::string_view text);

constexpr std::string_view kSpaceMark = "\xE2\x96\x81";  // ▁
std::string escape_spaces(std::string_view text);        // every ' ' becomes ▁
std::string unescape_spaces(std::string_view text);      // and back

}  // namespace ingle::text
