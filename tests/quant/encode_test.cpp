// Encoders: error bounds, never worse than the plain amax method, importance, determinism, hard inputs.
#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "goldens.h"
#include "quant/blocks.h"
#include "support/catch.h"

namespace ingle::quant {
namespace {

constexpr int64_t kCols = 1024;

std::vector<float> row_of(uint64_t seed, float scale = 1, float shift = 0) {
  Numbers numbers(seed);
  std::vector<float> x(kCols);
  for (float& v : x) v = scale * numbers.bell() + shift;
  return x;
}

std::vector<uint8_t> encode(const QuantFormat& f, const std::vector<float>& x,
                            const float* importance = nullptr) {
  const auto k = static_cast<int64_t>(x.size());
  std::vector<uint8_t> out(static_cast<size_t>(k / f.dtype.block_elems * f.dtype.block_bytes));
  f.encode_row(x.data(), k, importance, reinterpret_cast<std::byte*>(out.data()));
  return out;
}
std::vector<float> round_trip(const QuantFormat& f, const std::vector<float>& x,
                              const float* importance = nullptr) {
  const auto bytes = encode(f, x, importance);
  std::vector<float> out(x.size());
  f.decode_rows(rows_over(f, bytes, static_cast<int64_t>(x.size())), 0, 1, out.data());
  return out;
}

double rmse(const std::vector<float>& a, const std::vector<float>& b, const float* w = nullptr) {
  double sum = 0, weights = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double e = static_cast<double>(a[i]) - b[i], weight = w ? w[i] : 1;
    sum += weight * e * e;
    weights += weight;
  }
  return std::sqrt(sum / weights);
}
double rms(const std::vector<float>& a) { return rmse(a, std::vector<float>(a.size())); }

float half(float v) { return half_to_float(float_to_half(v)); }
float code(float v, float lo, float hi) { return std::clamp(std::nearbyint(v), lo, hi); }

// The plain method: the largest magnitude goes to the last code; scales in f16, the K types' in 6 or 8 bits.
std::vector<float> plain_symmetric(const std::vector<float>& x, float lo, float hi) {
  std::vector<float> y(x.size());
  for (size_t b = 0; b < x.size(); b += 32) {
    float peak = 0;
    for (size_t i = b; i < b + 32; ++i) peak = std::fabs(x[i]) > std::fabs(peak) ? x[i] : peak;
    const float d = half(peak / lo);
    for (size_t i = b; i < b + 32; ++i) y[i] = d * code(d != 0 ? x[i] / d : 0, lo, hi);
  }
  return y;
}
std::vector<float> plain_affine(const std::vector<float>& x, float last) {
  std::vector<float> y(x.size());
  for (size_t b = 0; b < x.size(); b += 32) {
    const auto [lo, hi] =
        std::minmax_element(x.begin() + static_cast<long>(b), x.begin() + static_cast<long>(b) + 32);
    const float d = half((*hi - *lo) / last), m = half(*lo);
    for (size_t i = b; i < b + 32; ++i) y[i] = d * code(d != 0 ? (x[i] - m) / d : 0, 0, last) + m;
  }
  return y;
}
std::vector<float> plain_k4(const std::vector<float>& x, float last) {
  std::vector<float> y(x.size());
  for (size_t b = 0; b < x.size(); b += 256) {
    float scale[8], min[8];
    for (size_t j = 0; j < 8; ++j) {
      const auto first = x.begin() + static_cast<long>(b + 32 * j);
      min[j] = -std::min(0.0f, *std::min_element(first, first + 32));
      scale[j] = (*std::max_element(first, first + 32) + min[j]) / last;
    }
    const float d = half(*std::max_element(scale, scale + 8) / 63),
                m = half(*std::max_element(min, min + 8) / 63);
    for (size_t j = 0; j < 8; ++j) {
      const float s = d * code(scale[j] / d, 0, 63), n = m * code(min[j] / m, 0, 63);
      for (size_t i = b + 32 * j; i < b + 32 * j + 32; ++i) y[i] = s * code((x[i] + n) / s, 0, last) - n;
    }
  }
  return y;
}
std::vector<float> plain_q6_k(const std::vector<float>& x) {
  std::vector<float> y(x.size());
  for (size_t b = 0; b < x.size(); b += 256) {
    float scale[16], top = 0;
    for (size_t j = 0; j < 16; ++j) {
      float peak = 0;
      for (size_t i = b + 16 * j; i < b + 16 * j + 16; ++i)
        peak = std::fabs(x[i]) > std::fabs(peak) ? x[i] : peak;
      scale[j] = peak / -32;
      if (std::fabs(scale[j]) > std::fabs(top)) top = scale[j];
    }
    const float d = half(top / -128);
    for (size_t j = 0; j < 16; ++j) {
      const float s = d * code(scale[j] / d, -128, 127);
      for (size_t i = b + 16 * j; i < b + 16 * j + 16; ++i) y[i] = s * code(x[i] / s, -32, 31);
    }
  }
  return y;
}

struct Case {
  const char* name;
  std::vector<float> (*plain)(const std::vector<float>&);
  double relative_error;  // of bell-shaped weights, RMSE / RMS
};
const Case kCases[] = {
    {"q8_0", [](const std::vector<float>& x) { return plain_symmetric(x, -127, 127); }, 0.0057},
    {"q4_0", [](const std::vector<float>& x) { return plain_symmetric(x, -8, 7); }, 0.086},
    {"q4_1", [](const std::vector<float>& x) { return plain_affine(x, 15); }, 0.076},
    {"q5_0", [](const std::vector<float>& x) { return plain_symmetric(x, -16, 15); }, 0.043},
    {"q5_1", [](const std::vector<float>& x) { return plain_affine(x, 31); }, 0.037},
    {"q4_k", [](const std::vector<float>& x) { return plain_k4(x, 15); }, 0.076},
    {"q5_k", [](const std::vector<float>& x) { return plain_k4(x, 31); }, 0.037},
    {"q6_k", plain_q6_k, 0.018},
};

}  // namespace

TEST_CASE("encoders keep to their error bounds and beat the plain method") {
  for (const Case& c : kCases) {
    const QuantFormat* f = find_format(c.name);
    REQUIRE(f);
    REQUIRE(f->encode_row);
    for (uint64_t seed = 1; seed <= 8; ++seed) {
      for (const float shift : {0.0f, 0.4f, -3.0f}) {
        const std::vector<float> x = row_of(seed, 0.05f, shift * 0.05f);
        const double error = rmse(x, round_trip(*f, x));
        INFO(c.name << " seed " << seed << " shift " << shift << ": " << error / rms(x));
        CHECK(error <= rmse(x, c.plain(x)));
        if (shift == 0) CHECK(error <= c.relative_error * rms(x));
      }
    }
  }
}

TEST_CASE("the reference's own encodings are no better on its weights") {
  for (const Case& c : kCases) {
    INFO(c.name);
    const Golden golden("ggml_" + std::string(c.name));
    const auto x = golden.values<float>("source"), reference = golden.values<float>("expected");
    CHECK(rmse(x, round_trip(*find_format(c.name), x)) <= rmse(x, reference));
  }
}

TEST_CASE("importance moves the error to where it matters less") {
  for (const Case& c : kCases) {
    const QuantFormat* f = find_format(c.name);
    INFO(c.name);
    const std::vector<float> x = row_of(77);
    std::vector<float> w(x.size());
    Numbers numbers(5);
    for (float& v : w) v = numbers.uniform() < 0.2f ? 50.0f : 0.1f;
    CHECK(rmse(x, round_trip(*f, x, w.data()), w.data()) < rmse(x, round_trip(*f, x), w.data()));
    const std::vector<float> ones(x.size(), 1.0f), zeros(x.size(), 0.0f);
    CHECK(encode(*f, x, ones.data()) == encode(*f, x));
    for (const float v : round_trip(*f, x, zeros.data())) REQUIRE(std::isfinite(v));
  }
}

TEST_CASE("encoding what was decoded loses next to nothing") {
  for (const Case& c : kCases) {
    const QuantFormat* f = find_format(c.name);
    INFO(c.name);
    const std::vector<float> once = round_trip(*f, row_of(3));
    CHECK(rmse(once, round_trip(*f, once)) <= 0.35 * c.relative_error * rms(once));
  }
}

TEST_CASE("hard rows encode to finite values") {
  for (const Case& c : kCases) {
    const QuantFormat* f = find_format(c.name);
    const auto check = [&](const char* what, auto value) {
      INFO(c.name << ": " << what);
      std::vector<float> x(kCols);
      for (size_t i = 0; i < x.size(); ++i) x[i] = value(i);
      for (const float v : round_trip(*f, x)) REQUIRE(std::isfinite(v));
    };
    check("zero", [](size_t) { return 0.0f; });
    check("minus zero", [](size_t) { return -0.0f; });
    check("subnormal", [](size_t i) { return i % 2 ? 1e-42f : -1e-44f; });
    check("tiny", [](size_t i) { return 1e-9f * static_cast<float>(i); });
    check("huge", [](size_t i) { return i % 3 ? 3e38f : -3e38f; });
    check("all negative", [](size_t i) { return -1.0f - static_cast<float>(i % 7); });
    check("all positive", [](size_t i) { return 1.0f + static_cast<float>(i % 7); });
    check("one outlier", [](size_t i) { return i == 40 ? 1e6f : 0.01f; });

    const std::vector<float> zero(kCols);
    CHECK(rms(round_trip(*f, zero)) == 0);
    // A block of one value: within the precision of f16 scales over their 6 or 8 bits.
    const std::vector<float> constant(kCols, -0.7f);
    CHECK(rmse(constant, round_trip(*f, constant)) < 0.7 * 0.004);
  }
}

TEST_CASE("rows that cannot be encoded are refused") {
  for (const Case& c : kCases) {
    const QuantFormat* f = find_format(c.name);
    INFO(c.name);
    const auto code_of = [&](const std::vector<float>& x, int64_t k) {
      std::vector<std::byte> out(8192);
      try {
        f->encode_row(x.data(), k, nullptr, out.data());
      } catch (const Error& e) {
        return e.code();
      }
      return Code::ok;
    };
    std::vector<float> x(kCols, 1.0f);
    CHECK(code_of(x, kCols) == Code::ok);
    CHECK(code_of(x, 0) == Code::ok);
    CHECK(code_of(x, 255) == Code::invalid_argument);
    x[600] = NAN;
    CHECK(code_of(x, kCols) == Code::numeric);
    x[600] = -INFINITY;
    CHECK(code_of(x, kCols) == Code::numeric);
  }
}

TEST_CASE("plain types encode and come back") {
  const std::vector<float> x = row_of(9);
  CHECK(round_trip(*find_format("f32"), x) == x);
  CHECK(rmse(x, round_trip(*find_format("f16"), x)) < 3e-4 * rms(x));
  CHECK(rmse(x, round_trip(*find_format("bf16"), x)) < 2.5e-3 * rms(x));
  const std::vector<float> special = {INFINITY, -INFINITY, NAN, 0.0f};
  for (const char* name : {"f32", "f16", "bf16"}) {
    const auto y = round_trip(*find_format(name), special);
    CHECK((y[0] == INFINITY && y[1] == -INFINITY && std::isnan(y[2]) && y[3] == 0));
  }
}

TEST_CASE("only the formats that we promise encode") {
  std::vector<std::string_view> names;
  for (const QuantFormat* f : all_formats()) {
    if (f->encode_row) names.push_back(f->name);
  }
  const std::vector<std::string_view> expected = {"f32",  "f16",  "bf16", "q4_0", "q4_1", "q5_0",
                                                  "q5_1", "q8_0", "q4_k", "q5_k", "q6_k"};
  CHECK(names == expected);
}

}  // namespace ingle::quant
