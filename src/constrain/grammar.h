// What a text must be: a schema's JSON, a regular expression, a grammar. Compiled once, immutable.
#pragma once
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "constrain/json_machine.h"
#include "constrain/mask.h"
#include "constrain/matcher.h"
#include "constrain/rules.h"

namespace ingle::constrain {

// Any number of threads may use one.
class Grammar {
 public:
  virtual ~Grammar() = default;
  virtual std::unique_ptr<Matcher> matcher(Purpose purpose) const = 0;
  // For matchers of this grammar that write. What it has found out serves all answers over one vocabulary.
  std::shared_ptr<Masker> masker(const std::shared_ptr<const TokenTrie>& trie) const;

 private:
  mutable std::mutex mutex_;
  mutable std::vector<std::shared_ptr<Masker>> maskers_;  // of the vocabularies met last
};
using GrammarPtr = std::shared_ptr<const Grammar>;

// Each throws Code::unsupported naming what cannot be held, Code::invalid_argument for what is malformed.
// `where` stands in the errors.
GrammarPtr schema_grammar(std::string_view schema, const SchemaOptions& options, const std::string& where,
                          Budget budget = {});
GrammarPtr regex_grammar(std::string_view pattern, const std::string& where,
                         Budget budget = {});  // of the whole text
GrammarPtr rules_grammar(const Rules& rules, const std::string& where, Budget budget = {});
GrammarPtr gbnf_grammar(std::string_view source, const std::string& where, Budget budget = {});
GrammarPtr lark_grammar(std::string_view source, const std::string& where, Budget budget = {});
GrammarPtr choice_grammar(std::span<const std::string> texts, const std::string& where, Budget budget = {});

// Free text in which a trigger opens a tag: from there on the text is `begin`, of which the trigger is the
// beginning, then a text of the content, then `end`, and free text again.
struct Tag {
  std::string begin;
  GrammarPtr content;
  std::string end;
  bool begin_in_content = false;  // the content's text begins with `begin`, which is a trigger
};
struct TagOptions {
  std::vector<std::string> triggers;  // none: the beginnings themselves
  bool at_least_one = false;
  bool stop_after_first = false;  // nothing follows a tag
};
GrammarPtr tags_grammar(std::vector<Tag> tags, const TagOptions& options, const std::string& where,
                        Budget budget = {});

}  // namespace ingle::constrain
