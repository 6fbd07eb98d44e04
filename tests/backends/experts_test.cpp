// Mixtures of experts: the fused op of the cpu backend, and the plain ones, against the reference backend;
// routers against what they should choose; and bits that do not depend on who else is in the batch.
#include "backends/made_plan.h"
#include "backends/route.h"

using namespace ingle;
using namespace ingle::tests;

namespace {

struct Shapes {
  std::string format = "f32", down_format;
  int64_t width = 37, inner = 45, shared = 0, vocab = 21;
  RouterSpec router;
  bool gate = true, bias = false, weigh_input = false, shared_weight = false, post = false,
       correction = false;
  float scale = 1;
  Activation act = Activation::silu;
  GluBound bound;
  bool plain = false;  // expanded on the cpu too
  int layers = 2;
};

RouterSpec top(int32_t n_used, int32_t n_experts, RouterScore score = RouterScore::softmax) {
  RouterSpec r;
  r.score = score;
  r.n_used = n_used;
  r.n_experts = n_experts;
  return r;
}

BankSpec bank(PlanMaker& m, int32_t count, int64_t rows, int64_t cols, const std::string& format, bool bias) {
  BankSpec b{m.weight(rows, cols, format), kNone, count};
  for (int32_t i = 1; i < count; ++i) m.weight(rows, cols, format);
  if (bias) b.bias = m.vector(count * rows, 0);
  return b;
}

backends::Plan make_plan(const Shapes& s) {
  PlanMaker m(3);
  const Id x = m.buffer(s.width);
  m.plan.ops.push_back(op::Embed{x, m.weight(s.vocab, s.width, s.format), 2.0f});
  for (int layer = 0; layer < s.layers; ++layer) {
    op::Moe o{};
    o.x = x;
    o.norm = m.norm(NormKind::rms, s.width);
    o.router = {m.weight(s.router.n_experts, s.width, "f32"),
                s.bias ? m.vector(s.router.n_experts, 0) : kNone};
    o.route = s.router;
    if (s.correction) o.route.correction = m.vector(s.router.n_experts, 0);
    const int32_t n = s.router.n_experts;
    const std::string& down = s.down_format.empty() ? s.format : s.down_format;
    if (s.gate) o.gate = bank(m, n, s.inner, s.width, s.format, s.bias);
    o.up = bank(m, n, s.inner, s.width, s.format, s.bias);
    o.down = bank(m, n, s.width, s.inner, down, s.bias);
    o.act = s.act;
    o.bound = s.bound;
    o.weigh_input = s.weigh_input;
    if (s.shared) {
      if (s.gate) o.shared_gate.weight = m.weight(s.shared, s.width, s.format);
      o.shared_up.weight = m.weight(s.shared, s.width, s.format);
      o.shared_down.weight = m.weight(s.width, s.shared, down);
      if (s.shared_weight) o.shared_weight.weight = m.weight(1, s.width, "f32");
    }
    o.scale = s.scale;
    if (s.post) o.post = m.norm(NormKind::rms, s.width);
    m.plan.ops.push_back(o);
  }
  op::Head head{};
  head.x = x;
  head.w = {m.identity(s.width)};
  head.scale = 1;
  m.plan.ops.push_back(head);
  m.plan.n_vocab = s.width;
  m.plan.n_context = 4096;
  if (s.plain)
    m.plan =
        graph::expand(std::move(m.plan), [](const Op& op) { return !std::holds_alternative<op::Moe>(op); });
  return m.plan;
}

std::vector<float> logits(Running& on, const std::vector<std::vector<int32_t>>& ids) {
  std::vector<kv::SequenceState> states;
  for (size_t i = 0; i < ids.size(); ++i) states.push_back(on.state());
  std::vector<Running::Part> parts;
  for (size_t i = 0; i < ids.size(); ++i)
    parts.push_back({&states[i], ids[i], static_cast<int64_t>(ids[i].size())});
  const Running::Result r = on.step(parts);
  for (const backends::StepStatus s : r.status) REQUIRE(s == backends::StepStatus::ok);
  return r.logits;
}

double row_error(const std::vector<float>& expected, const std::vector<float>& found, int64_t width) {
  REQUIRE(expected.size() == found.size());
  double worst = 0;
  for (size_t at = 0; at < expected.size(); at += static_cast<size_t>(width)) {
    double off = 0, length = 0;
    for (size_t i = at; i < at + static_cast<size_t>(width); ++i) {
      const double d = double{expected[i]} - double{found[i]};
      off += d * d;
      length += double{expected[i]} * double{expected[i]};
    }
    worst = std::max(worst, std::sqrt(off / length));
  }
  return worst;
}

void check_conforms(const Shapes& s, double tolerance) {
  Running ref(make_plan(s), "ref"), cpu(make_plan(s), "cpu");
  for (const std::vector<size_t>& lengths : {std::vector<size_t>{1}, {3}, {33, 5, 60}}) {
    std::vector<std::vector<int32_t>> ids;
    for (const size_t n : lengths) ids.push_back(random_tokens(n, static_cast<int32_t>(s.vocab), 5));
    CHECK(row_error(logits(ref, ids), logits(cpu, ids), s.width) < tolerance);
  }
}

}  // namespace

TEST_CASE("mixtures of experts equal their expansion on the reference backend", "[backends][experts]") {
  std::map<std::string, Shapes> cases;
  for (auto* label : {"one", "usual", "all chosen", "shared", "shared by a gate", "groups", "sigmoid",
                      "of chosen", "sparsemixer", "biases", "input weighed", "input weighed, biases",
                      "bounded", "no gate", "post and scale", "softcap"})
    cases[label].router = top(2, 6);
  cases["one"].router = top(1, 1);
  cases["all chosen"].router = top(5, 5);
  cases["shared"].shared = 41;
  cases["shared by a gate"].shared = 70, cases["shared by a gate"].shared_weight = true;
  RouterSpec& groups = cases["groups"].router = top(3, 8, RouterScore::sigmoid);
  groups.n_groups = 4, groups.n_groups_used = 2, groups.group_best = 2, groups.normalise = true,
  groups.scale = 2.5f;
  cases["groups"].correction = true;
  cases["sigmoid"].router = top(2, 6, RouterScore::sigmoid);
  cases["of chosen"].router = top(3, 6, RouterScore::softmax_of_chosen);
  cases["sparsemixer"].router = top(2, 6, RouterScore::sparsemixer);
  cases["sparsemixer"].router.jitter = 0.1f;
  cases["biases"].bias = true;
  cases["input weighed"].weigh_input = true;
  cases["input weighed, biases"].weigh_input = cases["input weighed, biases"].bias = true;
  cases["bounded"].bound = {0.6f, 1.7f, 1};
  cases["no gate"].gate = false, cases["no gate"].act = Activation::relu2, cases["no gate"].shared = 33;
  cases["post and scale"].post = true, cases["post and scale"].scale = 0.4f;
  cases["softcap"].router.softcap = 1.5f;
  for (auto& [label, s] : cases)
    for (const bool plain : {false, true}) {
      CAPTURE(label, plain);
      s.plain = plain;
      check_conforms(s, 4e-6);
    }
}

TEST_CASE("experts' weights may have any format", "[backends][experts]") {
  for (const std::string format : {"q4_k", "q8_0", "mxfp4", "f16"})
    for (const bool plain : {false, true}) {
      CAPTURE(format, plain);
      Shapes s;
      s.router = top(2, 5);
      s.format = format;
      s.down_format = "q8_0";
      s.width = s.inner = 256;
      s.shared = 96;
      s.plain = plain;
      check_conforms(s, 3e-4);
    }
}

TEST_CASE("a token's experts give the same bits whoever else is there", "[backends][experts]") {
  const std::vector<std::vector<int32_t>> ids = {random_tokens(33, 21, 1), random_tokens(5, 21, 2),
                                                 random_tokens(12, 21, 3)};
  for (const std::string format : {"q4_k", "f32"})
    for (const int64_t width : {256, 768})
      for (const bool plain : {false, true}) {
        if (kSanitized && width == 768) continue;  // slow, and the same code
        Shapes s;
        s.router = top(2, 7, RouterScore::sigmoid);
        s.format = format;
        s.width = width;
        s.inner = 256;
        s.shared = 256;
        s.shared_weight = true;
        s.plain = plain;
        s.layers = 1;
        // One token after the other, on one thread.
        Running one(make_plan(s), "cpu", 1);
        std::vector<float> alone;
        for (const auto& sequence : ids) {
          kv::SequenceState state = one.state();
          for (const int32_t id : sequence) {
            const Running::Result r = one.step({{&state, {id}, 1}});
            alone.insert(alone.end(), r.logits.begin(), r.logits.end());
          }
        }
        for (const int threads : {1, 2, 3})
          for (const std::string kernel : {"", "plain"}) {
            // Slow, and threads do not know of kernels.
            if (!kernel.empty() && threads != 2) continue;
            CAPTURE(format, width, plain, threads, kernel);
            Running on(make_plan(s), "cpu", threads, kernel);
            CHECK(logits(on, ids) == alone);
          }
        // Each sequence by itself, in chunks.
        for (const size_t chunk : {7, 32}) {
          CAPTURE(format, width, plain, chunk);
          Running on(make_plan(s), "cpu", 2);
          std::vector<float> chunks;
          for (const auto& sequence : ids) {
            kv::SequenceState state = on.state();
            for (size_t at = 0; at < sequence.size(); at += chunk) {
              const size_t n = std::min(chunk, sequence.size() - at);
              const auto from = sequence.begin() + static_cast<std::ptrdiff_t>(at);
              const Running::Result r =
                  on.step({{&state, {from, from + static_cast<std::ptrdiff_t>(n)}, static_cast<int64_t>(n)}});
              chunks.insert(chunks.end(), r.logits.begin(), r.logits.end());
            }
          }
          CHECK(chunks == alone);
        }
      }
}

TEST_CASE("routers choose and weigh as they should", "[backends][experts]") {
  const auto run = [](const RouterSpec& r, const std::vector<float>& logits,
                      const float* correction = nullptr) {
    std::vector<float> out(static_cast<size_t>(2 * r.n_used));
    backends::route(r, logits.data(), correction, out.data());
    return out;
  };
  const std::vector<float> l = {1, 3, 2, 3};
  const double e1 = std::exp(1), e2 = std::exp(2), e3 = std::exp(3), all = e1 + e2 + 2 * e3;
  // Ascending experts; of equal logits the lower number.
  std::vector<float> r = run(top(1, 4), l);
  CHECK(r[0] == 1);
  CHECK(r[1] == Approx(e3 / all));
  r = run(top(3, 4), l);
  CHECK(std::vector<float>(r.begin(), r.begin() + 3) == std::vector<float>{1, 2, 3});
  CHECK(r[4] == Approx(e2 / all));
  RouterSpec normal = top(2, 4);
  normal.normalise = true;
  normal.scale = 3;
  r = run(normal, l);
  CHECK(r[2] == Approx(1.5));
  r = run(top(3, 4, RouterScore::softmax_of_chosen), l);
  CHECK(r[4] == Approx(e2 / (e2 + 2 * e3)));
  // A correction moves the choice and not the weight.
  const float correction[] = {5, 0, 0, 0};
  r = run(top(1, 4, RouterScore::sigmoid), l, correction);
  CHECK(r[0] == 0);
  CHECK(r[1] == Approx(1 / (1 + std::exp(-1.0))));
  // The best pair stands in the second group, the best expert in the first.
  RouterSpec grouped = top(1, 6, RouterScore::sigmoid);
  grouped.n_groups = 3, grouped.n_groups_used = 1, grouped.group_best = 2;
  CHECK(run(grouped, {4, -4, 2, 2, 0, 0})[0] == 2);
  grouped.group_best = 1;
  CHECK(run(grouped, {4, -4, 2, 2, 0, 0})[0] == 0);
  // Values that are no numbers: distinct experts all the same.
  r = run(top(2, 4), {NAN, NAN, NAN, NAN});
  CHECK(r[0] != r[1]);
}

TEST_CASE("routers that cannot be are refused", "[backends][experts]") {
  using backends::check_router;
  CHECK_NOTHROW(check_router(top(2, 8)));
  CHECK_THROWS_AS(check_router(top(9, 8)), Error);
  CHECK_THROWS_AS(check_router(top(0, 8)), Error);
  CHECK_THROWS_AS(check_router(top(1, 5000)), Error);
  CHECK_THROWS_AS(check_router(top(3, 8, RouterScore::sparsemixer)), Error);
  RouterSpec r = top(2, 9);
  r.n_groups = 2;
  CHECK_THROWS_AS(check_router(r), Error);
  r = top(4, 8);
  r.n_groups = 4, r.n_groups_used = 1;
  CHECK_THROWS_AS(check_router(r), Error);
}
