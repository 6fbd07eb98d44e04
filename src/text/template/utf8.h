// Code points in UTF-8 text, which all text in a template is: source, variables and what is made of them.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace ingle::text::jinja {

struct CodePoint {
  uint32_t value;
  uint32_t size;  // bytes taken
};
// A byte that starts no valid sequence comes back as its own value, of size 1.
CodePoint code_point_at(std::string_view text, size_t offset);
size_t offset_before(std::string_view text, size_t offset);  // of the code point that ends at `offset` > 0
bool is_utf8(std::string_view text);
void append_code_point(std::string& out, uint32_t value);
size_t count_code_points(std::string_view text);
// The byte offset of the index-th code point; text.size() when there are fewer.
size_t offset_of(std::string_view text, size_t index);
bool is_ascii(std::string_view text);
bool is_space(uint32_t code_point);  // as str.isspace

// str.strip: characters of `set`, or white space when set is null.
std::string_view strip(std::string_view text, const std::string_view* set, bool left, bool right);

enum class CaseRule : uint8_t { upper, lower, title, capitalize, swap };
std::string change_case(std::string_view text, CaseRule rule);
bool is_printable(uint32_t c);  // as repr shows it
bool is_alpha(uint32_t c);
bool is_decimal(uint32_t c);
bool is_digit(uint32_t c);
bool is_numeric(uint32_t c);
bool is_upper(uint32_t c);
bool is_lower(uint32_t c);
bool is_title(uint32_t c);
// str.isupper and str.islower: a letter of that case, and none of another.
bool has_case(std::string_view text, bool upper);

}  // namespace ingle::text::jinja
