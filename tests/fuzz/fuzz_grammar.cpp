// Any text compiled as a grammar of one kind, and what follows a zero byte judged by it: an Error or a
// verdict, the same both times, and what is accepted can be taken byte by byte when writing too.
#include <string>
#include <string_view>

#include "constrain/grammar.h"
#include "ingle/error.hpp"

namespace {

using namespace ingle::constrain;

Budget small() {
  Budget b;
  b.nfa_states = 20'000;
  b.dfa_states = 2'000;
  b.nodes = b.branches = 500;
  b.steps = 300'000;
  return b;
}

GrammarPtr compile(char kind, std::string_view source) {
  switch (kind) {
    case 'L':
      return lark_grammar(source, "fuzz", small());
    case 'R':
      return regex_grammar(source, "fuzz", small());
    case 'S':
      return schema_grammar(source, {true, false}, "fuzz", small());
    default:
      return gbnf_grammar(source, "fuzz", small());
  }
}

std::string outcome(char kind, std::string_view source, std::string_view text) {
  try {
    const GrammarPtr grammar = compile(kind, source);
    const auto judge = grammar->matcher(Purpose::judge);
    const bool accepted = judge->advance(text) && judge->accepting();
    if (accepted && kind != 'S') {
      const auto write = grammar->matcher(Purpose::write);
      if (!write->advance(text) || !write->accepting()) __builtin_trap();
    }
    return accepted ? "yes" : "no";
  } catch (const ingle::Error& e) {
    return e.what();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (input.empty() || size > 20'000) return 0;
  const size_t zero = input.find('\0');
  const std::string_view source = input.substr(1, zero == input.npos ? zero : zero - 1);
  const std::string_view text = zero == input.npos ? "" : input.substr(zero + 1).substr(0, 200);
  if (outcome(input[0], source, text) != outcome(input[0], source, text)) __builtin_trap();
  return 0;
}
