// Scripts of characters, as the pre-tokenizer UnicodeScripts groups them.
#pragma once
#include "text/unicode.h"

namespace ingle::text::hf {

// A number for the script of `c`; `before` for spaces and what has no script. Kana count as Han.
int script_class(const Char& c, int before);

}  // namespace ingle::text::hf
