// What an answer must be: a schema's JSON or a regular expression. Compiled once; copies share it.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "ingle/error.hpp"

namespace ingle {

namespace constrain {
class Grammar;
}  // namespace constrain

struct JsonSchemaOptions {
  // "format" is an annotation in draft 7 and 2020-12; with this, date, time, date-time, duration, ipv4, ipv6,
  // uuid, hostname and email must hold, and other formats are refused.
  bool assert_formats = false;
  bool compact = false;  // no white space between tokens
};

class Grammar {
 public:
  // JSON Schema, draft 2020-12 or 7 (told by "$schema", else by spellings of draft 7 alone). Members may come
  // in any order. Throws Code::unsupported naming the path of a keyword that cannot be held exactly: nothing
  // is dropped. Throws Code::invalid_argument for what is no schema.
  static Grammar json_schema(std::string_view schema, const JsonSchemaOptions& options = {});
  static Grammar json(bool compact = false);  // any JSON value
  // ECMA-262 in Unicode mode, of the whole text; no back references, no look-around.
  static Grammar regex(std::string_view pattern);

  // Judges a whole text.
  bool accepts(std::string_view text) const;

  explicit Grammar(std::shared_ptr<const constrain::Grammar> impl) : impl_(std::move(impl)) {}
  const constrain::Grammar& impl() const { return *impl_; }

 private:
  std::shared_ptr<const constrain::Grammar> impl_;
};

}  // namespace ingle
