// Text formatting with fmt's syntax, behind a light header: fmt itself is included in format.cpp alone.
#pragma once
#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace ingle {

// One argument, type-erased. Integers keep their sign; anything string-like is borrowed for the call.
class FormatArg {
 public:
  enum class Kind : uint8_t { signed_int, unsigned_int, floating, text, boolean };
  FormatArg(bool v) : kind(Kind::boolean), u(v) {}
  template <std::signed_integral T>
  FormatArg(T v) : kind(Kind::signed_int), i(v) {}
  template <std::unsigned_integral T>
  requires(!std::same_as<T, bool>) FormatArg(T v) : kind(Kind::unsigned_int), u(v) {}
  FormatArg(double v) : kind(Kind::floating), d(v) {}
  FormatArg(float v) : kind(Kind::floating), d(v) {}
  FormatArg(std::string_view v) : kind(Kind::text), text(v) {}
  FormatArg(const std::string& v) : kind(Kind::text), text(v) {}
  FormatArg(const char* v) : kind(Kind::text), text(v ? v : "(null)") {}

  Kind kind;
  union {
    int64_t i;
    uint64_t u;
    double d;
  };
  std::string_view text;
};

std::string vformat(std::string_view pattern, std::span<const FormatArg> args);

// format("{} rows, expected {}", n, want). A malformed pattern returns the pattern itself; never throws for
// it.
template <class... Args>
std::string format(std::string_view pattern, const Args&... args) {
  const FormatArg list[] = {FormatArg(args)..., FormatArg(false)};
  return vformat(pattern, std::span<const FormatArg>(list, sizeof...(args)));
}

}  // namespace ingle
