// What tokenizers need to know of Unicode: categories, White_Space, lower case, normal forms. (Version:
// utf8proc's.)
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ingle::text {

// Flags of a character; regex classes are unions of them.
enum CharFlags : uint16_t {
  kLetter = 1,          // \p{L}
  kNumber = 2,          // \p{N}
  kMark = 4,            // \p{M}
  kPunct = 8,           // \p{P}
  kSymbol = 16,         // \p{S}
  kSpace = 32,          // \s: the property White_Space
  kOther = 64,          // \p{C}, unassigned included
  kUpper = 128,         // \p{Lu} \p{Lt}
  kLower = 256,         // \p{Ll}
  kDecimal = 512,       // \p{Nd}
  kNewline = 1024,      // \r and \n
  kNonSpacing = 2048,   // \p{Mn}
  kUncased = 4096,      // \p{Lm} \p{Lo}
  kHan = 8192,          // \p{Han}
  kUnassigned = 16384,  // \p{Cn}, beside kOther
};

struct Char {
  uint32_t code = 0;
  uint16_t flags = 0;
  uint8_t bytes = 0;  // 0 at the end of the text
};

uint16_t flags_of(uint32_t code);
extern const uint16_t kAsciiFlags[128];

// The code point at `at` and its length. A byte that starts no whole, shortest-form UTF-8 character stands
// for itself: U+FFFD of length 1.
Char decode_char_slow(const char* at, const char* end);
inline Char char_at(const char* at, const char* end) {
  if (at >= end) return {};
  const auto byte = static_cast<unsigned char>(*at);
  if (byte < 0x80) return {byte, kAsciiFlags[byte], 1};
  return decode_char_slow(at, end);
}
// The same without flags.
struct CodePoint {
  uint32_t code;
  uint8_t bytes;
  bool valid;
};
CodePoint decode_utf8(const char* at, const char* end);
// How many bytes at `at` could begin a whole character that the end cut short: 0 when they cannot.
size_t truncated_prefix(const char* at, const char* end);
// How many bytes of a broken character one U+FFFD stands for: its longest valid beginning, at least 1
// (Unicode 3.9).
size_t broken_bytes(const char* at, const char* end);

void append_utf8(std::string& out, uint32_t code);
// \w: Alphabetic, marks, decimal digits, connectors and joiners (UTS 18, annex C).
bool is_word(const Char& c);
uint32_t to_lower(uint32_t code);  // simple mapping

// Bytes that are not UTF-8 pass through unchanged.
enum class NormalForm : uint8_t { nfc, nfd, nfkc, nfkd };
std::string normalize(std::string_view text, NormalForm form);
// A quick look: true only for texts that `normalize` leaves as they are, but not for all of them.
bool is_normal(std::string_view text, NormalForm form);
inline std::string normalize_nfc(std::string_view text) { return normalize(text, NormalForm::nfc); }
inline std::string normalize_nfd(std::string_view text) { return normalize(text, NormalForm::nfd); }

}  // namespace ingle::text
