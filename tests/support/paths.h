// Where tests find their data. What may be absent on a user's machine comes as nothing, after a warning that
// says so.
#pragma once
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "support/catch.h"

namespace ingle::tests {

// A file or folder under tests/data, which is always there.
inline std::string data_path(const std::string& relative) {
  return std::string(INGLE_TEST_DATA) + "/" + relative;
}

inline std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  return value && *value ? std::optional<std::string>(value) : std::nullopt;
}

inline std::optional<std::string> first_existing(const std::vector<std::string>& candidates) {
  for (const std::string& path : candidates) {
    std::error_code ignored;
    if (std::filesystem::exists(path, ignored)) return path;
  }
  return std::nullopt;
}

// A file or folder of the larger goldens, in $INGLE_SHARED or beside the source tree.
inline std::optional<std::string> shared_path(const std::string& relative) {
  const std::string root = environment("INGLE_SHARED").value_or(INGLE_SOURCE_DIR "/../shared");
  auto found = first_existing({root + "/" + relative});
  if (!found) WARN("skipped: " << relative << " is not there (INGLE_SHARED names the folder)");
  return found;
}

// A real model by file name, in the folder that `make run` fills or one that the user names.
inline std::optional<std::string> model_path(const std::string& name) {
  std::vector<std::string> candidates;
  if (auto v = environment("INGLE_MODELS")) candidates.push_back(*v + "/" + name);
  if (auto v = environment("XDG_DATA_HOME")) candidates.push_back(*v + "/ingle/models/" + name);
  if (auto v = environment("HOME")) {
    candidates.push_back(*v + "/.local/share/ingle/models/" + name);
    candidates.push_back(*v + "/.cache/ingle-models/" + name);
  }
  auto found = first_existing(candidates);
  if (!found) WARN("skipped: the model " << name << " is not there (INGLE_MODELS names the folder)");
  return found;
}

}  // namespace ingle::tests
