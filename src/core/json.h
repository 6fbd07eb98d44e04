// JSON as its author wrote it: members in order, numbers as text, so that nothing is rounded. Unlike
// nlohmann's, whose destructor allocates, such a value can be destroyed when memory has run out.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ingle {

struct Json {
  enum class Kind : uint8_t { null, boolean, number, string, array, object };
  Kind kind = Kind::null;
  bool truth = false;
  std::string text;  // of a string, or a number as it was written
  std::vector<Json> items;
  std::vector<std::pair<std::string, Json>> members;

  // Not here: a list of what is not complete yet cannot be taken down.
  Json();
  Json(const Json&);
  Json(Json&&) noexcept;
  Json& operator=(const Json&);
  Json& operator=(Json&&) noexcept;
  ~Json();

  bool is(Kind k) const { return kind == k; }
  const Json* find(std::string_view key) const;  // of an object; null when absent

  static Json of_boolean(bool value);
  static Json of_number(std::string text);
  static Json of_string(std::string text);
};

// Throws Code::invalid_argument with `where` when the text is not one JSON value in UTF-8, is nested deeper
// than 256 or names a key twice.
Json parse_json(std::string_view text, const std::string& where);
std::string to_text(const Json& value);  // compact; for messages and comparison

}  // namespace ingle
