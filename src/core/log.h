// The library never prints: what it has to say goes to the host's callback, or nowhere.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace ingle {

enum class LogLevel : int32_t { debug = 0, info = 1, warning = 2, error = 3 };
using LogSink = std::function<void(LogLevel, std::string_view)>;

}  // namespace ingle
