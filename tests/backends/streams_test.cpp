// Ops over parallel streams and single rows: cpu against the reference.
#include "backends/made_plan.h"

using namespace ingle;
using namespace ingle::tests;

namespace {

constexpr int64_t kVocab = 19, kWidth = 36;

// `emit` gets three buffers of kWidth values and one of 16, filled with embeddings; the first is seen.
template <class F>
backends::Plan plan_of(F emit) {
  PlanMaker m;
  const Id x = m.buffer(kWidth), y = m.buffer(kWidth), z = m.buffer(kWidth), c = m.buffer(16);
  const auto embed = [&](Id to, int64_t width, float scale) {
    m.plan.ops.push_back(op::Embed{to, m.weight(kVocab, width, "f32"), scale});
  };
  embed(x, kWidth, 3), embed(y, kWidth, 5), embed(z, kWidth, 2), embed(c, 16, 2);
  emit(m, x, y, z, c);
  op::Head head{};
  head.x = x;
  head.w = {m.identity(kWidth)};
  head.scale = 1;
  m.plan.ops.push_back(head);
  m.plan.n_vocab = kWidth;
  m.plan.n_context = 64;
  return m.plan;
}

std::vector<float> run(const Running& on) {
  kv::SequenceState state = on.state();
  return on.step({{&state, random_tokens(30, kVocab, 3), 30}}).logits;
}

template <class F>
void check(F emit) {
  const auto expected = run(Running(plan_of(emit), "ref")), found = run(Running(plan_of(emit), "cpu"));
  REQUIRE(expected.size() == found.size());
  double worst = 0, largest = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    worst = std::max(worst, std::abs(double{expected[i]} - double{found[i]}));
    largest = std::max(largest, std::abs(double{expected[i]}));
  }
  CHECK(largest > 1e-3);
  CHECK(worst < 4e-5 * largest);
  CHECK(run(Running(plan_of(emit), "cpu", 3, "plain")) == found);
}

}  // namespace

TEST_CASE("streams are mixed, with and without themselves", "[backends]") {
  check([](PlanMaker& m, Id x, Id y, Id, Id c) { m.plan.ops.push_back(op::Mix{y, c, x, 4, 4, false}); });
  check([](PlanMaker& m, Id x, Id y, Id, Id c) { m.plan.ops.push_back(op::Mix{y, c, x, 4, 4, true}); });
  // One stream into three.
  check([](PlanMaker& m, Id x, Id, Id, Id c) {
    const Id one = m.buffer(12);
    m.plan.ops.push_back(op::Copy{x, one, 0, 0, 0, 0, 12, 1});
    m.plan.ops.push_back(op::Mix{one, c, x, 1, 3, false});
  });
}

TEST_CASE("rows are brought to a magnitude, thinned out and scaled", "[backends]") {
  check([](PlanMaker& m, Id x, Id y, Id, Id) { m.plan.ops.push_back(op::MatchMagnitude{x, y, 1e-5f}); });
  check([](PlanMaker& m, Id x, Id y, Id, Id) { m.plan.ops.push_back(op::MatchMagnitude{x, y, 1e5f}); });
  check([](PlanMaker& m, Id x, Id, Id, Id) { m.plan.ops.push_back(op::Sparsify{x, 0.7f}); });
  check([](PlanMaker& m, Id x, Id, Id, Id) {
    m.plan.ops.push_back(op::ScaleColumns{x, m.vector(kWidth, 1)});
  });
  check([](PlanMaker& m, Id x, Id y, Id, Id) {
    m.plan.ops.push_back(op::Gate{x, y, Activation::identity, 1});
  });
}

TEST_CASE("products of one row share a phase and change nothing", "[backends]") {
  for (const char* format : {"f32", "q8_0"}) {
    CAPTURE(format);
    const auto sum = [&](PlanMaker& m, Id x, Id y, Id z, bool apart) {
      const Id in = m.buffer(64), a = m.buffer(kWidth), b = m.buffer(kWidth);
      m.plan.ops.push_back(op::Embed{in, m.weight(kVocab, 64, "f32"), 3});
      const LinearSpec wa{m.weight(kWidth, 64, format)}, wb{m.weight(kWidth, 64, "f32")},
          wx{m.weight(kWidth, 64, format)};
      m.plan.ops.push_back(op::Linear{in, a, wa, false});
      if (apart) m.plan.ops.push_back(op::Scale{z, z, 1});
      m.plan.ops.push_back(op::Linear{in, b, wb, false});
      if (apart) m.plan.ops.push_back(op::Scale{z, z, 1});
      m.plan.ops.push_back(op::Linear{in, x, wx, true});
      m.plan.ops.push_back(op::Add{x, a, x});
      m.plan.ops.push_back(op::Add{x, b, x});
      m.plan.ops.push_back(op::Add{x, y, x});
    };
    const auto together = [&](PlanMaker& m, Id x, Id y, Id z, Id) { sum(m, x, y, z, false); };
    const auto apart = [&](PlanMaker& m, Id x, Id y, Id z, Id) { sum(m, x, y, z, true); };
    CHECK(run(Running(plan_of(together), "cpu")) == run(Running(plan_of(apart), "cpu")));
  }
}
