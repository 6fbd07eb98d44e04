// The memory plan against what the allocator counts.
#include <atomic>
#include <cstdlib>

#include "api/support.h"
#include "support/errors.h"

using namespace ingle;
using namespace ingle::tests;

namespace {

struct Meter {
  std::atomic<int64_t> live{0}, peak{0};
  RuntimeOptions options() {
    RuntimeOptions o;
    o.threads = 2;
    o.allocator_user = this;
    o.allocate = [](size_t n, size_t alignment, void* user) -> void* {
      auto& m = *static_cast<Meter*>(user);
      const int64_t now = m.live += static_cast<int64_t>(n);
      for (int64_t p = m.peak; now > p && !m.peak.compare_exchange_weak(p, now);) {
      }
      return std::aligned_alloc(alignment, (n + alignment) / alignment * alignment);
    };
    o.release = [](void* p, size_t n, void* user) {
      static_cast<Meter*>(user)->live -= static_cast<int64_t>(n);
      std::free(p);
    };
    return o;
  }
};

}  // namespace

TEST_CASE("the memory plan is what the allocator counts at its peak", "[api]") {
  const auto name = GENERATE(as<std::string>(), "models/qwen2-q8_0.gguf", "models/gemma3_text/model-f32.gguf",
                             "models/llama3/model-q8_0.gguf", "golden/arch/mamba", "golden/arch/lfm2",
                             "golden/arch/falcon_h1", "golden/arch/qwen3_5_text", "golden/arch/mixtral_bf16");
  const auto backend = GENERATE(as<std::string>(), "cpu", "ref");
  const auto chunk = GENERATE(as<int64_t>(), 16, 512);
  CAPTURE(name, backend, chunk);
  ModelOptions options;
  options.backend = backend;
  SessionOptions session;
  session.prefill_chunk = chunk;
  Meter meter;
  const Runtime runtime(meter.options());
  const MemoryPlan plan = plan_memory(runtime, data_path(name), options, session);
  CHECK(meter.peak == 0);
  {
    const Model model = Model::load(runtime, data_path(name), options);
    CHECK(plan.weight_bytes == model.info().weight_bytes);
    CHECK(plan.context == model.info().n_context);
    CHECK((plan.mapped_bytes > 0));
    Session s(model, session);
    s.feed(std::vector<TokenId>(static_cast<size_t>(plan.context) - 4, 5));
    Sampler greedy = Sampler::greedy();
    GenerateOptions answer;
    answer.ignore_end = true;
    s.begin(answer);
    for (int i = 0; i < 4; ++i) s.next(greedy);
    const auto counted = static_cast<double>(meter.peak), planned = static_cast<double>(plan.total());
    INFO("counted " << counted << ", planned " << planned);
    CHECK(counted <= 1.05 * planned);
    CHECK(counted >= 0.95 * planned);
  }
  CHECK(meter.live == 0);
}

TEST_CASE("a memory plan of what cannot be is an error", "[api]") {
  const Runtime runtime = one_thread();
  CHECK(code_of([&] { plan_memory(runtime, "/none.gguf"); }) == Code::not_found);
  ModelOptions options;
  options.backend = "none";
  CHECK(code_of([&] { plan_memory(runtime, tiny_model(), options); }) == Code::not_found);
  SessionOptions session;
  session.context = 1 << 30;
  CHECK(code_of([&] { plan_memory(runtime, tiny_model(), {}, session); }) == Code::invalid_argument);
  session.context = 10;
  const MemoryPlan less = plan_memory(runtime, tiny_model(), {}, session),
                   more = plan_memory(runtime, tiny_model());
  CHECK(less.state_bytes < more.state_bytes);
  ModelOptions wide;
  wide.state_type = "f32";
  CHECK(plan_memory(runtime, tiny_model(), wide).state_bytes == 2 * more.state_bytes);
}
