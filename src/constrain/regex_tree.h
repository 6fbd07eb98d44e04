// A regular expression, parsed; also the right side of a grammar's rule.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "constrain/code_points.h"

namespace ingle::constrain {

struct RegexNode {
  enum class Kind : uint8_t { set, sequence, choice, repeat, begin, end, text, call };
  Kind kind = Kind::sequence;
  CodePoints set;
  std::vector<RegexNode> children;
  int64_t low = 0, high = 0;  // of a repeat; high -1: no bound
  std::string text;           // UTF-8
  int32_t rule = -1;          // of a call, in grammars alone
};

RegexNode parse_regex(std::string_view pattern, const std::string& where);

}  // namespace ingle::constrain
