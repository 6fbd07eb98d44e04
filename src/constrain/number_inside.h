// A number that is being written, whatever it stands in.
#pragma once
#include <memory>

#include "constrain/json_cursor.h"
#include "constrain/matcher.h"

namespace ingle::constrain {

// Takes a byte of the number's own. False: no number of the rule goes on so. When writing, digits that no
// longer matter are not told apart.
bool take(const NumberRule& rule, NumberCursor& at, uint8_t byte, bool writing, bool forget);
// Is it whole, and of the rule?
bool holds(const NumberRule& rule, const NumberCursor& at);
// left(): it may have ended.
std::unique_ptr<Matcher> number_inside(const NumberRule& rule, const NumberCursor& at);

}  // namespace ingle::constrain
