// Random weights and activations for the matmul tests.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "core/random.h"
#include "kernels/isa.h"
#include "quant/blocks.h"
#include "quant/weight.h"

namespace ingle::kernels::testing {

struct Random {
  uint64_t seed, n = 0;
  float unit() { return uniform(seed, n++); }
  float symmetric() { return 2.0f * unit() - 1.0f; }
  uint32_t bits() { return philox4x32(seed, n++)[0]; }
};

// Bytes of random blocks. The f16 scales of the formats with fast kernels are finite and of either sign;
// plain types hold values in [-1, 1]; other formats are encoded where they can be, else left random.
struct RandomWeight {
  std::vector<std::byte> bytes;
  quant::QuantWeight w;

  RandomWeight(const quant::QuantFormat& format, int64_t n, int64_t k, uint64_t seed) {
    Random random{seed};
    const int64_t blocks = n * k / format.dtype.block_elems, size = format.dtype.block_bytes;
    bytes.resize(static_cast<size_t>(blocks * size));
    for (auto& b : bytes) b = static_cast<std::byte>(random.bits());
    for (int64_t b = 0; b < blocks; ++b) fix_block(format, bytes.data() + b * size, random);
    if (!patched_ && format.encode_row) {
      std::vector<float> x(static_cast<size_t>(k));
      for (int64_t row = 0; row < n; ++row) {
        for (float& v : x) v = random.symmetric();
        format.encode_row(x.data(), k, nullptr, bytes.data() + row * (blocks / n) * size);
      }
    }
    w.format = &format;
    w.shape = Shape{n, k};
    w.parts[0] = {format.dtype.type, w.shape, bytes.data(), bytes.size()};
  }

 private:
  bool patched_ = false;
  static void put16(std::byte* p, uint16_t v) { std::memcpy(p, &v, 2); }
  // A half of magnitude 2^-10 .. 2^-5.
  static uint16_t scale(Random& random) {
    const uint32_t bits = random.bits();
    return static_cast<uint16_t>((bits & 0x8000u) | (5u + (bits >> 16) % 5u) << 10 | (bits & 0x3ffu));
  }
  void fix_block(const quant::QuantFormat& format, std::byte* block, Random& random) {
    struct Fields {
      std::string_view name;
      std::vector<int> at;
    };
    static const Fields fields[] = {{"q4_0", {0}},      {"q4_1", {0, 2}}, {"q5_0", {0}},    {"q5_1", {0, 2}},
                                    {"q8_0", {0}},      {"q4_k", {0, 2}}, {"q5_k", {0, 2}}, {"q6_k", {208}},
                                    {"q2_k", {80, 82}}, {"q3_k", {108}},  {"iq4_nl", {0}},  {"iq4_xs", {0}},
                                    {"iq3_s", {0}},     {"iq3_xxs", {0}}, {"iq2_xxs", {0}}, {"iq2_xs", {0}},
                                    {"iq2_s", {0}},     {"iq1_s", {0}},   {"tq1_0", {52}},  {"tq2_0", {64}},
                                    {"q1_0", {0}},      {"q2_0", {0}}};
    for (const Fields& f : fields)
      if (f.name == format.name) {
        for (const int at : f.at) put16(block + at, scale(random));
        patched_ = true;
      }
    if (format.name == "mxfp4") block[0] = static_cast<std::byte>(117 + random.bits() % 8);
    if (format.name == "nvfp4")
      for (int i = 0; i < 4; ++i) block[i] = static_cast<std::byte>(32 + random.bits() % 64);
    if (format.name == "iq1_m") {  // the scale lies in the high nibbles of four words
      const uint16_t d = scale(random);
      for (int i = 0; i < 4; ++i) {
        std::byte& high = block[48 + 2 * i + 1];
        high = (high & std::byte{15}) | static_cast<std::byte>((d >> (4 * i) & 15) << 4);
      }
    }
    const float value = random.symmetric();
    if (format.name == "f32") std::memcpy(block, &value, 4);
    if (format.name == "f16") put16(block, quant::float_to_half(value));
    if (format.name == "bf16") put16(block, quant::float_to_bf16(value));
    if (format.name == "f32" || format.name == "f16" || format.name == "bf16") patched_ = true;
  }
};

struct RandomActivations {
  int64_t m, k, ldf, ldq, ldb;
  std::vector<float> f, d;
  std::vector<int8_t> q;
  std::vector<int32_t> sum;
  Activations view{};

  RandomActivations(int64_t tokens, int64_t cols, uint64_t seed)
      : m(tokens), k(cols), ldf(cols + 3), ldq((cols + 63) / 64 * 64), ldb((cols + 31) / 32) {
    Random random{seed};
    f.resize(static_cast<size_t>(m * ldf));
    for (float& v : f) v = random.symmetric() * 4.0f;
    view = {m, k, f.data(), ldf, nullptr, ldq, nullptr, nullptr, ldb};
    if (k % 32 == 0) quantise();
  }
  Activations tokens(int64_t t0, int64_t n) const {
    Activations x = view;
    x.m = n;
    x.f += t0 * ldf;
    if (x.q) {
      x.q += t0 * ldq;
      x.d += t0 * ldb;
      x.sum += t0 * 2 * ldb;
    }
    return x;
  }

 private:
  void quantise() {
    q.resize(static_cast<size_t>(m * ldq));
    d.resize(static_cast<size_t>(m * ldb));
    sum.resize(static_cast<size_t>(2 * m * ldb));
    for (int64_t t = 0; t < m; ++t)
      for (int64_t b = 0; b < ldb; ++b) {
        const float* x = f.data() + t * ldf + 32 * b;
        float amax = 0.0f;
        for (int i = 0; i < 32; ++i) amax = std::fmax(amax, std::fabs(x[i]));
        const float unit = amax / 127.0f;
        d[static_cast<size_t>(t * ldb + b)] = unit;
        for (int i = 0; i < 32; ++i) {
          const auto value = static_cast<int8_t>(std::nearbyint(x[i] / unit));
          q[static_cast<size_t>(t * ldq + 32 * b + i)] = value;
          sum[static_cast<size_t>(2 * (t * ldb + b) + i / 16)] += value;
        }
      }
    view.q = q.data();
    view.d = d.data();
    view.sum = sum.data();
  }
};

}  // namespace ingle::kernels::testing
