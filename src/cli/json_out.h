// One JSON value, one line on stdout. Bytes that are not valid UTF-8 become U+FFFD.
#pragma once
#include <cstdio>
#include <nlohmann/json.hpp>

namespace ingle::cli {

using Json = nlohmann::ordered_json;

inline void print_json(const Json& value) {
  const std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);  // whoever asks line by line waits for it
}

}  // namespace ingle::cli
