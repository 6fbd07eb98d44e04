#include <vector>

#include "kernels/ref/bf16_pair.h"
#include "kernels/ref/ref.h"
#include "quant/blocks.h"
#include "quant/codes.h"

namespace ingle::kernels {
namespace {

float code_chain(const quant::CodeFormat& format, const uint8_t* codes, const float* scale, const float* min,
                 const Activations& x, int64_t t) {
  const int8_t* q = x.q + t * x.ldq;
  const float* d = x.d + t * x.ldb;
  const int32_t* sum = x.sum + t * 2 * x.ldb;
  float acc = 0.0f;
  for (int64_t i = 0; i < x.k; i += format.sub_block) {
    int32_t dot = 0;
    for (int64_t e = i; e < i + format.sub_block; ++e) dot += (codes[e] - format.zero) * q[e];
    const int64_t sub = i / format.sub_block, block = i / 32;
    acc = __builtin_fmaf(static_cast<float>(dot), scale[sub] * d[block], acc);
    if (!format.has_min) continue;
    const int32_t total = format.sub_block == 16 ? sum[sub] : sum[2 * block] + sum[2 * block + 1];
    acc = __builtin_fmaf(min[sub], d[block] * static_cast<float>(total), acc);
  }
  return acc;
}

// What a product of bf16 weights takes of an activation: see Activations::passes.
uint32_t bf16_activation(float x, bool rest) {
  const float taken = flushed(quant::bf16_to_float(quant::float_to_bf16(flushed(x))));
  if (!rest) return std::bit_cast<uint32_t>(taken) >> 16;
  return bf16_activation(x - taken, false);
}
float bf16_chain(const float* w, const Activations& x, int64_t t) {
  const float* f = x.f + t * x.ldf;
  const auto weight = [&](int64_t i) { return i < x.k ? std::bit_cast<uint32_t>(w[i]) >> 16 : 0; };
  const auto value = [&](int64_t i) { return i < x.k ? bf16_activation(f[i], x.passes == kPassRest) : 0; };
  float acc = 0.0f;
  for (int64_t i = 0; i < x.k; i += 2)
    acc = bf16_pair_fma(weight(i) | weight(i + 1) << 16, value(i) | value(i + 1) << 16, acc);
  return acc;
}

}  // namespace

void ref_q_matmul(const quant::QuantWeight& w, const Activations& x, float* y, int64_t ldy) {
  const quant::CodeFormat* format = quant::find_codes(*w.format);
  const auto k = static_cast<size_t>(x.k);
  std::vector<uint8_t> codes(k);
  std::vector<float> values(k), min(k);  // values: scales, or the decoded row
  for (int64_t row = 0; row < w.rows(); ++row) {
    if (format) {
      format->codes_row(w, row, codes.data(), values.data(), min.data());
    } else {
      w.format->decode_rows(w, row, 1, values.data());
    }
    for (int64_t t = 0; t < x.m; ++t) {
      float acc = 0.0f;
      if (format) {
        acc = code_chain(*format, codes.data(), values.data(), min.data(), x, t);
      } else if (w.format->dtype.type == DType::bf16) {
        acc = bf16_chain(values.data(), x, t);
      } else {
        for (int64_t i = 0; i < x.k; ++i)
          acc = __builtin_fmaf(values[static_cast<size_t>(i)], x.f[t * x.ldf + i], acc);
      }
      y[t * ldy + row] = acc;
    }
  }
}

void ref_matmul(const quant::QuantWeight& w, const Activations& x, float* y, int64_t ldy) {
  std::vector<float> values(static_cast<size_t>(x.k));
  for (int64_t row = 0; row < w.rows(); ++row) {
    w.format->decode_rows(w, row, 1, values.data());
    for (int64_t t = 0; t < x.m; ++t) {
      double acc = 0.0;
      for (int64_t i = 0; i < x.k; ++i)
        acc += double{values[static_cast<size_t>(i)]} * double{x.f[t * x.ldf + i]};
      y[t * ldy + row] = static_cast<float>(acc);
    }
  }
}

}  // namespace ingle::kernels
