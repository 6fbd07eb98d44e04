// What types a tool's arguments may have, and values that are no JSON as JSON of those types.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/json.h"

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

// A schema in its document; may be nowhere, where all types are unknown.
class SchemaPlace {
 public:
  SchemaPlace() = default;
  SchemaPlace(const Json* at, const Json* root);
  TypeSet types() const;
  SchemaPlace member(std::string_view key) const;  // of an object
  SchemaPlace item() const;                        // of an array

 private:
  const Json *at_ = nullptr, *root_ = nullptr;
};

class ToolSchemas {
 public:
  ToolSchemas() = default;
  // [{"type": "function", "function": {"name", "parameters"}}, …], or their inner objects alone. Empty: none.
  // Throws Code::invalid_argument for what is no such list.
  explicit ToolSchemas(std::string_view json);
  TypeSet type(std::string_view tool, std::string_view argument) const {
    return place(tool, argument).types();
  }
  SchemaPlace place(std::string_view tool, std::string_view argument) const;

 private:
  std::map<std::string, Json, std::less<>> tools_;  // their parameters
};

// A value as it stands between tags, as JSON: what the types allow, and a string when nothing else fits.
// Python's literals count too.
std::string value_to_json(std::string_view text, TypeSet types);
// A Python literal (strings, numbers, True, False, None, lists, tuples, dicts) as JSON; none: it is no such.
std::optional<std::string> python_to_json(std::string_view text);
// A value of the braces form: texts between `quote`, keys bare or between quotes.
std::optional<std::string> braces_to_json(std::string_view text, std::string_view quote);

}  // namespace ingle::text
