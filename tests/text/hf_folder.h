// Where the trained tokenizers lie.
#pragma once
#include <algorithm>
#include <functional>
#include <sstream>

#include "core/error.h"
#include "text/hugging_face.h"
#include "vocabs.h"

namespace ingle::tests {

inline std::string read_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  REQUIRE(in);
  std::stringstream all;
  all << in.rdbuf();
  return all.str();
}

inline std::string trained_folder() { return INGLE_TEST_DATA "/text/trained"; }

}  // namespace ingle::tests
