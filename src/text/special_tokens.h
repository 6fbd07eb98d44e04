// Which tokens end a text, and which are more than text: by key, and by name where files do not say.
#pragma once
#include "text/vocabulary.h"

namespace ingle::text {

// Fills `special` and `suffix`, and turns tokens with the names of control tokens into control tokens.
void load_special_tokens(const formats::Checkpoint& file, Vocabulary& vocabulary);

// Names of control tokens at which generation ends, whatever the file calls them.
bool ends_generation_by_name(std::string_view text);

}  // namespace ingle::text
