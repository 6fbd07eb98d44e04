#include "ingle/grammar.hpp"

#include "constrain/grammar.h"

namespace ingle {

Grammar Grammar::json_schema(std::string_view schema, const JsonSchemaOptions& options) {
  return Grammar(constrain::schema_grammar(schema, {options.assert_formats, options.compact}, "schema"));
}

Grammar Grammar::json(bool compact) { return json_schema("true", {false, compact}); }

Grammar Grammar::regex(std::string_view pattern) {
  return Grammar(constrain::regex_grammar(pattern, "regex"));
}

bool Grammar::accepts(std::string_view text) const {
  const auto matcher = impl_->matcher(constrain::Purpose::judge);
  return matcher->advance(text) && matcher->accepting();
}

}  // namespace ingle
