// What the tests of this room share: a small type table, a GGUF built by hand, and how refusals are checked.
#pragma once
#include <cstring>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <vector>

#include "core/error.h"
#include "formats/checkpoint.h"
#include "support/catch.h"

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

inline std::string data_path(const std::string& name) {
  return std::string(INGLE_TEST_DATA "/formats/") + name;
}

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
void check_refused(Act&& act, Code code, std::initializer_list<const char*> parts) {
  std::string text;
  Code found = Code::ok;
  try {
    act();
  } catch (const Error& error) {
    text = error.what();
    found = error.code();
  }
  INFO("error: " << text);
  CHECK(found == code);
  for (const char* part : parts) {
    INFO("expected to read: " << part);
    CHECK(text.find(part) != std::string::npos);
  }
}

// A folder that goes away with the test.
class TempFolder {
 public:
  TempFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "ingle-formats-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp");
    path_ = name;
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace ingle::formats::test
