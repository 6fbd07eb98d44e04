#include "arguments.h"

namespace ingle::capi {

std::string_view text_argument(const char* text, int64_t length, const char* argument) {
  if (length < -1)
    fail(Code::invalid_argument, argument, format("a length of {}, expected -1 or more", length));
  if (!text && length == 0) return {};
  if (!text) fail(Code::invalid_argument, argument, "is NULL, expected a text");
  return length < 0 ? std::string_view(text) : std::string_view(text, static_cast<size_t>(length));
}

std::string string_argument(const char* text, const char* argument) {
  if (!text) fail(Code::invalid_argument, argument, "is NULL, expected a text");
  if (!*text) fail(Code::invalid_argument, argument, "is empty");
  return text;
}

EncodeOptions encode_flags(int32_t flags) {
  constexpr int32_t kKnown = INGLE_PARSE_SPECIAL | INGLE_ADD_SPECIAL;
  if (flags & ~kKnown)
    fail(Code::invalid_argument, "flags",
         format("{}, expected a sum of INGLE_PARSE_SPECIAL (1) and INGLE_ADD_SPECIAL (2)", flags));
  return {(flags & INGLE_PARSE_SPECIAL) != 0, (flags & INGLE_ADD_SPECIAL) != 0};
}

bool flag_argument(int32_t value, const char* argument) {
  if (value != 0 && value != 1)
    fail(Code::invalid_argument, argument, format("is {}, expected 0 or 1", value));
  return value == 1;
}

void check_struct_size(uint32_t size, size_t known, const char* argument) {
  constexpr size_t kMost = 4096;
  if (size < known || size > kMost || size % sizeof(uint32_t) != 0)
    fail(Code::invalid_argument, argument, format("struct_size is {}, expected {}", size, known),
         "start from the struct's INIT macro");
}

void check_struct_tail(const void* data, uint32_t size, size_t known, const char* argument) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  for (size_t i = known; i < size; ++i)
    if (bytes[i] != 0)
      fail(Code::unsupported, argument,
           format("a field at byte {} is set that this version does not know", i), "use a newer library");
}

void check_reserved(bool zero, const char* argument) {
  if (!zero)
    fail(Code::invalid_argument, argument, "reserved is not zero", "start from the struct's INIT macro");
}

std::function<bool(double)> progress_argument(const ingle_progress* progress) {
  if (!progress) return {};
  const ingle_progress p = struct_argument(progress, "progress");
  check_reserved(p.reserved == 0, "progress");
  if (!p.report) fail(Code::invalid_argument, "progress", "report is NULL");
  return [p](double fraction) { return p.report(fraction, p.user) == 0; };
}

std::function<bool(float)> load_progress(const ingle_progress* progress) {
  auto report = progress_argument(progress);
  if (!report) return {};
  return [report](float fraction) { return report(fraction); };
}

std::function<bool(int64_t, int64_t)> feed_progress(const ingle_progress* progress) {
  auto report = progress_argument(progress);
  if (!report) return {};
  return [report](int64_t done, int64_t total) {
    return report(total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 1.0);
  };
}

}  // namespace ingle::capi
