// The inside of a JSON string or key, whatever it stands in: its content and the quote that ends it.
#pragma once
#include <memory>
#include <vector>

#include "constrain/json_cursor.h"
#include "constrain/json_machine.h"
#include "constrain/matcher.h"

namespace ingle::constrain {

std::unique_ptr<Matcher> text_inside(const Dfa& dfa, const StringCursor& at, bool escapes);
// `allowed`: the classes that the key may turn out to be; way_out() tells which.
std::unique_ptr<Matcher> key_inside(const ObjectShape& shape, const StringCursor& at,
                                    const std::vector<uint64_t>& allowed);

}  // namespace ingle::constrain
