// Norms, rotation, quantising and the simple rows: double-precision oracles and equal bits.
#include "vec_support.h"

using namespace ingle::kernels;
using namespace vec_test;

namespace {

using Floats = std::vector<float>;
size_t idx(int64_t i) { return static_cast<size_t>(i); }

// Runs `call(row, y)` on every row and compares bits with the first; returns the first's y.
template <class F>
Floats on_each(int64_t n, F call) {
  Floats first;
  for (const VecRow* row : rows()) {
    Floats y(idx(n), -77.0f);
    call(*row, y);
    INFO(row->isa << " n " << n);
    if (first.empty()) first = y;
    CHECK(same_bits(first, y));
  }
  return first;
}

}  // namespace

TEST_CASE("rms_norm", "[vec]") {
  for (const int64_t n : kSizes) {
    const Floats x = Source(1).many(n, -3.0f, 3.0f), w = Source(2).many(n, 0.5f, 1.5f);
    for (const float* weight : {w.data(), static_cast<const float*>(nullptr)}) {
      double squares = 0.0;
      for (const float v : x) squares += static_cast<double>(v) * v;
      const double r = 1.0 / std::sqrt(squares / static_cast<double>(n) + 1e-5);
      std::vector<double> want;
      for (int64_t i = 0; i < n; ++i) want.push_back(x[idx(i)] * r * (weight ? w[idx(i)] : 1.0));
      const Floats y = on_each(
          n, [&](const VecRow& row, Floats& out) { row.rms_norm(x.data(), weight, out.data(), n, 1e-5f); });
      CHECK(worst_error(y, want) < 1e-6);
      const Floats in_place = on_each(n, [&](const VecRow& row, Floats& out) {
        out = x;
        row.rms_norm(out.data(), weight, out.data(), n, 1e-5f);
      });
      CHECK(same_bits(y, in_place));
    }
  }
}

TEST_CASE("layer_norm", "[vec]") {
  for (const int64_t n : kSizes) {
    const Floats x = Source(3).many(n, -1.0f, 5.0f), w = Source(4).many(n, 0.5f, 1.5f),
                 b = Source(5).many(n, -1, 1);
    for (const bool with : {true, false}) {
      double mean = 0.0, squares = 0.0;
      for (const float v : x) mean += v;
      mean /= static_cast<double>(n);
      for (const float v : x) squares += (v - mean) * (v - mean);
      const double r = 1.0 / std::sqrt(squares / static_cast<double>(n) + 1e-5);
      std::vector<double> want;
      for (int64_t i = 0; i < n; ++i) {
        want.push_back((x[idx(i)] - mean) * r * (with ? w[idx(i)] : 1.0) + (with ? b[idx(i)] : 0.0));
      }
      const Floats y = on_each(n, [&](const VecRow& row, Floats& out) {
        row.layer_norm(x.data(), with ? w.data() : nullptr, with ? b.data() : nullptr, out.data(), n, 1e-5f);
      });
      CHECK(worst_error(y, want) < (n == 1 ? 1e-4 : 3e-6));
    }
  }
}

TEST_CASE("rope turns pairs half a head apart", "[vec]") {
  for (const int64_t half : {1, 4, 16, 20, 32, 40, 64}) {
    const int64_t stride = 2 * half + 3, heads = 3;
    const Floats x = Source(7).many(heads * stride, -2.0f, 2.0f);
    Floats c(idx(half)), s(idx(half));
    for (int64_t i = 0; i < half; ++i) {
      c[idx(i)] = static_cast<float>(std::cos(0.37 * static_cast<double>(i)));
      s[idx(i)] = static_cast<float>(std::sin(0.37 * static_cast<double>(i)));
    }
    std::vector<double> want(x.begin(), x.end());
    for (int64_t h = 0; h < heads; ++h) {
      for (int64_t i = 0; i < half; ++i) {
        const double a = x[idx(h * stride + i)], b = x[idx(h * stride + half + i)];
        want[idx(h * stride + i)] = a * c[idx(i)] - b * s[idx(i)];
        want[idx(h * stride + half + i)] = b * c[idx(i)] + a * s[idx(i)];
      }
    }
    const Floats y = on_each(heads * stride, [&](const VecRow& row, Floats& out) {
      out = x;
      row.rope(out.data(), heads, stride, half, c.data(), s.data());
    });
    CHECK(worst_error(y, want) < 5e-7);
  }
}

TEST_CASE("add, scale", "[vec]") {
  for (const int64_t n : kSizes) {
    const Floats a = Source(8).many(n, -2.0f, 2.0f), b = Source(9).many(n, -2.0f, 2.0f);
    const Floats sum =
        on_each(n, [&](const VecRow& r, Floats& y) { r.add(a.data(), b.data(), y.data(), n); });
    const Floats scaled =
        on_each(n, [&](const VecRow& r, Floats& y) { r.scale(a.data(), 0.3f, y.data(), n); });
    for (size_t i = 0; i < a.size(); ++i) {
      CHECK(sum[i] == a[i] + b[i]);
      CHECK(scaled[i] == a[i] * 0.3f);
    }
  }
}

TEST_CASE("rows write nothing past their end", "[vec]") {
  for (const VecRow* row : rows()) {
    for (const int64_t n : kSizes) {
      const Floats x = Source(10).many(n, -2.0f, 2.0f);
      Floats y(idx(n) + 16, 5.0f);
      std::vector<uint16_t> h(idx(n) + 16, 55);
      row->add(x.data(), x.data(), y.data(), n);
      row->f32_to_f16(x.data(), h.data(), n);
      INFO(row->isa << " n " << n);
      CHECK(std::all_of(y.begin() + n, y.end(), [](float v) { return v == 5.0f; }));
      CHECK(std::all_of(h.begin() + n, h.end(), [](uint16_t v) { return v == 55; }));
    }
  }
}

TEST_CASE("argmax takes the lowest index of the maximum and passes over NaN", "[vec]") {
  for (const VecRow* row : rows()) {
    INFO(row->isa);
    for (const int64_t n : kSizes) {
      Floats x = Source(11).many(n, -2.0f, -1.0f);
      CHECK(row->argmax(x.data(), n) == std::max_element(x.begin(), x.end()) - x.begin());
      for (const int64_t at : {int64_t{0}, n / 2, n - 1}) {
        Floats z = x;
        z[idx(at)] = 3.0f;
        z[idx(n - 1)] = 3.0f;
        CHECK(row->argmax(z.data(), n) == at);
        if (at > 0) z[0] = NAN;
        CHECK(row->argmax(z.data(), n) == at);
      }
    }
    const Floats nothing(20, NAN), low(20, -INFINITY), zeros = {-0.0f, 0.0f, -0.0f};
    CHECK(row->argmax(nothing.data(), 20) == 0);
    CHECK(row->argmax(low.data(), 20) == 0);
    CHECK(row->argmax(zeros.data(), 3) == 0);
  }
}

TEST_CASE("all_finite", "[vec]") {
  for (const VecRow* row : rows()) {
    for (const int64_t n : kSizes) {
      Floats x = Source(12).many(n, -1e38f, 1e38f);
      INFO(row->isa << " n " << n);
      CHECK(row->all_finite(x.data(), n) == 1);
      for (const float bad : {NAN, INFINITY, -INFINITY}) {
        for (const int64_t at : {int64_t{0}, n / 2, n - 1}) {
          Floats z = x;
          z[idx(at)] = bad;
          CHECK(row->all_finite(z.data(), n) == 0);
        }
      }
    }
  }
}

TEST_CASE("quantize_q8 follows its rule", "[vec]") {
  const int64_t k = 256;
  Floats x = Source(13).many(k, -3.0f, 3.0f);
  for (size_t i = 32; i < 64; ++i) x[i] = 0.0f;
  for (size_t i = 64; i < 96; ++i) x[i] = static_cast<float>(static_cast<int>(i) - 80) * 0.5f;  // ties
  x[64] = 63.5f;
  for (size_t i = 96; i < 128; ++i) x[i] *= 1e-33f;
  x[130] = INFINITY;
  x[170] = NAN;
  for (size_t i = 192; i < 224; ++i) x[i] *= 1e30f;
  for (const VecRow* row : rows()) {
    INFO(row->isa);
    std::vector<int8_t> q(idx(k), 99);
    Floats d(idx(k / 32));
    std::vector<int32_t> sums(idx(k / 16));
    row->quantize_q8(x.data(), k, q.data(), d.data(), sums.data());
    for (size_t b = 0; b < d.size(); ++b) {
      if (b == 4 || b == 5) continue;
      float amax = 0.0f;
      for (size_t i = 0; i < 32; ++i) amax = std::max(amax, std::abs(x[32 * b + i]));
      const bool tiny = amax < 0x1p-100f;
      CHECK(d[b] == (tiny ? 0.0f : amax / 127.0f));
      int32_t sum[2] = {0, 0};
      for (size_t i = 0; i < 32; ++i) {
        const float scaled = tiny ? 0.0f : x[32 * b + i] * (127.0f / amax);
        CHECK(q[32 * b + i] == static_cast<int>(std::nearbyint(scaled)));
        CHECK(std::abs(q[32 * b + i] * d[b] - x[32 * b + i]) <= 0.5001f * d[b] + 0x1p-100f);
        sum[i / 16] += q[32 * b + i];
      }
      CHECK(sums[2 * b] == sum[0]);
      CHECK(sums[2 * b + 1] == sum[1]);
    }
    CHECK(std::isinf(d[4]));  // so that what is computed from the block is not finite
    CHECK(std::isnan(d[5]));
    CHECK(std::all_of(q.begin() + 128, q.begin() + 192, [](int8_t v) { return v == 0; }));
  }
}

TEST_CASE("half precision conversions agree with the format's definition", "[vec]") {
  std::vector<uint16_t> all(65536);
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
  std::vector<uint32_t> first;
  for (const VecRow* row : rows()) {
    INFO(row->isa);
    Floats y(all.size());
    row->f16_to_f32(all.data(), y.data(), 65536);
    std::vector<uint32_t> u(all.size());
    std::memcpy(u.data(), y.data(), 4 * u.size());
    if (first.empty()) first = u;
    CHECK(u == first);  // NaN too
    size_t wrong = 0;
    for (size_t i = 0; i < all.size(); ++i) {
      const int exponent = static_cast<int>(i >> 10 & 31), mantissa = static_cast<int>(i & 1023);
      if (exponent == 31) {
        wrong += mantissa == 0 ? !std::isinf(y[i]) : !std::isnan(y[i]);
        continue;
      }
      double want = exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
      if (i & 0x8000) want = -want;
      wrong += y[i] != want || std::signbit(y[i]) != std::signbit(want);
    }
    CHECK(wrong == 0);
    std::vector<uint16_t> back(all.size());
    row->f32_to_f16(y.data(), back.data(), 65536);
    wrong = 0;
    for (size_t i = 0; i < all.size(); ++i) wrong += back[i] != all[i] && !std::isnan(y[i]);
    CHECK(wrong == 0);
    CHECK(half_to_float(0x3C01) == y[0x3C01]);
    CHECK(half_to_float(0x0001) == y[1]);
    CHECK(float_to_half(y[0x1234]) == 0x1234);
  }
}

TEST_CASE("f32 to f16 rounds to nearest even, equally everywhere", "[vec]") {
  Source source(14);
  Floats x;
  for (int i = 0; i < 200000; ++i) {
    const uint32_t u = source.next() << 1 ^ source.next();
    float f;
    std::memcpy(&f, &u, 4);
    x.push_back(f);
  }
  for (const float f : {65504.0f, 65519.99f, 65520.0f, 1e9f, 0x1p-24f, 0x1p-25f, 0x1.000002p-25f, 0x1.8p-24f,
                        2049.0f, 2051.0f, 0x1.ffcp-15f, 0x1.ffep-15f}) {
    x.push_back(f);
    x.push_back(-f);
  }
  std::vector<uint16_t> first;
  for (const VecRow* row : rows()) {
    std::vector<uint16_t> y(x.size());
    row->f32_to_f16(x.data(), y.data(), static_cast<int64_t>(x.size()));
    if (first.empty()) first = y;
    INFO(row->isa);
    CHECK(y == first);
  }
  CHECK(float_to_half(65519.99f) == 0x7BFF);
  CHECK(float_to_half(65520.0f) == 0x7C00);
  CHECK(float_to_half(0x1p-25f) == 0);  // a tie goes to the even side
  CHECK(float_to_half(0x1.000002p-25f) == 1);
  CHECK(float_to_half(0x1.8p-24f) == 2);
  CHECK(float_to_half(2049.0f) == 0x6800);
  CHECK(float_to_half(2051.0f) == 0x6802);
}
