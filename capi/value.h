// A JSON value, read and written in json.cpp.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace ingle::capi {

struct Value;
using List = std::vector<Value>;
using Fields = std::vector<std::pair<std::string, Value>>;  // in the order of the text; no key twice

struct Value : std::variant<std::monostate, bool, int64_t, double, std::string, List, Fields> {
  using variant::variant;
  // libstdc++ 12 crashes where the copy of a string or vector into a variant of such throws (it takes the
  // half-made variant for whole), so what a value holds is copied first and then moved in.
  Value(const Value& other);
  Value(Value&&) = default;
  Value& operator=(Value other) {
    swap(other);
    return *this;
  }
  template <class T>
  const T* as() const {
    return std::get_if<T>(this);
  }
};

// Strict: one value, no key twice, at most kMaxDepth containers deep, whole numbers that an int64 holds,
// valid UTF-8. Throws Code::invalid_argument with `argument` as `where` and the byte in the message.
constexpr int kMaxDepth = 8;
Value read_json(std::string_view text, const char* argument);
std::string write_json(const Value& value);  // broken UTF-8 becomes U+FFFD

}  // namespace ingle::capi
