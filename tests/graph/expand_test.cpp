// Which plain ops a fused op stands for.
#include "graph/expand.h"

#include "support/catch.h"

using namespace ingle;

namespace {

const auto kNothing = [](const Op&) { return false; };

std::vector<std::string> names(const backends::Plan& plan) {
  std::vector<std::string> out;
  for (const Op& o : plan.ops) out.push_back(op_name(o));
  return out;
}
using Names = std::vector<std::string>;

// Buffers x (8 wide), q (12), attended (12); weights: q 12x8, k and v 6x8, o 8x12, up 20x8, down 8x20, head
// 30x8.
enum : Id { kX, kQ, kAttended };
enum : Id { kWq, kWk, kWv, kWo, kUp, kDown, kHead };
backends::Plan plan_of(std::vector<Op> ops) {
  backends::Plan plan;
  plan.buffers = {{8}, {12}, {12}};
  for (const auto& [rows, cols] :
       std::vector<std::pair<int64_t, int64_t>>{{12, 8}, {6, 8}, {6, 8}, {8, 12}, {20, 8}, {8, 20}, {30, 8}})
    plan.weights.push_back({nullptr, rows, cols, {}});
  plan.ops = std::move(ops);
  return plan;
}
const NormSpec kRms{NormKind::rms, 0, kNone, 1e-5f};

op::AttentionInput attention_input() {
  op::AttentionInput in{};
  in.x = kX;
  in.q = kQ;
  in.norm = kRms;
  in.wq = {kWq};
  in.wk = {kWk};
  in.wv = {kWv};
  in.rotation = 0;
  in.part = 1;
  in.layer = 5;
  in.heads = {4, 2, 3, 3};
  in.k_center = 2;
  return in;
}

}  // namespace

TEST_CASE("ops that are taken stay as they are", "[graph]") {
  const backends::Plan plan =
      graph::expand(plan_of({attention_input(), op::Embed{kX, 0, 1}}), [](const Op&) { return true; });
  CHECK(names(plan) == Names{"attention_input", "embed"});
  CHECK(plan.buffers.size() == 3);
}

TEST_CASE("plain ops have no expansion and stay", "[graph]") {
  CHECK(names(graph::expand(plan_of({op::Embed{kX, 0, 1}, op::Softcap{kX, kX, 3}}), kNothing)) ==
        Names{"embed", "softcap"});
}

TEST_CASE("attention's input expands", "[graph]") {
  op::AttentionInput in = attention_input();
  const backends::Plan plan = graph::expand(plan_of({in}), kNothing);
  CHECK(names(plan) == Names{"norm", "linear", "linear", "linear", "rope", "rope", "store_kv"});
  const auto& norm = std::get<op::Norm>(plan.ops[0]);
  CHECK(norm.in == kX);
  CHECK(norm.group == 8);
  const auto& q = std::get<op::Linear>(plan.ops[1]);
  CHECK(q.in == norm.out);
  CHECK(q.out == kQ);
  CHECK_FALSE(q.accumulate);
  const auto& k = std::get<op::Linear>(plan.ops[2]);
  const auto& v = std::get<op::Linear>(plan.ops[3]);
  CHECK(k.out != v.out);
  CHECK(plan.buffers[static_cast<size_t>(k.out)].width == 6);
  const auto& turn = std::get<op::Rope>(plan.ops[5]);
  CHECK(turn.x == k.out);
  CHECK(turn.n_heads == 2);
  CHECK(turn.head_width == 3);
  const auto& store = std::get<op::StoreKv>(plan.ops[6]);
  CHECK(store.k == k.out);
  CHECK(store.v == v.out);
  CHECK(store.part == 1);
  CHECK(store.layer == 5);
  CHECK(store.k_center == 2);

  in.q_norm = in.k_norm = kRms;
  const backends::Plan normed = graph::expand(plan_of({in}), kNothing);
  CHECK(names(normed) ==
        Names{"norm", "linear", "linear", "linear", "norm", "norm", "rope", "rope", "store_kv"});
  CHECK(std::get<op::Norm>(normed.ops[4]).group == 3);
  CHECK(std::get<op::Norm>(normed.ops[4]).in == kQ);

  in.q_norm = in.k_norm = in.norm = {};
  in.rotation = kNone;
  const backends::Plan bare = graph::expand(plan_of({in}), kNothing);
  CHECK(names(bare) == Names{"linear", "linear", "linear", "store_kv"});
  CHECK(std::get<op::Linear>(bare.ops[0]).in == kX);
}

TEST_CASE("projections expand", "[graph]") {
  op::ProjectResidual o{kAttended, kX, {kWo}, {}};
  const backends::Plan plan = graph::expand(plan_of({o}), kNothing);
  CHECK(names(plan) == Names{"linear"});
  CHECK(std::get<op::Linear>(plan.ops[0]).accumulate);
  CHECK(std::get<op::Linear>(plan.ops[0]).out == kX);
  o.post = kRms;
  const backends::Plan post = graph::expand(plan_of({o}), kNothing);
  CHECK(names(post) == Names{"linear", "norm", "add"});
  CHECK_FALSE(std::get<op::Linear>(post.ops[0]).accumulate);
  CHECK(std::get<op::Add>(post.ops[2]).out == kX);
}

TEST_CASE("gated feed-forwards expand, and layers share the buffers", "[graph]") {
  op::GatedFfn f{};
  f.x = kX;
  f.norm = kRms;
  f.gate = {kUp};
  f.up = {kUp};
  f.down = {kDown};
  f.act = Activation::relu2;
  const backends::Plan one = graph::expand(plan_of({f}), kNothing);
  CHECK(names(one) == Names{"norm", "linear", "linear", "glu", "linear"});
  CHECK(std::get<op::Glu>(one.ops[3]).act == Activation::relu2);
  CHECK(std::get<op::Linear>(one.ops[1]).out == std::get<op::Glu>(one.ops[3]).gate);
  CHECK(std::get<op::Linear>(one.ops[2]).out == std::get<op::Glu>(one.ops[3]).up);
  CHECK(std::get<op::Linear>(one.ops[4]).in == std::get<op::Glu>(one.ops[3]).out);
  CHECK(graph::expand(plan_of({f, f, f}), kNothing).buffers.size() == one.buffers.size());
  f.post = kRms;
  CHECK(names(graph::expand(plan_of({f}), kNothing)) ==
        Names{"norm", "linear", "linear", "glu", "linear", "norm", "add"});
}

TEST_CASE("heads expand", "[graph]") {
  op::Head h{};
  h.x = kX;
  h.norm = kRms;
  h.w = {kHead};
  h.scale = 1;
  const backends::Plan plan = graph::expand(plan_of({h}), kNothing);
  CHECK(names(plan) == Names{"gather_wanted", "norm", "linear", "output"});
  CHECK(plan.buffers[static_cast<size_t>(std::get<op::Output>(plan.ops[3]).in)].width == 30);
  CHECK(std::get<op::Norm>(plan.ops[1]).in == std::get<op::GatherWanted>(plan.ops[0]).out);
  h.scale = 0.5f;
  h.softcap = 30;
  CHECK(names(graph::expand(plan_of({h}), kNothing)) ==
        Names{"gather_wanted", "norm", "linear", "scale", "softcap", "output"});
}
