// The table in docs/samplers.md is that of the parameters.
#include <fstream>
#include <sstream>

#include "sampling/support.h"

using namespace ingle;
using namespace ingle::sampling;

namespace {

// As people write it: 0.8 and not 0.800000011920929, 9007199254740992 and not 9e15.
std::string plain(double x) {
  std::ostringstream text;
  if (x == std::floor(x))
    text << static_cast<int64_t>(x);
  else
    text << static_cast<float>(x);
  return text.str();
}

}  // namespace

TEST_CASE("each parameter is documented with its range and default", "[sampling]") {
  std::ifstream file(INGLE_SOURCE_DIR "/docs/samplers.md");
  std::ostringstream text;
  text << file.rdbuf();
  for (const ParamInfo& info : param_table()) {
    std::string line = "| `" + std::string(info.key) + "` | ";
    if (!info.type.starts_with("list"))
      line += plain(info.low) + " to " + plain(info.high) + " | " + plain(info.initial) + " | " +
              std::string(info.help) + " |";
    INFO(line);
    CHECK(text.str().find(line) != std::string::npos);
  }
}
