// What the reader and the writer of GGUF share: the numbers of the value types, and the limits we hold files
// to.
#pragma once
#include <cstdint>
#include <string_view>

namespace ingle::formats::gguf {

enum class ValueType : uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, string, array, u64, i64, f64 };

constexpr std::string_view kMagic = "GGUF";
constexpr std::string_view kAlignmentKey = "general.alignment";
constexpr std::string_view kSplitNo = "split.no", kSplitCount = "split.count",
                           kSplitTensors = "split.tensors.count";

constexpr uint64_t kDefaultAlignment = 32;
constexpr uint64_t kMinAlignment = 8, kMaxAlignment = 64 * 1024;
constexpr uint64_t kMaxKeys = 1ull << 20, kMaxTensors = 1ull << 20;
constexpr uint64_t kMaxNameBytes = 65535;           // keys (the specification's limit) and tensor names
constexpr uint64_t kMaxStringBytes = 64ull << 20;   // a value
constexpr uint64_t kMaxArrayElements = 1ull << 25;  // of all arrays of a file together: bounds our memory
constexpr uint64_t kMaxTensorElements = 1ull << 48;
constexpr uint32_t kMaxDims = 4;

}  // namespace ingle::formats::gguf
