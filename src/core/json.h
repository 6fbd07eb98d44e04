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
  bool is_text(std::string_view wanted) const { return kind == Kind::string && text == wanted; }
  // Of an object's members; null when it is absent, or this is no object.
  const Json* find(std::string_view key) const;
  Json* find(std::string_view key);
  Json& member(std::string_view key);  // of an object; comes last, as null, where there was none
  void erase(std::string_view key);

  using Members = std::vector<std::pair<std::string, Json>>;
  static Json of_boolean(bool value);
  static Json of_number(std::string text);
  static Json of_string(std::string_view text);
  static Json of_array(std::vector<Json> items);
  static Json of_object(Members members);  // no key twice
};

enum class RepeatedKeys : uint8_t {
  refused,
  last_counts,  // as JSON is read by most programs
};

// Throws Code::invalid_argument with `where` when the text is not one JSON value in UTF-8, is nested deeper
// than 256 or names a key twice where that is refused.
Json parse_json(std::string_view text, const std::string& where,
                RepeatedKeys repeated = RepeatedKeys::refused);
std::string to_text(const Json& value);  // compact, with escapes only where there must be some

}  // namespace ingle
