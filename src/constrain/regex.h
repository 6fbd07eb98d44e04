// Regular expressions, ECMA-262's syntax in Unicode mode, as automata: no backtracking, linear time.
// Back references and look-around have no such automaton, and are refused by name.
#pragma once
#include <string>
#include <string_view>

#include "constrain/dfa.h"

namespace ingle::constrain {

enum class Anchoring {
  search,  // found anywhere in the text, as JSON Schema's "pattern" says
  whole,   // the whole text
};

// Label 0. Throws Code::invalid_argument naming the byte of what is no regular expression; Code::unsupported
// for what cannot be held, or passes the budget. `where` stands in the errors.
Dfa compile_regex(std::string_view pattern, Anchoring anchoring, Budget& budget, const std::string& where);

}  // namespace ingle::constrain
