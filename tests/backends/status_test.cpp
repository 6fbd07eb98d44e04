// How a step went: NaN stays with the sequence that has it, cancelling, and plans that a backend cannot run.
#include <limits>
#include <thread>

#include "backends/made_plan.h"

using namespace ingle;
using namespace ingle::tests;
using backends::StepStatus;

namespace {

constexpr int64_t kVocab = 50;
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// One layer of attention and feed-forward; `poison` stands in row 3 of the embedding.
backends::Plan make_plan(const std::string& format, int64_t width, float poison = 1) {
  PlanMaker m;
  const HeadShape h{4, 2, 16, 16};
  const Id x = m.buffer(width), q = m.buffer(64), attended = m.buffer(64);
  std::vector<float> table;
  for (int64_t i = 0; i < kVocab * width; ++i) table.push_back(m.bell());
  table[static_cast<size_t>(3 * width + 7)] = poison;
  m.plan.ops.push_back(op::Embed{x, m.matrix(kVocab, width, table), 1});
  m.plan.parts = {{kv::PartKind::pages, kv::StateType::f16, 1, 2, 16, 16, 0}};
  op::AttentionInput in{};
  in.x = x;
  in.q = q;
  in.norm = m.norm(NormKind::rms, width);
  in.wq = {m.weight(64, width, format)};
  in.wk = {m.weight(32, width, format)};
  in.wv = {m.weight(32, width, format)};
  in.rotation = m.rotation(16);
  in.part = 0;
  in.heads = h;
  m.plan.ops.push_back(in);
  m.plan.ops.push_back(op::Attend{q, attended, 0, 0, h, 0.25f, 0});
  m.plan.ops.push_back(op::ProjectResidual{attended, x, {m.weight(width, 64, format)}, {}});
  op::GatedFfn f{};
  f.x = x;
  f.norm = m.norm(NormKind::rms, width);
  f.gate = {m.weight(96, width, format)};
  f.up = {m.weight(96, width, format)};
  f.down = {m.weight(width, 96, format)};
  m.plan.ops.push_back(f);
  op::Head head{};
  head.x = x;
  head.norm = m.norm(NormKind::rms, width);
  head.w = {m.weight(kVocab, width, format)};
  head.scale = 1;
  m.plan.ops.push_back(head);
  m.plan.n_vocab = kVocab;
  return m.plan;
}

backends::BackendContext context_on(ThreadPool& pool, const std::string& kernel = {}) {
  return {system_allocator(), &pool, detect_cpu(), kernel, {}};
}

Error prepare_error(const std::string& backend, backends::Plan plan, const std::string& kernel = {},
                    const backends::PrepareOptions& options = {}) {
  ThreadPool pool(2);
  return error_of([&] {
    backends::make_backend(backend, context_on(pool, kernel))
        ->prepare(std::make_shared<const backends::Plan>(std::move(plan)), options);
  });
}

}  // namespace

TEST_CASE("values that are not finite stay with their sequence", "[backends]") {
  for (const std::string backend : {"ref", "cpu"}) {
    for (const std::string format : {"f32", "q8_0"}) {
      for (const int64_t width : {64, 768}) {
        for (const float poison : {kNaN, std::numeric_limits<float>::infinity()}) {
          CAPTURE(backend, format, width, poison);
          Running on(make_plan(format, width, poison), backend);
          kv::SequenceState good = on.state(), bad = on.state(), other = on.state(), alone = on.state();
          std::vector<int32_t> with_poison = {5, 3, 8, 9};
          const std::vector<int32_t> clean = {1, 2, 4, 9, 9, 7, 3 + 7, 11, 12, 13};
          const Running::Result r =
              on.step({{&good, clean, 10}, {&bad, with_poison, 1}, {&other, {4, 4}, 2}});
          CHECK(r.status == std::vector{StepStatus::ok, StepStatus::numeric, StepStatus::ok});
          const Running::Result a = on.step({{&alone, clean, 10}});
          CHECK(a.status[0] == StepStatus::ok);
          CHECK(std::equal(a.logits.begin(), a.logits.end(), r.logits.begin()));
          // The bad sequence's state keeps it; the neighbours go on.
          const Running::Result next = on.step({{&bad, {1}, 1}, {&good, {1}, 1}});
          CHECK(next.status == std::vector{StepStatus::numeric, StepStatus::ok});
        }
      }
    }
  }
}

TEST_CASE("NaN in a weight is a status, not a crash", "[backends]") {
  for (const std::string backend : {"ref", "cpu"}) {
    for (const std::string format : {"f32", "q8_0", "q4_k"}) {
      CAPTURE(backend, format);
      PlanMaker m;
      const Id x = m.buffer(256);
      m.plan.ops.push_back(op::Embed{x, m.weight(kVocab, 256, "f32"), 1});
      op::Head head{};
      head.x = x;
      head.w = {m.weight(kVocab, 256, format)};
      head.scale = 1;
      m.plan.ops.push_back(head);
      m.plan.n_vocab = kVocab;
      const formats::TensorInfo* t = m.plan.weights[static_cast<size_t>(head.w.weight)].tensor;
      std::vector<std::byte> unused;
      auto* bytes = const_cast<std::byte*>(m.plan.checkpoint->view(*t, unused).data);
      if (format == "f32")
        std::memcpy(bytes, &kNaN, 4);
      else
        bytes[0] = std::byte{0}, bytes[1] = std::byte{0x7e};  // the f16 scale of the first block
      Running on(m.plan, backend);
      kv::SequenceState a = on.state();
      CHECK(on.step({{&a, {1, 2}, 1}}).status[0] == StepStatus::numeric);
    }
  }
}

TEST_CASE("a cancelled step says so for all of its sequences", "[backends]") {
  const std::atomic<bool> cancel{true}, go_on{false};
  for (const std::string backend : {"ref", "cpu"}) {
    CAPTURE(backend);
    Running on(make_plan("q8_0", 64), backend);
    kv::SequenceState a = on.state(), b = on.state();
    const std::vector<int32_t> ids = random_tokens(12, kVocab, 1);
    CHECK(on.step({{&a, ids, 1}, {&b, {1}, 1}}, &cancel).status ==
          std::vector{StepStatus::cancelled, StepStatus::cancelled});
    // Nothing of it is left in the workspace.
    kv::SequenceState c = on.state(), d = on.state();
    const Running::Result r = on.step({{&c, ids, 1}}, &go_on);
    CHECK(r.status[0] == StepStatus::ok);
    CHECK(r.logits == on.step({{&d, ids, 1}}).logits);
  }
}

TEST_CASE("a cancel from another thread ends a step in its middle", "[backends]") {
  const Running on(make_plan("q8_0", 768), "cpu");
  const std::vector<int32_t> ids = random_tokens(Running::kTokens, kVocab, 2);
  kv::SequenceState whole = on.state();
  const Running::Result expected = on.step({{&whole, ids, 1}});
  // The cancel comes later each time, until it has met a step that had begun without it and did not end.
  std::atomic<bool> began{false}, cancel{false};
  bool ended_early = false;
  for (int delay = 0; delay < 20000 && !ended_early; delay += 50) {
    began = cancel = false;
    std::thread other([&] {
      while (!began) std::this_thread::yield();
      for (int i = 0; i < delay; ++i) std::atomic_signal_fence(std::memory_order_seq_cst);
      cancel = true;
    });
    kv::SequenceState a = on.state();
    began = true;
    ended_early = on.step({{&a, ids, 1}}, &cancel).status[0] == StepStatus::cancelled;
    other.join();
  }
  CHECK(ended_early);
  kv::SequenceState after = on.state();
  CHECK(on.step({{&after, ids, 1}}).logits == expected.logits);
}

TEST_CASE("what cannot be run is refused when it is prepared", "[backends]") {
  const Error unknown = prepare_error("gpu", make_plan("f32", 64));
  CHECK(unknown.code() == Code::not_found);
  CHECK(contains(unknown.what(), "cpu, ref, null"));

  const Error kernel = prepare_error("cpu", make_plan("f32", 64), "nosuch");
  CHECK(kernel.code() == Code::invalid_argument);
  CHECK(contains(kernel.what(), "nosuch"));

  const std::string isa = detect_cpu().avx512_bf16 ? "" : "avx512bf16";
  if (!isa.empty()) CHECK(prepare_error("cpu", make_plan("f32", 64), isa).code() == Code::unsupported);

  backends::Plan plain = make_plan("f32", 64);
  plain.ops.insert(plain.ops.begin() + 1, op::GatherWanted{0, 0});
  const Error refused = prepare_error("cpu", plain);
  CHECK(refused.code() == Code::unsupported);
  CHECK(contains(refused.what(), "'gather_wanted'"));
}

TEST_CASE("preparing tells its progress and can be cancelled", "[backends]") {
  for (const std::string backend : {"ref", "cpu"}) {
    CAPTURE(backend);
    ThreadPool pool(2);
    const auto b = backends::make_backend(backend, context_on(pool));
    auto plan = std::make_shared<const backends::Plan>(
        graph::expand(make_plan("q8_0", 64), [&](const Op& op) { return b->takes(op); }));
    std::vector<float> told;
    b->prepare(plan, {[&](float f) {
                 told.push_back(f);
                 return true;
               }});
    REQUIRE(told.size() > 2);
    CHECK(std::is_sorted(told.begin(), told.end()));
    CHECK(told.front() > 0);
    CHECK(told.back() == 1);
    CHECK(error_of([&] { b->prepare(plan, {[](float f) { return f < 0.3f; }}); }).code() == Code::cancelled);
  }
}

TEST_CASE("programs say what they hold", "[backends]") {
  Running cpu(make_plan("q8_0", 64), "cpu", 2, "plain"), ref(make_plan("q8_0", 64), "ref");
  CHECK(contains(cpu.program().kernels(), "q8_0_q8_gemm_plain"));
  CHECK(contains(cpu.program().kernels(), "plain"));
  CHECK(cpu.program().weight_bytes() >= 64 * 64 * 34 / 32);
  CHECK(ref.program().weight_bytes() == 0);
  CHECK(cpu.program().make_workspace(64, 1, 1)->bytes() > 64 * 64 * 4);
  CHECK(cpu.program().make_workspace(128, 1, 1)->bytes() > cpu.program().make_workspace(64, 1, 1)->bytes());
}

TEST_CASE("the null backend gives zeros", "[backends]") {
  Running on(make_plan("f32", 64), "null");
  kv::SequenceState a = on.state(), b = on.state();
  const Running::Result r = on.step({{&a, {1, 2, 3}, 2}, {&b, {1}, 1}});
  CHECK(r.status == std::vector{StepStatus::ok, StepStatus::ok});
  CHECK(r.logits == std::vector<float>(3 * kVocab, 0.0f));
}
