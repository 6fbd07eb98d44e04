#include <map>
#include <set>

#include "core/error.h"
#include "goldens.h"
#include "quant/codes.h"
#include "support/catch.h"

namespace ingle::quant {
namespace {

// The types of GGUF files by number; 9 and 15 are activations, the gaps were removed from the format.
const std::map<int, std::string> kGgmlTypes = {
    {0, "f32"},      {1, "f16"},     {2, "q4_0"},     {3, "q4_1"},   {6, "q5_0"},    {7, "q5_1"},
    {8, "q8_0"},     {10, "q2_k"},   {11, "q3_k"},    {12, "q4_k"},  {13, "q5_k"},   {14, "q6_k"},
    {16, "iq2_xxs"}, {17, "iq2_xs"}, {18, "iq3_xxs"}, {19, "iq1_s"}, {20, "iq4_nl"}, {21, "iq3_s"},
    {22, "iq2_s"},   {23, "iq4_xs"}, {24, "i8"},      {25, "i16"},   {26, "i32"},    {27, "i64"},
    {28, "f64"},     {29, "iq1_m"},  {30, "bf16"},    {34, "tq1_0"}, {35, "tq2_0"},  {39, "mxfp4"},
    {40, "nvfp4"},   {41, "q1_0"},   {42, "q2_0"}};

Code code_of(auto f) {
  try {
    f();
  } catch (const Error& e) {
    CHECK_FALSE(e.where().empty());
    return e.code();
  }
  return Code::ok;
}

}  // namespace

TEST_CASE("the catalog has every type of GGUF files, under its number") {
  std::map<int, std::string> found;
  for (const DTypeInfo& t : dtype_table().rows()) {
    if (t.ggml_id >= 0) found[t.ggml_id] = t.name;
  }
  CHECK(found == kGgmlTypes);
  for (const int removed : {4, 5, 9, 15, 31, 32, 33, 36, 37, 38, 43})
    CHECK_FALSE(dtype_table().find_ggml(removed));
}

TEST_CASE("the catalog has every type of safetensors files") {
  for (const char* name : {"F32", "F16", "BF16", "F64", "F8_E4M3", "F8_E5M2", "F8_E8M0", "I8", "I16", "I32",
                           "I64", "U8", "U16", "U32", "U64", "BOOL"}) {
    CAPTURE(name);
    CHECK(dtype_table().find_safetensors(name));
  }
}

TEST_CASE("names, ids and types are unique, and rows agree with themselves") {
  std::set<std::string_view> names, safetensors;
  std::set<int> ggml, types;
  for (const QuantFormat* f : all_formats()) {
    CAPTURE(f->name);
    CHECK(names.insert(f->name).second);
    CHECK(types.insert(static_cast<int>(f->dtype.type)).second);
    if (f->dtype.ggml_id >= 0) CHECK(ggml.insert(f->dtype.ggml_id).second);
    if (!f->dtype.safetensors.empty()) CHECK(safetensors.insert(f->dtype.safetensors).second);
    CHECK(f->dtype.name == f->name);
    CHECK(f->decode_rows);
    CHECK(f->bits_per_weight == 8.0 * f->dtype.block_bytes / f->dtype.block_elems);
    CHECK(find_format(f->name) == f);
    CHECK(find_format(f->dtype.type) == f);
    CHECK((f->dtype.block_elems > 1) == (f->dtype.type >= DType::first_quantised));
  }
  CHECK(dtype_table().rows().size() == all_formats().size());
  CHECK_FALSE(find_format("q4_2"));
  CHECK_FALSE(find_format(static_cast<DType>(0)));
}

TEST_CASE("blocks have the sizes of the format") {
  const std::map<std::string, std::pair<uint32_t, uint32_t>> sizes = {
      {"q4_0", {32, 18}},     {"q4_1", {32, 20}},    {"q5_0", {32, 22}},   {"q5_1", {32, 24}},
      {"q8_0", {32, 34}},     {"q2_k", {256, 84}},   {"q3_k", {256, 110}}, {"q4_k", {256, 144}},
      {"q5_k", {256, 176}},   {"q6_k", {256, 210}},  {"iq4_nl", {32, 18}}, {"iq4_xs", {256, 136}},
      {"iq2_xxs", {256, 66}}, {"iq2_xs", {256, 74}}, {"iq2_s", {256, 82}}, {"iq3_xxs", {256, 98}},
      {"iq3_s", {256, 110}},  {"iq1_s", {256, 50}},  {"iq1_m", {256, 56}}, {"tq1_0", {256, 54}},
      {"tq2_0", {256, 66}},   {"mxfp4", {32, 17}},   {"nvfp4", {64, 36}},  {"q1_0", {128, 18}},
      {"q2_0", {64, 18}}};
  size_t blocks = 0;
  for (const QuantFormat* f : all_formats()) blocks += f->dtype.block_elems > 1;
  CHECK(blocks == sizes.size());
  for (const auto& [name, size] : sizes) {
    CAPTURE(name);
    const QuantFormat* f = find_format(name);
    REQUIRE(f);
    CHECK(std::pair(f->dtype.block_elems, f->dtype.block_bytes) == size);
  }
}

TEST_CASE("block_weight takes what fits and says what does not") {
  const std::vector<std::byte> bytes(144 * 6);
  const DType q4_k = find_format("q4_k")->dtype.type;
  const auto weight = [&](DType type, Shape shape, uint64_t n, const std::byte* data) {
    return block_weight({type, shape, data, n}, "blk.0.x");
  };
  const QuantWeight w = weight(q4_k, {2, 3, 256}, bytes.size(), bytes.data());
  CHECK(w.format == find_format("q4_k"));
  CHECK(w.rows() == 6);
  CHECK(w.cols() == 256);
  CHECK(code_of([&] { weight(static_cast<DType>(999), {1}, 1, bytes.data()); }) == Code::unsupported);
  CHECK(code_of([&] { weight(q4_k, {6, 255}, 144 * 6, bytes.data()); }) == Code::corrupt);
  CHECK(code_of([&] { weight(q4_k, {512, 3}, 144 * 6, bytes.data()); }) == Code::corrupt);
  CHECK(code_of([&] { weight(q4_k, {6, 256}, 144 * 6 - 1, bytes.data()); }) == Code::corrupt);
  CHECK(code_of([&] { weight(q4_k, {6, 256}, 144 * 6, nullptr); }) == Code::corrupt);
  CHECK(code_of([&] { weight(q4_k, {-6, 256}, 144 * 6, bytes.data()); }) == Code::corrupt);
  CHECK(code_of([&] {
          weight(DType::f32, {int64_t{1} << 40, int64_t{1} << 40}, 0, bytes.data());
        }) == Code::corrupt);
  CHECK(weight(DType::f32, {0, 256}, 0, nullptr).rows() == 0);
}

}  // namespace ingle::quant
