// Element types. Core knows sizes, never formats by name: quantised types are ids that the catalog in quant/
// hands out, each with the size of its block.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace ingle {

enum class DType : uint16_t {
  f32 = 1,
  f16 = 2,
  bf16 = 3,
  f64 = 4,
  f8_e4m3 = 8,
  f8_e5m2 = 9,
  f8_e8m0 = 10,
  i8 = 16,
  i16 = 17,
  i32 = 18,
  i64 = 19,
  u8 = 24,
  u16 = 25,
  u32 = 26,
  u64 = 27,
  boolean = 28,
  first_quantised = 256,  // ids from here on belong to quant/catalog.cpp
};

struct DTypeInfo {
  DType type;
  std::string_view name;  // "q4_k"
  uint32_t block_elems;   // elements of one block along a row; 1 for plain types
  uint32_t block_bytes;
  int32_t ggml_id;               // the type's number in GGUF files, -1 when it has none
  std::string_view safetensors;  // its name in safetensors files, empty when it has none
};

// The types that a container reader may meet; the catalog in quant/ provides the full table.
class DTypeTable {
 public:
  constexpr explicit DTypeTable(std::span<const DTypeInfo> rows) : rows_(rows) {}
  std::span<const DTypeInfo> rows() const { return rows_; }
  const DTypeInfo* find(DType type) const;
  const DTypeInfo* find_ggml(int64_t id) const;
  const DTypeInfo* find_safetensors(std::string_view name) const;
  const DTypeInfo* find_name(std::string_view name) const;

 private:
  std::span<const DTypeInfo> rows_;
};

// Bytes of `n` elements in whole blocks; nothing when they do not divide or do not fit.
std::optional<uint64_t> bytes_of(const DTypeInfo& info, uint64_t n);

}  // namespace ingle
