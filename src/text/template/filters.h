// What the filter files share.
#pragma once
#include "text/template/library.h"

namespace ingle::text::jinja {

// `path` is an integer, or names separated by dots, as the attribute arguments of filters are.
Value attribute_of(Interp& in, const Value& item, const Value& path);
Value ignore_case(Interp& in, const Value& v);

}  // namespace ingle::text::jinja
