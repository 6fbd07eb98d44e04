// Bytes that arrive in parts, as whole characters.
#pragma once
#include <string>

#include "text/tokenizer.h"

namespace ingle::text {

// Moves whole characters from the front of `pending` to the result. What can never become one is U+FFFD; what
// the next bytes may complete stays, unless this is the end.
std::string take_characters(std::string& pending, bool at_end);

}  // namespace ingle::text
