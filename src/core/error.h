// How the rooms raise errors: fail(code, where, message, hint).
#pragma once
#include "core/format.h"
#include "ingle/error.hpp"

namespace ingle {

[[noreturn]] void fail(Code code, std::string where, std::string message, std::string hint = {});

}  // namespace ingle
