#include "ingle/grammar.hpp"

#include <algorithm>

#include "api/budget.h"
#include "core/error.h"

namespace ingle {

constrain::Budget budget_of(const CompileLimits& limits) {
  for (const auto& [name, value] : {std::pair{"states", limits.states}, std::pair{"steps", limits.steps},
                                    std::pair{"bytes", limits.bytes}})
    if (value < 0)
      fail(Code::invalid_argument, std::string("limit ") + name, format("is {}, expected 0 or more", value));
  constrain::Budget b;
  b.nfa_states = limits.states;
  b.dfa_states = limits.states / 4;  // each of them has a row of steps
  b.nodes = b.branches = limits.states / 20;
  b.steps = limits.steps;
  b.bytes = limits.bytes;
  b.go_on = limits.go_on;
  return b;
}

Grammar Grammar::json_schema(std::string_view schema, const JsonSchemaOptions& options,
                             const CompileLimits& limits) {
  return Grammar(constrain::schema_grammar(schema, {options.assert_formats, options.compact}, "schema",
                                           budget_of(limits)));
}

Grammar Grammar::json(bool compact) { return json_schema("true", {false, compact}); }

Grammar Grammar::regex(std::string_view pattern, const CompileLimits& limits) {
  return Grammar(constrain::regex_grammar(pattern, "regex", budget_of(limits)));
}

Grammar Grammar::gbnf(std::string_view source, const CompileLimits& limits) {
  return Grammar(constrain::gbnf_grammar(source, "grammar", budget_of(limits)));
}

Grammar Grammar::lark(std::string_view source, const CompileLimits& limits) {
  return Grammar(constrain::lark_grammar(source, "grammar", budget_of(limits)));
}

Grammar Grammar::choice(std::span<const std::string> texts, const CompileLimits& limits) {
  return Grammar(constrain::choice_grammar(texts, "choice", budget_of(limits)));
}

Grammar Grammar::structural_tags(std::span<const StructuralTag> tags, const StructuralTagOptions& options,
                                 const CompileLimits& limits) {
  std::vector<constrain::Tag> all;
  for (const StructuralTag& tag : tags) all.push_back({tag.begin, tag.content.impl_, tag.end, false});
  return Grammar(constrain::tags_grammar(std::move(all),
                                         {options.triggers, options.at_least_one, options.stop_after_first},
                                         "structural tags", budget_of(limits)));
}

Grammar Grammar::lazy(std::span<const std::string> markers, const Grammar& grammar, bool with_marker) {
  std::vector<constrain::Tag> tags;
  for (const std::string& marker : markers) tags.push_back({marker, grammar.impl_, "", with_marker});
  return Grammar(constrain::tags_grammar(std::move(tags), {{}, false, true}, "lazy grammar"));
}

bool Grammar::accepts(std::string_view text) const {
  const auto matcher = impl_->matcher(constrain::Purpose::judge);
  return matcher->advance(text) && matcher->accepting();
}

}  // namespace ingle
