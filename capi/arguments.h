// Checks of plain arguments. All throw Code::invalid_argument with the argument's name as `where`.
#pragma once
#include <ingle/ingle.h>

#include <cstring>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "core/error.h"
#include "ingle/tokenizer.hpp"

namespace ingle::capi {

// length -1: up to the NUL. NULL is the empty text when the length is 0.
std::string_view text_argument(const char* text, int64_t length, const char* argument);
std::string string_argument(const char* text, const char* argument);  // ends with a NUL, not empty
EncodeOptions encode_flags(int32_t flags);
bool flag_argument(int32_t value, const char* argument);  // 0 or 1

template <class T>
std::span<const T> span_argument(const T* data, int64_t n, const char* argument) {
  if (n < 0 || n > std::numeric_limits<ptrdiff_t>::max() / static_cast<ptrdiff_t>(sizeof(T)))
    fail(Code::invalid_argument, argument, format("a count of {}", n));
  if (!data && n > 0) fail(Code::invalid_argument, argument, format("is NULL, expected {} elements", n));
  return {data, static_cast<size_t>(n)};
}

// Where a result goes; zero or NULL until there is one.
template <class T>
T& out_argument(T* out, const char* argument) {
  if (!out) fail(Code::invalid_argument, argument, "is NULL, expected a place for the result");
  return *out = T{};
}

// What a struct of `size` bytes, known here with `known` bytes, may be: never smaller; larger when a newer
// program left all that this library does not know at zero.
void check_struct_size(uint32_t size, size_t known, const char* argument);
void check_struct_tail(const void* data, uint32_t size, size_t known, const char* argument);
void check_reserved(bool zero, const char* argument);

template <class T>
const T& struct_argument(const T* data, const char* argument) {
  if (!data) fail(Code::invalid_argument, argument, "is NULL");
  check_struct_size(data->struct_size, sizeof(T), argument);
  check_struct_tail(data, data->struct_size, sizeof(T), argument);
  return *data;
}

// A struct that the library fills: what this version does not know becomes zero.
template <class T>
T& out_struct_argument(T* data, const char* argument) {
  if (!data) fail(Code::invalid_argument, argument, "is NULL, expected a place for the result");
  const uint32_t size = data->struct_size;
  check_struct_size(size, sizeof(T), argument);
  std::memset(static_cast<void*>(data), 0, size);
  data->struct_size = size;
  return *data;
}

// Null: an empty function. `progress` is copied.
std::function<bool(double)> progress_argument(const ingle_progress* progress);
std::function<bool(float)> load_progress(const ingle_progress* progress);
std::function<bool(int64_t, int64_t)> feed_progress(const ingle_progress* progress);

}  // namespace ingle::capi
