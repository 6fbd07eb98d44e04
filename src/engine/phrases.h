// Phrases that must not come up in a text.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ingle::engine {

class Phrases {
 public:
  explicit Phrases(std::vector<std::string> phrases) : phrases_(std::move(phrases)) {}
  bool none() const { return phrases_.empty(); }
  // Where the one begins that ends first in `text`; of those that end together the longest.
  std::optional<size_t> find(std::string_view text) const;
  size_t started(std::string_view text) const;  // how many bytes at the end may be the beginning of one

 private:
  std::vector<std::string> phrases_;
};

}  // namespace ingle::engine
