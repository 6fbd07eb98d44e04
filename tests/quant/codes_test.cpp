// The integer-code view against decode_rows, and the raw scales against the scales.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "goldens.h"
#include "quant/blocks.h"
#include "quant/codes.h"
#include "support/catch.h"

namespace ingle::quant {
namespace {

struct Row {
  std::vector<uint8_t> codes;
  std::vector<float> scale, min;
};
Row read_row(const CodeFormat& c, const QuantWeight& w, int64_t row) {
  const auto k = static_cast<size_t>(w.cols()), subs = k / static_cast<size_t>(c.sub_block);
  Row r{std::vector<uint8_t>(k), std::vector<float>(subs), std::vector<float>(c.has_min ? subs : 0)};
  c.codes_row(w, row, r.codes.data(), r.scale.data(), c.has_min ? r.min.data() : nullptr);
  return r;
}

bool same(float a, float b) {
  return float_to_bits(a) == float_to_bits(b) || (std::isnan(a) && std::isnan(b));
}

}  // namespace

TEST_CASE("codes and scales give the decoded bits") {
  int seen = 0;
  for (const QuantFormat* f : all_formats()) {
    const CodeFormat* c = find_codes(*f);
    if (!c) continue;
    ++seen;
    INFO(f->name);
    CHECK(c->format == f->name);
    CHECK((!c->has_min || c->zero == 0));
    const Golden golden("ggml_" + std::string(f->name));
    Shape shape;
    const auto expected = golden.values<float>("expected_random", &shape);
    const auto packed = golden.values<uint8_t>("packed_random");
    const QuantWeight w = rows_over(*f, packed, shape.back());
    for (int64_t row = 0; row < w.rows(); ++row) {
      const Row r = read_row(*c, w, row);
      for (int64_t i = 0; i < w.cols(); ++i) {
        const auto at = static_cast<size_t>(i), sub = static_cast<size_t>(i / c->sub_block);
        REQUIRE(r.codes[at] < 1 << c->bits);
        if (c->table)
          REQUIRE(std::find(c->table, c->table + c->n_table, r.codes[at]) != c->table + c->n_table);
        const float product = r.scale[sub] * static_cast<float>(r.codes[at] - c->zero);
        const float value = c->has_min ? product + r.min[sub] : product;
        REQUIRE(same(value, expected[static_cast<size_t>(row * w.cols() + i)]));
      }
    }
  }
  CHECK(seen == 25);
  CHECK_FALSE(find_codes(*find_format("f16")));
  CHECK_FALSE(find_codes(*find_format("f32")));
}

TEST_CASE("raw scales make the scales") {
  for (const QuantFormat* f : all_formats()) {
    const CodeFormat* c = find_codes(*f);
    if (!c) continue;
    INFO(f->name);
    const Golden golden("ggml_" + std::string(f->name));
    Shape shape;
    golden.values<float>("expected", &shape);
    const auto packed = golden.values<uint8_t>("packed");
    const QuantWeight w = rows_over(*f, packed, shape.back());
    const int64_t row = w.rows() - 1, subs = w.cols() / c->sub_block, units = w.cols() / c->scale_block;
    std::vector<uint16_t> d(static_cast<size_t>(units)), m = d;
    std::vector<uint8_t> sc(static_cast<size_t>(subs)), mn = sc;
    RawScales raw{d.data(), m.data(), sc.data(), mn.data()};
    c->raw_scales_row(w, row, &raw);
    const Row r = read_row(*c, w, row);
    for (int64_t j = 0; j < subs; ++j) {
      const auto at = static_cast<size_t>(j), unit = static_cast<size_t>(j * c->sub_block / c->scale_block);
      float scale = c->bf16_scales ? bf16_to_float(d[unit]) : half_to_float(d[unit]),
            min = half_to_float(m[unit]);
      scale *= c->unit;
      if (c->has_sub_scales) {
        scale *= c->has_min ? static_cast<float>(sc[at]) : static_cast<float>(static_cast<int8_t>(sc[at]));
        min *= -static_cast<float>(mn[at]);
      }
      REQUIRE(r.scale[at] == scale);
      if (c->has_min) REQUIRE(r.min[at] == min);
    }
    RawScales nothing;
    c->raw_scales_row(w, row, &nothing);  // null pointers are left alone
    Row codes_only{std::vector<uint8_t>(static_cast<size_t>(w.cols())), {}, {}};
    c->codes_row(w, row, codes_only.codes.data(), nullptr, nullptr);
    CHECK(codes_only.codes == r.codes);
  }
}

}  // namespace ingle::quant
