// What one rendering may spend, and the only place that makes values owning memory.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ingle/error.hpp"

namespace ingle::text::jinja {

// A step is one statement, one expression node, one call, 4 KiB copied or 16 bytes walked by character.
struct Limits {
  uint64_t steps = 16'000'000;
  uint32_t depth = 400;             // nested evaluations, macro calls included
  size_t text_bytes = 16u << 20;    // the output, and any one string
  size_t live_bytes = 256u << 20;   // strings, lists and dicts alive at a time
  size_t stack_bytes = 160u << 10;  // of the calling thread: a backstop below 256 KiB
  uint32_t parse_depth = 200;       // nested constructs in the source
  size_t source_bytes = 1u << 20;
};

// Thrown inside; the template's entry points add the position and throw ingle::Error.
struct Failure {
  Code code;
  std::string message;
};
// The template or the conversation is at fault.
[[noreturn]] void raise(std::string message);
// A bound was passed, or a construct is not held.
[[noreturn]] void refuse(std::string message);

// The bytes of a text that a user wrote: ranges in order, apart from each other.
using Marks = std::vector<std::pair<uint32_t, uint32_t>>;
void add_range(Marks& marks, size_t begin, size_t end);  // behind all that is there

class Heap {
 public:
  explicit Heap(const Limits& bounds = {}) : limits(bounds) {}
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;

  void spend(uint64_t n);
  // Charges for text and lists, by what they cost against a step: a copy, a walk over characters, a search
  // for `needle_bytes` in so many (at worst the product).
  void copied(size_t bytes) { spend(1 + bytes / 4096); }
  void walked(size_t bytes) { spend(1 + bytes / 16); }
  void searched(size_t bytes, size_t needle_bytes) { spend(1 + bytes / 64 * (1 + needle_bytes / 256)); }
  void take(size_t bytes);
  void give_back(size_t bytes) noexcept { live_ -= bytes; }

  const Limits limits;
  // Set while a builtin runs that is given a user's text: all text that it makes counts as the user's, unless
  // the builtin says exactly which part is.
  bool mark_all = false;

 private:
  uint64_t steps_ = 0;
  size_t live_ = 0;
};

// Text under construction that may not pass a bound; what it holds is charged.
class Sink {
 public:
  explicit Sink(Heap& heap) : heap_(heap) {}
  ~Sink() { heap_.give_back(charged_); }
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;

  void add(std::string_view piece) {
    if (piece.size() > charged_ - text_.size()) grow(piece.size());
    text_.append(piece);
  }
  void add(char c) { add(std::string_view(&c, 1)); }
  // A piece of a text whose marks are given; it begins there at `from`.
  void add(std::string_view piece, const Marks& marks, size_t from = 0);
  // What came since `begin` bytes is a user's.
  void mark_since(size_t begin) { add_range(marks_, begin, text_.size()); }
  size_t size() const { return text_.size(); }
  Marks take_marks() { return std::exchange(marks_, {}); }
  void repeat(std::string_view piece, int64_t times);
  std::string take();
  std::string_view text() const { return text_; }
  Heap& heap() { return heap_; }

 private:
  void grow(size_t more);
  Heap& heap_;
  std::string text_;
  Marks marks_;
  size_t charged_ = 0;  // never below text_.size()
};

}  // namespace ingle::text::jinja
