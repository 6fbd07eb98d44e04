// Calls of tools as a grammar: what opens a call, its arguments, what ends it.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "constrain/grammar.h"

namespace ingle::constrain {

// A control token stands in an answer's bytes as a spelling of its own, that no text has and none can be
// mistaken for.
constexpr uint8_t kControlByte = 0xFF;
constexpr size_t kControlBytes = 5;  // this, and four from 0x80 to 0xBF
std::string control_spelling(int32_t token);

struct Call {
  std::string begin;
  GrammarPtr
      arguments;  // which end where nothing can follow them, or before what no text of theirs goes on with
  std::string end;
};

struct CallsOptions {
  // Empty: a call begins at once. Else free text comes first, in which this, the beginning of all calls,
  // opens one; control tokens may stand in it. The answer may end without a call.
  std::string trigger;
  bool never = false;  // the trigger may not come, and no call
  bool must = false;   // a call begins at once, as without a trigger
  // At the very start a call may come without the trigger: the prompt has written it, or the model need not.
  // Free text then begins with `free_begin`, and with none of the bytes of `not_free` behind white space.
  bool at_start = false;
  bool only_start = false;  // calls have no trigger at all and may stand at the start alone
  std::string free_begin, not_free;
  // Free text does not hold this: the trigger in letters, where it is a control token. Empty: it holds all.
  std::string not_in_free;
  std::string head, foot;  // around all calls
  bool many = true;        // may another call follow?
  std::string separator;   // between calls
};

// Throws Code::invalid_argument for a trigger that does not begin head and call.
GrammarPtr calls_grammar(std::vector<Call> calls, const CallsOptions& options, const std::string& where);

}  // namespace ingle::constrain
