// Texts that are looked for in free text.
#pragma once
#include <string>
#include <vector>

#include "constrain/dfa.h"

namespace ingle::constrain {

// Finds triggers (Aho and Corasick 1975): every state knows which of them have just ended.
struct Triggers {
  Dfa steps;
  std::vector<std::vector<int32_t>> ended;  // by state
};

Triggers find_triggers(const std::vector<std::string>& texts);

}  // namespace ingle::constrain
