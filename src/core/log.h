// The library never prints: what it has to say goes to the host's callback, or nowhere.
#pragma once
#include <functional>
#include <string_view>

#include "ingle/runtime.hpp"

namespace ingle {

using LogSink = std::function<void(LogLevel, std::string_view)>;

}  // namespace ingle
