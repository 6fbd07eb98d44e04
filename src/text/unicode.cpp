#include "text/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <vector>

namespace ingle::text {
namespace {

constexpr uint16_t ascii_flags(int c) {
  if (c == '\n' || c == '\r') return kSpace | kOther | kNewline;
  if (c == '\t' || c == 11 || c == 12) return kSpace | kOther;
  if (c == ' ') return kSpace;
  if (c < 32 || c == 127) return kOther;
  if (c >= '0' && c <= '9') return kNumber | kDecimal;
  if (c >= 'A' && c <= 'Z') return kLetter | kUpper;
  if (c >= 'a' && c <= 'z') return kLetter | kLower;
  for (const char s : {'$', '+', '<', '=', '>', '^', '`', '|', '~'}) {
    if (c == s) return kSymbol;
  }
  return kPunct;
}
#define INGLE_ROW8(n)                                                                             \
  ascii_flags(n), ascii_flags(n + 1), ascii_flags(n + 2), ascii_flags(n + 3), ascii_flags(n + 4), \
      ascii_flags(n + 5), ascii_flags(n + 6), ascii_flags(n + 7)
#define INGLE_ROW32(n) INGLE_ROW8(n), INGLE_ROW8(n + 8), INGLE_ROW8(n + 16), INGLE_ROW8(n + 24)

bool is_white_space(uint32_t c) {
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
         c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

// Script=Han (Unicode 15, Scripts.txt).
constexpr uint32_t kHanRanges[][2] = {
    {0x2E80, 0x2E99},   {0x2E9B, 0x2EF3},   {0x2F00, 0x2FD5},   {0x3005, 0x3005},   {0x3007, 0x3007},
    {0x3021, 0x3029},   {0x3038, 0x303B},   {0x3400, 0x4DBF},   {0x4E00, 0x9FFF},   {0xF900, 0xFA6D},
    {0xFA70, 0xFAD9},   {0x16FE2, 0x16FE3}, {0x16FF0, 0x16FF1}, {0x20000, 0x2A6DF}, {0x2A700, 0x2B739},
    {0x2B740, 0x2B81D}, {0x2B820, 0x2CEA1}, {0x2CEB0, 0x2EBE0}, {0x2F800, 0x2FA1D}, {0x30000, 0x3134A},
    {0x31350, 0x323AF}};
bool is_han(uint32_t c) {
  if (c < kHanRanges[0][0]) return false;
  const auto* above =
      std::upper_bound(std::begin(kHanRanges), std::end(kHanRanges), c,
                       [](uint32_t code, const uint32_t(&range)[2]) { return code < range[0]; });
  return c <= (*std::prev(above))[1];
}

uint16_t category_flags(utf8proc_category_t category) {
  switch (category) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LT:
      return kLetter | kUpper;
    case UTF8PROC_CATEGORY_LL:
      return kLetter | kLower;
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
      return kLetter | kUncased;
    case UTF8PROC_CATEGORY_MN:
      return kMark | kNonSpacing;
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
      return kMark;
    case UTF8PROC_CATEGORY_ND:
      return kNumber | kDecimal;
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
      return kNumber;
    case UTF8PROC_CATEGORY_PC:
    case UTF8PROC_CATEGORY_PD:
    case UTF8PROC_CATEGORY_PS:
    case UTF8PROC_CATEGORY_PE:
    case UTF8PROC_CATEGORY_PI:
    case UTF8PROC_CATEGORY_PF:
    case UTF8PROC_CATEGORY_PO:
      return kPunct;
    case UTF8PROC_CATEGORY_SM:
    case UTF8PROC_CATEGORY_SC:
    case UTF8PROC_CATEGORY_SK:
    case UTF8PROC_CATEGORY_SO:
      return kSymbol;
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
      return 0;  // all of them are White_Space, added by the caller
    case UTF8PROC_CATEGORY_CN:
      return kOther | kUnassigned;
    default:
      return kOther;
  }
}

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// Length of the character that `lead` starts, and the closed range of its second byte (Unicode table 3-7).
struct LeadByte {
  uint8_t length, low, high;
};
LeadByte lead_byte(unsigned char lead) {
  if (lead >= 0xC2 && lead <= 0xDF) return {2, 0x80, 0xBF};
  if (lead == 0xE0) return {3, 0xA0, 0xBF};
  if (lead == 0xED) return {3, 0x80, 0x9F};
  if (lead >= 0xE1 && lead <= 0xEF) return {3, 0x80, 0xBF};
  if (lead == 0xF0) return {4, 0x90, 0xBF};
  if (lead >= 0xF1 && lead <= 0xF3) return {4, 0x80, 0xBF};
  if (lead == 0xF4) return {4, 0x80, 0x8F};
  return {0, 0, 0};
}

// How many bytes at `at` agree with a character of `want.length` bytes.
size_t agreeing_bytes(const char* at, const char* end, LeadByte want) {
  if (want.length == 0) return 0;
  if (at + 1 >= end) return 1;
  const auto second = static_cast<unsigned char>(at[1]);
  if (second < want.low || second > want.high) return 1;
  size_t n = 2;
  while (n < want.length && at + n < end && is_continuation(at[n])) ++n;
  return n;
}

}  // namespace

const uint16_t kAsciiFlags[128] = {INGLE_ROW32(0), INGLE_ROW32(32), INGLE_ROW32(64), INGLE_ROW32(96)};

uint16_t flags_of(uint32_t code) {
  if (code < 128) return kAsciiFlags[code];
  uint16_t flags = category_flags(utf8proc_category(static_cast<utf8proc_int32_t>(code)));
  if (is_white_space(code)) flags |= kSpace;
  if (is_han(code)) flags |= kHan;
  return flags;
}

CodePoint decode_utf8(const char* at, const char* end) {
  const auto lead = static_cast<unsigned char>(*at);
  if (lead < 0x80) return {lead, 1, true};
  const LeadByte want = lead_byte(lead);
  if (want.length == 0 || agreeing_bytes(at, end, want) < want.length) return {0xFFFD, 1, false};
  uint32_t code = lead & (0x7Fu >> want.length);
  for (int i = 1; i < want.length; ++i) code = code << 6 | (static_cast<unsigned char>(at[i]) & 0x3F);
  return {code, want.length, true};
}

Char decode_char_slow(const char* at, const char* end) {
  const CodePoint c = decode_utf8(at, end);
  return {c.code, flags_of(c.code), c.bytes};
}

size_t truncated_prefix(const char* at, const char* end) {
  const LeadByte want = lead_byte(static_cast<unsigned char>(*at));
  const auto left = static_cast<size_t>(end - at);
  const size_t n = agreeing_bytes(at, end, want);
  return n == left && n < want.length ? n : 0;
}

size_t broken_bytes(const char* at, const char* end) {
  return std::max<size_t>(1, agreeing_bytes(at, end, lead_byte(static_cast<unsigned char>(*at))));
}

void append_utf8(std::string& out, uint32_t code) {
  const auto put = [&out](uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | code >> 6), put(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    put(0xE0 | code >> 12), put(0x80 | (code >> 6 & 0x3F)), put(0x80 | (code & 0x3F));
  } else {
    put(0xF0 | code >> 18), put(0x80 | (code >> 12 & 0x3F)), put(0x80 | (code >> 6 & 0x3F)),
        put(0x80 | (code & 0x3F));
  }
}

bool is_word(const Char& c) {
  if (c.flags & (kLetter | kMark | kDecimal)) return true;
  if (c.code < 128) return c.code == '_';
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(c.code));
  // Letters in circles and squares are symbols and alphabetic.
  const bool enclosed = (c.code >= 0x24B6 && c.code <= 0x24E9) || (c.code >= 0x1F130 && c.code <= 0x1F149) ||
                        (c.code >= 0x1F150 && c.code <= 0x1F169) || (c.code >= 0x1F170 && c.code <= 0x1F189);
  return category == UTF8PROC_CATEGORY_NL || category == UTF8PROC_CATEGORY_PC || enclosed ||
         c.code == 0x200C || c.code == 0x200D;
}

uint32_t to_lower(uint32_t code) {
  if (code < 128) return code >= 'A' && code <= 'Z' ? code + 32 : code;
  return static_cast<uint32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(code)));
}

namespace {

// Characters that a form keeps, and that nothing before them can combine with: most of what people write.
bool stays(uint32_t c, NormalForm form) {
  if (c < 0x80) return true;
  if (form == NormalForm::nfd || form == NormalForm::nfkd) return false;
  const bool both = (c >= 0x400 && c < 0x483) || (c >= 0x3041 && c < 0x3097) || (c >= 0x30A1 && c < 0x30FB) ||
                    (c >= 0x4E00 && c < 0xA000) || (c >= 0xAC00 && c < 0xD7A4);
  if (both || form == NormalForm::nfkc) return both;
  return c < 0x300 || (c >= 0x2010 && c < 0x2028) || (c >= 0x3001 && c < 0x3003) ||
         (c >= 0xFF01 && c < 0xFF5F);
}

// Normalises one stretch of valid UTF-8, given as code points.
void flush(std::vector<utf8proc_int32_t>& codes, NormalForm form, std::string& out) {
  if (codes.empty()) return;
  const bool compose = form == NormalForm::nfc || form == NormalForm::nfkc;
  const bool compat = form == NormalForm::nfkc || form == NormalForm::nfkd;
  const auto options = static_cast<utf8proc_option_t>(
      UTF8PROC_STABLE | (compose ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE) | (compat ? UTF8PROC_COMPAT : 0));
  std::vector<utf8proc_int32_t> split;
  split.reserve(codes.size() + codes.size() / 4 + 8);
  for (const utf8proc_int32_t code : codes) {
    std::array<utf8proc_int32_t, 32> parts{};  // the longest decomposition has 18
    int boundary = 0;
    const auto n = utf8proc_decompose_char(code, parts.data(), parts.size(), options, &boundary);
    if (n < 0 || static_cast<size_t>(n) > parts.size()) {
      split.push_back(code);
    } else {
      split.insert(split.end(), parts.begin(), parts.begin() + n);
    }
  }
  codes.clear();
  // Canonical order: marks between two starters, stably by combining class.
  const auto combining = [](utf8proc_int32_t c) { return utf8proc_get_property(c)->combining_class; };
  for (size_t i = 0; i < split.size();) {
    if (combining(split[i]) == 0) {
      ++i;
      continue;
    }
    size_t j = i;
    while (j < split.size() && combining(split[j]) != 0) ++j;
    std::stable_sort(split.begin() + static_cast<ptrdiff_t>(i), split.begin() + static_cast<ptrdiff_t>(j),
                     [&](utf8proc_int32_t a, utf8proc_int32_t b) { return combining(a) < combining(b); });
    i = j;
  }
  if (compose) {
    const auto n =
        utf8proc_normalize_utf32(split.data(), static_cast<utf8proc_ssize_t>(split.size()), options);
    if (n >= 0) split.resize(static_cast<size_t>(n));
  }
  for (const utf8proc_int32_t code : split) append_utf8(out, static_cast<uint32_t>(code));
}

}  // namespace

bool is_normal(std::string_view text, NormalForm form) {
  const char* end = text.data() + text.size();
  for (const char* at = text.data(); at < end;) {
    if (static_cast<unsigned char>(*at) < 0x80) {
      ++at;
      continue;
    }
    const CodePoint c = decode_utf8(at, end);
    if (c.valid && !stays(c.code, form)) return false;
    at += c.bytes;
  }
  return true;
}

std::string normalize(std::string_view text, NormalForm form) {
  std::string out;
  out.reserve(text.size() + text.size() / 8);
  std::vector<utf8proc_int32_t> codes;  // a character that stays, and what may combine with it
  const char* end = text.data() + text.size();
  for (const char* at = text.data(); at < end;) {
    const CodePoint c = decode_utf8(at, end);
    if (!c.valid) {
      flush(codes, form, out);
      out.push_back(*at);
    } else {
      if (stays(c.code, form)) {
        if (codes.size() == 1 && stays(static_cast<uint32_t>(codes[0]), form)) {
          append_utf8(out, static_cast<uint32_t>(codes[0]));
          codes.clear();
        } else {
          flush(codes, form, out);
        }
      }
      codes.push_back(static_cast<utf8proc_int32_t>(c.code));
    }
    at += c.bytes;
  }
  flush(codes, form, out);
  return out;
}

}  // namespace ingle::text
