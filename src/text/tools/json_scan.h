// Finds the end of a JSON value byte by byte, and that it is one (RFC 8259; nesting bounded).
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ingle::text {

class JsonScan {
 public:
  enum class Step : uint8_t {
    more,    // the byte belongs to the value, which goes on
    last,    // the byte ends the value
    before,  // the value ended before this byte (a number does)
    bad,     // no JSON
  };
  Step push(char c);
  // Would the value be whole if nothing came any more? Numbers at the top end so.
  bool whole() const;

 private:
  enum class In : uint8_t {
    value,
    first_value,
    string,
    escape,
    hex,
    literal,
    minus,
    zero,
    whole_part,
    point,
    fraction,
    exponent,
    exponent_sign,
    exponent_part,
    first_key,
    key,
    colon,
    after
  };
  Step begin_value(char c);
  Step end_value();
  Step number(char c);
  Step after_number(char c);
  Step close(bool object);

  In in_ = In::value;
  bool is_key_ = false;
  uint8_t left_ = 0;            // of \uXXXX, or matched of the literal
  const char* word_ = nullptr;  // true, false or null
  std::vector<bool> open_;      // objects are true, arrays false
};

constexpr size_t kMaxJsonDepth = 200;

bool is_json(std::string_view text);
// A JSON string's text, from its quoted form, which must be one.
std::string unquote_json(std::string_view quoted);
void append_quoted(std::string& out,
                   std::string_view text);  // as a JSON string; bytes beyond ASCII as they are

}  // namespace ingle::text
