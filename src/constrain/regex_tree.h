// A regular expression, parsed.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "constrain/code_points.h"

namespace ingle::constrain {

struct RegexNode {
  enum class Kind : uint8_t { set, sequence, choice, repeat, begin, end };
  Kind kind = Kind::sequence;
  CodePoints set;
  std::vector<RegexNode> children;
  int64_t low = 0, high = 0;  // of a repeat; high -1: no bound
};

RegexNode parse_regex(std::string_view pattern, const std::string& where);

}  // namespace ingle::constrain
