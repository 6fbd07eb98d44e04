// The values of "format" that have an exact regular form, as regular expressions that the whole text matches.
#pragma once
#include <string_view>

namespace ingle::constrain {

// Null when the format is not known here.
const char* format_pattern(std::string_view name);

}  // namespace ingle::constrain
