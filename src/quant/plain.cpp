// Types without blocks. Every one decodes, so that small tensors of any type can be read; f32, f16 and bf16
// encode.
#include <cstring>

#include "quant/block_format.h"

namespace ingle::quant {
namespace {

template <class T>
T load(const std::byte* p) {
  T v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

template <class T, float (*kConvert)(T)>
void decode_plain(const QuantWeight& w, int64_t row, int64_t n, float* out) {
  const std::byte* p = w.parts[0].data + row * w.cols() * static_cast<int64_t>(sizeof(T));
  for (int64_t i = 0; i < n * w.cols(); ++i)
    out[i] = kConvert(load<T>(p + i * static_cast<int64_t>(sizeof(T))));
}

template <class T, T (*kConvert)(float)>
void encode_plain(const float* x, int64_t k, const float*, std::byte* out) {
  for (int64_t i = 0; i < k; ++i) {
    const T v = kConvert(x[i]);
    std::memcpy(out + i * static_cast<int64_t>(sizeof(T)), &v, sizeof v);
  }
}

template <class T, float (*kConvert)(T)>
constexpr QuantFormat plain(DType type, std::string_view name, int32_t ggml_id,
                            std::string_view safetensors) {
  return {.name = name,
          .dtype = {type, name, 1, sizeof(T), ggml_id, safetensors},
          .bits_per_weight = 8.0 * sizeof(T),
          .decode_rows = decode_plain<T, kConvert>,
          .encode_row = nullptr};
}
template <class T, float (*kConvert)(T), T (*kBack)(float)>
constexpr QuantFormat plain_both(DType type, std::string_view name, int32_t ggml_id,
                                 std::string_view safetensors) {
  QuantFormat f = plain<T, kConvert>(type, name, ggml_id, safetensors);
  f.encode_row = encode_plain<T, kBack>;
  return f;
}

float same(float v) { return v; }
template <class T>
float number(T v) {
  return static_cast<float>(v);
}
float truth(uint8_t v) { return v ? 1.0f : 0.0f; }

}  // namespace

constinit const QuantFormat kF32 = plain_both<float, same, same>(DType::f32, "f32", 0, "F32");
constinit const QuantFormat kF16 =
    plain_both<uint16_t, half_to_float, float_to_half>(DType::f16, "f16", 1, "F16");
constinit const QuantFormat kBf16 =
    plain_both<uint16_t, bf16_to_float, float_to_bf16>(DType::bf16, "bf16", 30, "BF16");
constinit const QuantFormat kF64 = plain<double, number<double>>(DType::f64, "f64", 28, "F64");
constinit const QuantFormat kF8E4M3 = plain<uint8_t, e4m3_to_float>(DType::f8_e4m3, "f8_e4m3", -1, "F8_E4M3");
constinit const QuantFormat kF8E5M2 = plain<uint8_t, e5m2_to_float>(DType::f8_e5m2, "f8_e5m2", -1, "F8_E5M2");
constinit const QuantFormat kF8E8M0 = plain<uint8_t, e8m0_to_float>(DType::f8_e8m0, "f8_e8m0", -1, "F8_E8M0");
constinit const QuantFormat kI8 = plain<int8_t, number<int8_t>>(DType::i8, "i8", 24, "I8");
constinit const QuantFormat kI16 = plain<int16_t, number<int16_t>>(DType::i16, "i16", 25, "I16");
constinit const QuantFormat kI32 = plain<int32_t, number<int32_t>>(DType::i32, "i32", 26, "I32");
constinit const QuantFormat kI64 = plain<int64_t, number<int64_t>>(DType::i64, "i64", 27, "I64");
constinit const QuantFormat kU8 = plain<uint8_t, number<uint8_t>>(DType::u8, "u8", -1, "U8");
constinit const QuantFormat kU16 = plain<uint16_t, number<uint16_t>>(DType::u16, "u16", -1, "U16");
constinit const QuantFormat kU32 = plain<uint32_t, number<uint32_t>>(DType::u32, "u32", -1, "U32");
constinit const QuantFormat kU64 = plain<uint64_t, number<uint64_t>>(DType::u64, "u64", -1, "U64");
constinit const QuantFormat kBool = plain<uint8_t, truth>(DType::boolean, "bool", -1, "BOOL");

}  // namespace ingle::quant
