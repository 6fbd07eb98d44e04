// Sets of code points.
#pragma once
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace ingle::constrain {

// Disjoint, ascending, with gaps between; both ends included.
using CodePoints = std::vector<std::pair<uint32_t, uint32_t>>;

CodePoints normalised(CodePoints set);
CodePoints complement(const CodePoints& set);
const CodePoints& digits();       // \d: ASCII
const CodePoints& word();         // \w: ASCII letters, digits, underscore
const CodePoints& white_space();  // \s as ECMA-262 has it
// \p{…}: a general category ("L", "Lu", "Letter", …), "Any", "ASCII". False when it is not known.
bool unicode_property(std::string_view name, CodePoints& out);

}  // namespace ingle::constrain
