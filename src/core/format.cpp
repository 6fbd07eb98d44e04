#include "core/format.h"

#define FMT_HEADER_ONLY
#define FMT_STATIC_THOUSANDS_SEPARATOR ','  // no locales, and none of their code
#include <fmt/args.h>
#include <fmt/format.h>

namespace ingle {

std::string vformat(std::string_view pattern, std::span<const FormatArg> args) {
  fmt::dynamic_format_arg_store<fmt::format_context> store;
  store.reserve(args.size(), 0);
  for (const FormatArg& a : args) {
    switch (a.kind) {
      case FormatArg::Kind::signed_int:
        store.push_back(a.i);
        break;
      case FormatArg::Kind::unsigned_int:
        store.push_back(a.u);
        break;
      case FormatArg::Kind::floating:
        store.push_back(a.d);
        break;
      case FormatArg::Kind::boolean:
        store.push_back(a.u != 0);
        break;
      case FormatArg::Kind::text:
        store.push_back(fmt::string_view(a.text.data(), a.text.size()));
        break;
    }
  }
  try {
    return fmt::vformat(fmt::string_view(pattern.data(), pattern.size()), store);
  } catch (const fmt::format_error&) {
    return std::string(pattern);  // an error text must not be lost to a bad pattern
  }
}

}  // namespace ingle
