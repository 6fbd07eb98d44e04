// The arguments of a call that are written one by one, each between texts of the form, as a grammar: any
// order, each at most once, the required ones before the end.
#pragma once
#include <string>
#include <vector>

#include "constrain/grammar.h"

namespace ingle::constrain {

struct WrittenArgument {
  std::string first, next;  // from the name, or the argument before, to the value
  GrammarPtr value;         // of JSON
  // The value is a string without its quotes and escapes: the text that a JSON string of `value` means.
  bool raw = false;
  std::string end;  // behind the value
  bool required = false;
};

struct WrittenArguments {
  std::vector<WrittenArgument> arguments;
  std::string marker;            // never stands in a value: its reader takes it for the end; empty: none
  bool no_slash_escape = false;  // "\/" is no escape for the reader
};

// Throws Code::unsupported for more arguments than can be told apart, and for a marker whose end may be taken
// for its beginning.
GrammarPtr arguments_grammar(WrittenArguments arguments, const std::string& where);

}  // namespace ingle::constrain
