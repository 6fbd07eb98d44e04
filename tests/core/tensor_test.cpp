#include "core/tensor.h"

#include <cstdint>
#include <limits>

#include "core/dtypes.h"
#include "core/error.h"
#include "support/catch.h"
#include "support/errors.h"

using namespace ingle;
using tests::error_of;

TEST_CASE("shapes", "[core]") {
  const Shape scalar;
  CHECK(scalar.rank() == 0);
  CHECK(scalar.elements() == 1);
  CHECK(scalar.back() == 1);
  CHECK(scalar.text() == "[]");

  const Shape weight = {3, 4, 5};
  CHECK(weight.rank() == 3);
  CHECK(weight[0] == 3);
  CHECK(weight.back() == 5);
  CHECK(weight.elements() == 60);
  CHECK(weight.rows() == 12);
  CHECK(weight.text() == "[3, 4, 5]");
  CHECK(weight == Shape{3, 4, 5});
  CHECK_FALSE(weight == Shape{3, 4});
  CHECK_FALSE(Shape{1, 3} == Shape{3});
  CHECK(Shape{4, 0}.rows() == 0);
}

TEST_CASE("a shape has at most four dimensions", "[core]") {
  Shape shape = {1, 2, 3, 4};
  CHECK(error_of([&] { shape.push_back(5); }).code() == Code::unsupported);
  CHECK(shape.rank() == 4);
  CHECK(error_of([] { Shape{1, 2, 3, 4, 5}; }).code() == Code::unsupported);
}

TEST_CASE("a table of types is found by id, number and name", "[core]") {
  static constexpr DType kBlocks = static_cast<DType>(256);
  static constexpr DTypeInfo kRows[] = {{DType::f32, "f32", 1, 4, 0, "F32"},
                                        {kBlocks, "blocks", 32, 18, 2, ""}};
  const DTypeTable table(kRows);
  REQUIRE(table.find(kBlocks));
  CHECK(table.find(kBlocks)->name == "blocks");
  CHECK(table.find_ggml(2) == table.find(kBlocks));
  CHECK(table.find_safetensors("F32") == table.find(DType::f32));
  CHECK(table.find_name("f32") == table.find(DType::f32));
  CHECK_FALSE(table.find(DType::f16));
  CHECK_FALSE(table.find_ggml(-1));
  CHECK_FALSE(table.find_ggml(int64_t{1} << 40));
  CHECK_FALSE(table.find_safetensors(""));
  CHECK_FALSE(table.find_name("F32"));
}

TEST_CASE("bytes of whole blocks", "[core]") {
  constexpr DTypeInfo blocks = {DType::first_quantised, "blocks", 32, 18, 2, ""};
  CHECK(bytes_of(blocks, 64) == 36u);
  CHECK(bytes_of(blocks, 0) == 0u);
  CHECK_FALSE(bytes_of(blocks, 33));
  constexpr DTypeInfo plain = {DType::f64, "f64", 1, 8, 28, "F64"};
  CHECK(bytes_of(plain, 3) == 24u);
  CHECK_FALSE(bytes_of(plain, std::numeric_limits<uint64_t>::max() / 4));
}
