// Every format against what its reference decodes, bit for bit.
#include <cmath>
#include <cstring>

#include "goldens.h"
#include "quant/blocks.h"
#include "quant/iq_grids.h"
#include "support/catch.h"

namespace ingle::quant {
namespace {

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (float_to_bits(a[i]) != float_to_bits(b[i]) && !(std::isnan(a[i]) && std::isnan(b[i]))) {
      UNSCOPED_INFO("value " << i << " is " << a[i] << ", expected " << b[i]);
      return false;
    }
  }
  return true;
}

std::vector<float> decode_all(const QuantWeight& w) {
  std::vector<float> out(static_cast<size_t>(w.rows() * w.cols()));
  w.format->decode_rows(w, 0, w.rows(), out.data());
  return out;
}

std::vector<uint8_t> random_bytes(size_t n, uint64_t seed) {
  Numbers numbers(seed);
  std::vector<uint8_t> out(n);
  for (uint8_t& b : out) b = static_cast<uint8_t>(numbers.bits());
  return out;
}

}  // namespace

TEST_CASE("block types decode to the reference's bits") {
  int checked = 0;
  for (const QuantFormat* f : all_formats()) {
    if (f->dtype.block_elems == 1 && f->dtype.type != DType::bf16) continue;
    INFO(f->name);
    const Golden golden("ggml_" + std::string(f->name));
    for (const std::string kind : {"", "_random"}) {
      INFO("packed" << kind);
      Shape shape;
      const auto expected = golden.values<float>("expected" + kind, &shape);
      const auto packed = golden.values<uint8_t>("packed" + kind);
      REQUIRE(expected.size() >= 512);
      CHECK(same_bits(decode_all(rows_over(*f, packed, shape.back())), expected));
    }
    ++checked;
  }
  CHECK(checked == 26);
}

TEST_CASE("grids hold the reference's values") {
  const Golden golden("ggml_iq_grids");
  const auto values8 = [](const uint16_t* grid, size_t n) {
    std::vector<int8_t> out;
    uint8_t codes[8];
    for (size_t i = 0; i < n; ++i) {
      signed8(grid[i], 0, codes);
      for (const uint8_t c : codes) out.push_back(static_cast<int8_t>(c - 43));
    }
    return out;
  };
  CHECK(values8(kIq2XxsGrid, 256) == golden.values<int8_t>("iq2xxs"));
  CHECK(values8(kIq2XsGrid, 512) == golden.values<int8_t>("iq2xs"));
  CHECK(values8(kIq2SGrid, 1024) == golden.values<int8_t>("iq2s"));
  std::vector<int8_t> iq3xxs, iq3s, iq1;
  uint8_t y[8];
  for (const uint16_t entry : kIq3XxsGrid) {
    signed4<8, 4, 62>(entry, 0, y);
    for (int i = 0; i < 4; ++i) iq3xxs.push_back(static_cast<int8_t>(y[i] - 62));
  }
  for (const uint16_t entry : kIq3SGrid) {
    signed4<2, 1, 15>(entry, 0, y);
    for (int i = 0; i < 4; ++i) iq3s.push_back(static_cast<int8_t>(y[i] - 15));
  }
  for (const uint16_t entry : kIq1Grid) {
    ternary8(entry, false, y);
    for (int i = 0; i < 8; ++i) iq1.push_back(static_cast<int8_t>((y[i] - 10) / 8));
  }
  CHECK(iq3xxs == golden.values<int8_t>("iq3xxs"));
  CHECK(iq3s == golden.values<int8_t>("iq3s"));
  CHECK(iq1 == golden.values<int8_t>("iq1s"));
}

TEST_CASE("any bits decode, at any address, and a range of rows equals the whole") {
  for (const QuantFormat* f : all_formats()) {
    INFO(f->name);
    const int64_t k = 512, rows = 7;
    const size_t row_bytes = static_cast<size_t>(k / f->dtype.block_elems * f->dtype.block_bytes);
    const std::vector<uint8_t> bytes = random_bytes(row_bytes * rows, f->dtype.block_bytes);
    const auto whole = decode_all(rows_over(*f, bytes, k));
    const auto part = [&](const QuantWeight& w, int64_t row, int64_t n) {
      std::vector<float> out(static_cast<size_t>(n * k));
      w.format->decode_rows(w, row, n, out.data());
      return out;
    };
    const auto slice = [&](int64_t row, int64_t n) {
      return std::vector<float>(whole.begin() + row * k, whole.begin() + (row + n) * k);
    };
    const QuantWeight w = rows_over(*f, bytes, k);
    CHECK(same_bits(part(w, 2, 3), slice(2, 3)));
    CHECK(same_bits(part(w, 6, 1), slice(6, 1)));
    CHECK(part(w, 3, 0).empty());

    std::vector<uint8_t> shifted(bytes.size() + 1);
    std::copy(bytes.begin(), bytes.end(), shifted.begin() + 1);
    QuantWeight odd = w;
    odd.parts[0].data = reinterpret_cast<const std::byte*>(shifted.data() + 1);
    CHECK(same_bits(decode_all(odd), whole));
  }
}

TEST_CASE("every half becomes a float and comes back") {
  for (uint32_t h = 0; h < 0x10000; ++h) {
    const float v = half_to_float(static_cast<uint16_t>(h));
    const uint32_t magnitude = h & 0x7fff;
    if (magnitude > 0x7c00) {
      REQUIRE(std::isnan(v));
      REQUIRE(float_to_half(v) == (h | 0x200));
      continue;
    }
    const double expected =
        magnitude == 0x7c00 ? INFINITY
        : magnitude < 0x400 ? std::ldexp(magnitude, -24)
                            : std::ldexp(1024 + (magnitude & 0x3ff), static_cast<int>(magnitude >> 10) - 25);
    REQUIRE(std::fabs(static_cast<double>(v)) == expected);
    REQUIRE(std::signbit(v) == (h >> 15 != 0));
    REQUIRE(float_to_half(v) == h);
  }
}

TEST_CASE("floats round to the nearest half, ties to even") {
  // Between neighbours a and b: just below the middle gives a, above gives b, the middle the even one.
  for (uint16_t h = 0; h < 0x7bff; ++h) {
    const float a = half_to_float(h), b = half_to_float(static_cast<uint16_t>(h + 1));
    const float middle = a + (b - a) / 2;
    REQUIRE(float_to_half(std::nextafter(middle, a)) == h);
    REQUIRE(float_to_half(std::nextafter(middle, b)) == h + 1);
    REQUIRE(float_to_half(middle) == (h % 2 == 0 ? h : h + 1));
    REQUIRE(float_to_half(-middle) == (0x8000 | (h % 2 == 0 ? h : h + 1)));
  }
  CHECK(float_to_half(65519.99f) == 0x7bff);
  CHECK(float_to_half(65520.0f) == 0x7c00);
  CHECK(float_to_half(-3e38f) == 0xfc00);
  CHECK(float_to_half(1e-45f) == 0);
}

TEST_CASE("floats round to the nearest bf16, ties to even") {
  const auto bf16 = [](uint32_t bits) { return float_to_bf16(bits_to_float(bits)); };
  CHECK(bf16(0x3f808000) == 0x3f80);
  CHECK(bf16(0x3f808001) == 0x3f81);
  CHECK(bf16(0x3f818000) == 0x3f82);
  CHECK(bf16(0x3f817fff) == 0x3f81);
  CHECK(bf16(0x7f7fffff) == 0x7f80);  // past the largest: infinity
  CHECK(bf16(0xff800000) == 0xff80);
  CHECK(bf16(0x7f800001) == 0x7fc0);  // NaN stays NaN though its payload is cut off
  CHECK(bf16(0x80000001) == 0x8000);
  for (uint32_t b = 0; b < 0x10000; ++b) {
    const float v = bf16_to_float(static_cast<uint16_t>(b));
    if (!std::isnan(v)) REQUIRE(float_to_bf16(v) == b);
  }
}

TEST_CASE("FP8 types decode by their definitions") {
  for (int v = 0; v < 256; ++v) {
    const auto byte = static_cast<uint8_t>(v);
    const double sign = v & 0x80 ? -1 : 1;
    const int e = v >> 3 & 15, m = v & 7;
    if ((v & 0x7f) == 0x7f) {
      REQUIRE(std::isnan(e4m3_to_float(byte)));
    } else {
      REQUIRE(e4m3_to_float(byte) == sign * (e ? std::ldexp(8 + m, e - 10) : std::ldexp(m, -9)));
    }
    if (v < 255) REQUIRE(e8m0_to_float(byte) == std::ldexp(1.0, v - 127));
  }
  CHECK(std::isnan(e8m0_to_float(255)));
  CHECK(e5m2_to_float(0x7c) == INFINITY);
  CHECK(e5m2_to_float(0xbc) == -1.0f);
  CHECK(std::isnan(e5m2_to_float(0x7d)));
}

TEST_CASE("plain types decode to their values") {
  const auto decode = [](std::string_view name, auto value) {
    const QuantFormat* f = find_format(name);
    REQUIRE(f);
    REQUIRE(f->dtype.block_bytes == sizeof value);
    std::vector<uint8_t> bytes(sizeof value);
    std::memcpy(bytes.data(), &value, sizeof value);
    return decode_all(rows_over(*f, bytes, 1)).at(0);
  };
  CHECK(decode("f32", -1.5f) == -1.5f);
  CHECK(decode("f64", 0.1) == 0.1f);
  CHECK(decode("i8", int8_t{-128}) == -128.0f);
  CHECK(decode("u8", uint8_t{255}) == 255.0f);
  CHECK(decode("i16", int16_t{-32768}) == -32768.0f);
  CHECK(decode("u16", uint16_t{65535}) == 65535.0f);
  CHECK(decode("i32", int32_t{-7}) == -7.0f);
  CHECK(decode("u32", uint32_t{4294967295u}) == 4294967296.0f);
  CHECK(decode("i64", int64_t{-9}) == -9.0f);
  CHECK(decode("u64", uint64_t{1} << 63) == 9223372036854775808.0f);
  CHECK(decode("bool", uint8_t{2}) == 1.0f);
}

}  // namespace ingle::quant
