// Claims on tensors, row orders, and what layers share.
#include <cstring>

#include "graph/builder.h"
#include "quant/weight.h"
#include "support/catch.h"
#include "support/errors.h"

using namespace ingle;
using namespace ingle::tests;
using graph::GraphBuilder;
using graph::TensorName;

namespace {

// A checkpoint of tensors whose values count up from 0.
class Counting final : public formats::Checkpoint {
 public:
  explicit Counting(std::vector<formats::TensorInfo> tensors, formats::Naming naming = formats::Naming::gguf)
      : infos_(std::move(tensors)), naming_(naming) {
    for (size_t i = 0; i < values_.size(); ++i) values_[i] = static_cast<float>(i);
  }
  const std::string& name() const override { return name_; }
  formats::Naming naming() const override { return naming_; }
  std::span<const formats::TensorInfo> tensors() const override { return infos_; }
  const formats::TensorInfo* find(std::string_view tensor) const override {
    for (const auto& t : infos_)
      if (t.name == tensor) return &t;
    return nullptr;
  }
  const formats::MetaValue* meta(std::string_view) const override { return nullptr; }
  std::vector<std::string> meta_keys() const override { return {}; }
  TensorView view(const formats::TensorInfo& t, std::vector<std::byte>&) const override {
    return {t.type, t.shape, reinterpret_cast<const std::byte*>(values_.data()),
            static_cast<uint64_t>(t.shape.elements()) * 4};
  }
  void forget(const formats::TensorInfo&) const override {}

 private:
  std::string name_ = "counting.gguf";
  std::vector<formats::TensorInfo> infos_;
  formats::Naming naming_;
  std::vector<float> values_ = std::vector<float>(4096);
};

GraphBuilder builder_over(std::vector<formats::TensorInfo> tensors,
                          formats::Naming naming = formats::Naming::gguf,
                          kv::StateType state = kv::StateType::f16) {
  return GraphBuilder(std::make_shared<Counting>(std::move(tensors), naming), state);
}
TensorName both(const std::string& name) { return {name, name}; }

constexpr DType kF32 = DType::f32;

}  // namespace

TEST_CASE("every tensor is claimed, and none is missed", "[graph]") {
  GraphBuilder b = builder_over({{"a", kF32, {4, 3}}, {"b", kF32, {3}}, {"c", kF32, {5}}, {"d", kF32, {1}}});
  CHECK(b.has(both("a")));
  CHECK_FALSE(b.has(both("x")));
  CHECK(b.rows_of(both("a")) == 4);
  b.matrix(both("a"), 4, 3);
  b.vector(both("b"), 3);
  CHECK(b.find_vector(both("x"), 3) == kNone);
  const Error missing = error_of([&] { b.matrix(both("x"), 1, 1); });
  CHECK(missing.code() == Code::corrupt);
  CHECK(contains(missing.what(), "counting.gguf"));
  CHECK(contains(missing.what(), "'x' is missing"));
  CHECK(error_of([&] { b.rows_of(both("x")); }).code() == Code::corrupt);
  const Error unused = error_of([&] { b.finish(10, 10); });
  CHECK(unused.code() == Code::unsupported);
  CHECK(contains(unused.what(), "2 tensors"));
  CHECK(contains(unused.what(), "c, d"));
  b.leave_out(both("c"));
  b.leave_out(both("not there"));
  CHECK(b.values(both("d"), 1) == std::vector<float>{0});
  const backends::Plan plan = b.finish(10, 20);
  CHECK(plan.n_vocab == 10);
  CHECK(plan.n_context == 20);
  CHECK(plan.weights.size() == 1);
  CHECK(plan.vectors.size() == 1);
}

TEST_CASE("many unused tensors are listed in part", "[graph]") {
  std::vector<formats::TensorInfo> tensors;
  for (char c = 'a'; c < 'j'; ++c) tensors.push_back({std::string(3, c), kF32, {1}});
  const Error e = error_of([&] { builder_over(tensors).finish(1, 1); });
  CHECK(contains(e.what(), "9 tensors"));
  CHECK(contains(e.what(), "eee, …"));
  CHECK_FALSE(contains(e.what(), "fff"));
}

TEST_CASE("shapes and types are checked", "[graph]") {
  GraphBuilder b = builder_over({{"a", kF32, {4, 3}},
                                 {"v", kF32, {1, 3}},
                                 {"cube", kF32, {2, 2, 3}},
                                 {"odd", static_cast<DType>(9999), {3}}});
  for (const auto& [rows, cols] : {std::pair{3, 4}, {4, 4}, {3, 3}, {5, 3}}) {
    const Error e = error_of([&, r = rows, c = cols] { b.matrix(both("a"), r, c); });
    CHECK(e.code() == Code::corrupt);
    CHECK(contains(e.where(), "tensor a"));
    CHECK(contains(e.what(), "[4, 3]"));
    CHECK(contains(e.what(), Shape{rows, cols}.text()));
  }
  CHECK(error_of([&] { b.matrix(both("cube"), 4, 3); }).code() == Code::corrupt);
  CHECK(contains(error_of([&] { b.vector(both("a"), 3); }).what(), "expected [3]"));
  CHECK(b.vector(both("v"), 3) == 0);  // a single row is a vector
  CHECK(error_of([&] { b.vector(both("odd"), 3); }).code() == Code::unsupported);
}

TEST_CASE("names follow the container", "[graph]") {
  const std::vector<formats::TensorInfo> tensors = {{"token_embd", kF32, {2, 2}}, {"embed", kF32, {3, 2}}};
  const TensorName name{"token_embd", "embed"};
  CHECK(builder_over(tensors).rows_of(name) == 2);
  CHECK(builder_over(tensors, formats::Naming::hugging_face).rows_of(name) == 3);
  CHECK_FALSE(builder_over(tensors).has({"", "embed"}));
}

TEST_CASE("a tensor taken twice is one weight, in another order another", "[graph]") {
  GraphBuilder b = builder_over({{"a", kF32, {8, 2}}});
  const Id once = b.matrix(both("a"), 8, 2);
  CHECK(b.matrix(both("a"), 8, 2) == once);
  const Id permuted = b.matrix(both("a"), 8, 2, {4, 4});
  CHECK(permuted != once);
  CHECK(b.matrix(both("a"), 8, 2, {4, 4}) == permuted);
  CHECK(b.matrix(both("a"), 8, 2, {8, 4}) != permuted);
  CHECK(b.finish(1, 1).weights.size() == 3);
}

TEST_CASE("rows with adjacent pairs are put half a rotation apart", "[graph]") {
  GraphBuilder b = builder_over({{"a", kF32, {12, 2}}, {"v", kF32, {12}}});
  const graph::RowOrder order{6, 4};  // heads of 6 rows, 4 of which rotate
  b.matrix(both("a"), 12, 2, order);
  b.vector(both("v"), 12, order);
  const backends::Plan plan = b.finish(1, 1);
  const std::vector<int64_t> expected = {0, 2, 1, 3, 4, 5, 6, 8, 7, 9, 10, 11};
  CHECK(plan.weights[0].source_rows == expected);
  CHECK(plan.vectors[0].values == std::vector<float>(expected.begin(), expected.end()));
}

TEST_CASE("parts of a fused tensor are taken row by row", "[graph]") {
  GraphBuilder b = builder_over({{"qkv", kF32, {10, 2}}, {"bias", kF32, {10}}});
  const auto part = [](int64_t first) { return graph::RowOrder{.first = first, .whole = 10}; };
  const Id q = b.matrix(both("qkv"), 6, 2, part(0)), k = b.matrix(both("qkv"), 2, 2, part(6)),
           v = b.matrix(both("qkv"), 2, 2, part(8));
  const Id qb = b.vector(both("bias"), 6, part(0)), vb = b.vector(both("bias"), 2, part(8));
  // Rotated, too: heads of 2, adjacent pairs.
  const Id turned = b.matrix(both("qkv"), 4, 2, {4, 4, 6, 10});
  CHECK(error_of([&] { b.matrix(both("qkv"), 3, 2, part(8)); }).code() == Code::internal);
  CHECK(error_of([&] { b.vector(both("bias"), 3, part(8)); }).code() == Code::internal);
  CHECK(error_of([&] { b.matrix(both("qkv"), 2, 2, {.first = 0, .whole = 11}); }).code() == Code::corrupt);
  CHECK(error_of([&] { b.vector(both("bias"), 2, {.first = 0, .whole = 9}); }).code() == Code::corrupt);
  const backends::Plan plan = b.finish(1, 1);
  const auto rows = [&](Id id) { return plan.weights[static_cast<size_t>(id)].source_rows; };
  CHECK(rows(q) == std::vector<int64_t>{0, 1, 2, 3, 4, 5});
  CHECK(rows(k) == std::vector<int64_t>{6, 7});
  CHECK(rows(v) == std::vector<int64_t>{8, 9});
  CHECK(rows(turned) == std::vector<int64_t>{6, 8, 7, 9});
  CHECK(plan.vectors[static_cast<size_t>(qb)].values == std::vector<float>{0, 1, 2, 3, 4, 5});
  CHECK(plan.vectors[static_cast<size_t>(vb)].values == std::vector<float>{8, 9});
}

TEST_CASE("equal rotations share an id", "[graph]") {
  GraphBuilder b = builder_over({});
  const Id one = b.rotation({{1, 0.5}, 1});
  CHECK(b.rotation({{1, 0.25}, 1}) != one);
  CHECK(b.rotation({{1, 0.5}, 2}) != one);
  CHECK(b.rotation({{1}, 1}) != one);
  CHECK(b.rotation({{1, 0.5}, 1}) == one);
  CHECK(b.finish(1, 1).rotations.size() == 4);
}

TEST_CASE("keys in 8 bits are centered by their bias where rotations leave it", "[graph]") {
  const HeadShape heads{2, 2, 5, 5};
  const std::vector<double> turns = {1, 1e-6};  // of values 0 and 2, 1 and 3
  for (const kv::StateType type : {kv::StateType::f16, kv::StateType::q8}) {
    GraphBuilder b = builder_over({{"a", kF32, {10}}}, formats::Naming::gguf, type);
    const Id bias = b.vector(both("a"), 10), rotation = b.rotation({.inverse_frequency = turns});
    const Id turned = b.key_center(bias, rotation, heads), still = b.key_center(bias, kNone, heads);
    CHECK(b.key_center(kNone, rotation, heads) == kNone);
    CHECK((turned == kNone) == (type == kv::StateType::f16));
    if (turned == kNone) continue;
    const backends::Plan plan = b.finish(1, 1);
    CHECK(plan.vectors[static_cast<size_t>(turned)].values ==
          std::vector<float>{0, 1, 0, 3, 4, 0, 6, 0, 8, 9});
    CHECK(plan.vectors[static_cast<size_t>(still)].values ==
          std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  }
}

TEST_CASE("each part of 4-bit state has a tail behind it", "[graph]") {
  GraphBuilder b = builder_over({}, formats::Naming::gguf, kv::StateType::q4);
  const HeadShape h{8, 2, 16, 24}, wide{8, 2, 32, 24};
  CHECK(b.state(kv::PartKind::pages, h, 0).part == 0);
  CHECK(b.state(kv::PartKind::window, wide, 100).part == 2);
  const GraphBuilder::StateSlot again = b.state(kv::PartKind::pages, h, 0);
  CHECK(again.part == 0);
  CHECK(again.layer == 1);
  const backends::Plan plan = b.finish(1, 1);
  const kv::StateType q4 = kv::StateType::q4, f16 = kv::StateType::f16;
  CHECK(plan.parts == std::vector<kv::PartSpec>{{kv::PartKind::pages, q4, 2, 2, 16, 24, 0},
                                                {kv::PartKind::tail, f16, 2, 2, 16, 0, 0},
                                                {kv::PartKind::window, q4, 1, 2, 32, 24, 100},
                                                {kv::PartKind::tail, f16, 1, 2, 32, 0, 0}});
}

TEST_CASE("layers of equal shape and window share a part of the state", "[graph]") {
  GraphBuilder b = builder_over({});
  const HeadShape h{8, 2, 16, 16}, wide{8, 2, 32, 16}, few{8, 1, 16, 16}, more_queries{16, 2, 16, 16};
  const auto is = [](GraphBuilder::StateSlot s, Id part, int32_t layer) {
    return s.part == part && s.layer == layer;
  };
  CHECK(is(b.state(kv::PartKind::window, h, 64), 0, 0));
  CHECK(is(b.state(kv::PartKind::pages, h, 0), 1, 0));
  CHECK(is(b.state(kv::PartKind::window, h, 64), 0, 1));
  CHECK(is(b.state(kv::PartKind::window, h, 32), 2, 0));
  CHECK(is(b.state(kv::PartKind::pages, wide, 0), 3, 0));
  CHECK(is(b.state(kv::PartKind::pages, few, 0), 4, 0));
  CHECK(is(b.state(kv::PartKind::pages, more_queries, 0), 1, 1));
  CHECK(is(b.state(kv::PartKind::window, h, 64), 0, 2));
  CHECK(is(b.recurrent_state(4, 16, 32), 5, 0));
  CHECK(is(b.recurrent_state(1, 3, 64), 6, 0));
  CHECK(is(b.recurrent_state(4, 16, 32), 5, 1));
  const backends::Plan plan = b.finish(1, 1);
  REQUIRE(plan.parts.size() == 7);
  CHECK(plan.parts[5].kind == kv::PartKind::recurrent);
  CHECK(plan.parts[5].type == kv::StateType::f32);
  CHECK(plan.parts[5].n_layers == 2);
  CHECK(plan.parts[0].n_layers == 3);
  CHECK(plan.parts[0].window == 64);
  CHECK(plan.parts[0].type == kv::StateType::f16);
  CHECK(plan.parts[1].n_layers == 2);
}

TEST_CASE("parts of fused tensors that alternate", "[graph]") {
  // Two heads of q (2 rows), k (1), v (1) each, in 8 rows of 2 values.
  GraphBuilder b = builder_over({{"qkv", kF32, {8, 2}}});
  graph::RowOrder q, k;
  q.whole = k.whole = 8;
  q.run = 2, q.stride = k.stride = 4, k.run = 1, k.first = 2;
  b.matrix(both("qkv"), 4, 2, q);
  b.matrix(both("qkv"), 2, 2, k);
  k.first = 3;
  b.matrix(both("qkv"), 2, 2, k);
  const backends::Plan plan = b.finish(8, 8);
  REQUIRE(plan.weights.size() == 3);
  CHECK(plan.weights[0].source_rows.at(2) == 4);
  CHECK(plan.weights[0].source_rows.at(3) == 5);
  CHECK(plan.weights[1].source_rows.at(0) == 2);
  CHECK(plan.weights[1].source_rows.at(1) == 6);
  CHECK(plan.weights[2].source_rows.at(1) == 7);
}

TEST_CASE("a Hugging Face name is found without its first part", "[graph]") {
  GraphBuilder b = builder_over({{"h.0.ln.weight", kF32, {3}}}, formats::Naming::hugging_face);
  CHECK(b.has({"", "transformer.h.0.ln.weight"}));
  CHECK_FALSE(b.has({"", "transformer.h.1.ln.weight"}));
  b.leave_out({"", "transformer.h.0.ln.weight"});
  CHECK(b.finish(1, 1).weights.empty());
  GraphBuilder gguf = builder_over({{"h.0.ln.weight", kF32, {3}}});
  CHECK_FALSE(gguf.has(both("transformer.h.0.ln.weight")));
}

TEST_CASE("vectors with something added, and of any shape", "[graph]") {
  GraphBuilder b = builder_over({{"v", kF32, {2, 3}}}, formats::Naming::hugging_face);
  const Id v = b.vector(both("v"), 6, {}, 1);
  const Id made = b.made_vector({7});
  b.limit_positions(5);
  const backends::Plan plan = b.finish(1, 1);
  CHECK(plan.vectors[static_cast<size_t>(v)].values == std::vector<float>{1, 2, 3, 4, 5, 6});
  CHECK(plan.vectors[static_cast<size_t>(made)].values == std::vector<float>{7});
  CHECK(plan.n_positions == 5);
}
