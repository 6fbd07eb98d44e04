// What a text must be: a schema's JSON, a regular expression, a grammar. Compiled once, immutable.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "constrain/json_machine.h"
#include "constrain/matcher.h"

namespace ingle::constrain {

class Grammar {
 public:
  virtual ~Grammar() = default;
  virtual std::unique_ptr<Matcher> matcher(Purpose purpose) const = 0;
};
using GrammarPtr = std::shared_ptr<const Grammar>;

// Each throws Code::unsupported naming what cannot be held, Code::invalid_argument for what is malformed.
// `where` stands in the errors.
GrammarPtr schema_grammar(std::string_view schema, const SchemaOptions& options, const std::string& where);
GrammarPtr regex_grammar(std::string_view pattern, const std::string& where);  // of the whole text

}  // namespace ingle::constrain
