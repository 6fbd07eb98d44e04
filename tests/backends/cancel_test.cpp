// A cancel within a step: it ends with the op that runs, counted by a plug-in that tells of its products.
#include <dlfcn.h>

#include <atomic>

#include "backends/made_plan.h"

using namespace ingle;
using namespace ingle::tests;
using backends::StepStatus;

namespace {

constexpr int64_t kWidth = 64, kVocab = 32;
constexpr int kOps = 12;  // products, the head's among them
constexpr const char* kCounting = INGLE_TEST_PLUGINS "/libingle_backend_faulty16.so";

std::atomic<int> n_calls{0}, n_to_cancel{-1};
std::atomic<bool> cancel{false};

void hear() {
  if (n_calls++ == n_to_cancel) cancel = true;
}

backends::Plan chain() {
  PlanMaker m;
  const Id x = m.buffer(kWidth), y = m.buffer(kWidth);
  m.plan.parts = {{kv::PartKind::pages, kv::StateType::f16, 1, 1, 16, 16, 0}};
  m.plan.ops.push_back(op::Embed{x, m.weight(kVocab, kWidth, "f32"), 1});
  for (int i = 0; i + 1 < kOps; ++i)
    m.plan.ops.push_back(op::Linear{i % 2 ? y : x, i % 2 ? x : y, {m.weight(kWidth, kWidth, "f32")}, false});
  op::Head head{};
  head.x = kOps % 2 ? x : y;
  head.w = {m.weight(kVocab, kWidth, "f32")};
  head.scale = 1;
  m.plan.ops.push_back(head);
  m.plan.n_vocab = kVocab;
  return m.plan;
}

}  // namespace

TEST_CASE("a cancelled step computes no op after the one that runs", "[backends]") {
  const Running on(chain(), std::string("plugin:") + kCounting, 1);
  void* const library = dlopen(kCounting, RTLD_NOW);
  REQUIRE(library);
  const auto tell = reinterpret_cast<void (*)(void (*)())>(dlsym(library, "hear_multiply"));
  REQUIRE(tell);
  tell(hear);
  const std::vector<int32_t> tokens = random_tokens(40, kVocab, 3);
  // How many calls are made until the end of each op, told by a run that is not disturbed.
  kv::SequenceState state = on.state();
  n_calls = 0;
  n_to_cancel = -1;
  REQUIRE(on.step({{&state, tokens, 1}}, &cancel).status[0] == StepStatus::ok);
  const int all = n_calls;
  REQUIRE(all >= kOps);
  const int head_calls = 1;  // one row is wanted, of few columns
  REQUIRE((all - head_calls) % (kOps - 1) == 0);
  const int of_one = (all - head_calls) / (kOps - 1);
  for (int at = 0; at < all; ++at) {
    CAPTURE(at, of_one);
    kv::SequenceState other = on.state();
    n_calls = 0;
    n_to_cancel = at;
    cancel = false;
    const auto result = on.step({{&other, tokens, 1}}, &cancel);
    const bool last = at >= all - head_calls;
    CHECK(result.status[0] == (last ? StepStatus::ok : StepStatus::cancelled));
    CHECK(n_calls == (last ? all : (at / of_one + 1) * of_one));
  }
  // A step of few tokens is short, and runs to its end; the flag counts for the next call.
  kv::SequenceState decoding = on.state();
  n_calls = 0;
  n_to_cancel = 0;
  cancel = false;
  CHECK(on.step({{&decoding, {1, 2}, 1}}, &cancel).status[0] == StepStatus::ok);
  n_to_cancel = -1;
  tell(nullptr);
  dlclose(library);
}
