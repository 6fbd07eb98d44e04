#include "core/error.h"

namespace ingle {

Error::Error(Code code, std::string where, std::string message, std::string hint)
    : code_(code), where_(std::move(where)), message_(std::move(message)), hint_(std::move(hint)) {
  what_ = where_.empty() ? message_ : where_ + ": " + message_;
  if (!hint_.empty()) what_ += " (" + hint_ + ")";
}

const char* code_name(Code code) noexcept {
  switch (code) {
    case Code::ok:
      return "ok";
    case Code::invalid_argument:
      return "invalid argument";
    case Code::not_found:
      return "not found";
    case Code::io:
      return "input/output";
    case Code::corrupt:
      return "corrupt";
    case Code::unsupported:
      return "unsupported";
    case Code::out_of_memory:
      return "out of memory";
    case Code::context_full:
      return "context full";
    case Code::cancelled:
      return "cancelled";
    case Code::busy:
      return "busy";
    case Code::numeric:
      return "numeric";
    case Code::internal:
      return "internal";
  }
  return "unknown";
}

namespace {

// Messages quote what stands in files, and a name in a file may be megabytes long.
std::string bounded(std::string text) {
  constexpr size_t kMost = 2048;
  if (text.size() <= kMost) return text;
  size_t keep = kMost / 2, from = text.size() - kMost / 2;
  const auto inside = [&](size_t i) { return (static_cast<unsigned char>(text[i]) & 0xC0) == 0x80; };
  while (keep > 0 && inside(keep)) --keep;  // no character is cut
  while (from < text.size() && inside(from)) ++from;
  return text.substr(0, keep) + format(" … {} bytes … ", from - keep) + text.substr(from);
}

}  // namespace

void fail(Code code, std::string where, std::string message, std::string hint) {
  throw Error(code, bounded(std::move(where)), bounded(std::move(message)), bounded(std::move(hint)));
}

}  // namespace ingle
