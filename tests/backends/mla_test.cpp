// Latent attention: absorbed and plain forms are the same function; the cpu backend equals the reference;
// bits do not depend on the batch.
#include "backends/made_plan.h"

using namespace ingle;
using namespace ingle::tests;

namespace {

constexpr int32_t kHeads = 3, kRope = 8, kNope = 12, kRank = 20, kDv = 14;
constexpr int64_t kWidth = 37, kVocab = 21;

backends::Plan make_plan(bool absorbed, bool q_in_steps, float beta = 0) {
  PlanMaker m(7);
  const auto values = [&](int64_t rows, int64_t cols) {
    std::vector<float> v(static_cast<size_t>(rows * cols));
    for (float& x : v) x = m.bell() / std::sqrt(static_cast<float>(cols));
    return v;
  };
  const Id x = m.buffer(kWidth);
  m.plan.ops.push_back(op::Embed{x, m.weight(kVocab, kWidth, "f32"), 1});
  const Id rotation = m.rotation(kRope);
  for (int32_t layer = 0; layer < 2; ++layer) {
    op::Mla o{};
    o.x = x;
    o.norm = m.norm(NormKind::rms, kWidth);
    const int64_t from = q_in_steps ? 17 : kWidth;
    if (q_in_steps) o.q_a.weight = m.weight(from, kWidth, "f32"), o.q_norm = m.norm(NormKind::rms, from);
    o.q_rope.weight = m.weight(kHeads * kRope, from, "f32");
    o.q_nope.weight = m.weight(kHeads * kNope, from, "f32");
    o.latent.weight = m.weight(kRank, kWidth, "f32");
    o.latent_norm = m.norm(NormKind::rms, kRank);
    o.k_rope.weight = m.weight(kRope, kWidth, "f32");
    const std::vector<float> k = values(kHeads * kNope, kRank), v = values(kHeads * kDv, kRank);
    if (absorbed) {
      o.k_up.count = o.v_up.count = kHeads;
      for (int64_t h = 0; h < kHeads; ++h) {
        std::vector<float> turned(static_cast<size_t>(kRank * kNope));
        for (int64_t r = 0; r < kRank; ++r)
          for (int64_t c = 0; c < kNope; ++c)
            turned[static_cast<size_t>(r * kNope + c)] = k[static_cast<size_t>((h * kNope + c) * kRank + r)];
        const Id id = m.matrix(kRank, kNope, turned);
        if (h == 0) o.k_up.weight = id;
      }
      for (int64_t h = 0; h < kHeads; ++h) {
        const auto at = v.begin() + h * kDv * kRank;
        const Id id = m.matrix(kDv, kRank, {at, at + kDv * kRank});
        if (h == 0) o.v_up.weight = id;
      }
      m.plan.parts = {{kv::PartKind::pages, kv::StateType::f32, 2, 1, kRope + kRank, kRank, 0}};
    } else {
      o.k_all.weight = m.matrix(kHeads * kNope, kRank, k);
      o.v_all.weight = m.matrix(kHeads * kDv, kRank, v);
      m.plan.parts = {{kv::PartKind::pages, kv::StateType::f32, 2, kHeads, kRope + kNope, kDv, 0}};
    }
    o.out.weight = m.weight(kWidth, kHeads * kDv, "f32");
    o.residual = 0.8f;
    o.rotation = rotation;
    o.part = 0;
    o.layer = layer;
    o.n_heads = kHeads, o.rope = kRope, o.nope = kNope, o.rank = kRank, o.dv = kDv;
    o.scale = 0.3f;
    o.beta = beta;
    o.span = 4;
    m.plan.ops.push_back(o);
  }
  op::Head head{};
  head.x = x;
  head.w = {m.identity(kWidth)};
  head.scale = 1;
  m.plan.ops.push_back(head);
  m.plan.n_vocab = kWidth;
  m.plan.n_context = 4096;
  return m.plan;
}

// Logits of one sequence fed in chunks.
std::vector<float> run(Running& on, size_t n, size_t chunk) {
  const std::vector<int32_t> ids = random_tokens(n, kVocab, 1);
  kv::SequenceState state = on.state();
  std::vector<float> out;
  for (size_t at = 0; at < n; at += chunk) {
    const size_t count = std::min(chunk, n - at);
    const auto from = ids.begin() + static_cast<std::ptrdiff_t>(at);
    const Running::Result r =
        on.step({{&state, {from, from + static_cast<std::ptrdiff_t>(count)}, static_cast<int64_t>(count)}});
    REQUIRE(r.status[0] == backends::StepStatus::ok);
    out.insert(out.end(), r.logits.begin(), r.logits.end());
  }
  return out;
}

double error(const std::vector<float>& a, const std::vector<float>& b) {
  REQUIRE(a.size() == b.size());
  double off = 0, length = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    off += std::pow(double{a[i]} - double{b[i]}, 2);
    length += double{a[i]} * double{a[i]};
  }
  return std::sqrt(off / length);
}

}  // namespace

TEST_CASE("absorbed and plain latent attention are one function", "[backends][mla]") {
  for (const bool steps : {false, true})
    for (const float beta : {0.0f, 0.2f}) {
      CAPTURE(steps, beta);
      Running plain(make_plan(false, steps, beta), "ref"), absorbed(make_plan(true, steps, beta), "ref");
      const std::vector<float> expected = run(plain, 90, 90);
      CHECK(error(expected, run(absorbed, 90, 90)) < 1e-6);
      Running cpu_plain(make_plan(false, steps, beta), "cpu"),
          cpu_absorbed(make_plan(true, steps, beta), "cpu");
      CHECK(error(expected, run(cpu_plain, 90, 90)) < 4e-6);
      CHECK(error(expected, run(cpu_absorbed, 90, 90)) < 4e-6);
    }
}

TEST_CASE("latent attention gives the same bits for any chunks and threads", "[backends][mla]") {
  for (const bool absorbed : {false, true}) {
    Running one(make_plan(absorbed, true), "cpu", 1);
    const std::vector<float> expected = run(one, 100, 1);
    for (const int threads : {1, 3})
      for (const size_t chunk : {7, 64, 100}) {
        CAPTURE(absorbed, threads, chunk);
        Running on(make_plan(absorbed, true), "cpu", threads);
        CHECK(run(on, 100, chunk) == expected);
      }
  }
}
