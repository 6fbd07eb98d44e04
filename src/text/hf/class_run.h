// Expressions that are a run of one character class, `[ \s]?[class]{1,n}`: most of what Split searches for.
#pragma once
#include <memory>
#include <string_view>

#include "text/hf/pattern.h"

namespace ingle::text::hf {

// Null when the expression is not of that form.
std::unique_ptr<Pattern> make_class_run(std::string_view expression);

}  // namespace ingle::text::hf
