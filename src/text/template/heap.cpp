// The budget of one rendering.
#include "text/template/heap.h"

#include <algorithm>
#include <utility>

#include "core/format.h"

namespace ingle::text::jinja {

void raise(std::string message) { throw Failure{Code::invalid_argument, std::move(message)}; }
void refuse(std::string message) { throw Failure{Code::unsupported, std::move(message)}; }

void Heap::spend(uint64_t n) {
  if (n > limits.steps - steps_) refuse(format("the template takes more than {} steps", limits.steps));
  steps_ += n;
}

void Heap::take(size_t bytes) {
  if (bytes > limits.live_bytes - live_) {
    refuse(format("the template's values take more than {} bytes", limits.live_bytes));
  }
  live_ += bytes;
}

void add_range(Marks& marks, size_t begin, size_t end) {
  if (begin == end) return;
  if (!marks.empty() && begin <= marks.back().second) {
    marks.back().second = static_cast<uint32_t>(end);
  } else {
    marks.emplace_back(static_cast<uint32_t>(begin), static_cast<uint32_t>(end));
  }
}

void Sink::add(std::string_view piece, const Marks& marks, size_t from) {
  const size_t begin = text_.size();
  add(piece);
  if (marks.empty()) return;
  heap_.spend(marks.size() / 64);
  auto it = std::partition_point(marks.begin(), marks.end(), [&](const auto& m) { return m.second <= from; });
  for (; it != marks.end() && it->first < from + piece.size(); ++it)
    add_range(marks_, begin + std::max<size_t>(it->first, from) - from,
              begin + std::min<size_t>(it->second, from + piece.size()) - from);
}

void Sink::grow(size_t more) {
  const size_t need = text_.size() + more;
  if (more > heap_.limits.text_bytes || need > heap_.limits.text_bytes) {
    refuse(format("the template makes a text of more than {} bytes", heap_.limits.text_bytes));
  }
  const size_t want = std::max({need, 2 * charged_, size_t{64}});
  heap_.take(want - charged_);
  charged_ = want;
}

void Sink::repeat(std::string_view piece, int64_t times) {
  if (times <= 0 || piece.empty()) return;
  if (static_cast<uint64_t>(times) > heap_.limits.text_bytes / piece.size())
    grow(heap_.limits.text_bytes + 1);
  heap_.copied(piece.size() * static_cast<size_t>(times));
  for (int64_t i = 0; i < times; ++i) add(piece);
}

std::string Sink::take() {
  heap_.give_back(charged_);
  charged_ = 0;
  return std::exchange(text_, {});
}

}  // namespace ingle::text::jinja
