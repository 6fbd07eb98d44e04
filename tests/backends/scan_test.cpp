// The recurrent ops: cpu against the reference, and bits that depend on nothing but a sequence's own tokens.
#include "backends/made_plan.h"

using namespace ingle;
using namespace ingle::tests;

namespace {

struct ScanShape {
  int32_t heads = 6, groups = 3, dk = 20, dv = 37, taps = 4;
  bool delta = true, tiled = false, skip = false, bias = false, silu = true;
  float beta_scale = 1;
};

constexpr int64_t kVocab = 23;

// Embeddings straight into a convolution and a scan; the head is an identity matrix over the scan's output.
backends::Plan make_plan(const ScanShape& s) {
  PlanMaker m;
  const int32_t keys = s.groups * s.dk, values = s.heads * s.dv, width = 2 * keys + values;
  const Id in = m.buffer(width), mixed = m.buffer(width), decay = m.buffer(s.heads), beta = m.buffer(s.heads),
           out = m.buffer(values);
  m.plan.parts = {{kv::PartKind::recurrent, kv::StateType::f32, 1, 1, s.taps - 1, width, 0},
                  {kv::PartKind::recurrent, kv::StateType::f32, 2, s.heads, s.dk, s.dv, 0}};
  const auto embed = [&](Id buffer, int64_t n, float scale) {
    m.plan.ops.push_back(op::Embed{buffer, m.weight(kVocab, n, "f32"), scale});
  };
  embed(in, width, std::sqrt(static_cast<float>(width)));
  embed(decay, s.heads, 2);
  embed(beta, s.heads, 2);
  m.plan.ops.push_back(op::Conv{in, mixed, m.vector(int64_t{s.taps} * width, 0),
                                s.bias ? m.vector(width, 0) : kNone, s.taps, s.silu, 0, 0});
  op::Scan scan{};
  scan.in = mixed;
  scan.q_at = 0, scan.k_at = keys, scan.v_at = 2 * keys;
  scan.decay = decay, scan.beta = beta, scan.out = out;
  scan.rate = m.vector(s.heads, -1);
  scan.dt_bias = m.vector(s.heads, 0);
  scan.skip = s.skip ? m.vector(s.heads, 1) : kNone;
  scan.dt_low = 0, scan.dt_high = 3, scan.beta_scale = s.beta_scale;
  scan.n_heads = s.heads, scan.n_groups = s.groups, scan.dk = s.dk, scan.dv = s.dv;
  scan.tiled = s.tiled, scan.delta = s.delta;
  scan.part = 1, scan.layer = 1;
  m.plan.ops.push_back(scan);
  op::Head head{};
  head.x = out;
  head.w = {m.identity(values)};
  head.scale = 1;
  m.plan.ops.push_back(head);
  m.plan.n_vocab = values;
  m.plan.n_context = 4096;
  return m.plan;
}

std::vector<float> run(const Running& on, kv::SequenceState& state, std::span<const int32_t> tokens,
                       size_t chunk) {
  std::vector<float> out;
  for (size_t at = 0; at < tokens.size(); at += chunk) {
    const auto part = tokens.subspan(at, std::min(chunk, tokens.size() - at));
    const auto r = on.step({{&state, {part.begin(), part.end()}, static_cast<int64_t>(part.size())}});
    REQUIRE(r.status[0] == backends::StepStatus::ok);
    out.insert(out.end(), r.logits.begin(), r.logits.end());
  }
  return out;
}
std::vector<float> run(const Running& on, std::span<const int32_t> tokens, size_t chunk) {
  kv::SequenceState state = on.state();
  return run(on, state, tokens, chunk);
}

double worst_error(const std::vector<float>& a, const std::vector<float>& b) {
  REQUIRE(a.size() == b.size());
  double worst = 0, largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    worst = std::max(worst, std::abs(double{a[i]} - double{b[i]}));
    largest = std::max(largest, std::abs(double{a[i]}));
  }
  REQUIRE(largest > 0.1);
  return worst / largest;
}

const ScanShape kShapes[] = {
    {},
    {.heads = 4, .groups = 2, .dk = 16, .dv = 16, .taps = 3, .tiled = true, .beta_scale = 2},
    {.heads = 4, .groups = 2, .dk = 16, .dv = 64, .taps = 2, .delta = false, .skip = true, .bias = true},
    {.heads = 3, .groups = 1, .dk = 7, .dv = 5, .delta = false, .bias = true, .silu = false},
};

}  // namespace

TEST_CASE("cpu's recurrences agree with the reference", "[backends][scan]") {
  for (const ScanShape& s : kShapes) {
    CAPTURE(s.heads, s.dk, s.dv, s.taps, s.delta);
    const Running ref(make_plan(s), "ref"), cpu(make_plan(s), "cpu");
    const auto tokens = random_tokens(100, kVocab, 3);
    // The head takes 16-bit activations.
    CHECK(worst_error(run(ref, tokens, 100), run(cpu, tokens, 100)) < 3e-5);
  }
}

TEST_CASE("every instruction set gives a recurrence the same bits", "[backends][scan]") {
  const auto tokens = random_tokens(60, kVocab, 5);
  for (const ScanShape& s : kShapes) {
    const auto plain = run(Running(make_plan(s), "cpu", 1, "plain"), tokens, 60);
    for (const char* isa : {"avx2", "avx512"}) {
      try {
        CHECK(run(Running(make_plan(s), "cpu", 2, isa), tokens, 60) == plain);
      } catch (const Error&) {
        WARN("skipped: this machine cannot run " << isa);
      }
    }
  }
}

TEST_CASE("a recurrence's bits depend on its own tokens alone", "[backends][scan]") {
  const auto backend = GENERATE(as<std::string>{}, "cpu", "ref");
  for (const ScanShape& s : kShapes) {
    CAPTURE(backend, s.heads, s.dk, s.taps);
    const Running one(make_plan(s), backend, 1), three(make_plan(s), backend, 3);
    const auto tokens = random_tokens(150, kVocab, 7);
    const auto whole = run(one, tokens, 150);
    for (const size_t chunk : {1, 2, 7, 64}) CHECK(run(three, tokens, chunk) == whole);
    // Among others that come and go.
    kv::SequenceState mine = three.state(), other = three.state(), third = three.state();
    std::vector<float> mixed;
    size_t at = 0;
    for (const size_t n : {5, 1, 70, 1, 1, 72}) {
      const auto result = three.step({{&other, random_tokens(3, kVocab, 11), 0},
                                      {&mine,
                                       {tokens.begin() + static_cast<std::ptrdiff_t>(at),
                                        tokens.begin() + static_cast<std::ptrdiff_t>(at + n)},
                                       static_cast<int64_t>(n)},
                                      {&third, random_tokens(1, kVocab, 12), 0}});
      mixed.insert(mixed.end(), result.logits.begin(), result.logits.end());
      at += n;
    }
    REQUIRE(at == tokens.size());
    CHECK(mixed == whole);
  }
}

TEST_CASE("a recurrence goes on from a fork, a cut and a part of a step with the same bits",
          "[backends][scan]") {
  const auto backend = GENERATE(as<std::string>{}, "cpu", "ref");
  const Running on(make_plan({}), backend);
  const auto tokens = random_tokens(700, kVocab, 9);
  const std::span<const int32_t> all(tokens);
  kv::SequenceState fresh = on.state();
  const auto whole = run(on, fresh, all, 100);
  const auto width = static_cast<std::ptrdiff_t>(on.n_vocab());
  const auto from = [&](int64_t n) { return std::vector<float>(whole.begin() + n * width, whole.end()); };
  SECTION("a fork") {
    kv::SequenceState a = on.state();
    run(on, a, all.first(130), 64);
    kv::SequenceState b = a.fork();
    run(on, a, random_tokens(20, kVocab, 1), 20);
    CHECK(run(on, b, all.subspan(130), 50) == from(130));
  }
  SECTION("a cut, to a snapshot that was kept on the way of a longer step") {
    const int64_t n = fresh.truncate(600);
    CHECK(n == 512);
    CHECK(run(on, fresh, all.subspan(512), 64) == from(512));
  }
  SECTION("a part of a step") {
    kv::SequenceState a = on.state();
    run(on, a, all.first(20), 20);
    a.reserve(6, kv::Commits::each);
    backends::Slice slice{&a, 20, all.subspan(20, 6), 0};
    backends::StepStatus status{};
    const auto work = on.program().make_workspace(6, 6, 1);
    on.program().run(*work, {{&slice, 1}, {&status, 1}, nullptr, nullptr});
    REQUIRE(status == backends::StepStatus::ok);
    a.commit(3);
    CHECK(run(on, a, all.subspan(23), 100) == from(23));
  }
}
