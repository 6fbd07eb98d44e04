// A context-free grammar as its author wrote it.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "constrain/regex_tree.h"

namespace ingle::constrain {

struct Rules {
  struct Rule {
    std::string name;
    RegexNode body;
  };
  std::vector<Rule> rules;
  int32_t root = 0;
};

// llama.cpp's GBNF. Beyond it: a rule may go on over lines, and names may have underscores. Throws
// Code::invalid_argument for what is no grammar, Code::unsupported for token forms, each with line and
// column.
Rules parse_gbnf(std::string_view text, const std::string& where);
// Lark's notation, from the rule "start" on. What is ignored may stand before every terminal of a rule and at
// the end. Templates, imports of anything but the module "common" and patterns' flags are Code::unsupported.
Rules parse_lark(std::string_view text, const std::string& where);

}  // namespace ingle::constrain
