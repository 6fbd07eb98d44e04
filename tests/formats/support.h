// What the tests of this room share: a small type table, sources, and how refusals are checked.
#pragma once
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "core/error.h"
#include "formats/checkpoint.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/paths.h"
#include "support/temp.h"

namespace ingle::formats::test {

constexpr DType quantised(int n) { return static_cast<DType>(static_cast<int>(DType::first_quantised) + n); }
constexpr DType kQ4_0 = quantised(0), kQ8_0 = quantised(1), kQ4_K = quantised(2), kTQ2_0 = quantised(3);

// The catalog lives in a room above this one.
inline const DTypeTable& types() {
  static constexpr DTypeInfo kRows[] = {
      {DType::f32, "f32", 1, 4, 0, "F32"},
      {DType::f16, "f16", 1, 2, 1, "F16"},
      {DType::bf16, "bf16", 1, 2, 30, "BF16"},
      {DType::f64, "f64", 1, 8, 28, "F64"},
      {DType::i8, "i8", 1, 1, 24, "I8"},
      {DType::i32, "i32", 1, 4, 26, "I32"},
      {DType::i64, "i64", 1, 8, 27, "I64"},
      {DType::u8, "u8", 1, 1, -1, "U8"},
      {DType::boolean, "bool", 1, 1, -1, "BOOL"},
      {DType::f8_e4m3, "f8_e4m3", 1, 1, -1, "F8_E4M3"},
      {kQ4_0, "q4_0", 32, 18, 2, ""},
      {kQ8_0, "q8_0", 32, 34, 8, ""},
      {kQ4_K, "q4_k", 256, 144, 12, ""},
      {kTQ2_0, "tq2_0", 256, 66, 35, ""},
      {quantised(4), "f4", 2, 1, -1, "F4"},
  };
  static constexpr DTypeTable kTable{kRows};
  return kTable;
}

inline std::string data_path(const std::string& name) { return tests::data_path("formats/" + name); }

using Bytes = std::vector<std::byte>;

inline Bytes bytes_in(const Checkpoint& file, std::string_view tensor) {
  const TensorInfo* info = file.find(tensor);
  if (!info) return {};
  Bytes scratch;
  const TensorView view = file.view(*info, scratch);
  return Bytes(view.data, view.data + view.bytes);
}

// `act` must throw an Error of this code whose text holds each of `parts`.
template <class Act>
void check_refused(Act&& act, Code code, const std::vector<std::string>& parts) {
  const Error error = tests::error_of(act);
  const std::string text = error.what() + (" " + error.hint());
  INFO("error: " << text);
  CHECK(error.code() == code);
  for (const std::string& part : parts) {
    INFO("expected to read: " << part);
    CHECK(tests::contains(text, part));
  }
}

inline std::span<const std::byte> as_bytes(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}
inline std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

// The same bytes as a mapping and behind a reader.
inline ByteSourcePtr in_memory(const std::string& bytes, std::string name = "test.bin") {
  return from_memory(std::move(name), as_bytes(bytes));
}
inline ByteSourcePtr behind_reader(const std::string& bytes, std::string name = "test.bin") {
  return from_reader(std::move(name), bytes.size(), [&bytes](uint64_t offset, std::span<std::byte> out) {
    std::memcpy(out.data(), bytes.data() + offset, out.size());
    return true;
  });
}

}  // namespace ingle::formats::test
