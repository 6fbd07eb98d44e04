// What types a tool's arguments may have, and values that are no JSON as JSON of those types.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace ingle::text {

enum TypeBit : uint8_t {
  kStringType = 1,
  kNumberType = 2,
  kIntegerType = 4,
  kBooleanType = 8,
  kNullType = 16,
  kObjectType = 32,
  kArrayType = 64,
};
using TypeSet = uint8_t;  // 0: not known

class ToolSchemas {
 public:
  ToolSchemas() = default;
  // [{"type": "function", "function": {"name", "parameters"}}, …], or their inner objects alone. Empty: none.
  // Throws Code::invalid_argument for what is no such list.
  explicit ToolSchemas(std::string_view json);
  TypeSet type(std::string_view tool, std::string_view argument) const;

 private:
  std::map<std::string, std::map<std::string, TypeSet, std::less<>>, std::less<>> tools_;
};

// A value as it stands between tags, as JSON: what the types allow, and a string when nothing else fits.
// Python's literals count too.
std::string value_to_json(std::string_view text, TypeSet types);
// A Python literal (strings, numbers, True, False, None, lists, tuples, dicts) as JSON; none: it is no such.
std::optional<std::string> python_to_json(std::string_view text);
// A value of the braces form: texts between `quote`, keys bare or between quotes.
std::optional<std::string> braces_to_json(std::string_view text, std::string_view quote);

}  // namespace ingle::text
