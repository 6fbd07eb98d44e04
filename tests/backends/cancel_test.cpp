// A cancel within a step: it ends with the piece of work that runs, counted by a plug-in that tells of its
// products.
#include <dlfcn.h>

#include <atomic>
#include <thread>

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

TEST_CASE("a cancelled step begins no further piece of work, whatever its size", "[backends]") {
  const Running on(chain(), std::string("plugin:") + kCounting, 1);
  void* const library = dlopen(kCounting, RTLD_NOW);
  REQUIRE(library);
  const auto tell = reinterpret_cast<void (*)(void (*)())>(dlsym(library, "hear_multiply"));
  REQUIRE(tell);
  tell(hear);
  for (const size_t n : {size_t{1}, size_t{3}, size_t{40}}) {  // a token of an answer, and of prompts
    const std::vector<int32_t> tokens = random_tokens(n, kVocab, 3);
    kv::SequenceState state = on.state();
    n_calls = 0;
    n_to_cancel = -1;
    cancel = false;
    const auto undisturbed = on.step({{&state, tokens, 1}}, &cancel);
    REQUIRE(undisturbed.status[0] == StepStatus::ok);
    const int all = n_calls;
    REQUIRE(all >= kOps);
    for (int at = 0; at < all; ++at) {
      CAPTURE(n, at);
      kv::SequenceState other = on.state();
      n_calls = 0;
      n_to_cancel = at;
      cancel = false;
      CHECK(on.step({{&other, tokens, 1}}, &cancel).status[0] == StepStatus::cancelled);
      CHECK(n_calls == at + 1);
    }
    n_to_cancel = -1;
    cancel = false;
    kv::SequenceState again = on.state();
    const auto after = on.step({{&again, tokens, 1}}, &cancel);
    CHECK(after.status[0] == StepStatus::ok);
    CHECK(after.logits == undisturbed.logits);
  }
  tell(nullptr);
  dlclose(library);
}

// Cancels at any moment on several threads, in a model with every kind of op: experts read the routes that an
// earlier phase has written, or not.
TEST_CASE("a step that is given up leaves its workspace fit for the next one", "[backends][concurrent]") {
  PlanMaker m;
  const int64_t width = 64;
  const Id x = m.buffer(width);
  m.plan.parts = {{kv::PartKind::pages, kv::StateType::f16, 1, 1, 16, 16, 0}};
  m.plan.ops.push_back(op::Embed{x, m.weight(kVocab, width, "f32"), 1});
  for (int layer = 0; layer < 4; ++layer) {
    op::Moe moe{};
    moe.x = x;
    moe.norm = m.norm(NormKind::rms, width);
    moe.router = {m.weight(8, width, "f32")};
    moe.route = {.n_experts = 8, .n_used = 2, .normalise = true};
    for (BankSpec* bank : {&moe.gate, &moe.up, &moe.down}) {
      bank->count = 8;
      bank->weight = m.weight(64, width, "q8_0");
      for (int e = 1; e < 8; ++e) m.weight(64, width, "q8_0");
    }
    m.plan.ops.push_back(moe);
  }
  op::Head head{};
  head.x = x;
  head.w = {m.weight(kVocab, width, "f32")};
  head.scale = 1;
  m.plan.ops.push_back(head);
  m.plan.n_vocab = kVocab;
  const Running on(m.plan, "cpu", 3);
  const std::vector<int32_t> tokens = random_tokens(60, kVocab, 5), few = random_tokens(2, kVocab, 6);
  kv::SequenceState first = on.state(), second = on.state();
  const auto expected = on.step({{&first, tokens, 1}});
  const auto expected_few = on.step({{&second, few, 1}});
  std::atomic<bool> stop{false}, done{false};
  std::atomic<int> wait{0};
  std::thread canceller([&] {
    for (int i = 0; !done; ++i) {
      for (volatile int spin = 0; spin < wait;) spin = spin + 1;
      stop = true;
      std::this_thread::yield();
    }
  });
  int n_cancelled = 0;
  for (int i = 0; i < 300; ++i) {
    wait = i * 7 % 2000;
    const bool many = i % 2 == 0;
    kv::SequenceState state = on.state();
    stop = false;
    const auto got = on.step({{&state, many ? tokens : few, 1}}, &stop);
    if (got.status[0] == StepStatus::cancelled)
      ++n_cancelled;
    else
      CHECK(got.logits == (many ? expected : expected_few).logits);
  }
  done = true;
  canceller.join();
  CHECK(n_cancelled > 0);
  kv::SequenceState last = on.state();
  CHECK(on.step({{&last, tokens, 1}}).logits == expected.logits);
}
