// What plans hold: ties, rotations, state parts, scales.
#include <cmath>

#include "models/edit.h"

using namespace ingle;
using namespace ingle::tests;

TEST_CASE("embeddings are tied when the file has no output matrix", "[models]") {
  const backends::Plan tied = EditedModel("llama3/model-q8_0.gguf").plan();
  CHECK(ops_of<op::Head>(tied).at(0).w.weight == ops_of<op::Embed>(tied).at(0).table);
  const backends::Plan untied = EditedModel("qwen2-q8_0.gguf").plan();
  CHECK(ops_of<op::Head>(untied).at(0).w.weight != ops_of<op::Embed>(untied).at(0).table);
  CHECK(tied.n_vocab == 320);
  CHECK(tied.n_context == 128);
}

TEST_CASE("only Llama's Q and K rows are put back into canonical order", "[models]") {
  const backends::Plan llama = EditedModel("llama3/model-q8_0.gguf").plan();
  const op::AttentionInput a = ops_of<op::AttentionInput>(llama).at(0);
  const auto& q = llama.weights[static_cast<size_t>(a.wq.weight)];
  const auto& k = llama.weights[static_cast<size_t>(a.wk.weight)];
  REQUIRE(q.source_rows.size() == 64);
  REQUIRE(k.source_rows.size() == 32);
  CHECK(q.source_rows[0] == 0);
  CHECK(q.source_rows[1] == 2);    // canonical row 1 is the first of the second pair
  CHECK(q.source_rows[8] == 1);    // and row dk / 2 the second of the first
  CHECK(q.source_rows[17] == 18);  // in the second head
  CHECK(llama.weights[static_cast<size_t>(a.wv.weight)].source_rows.empty());
  const backends::Plan qwen = EditedModel("qwen2-q8_0.gguf").plan();
  for (const backends::PlanWeight& w : qwen.weights) CHECK(w.source_rows.empty());
}

TEST_CASE("rotations follow base, linear factor and frequency factors, and equal ones are shared",
          "[models]") {
  EditedModel qwen("qwen2-q8_0.gguf");
  const backends::Plan plain = qwen.plan();
  REQUIRE(plain.rotations.size() == 1);
  const std::vector<double> f = plain.rotations[0].inverse_frequency;
  REQUIRE(f.size() == 8);
  CHECK(f[0] == 1);
  CHECK(f[4] == Approx(std::pow(1e6, -0.5)));
  SECTION("linear") {
    qwen.set("qwen2.rope.scaling.type", std::string("linear"));
    qwen.set("qwen2.rope.scaling.factor", 4.0);
    CHECK(qwen.plan().rotations[0].inverse_frequency[4] == Approx(f[4] / 4));
  }
  SECTION("a factor without a type is linear, as the format's other readers have it") {
    qwen.set("qwen2.rope.scaling.factor", 4.0);
    CHECK(qwen.plan().rotations[0].inverse_frequency[4] == Approx(f[4] / 4));
  }
  SECTION("none") {
    qwen.set("qwen2.rope.scaling.type", std::string("none"));
    qwen.set("qwen2.rope.scaling.factor", 4.0);
    CHECK(qwen.plan().rotations[0].inverse_frequency == f);
  }
  SECTION("a part of each head") {
    qwen.set("qwen2.rope.dimension_count", uint64_t{8});
    const backends::Plan part = qwen.plan();
    REQUIRE(part.rotations[0].inverse_frequency.size() == 4);
    CHECK(part.rotations[0].inverse_frequency[1] == Approx(std::pow(1e6, -0.25)));
  }
  SECTION("frequency factors") {
    EditedModel llama("llama3/model-q8_0.gguf");
    llama.drop_tensor("rope_freqs.weight");
    const double before = llama.plan().rotations[0].inverse_frequency[2];
    llama.add_tensor("rope_freqs.weight", {8}, {1, 1, 4, 1, 1, 1, 1, 1});
    CHECK(llama.plan().rotations[0].inverse_frequency[2] == Approx(before / 4));
  }
}

TEST_CASE("Gemma 3 has two rotations and two state parts", "[models]") {
  EditedModel gemma("gemma3_text/model-q8_0.gguf");
  const backends::Plan plan = gemma.plan(kv::StateType::bf16);
  REQUIRE(plan.parts.size() == 2);
  CHECK(plan.parts[0].kind == kv::PartKind::window);
  CHECK(plan.parts[0].window == 16);
  CHECK(plan.parts[0].n_layers == 5);
  CHECK(plan.parts[0].type == kv::StateType::bf16);
  CHECK(plan.parts[1].kind == kv::PartKind::pages);
  CHECK(plan.parts[1].n_layers == 1);
  REQUIRE(plan.rotations.size() == 2);
  CHECK(plan.rotations[0].inverse_frequency[0] == 1);                // sliding: not scaled
  CHECK(plan.rotations[1].inverse_frequency[0] == Approx(1.0 / 8));  // full: linear, by 8
  CHECK(ops_of<op::Embed>(plan).at(0).scale == std::sqrt(32.0f));
  const auto attends = ops_of<op::Attend>(plan);
  REQUIRE(attends.size() == 6);
  for (const op::Attend& a : attends) CHECK(a.scale == 0.25f);  // 1 / sqrt(dk)
  for (const op::GatedFfn& f : ops_of<op::GatedFfn>(plan)) CHECK(f.post.kind == NormKind::rms);
  CHECK(ops_of<op::Head>(plan).at(0).softcap == 0);
  gemma.set("gemma3.final_logit_softcapping", 30.0);
  CHECK(ops_of<op::Head>(gemma.plan()).at(0).softcap == 30);
}

// The 27B model alone scales by 1 / sqrt(hidden / heads) (query_pre_attn_scalar 168, heads of 128); no key
// says so, and readers of the format know it by its 62 layers.
TEST_CASE("Gemma 3 27B scales logits by its own rule", "[models]") {
  EditedModel gemma("gemma3_text/model-q8_0.gguf");
  const size_t n = gemma.tensors.size();
  for (int layer = 6; layer < 62; ++layer) {
    for (size_t i = 0; i < n; ++i) {
      const formats::GgufTensor t = gemma.tensors[i];
      if (!t.name.starts_with("blk.0.")) continue;
      gemma.tensors.push_back({"blk." + std::to_string(layer) + t.name.substr(5), t.type, t.shape});
      gemma.bytes.push_back(gemma.bytes[i]);
    }
  }
  gemma.set("gemma3.block_count", uint64_t{62});
  gemma.set("gemma3.attention.head_count", uint64_t{4});  // wider than before: hidden / heads is 8, dk 16
  for (size_t i = 0; i < gemma.tensors.size(); ++i) {
    formats::GgufTensor& t = gemma.tensors[i];
    if (t.name.ends_with("attn_q.weight")) {
      t.shape = {64, 32};
      gemma.bytes[i].resize(2 * gemma.bytes[i].size());
    }
    if (t.name.ends_with("attn_output.weight")) {
      t.shape = {32, 64};
      gemma.bytes[i].resize(2 * gemma.bytes[i].size());
    }
  }
  for (const op::Attend& a : ops_of<op::Attend>(gemma.plan())) CHECK(a.scale == Approx(1 / std::sqrt(8.0)));
}

TEST_CASE("a value is as wide as hidden / heads when the file does not say", "[models]") {
  EditedModel qwen("qwen2-q8_0.gguf");
  for (const char* name : {"qwen2.attention.key_length", "qwen2.attention.value_length"})
    std::erase_if(qwen.meta, [&](const auto& m) { return m.first == name; });
  const HeadShape usual = ops_of<op::Attend>(qwen.plan()).at(0).heads;
  CHECK(usual.dk == 16);
  CHECK(usual.dv == 16);
  // Wider keys alone: the values keep their width.
  qwen.set("qwen2.attention.key_length", uint64_t{32});
  for (size_t i = 0; i < qwen.tensors.size(); ++i) {
    formats::GgufTensor& t = qwen.tensors[i];
    for (const std::string part : {"attn_q.", "attn_k."}) {
      if (t.name.find(part) == std::string::npos) continue;
      t.shape = t.shape.rank() == 2 ? Shape{t.shape[0] * 2, t.shape[1]} : Shape{t.shape[0] * 2};
      const std::vector<std::byte> once = qwen.bytes[i];
      qwen.bytes[i].insert(qwen.bytes[i].end(), once.begin(), once.end());
    }
  }
  const HeadShape wide = ops_of<op::Attend>(qwen.plan()).at(0).heads;
  CHECK(wide.dk == 32);
  CHECK(wide.dv == 16);
}
