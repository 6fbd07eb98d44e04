// Names that a file gave: how errors print them, and a look-up that hostile names cannot slow down.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ingle::formats {

// 'name', cut to a length that fits an error message, everything but printable ASCII escaped.
std::string quote(std::string_view name);

// Sorted rather than hashed: colliding names cost nothing. The strings stay with the caller and must not
// move.
class NameIndex {
 public:
  void add(std::string_view name, size_t position) { entries_.emplace_back(name, position); }
  void sort();
  std::optional<size_t> find(std::string_view name) const;
  // Two positions with the same name, the lower one first; nothing when all names differ.
  std::optional<std::pair<size_t, size_t>> duplicate() const;

 private:
  std::vector<std::pair<std::string_view, size_t>> entries_;
};

}  // namespace ingle::formats
