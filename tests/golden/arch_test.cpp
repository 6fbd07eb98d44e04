// The supported architectures against transformers: tiny random models, weights in f32 and q8_0.
#include "golden/made.h"
#include "golden/support.h"
#include "support/temp.h"

using namespace ingle;
using namespace ingle::tests;

namespace {

// An f32 implementation lands within a few times 1e-5 (goldens' manifest: noise of 1e-5 against f64).
constexpr float kFloatNoise = 5e-5f;

struct Family {
  std::string name;
  bool made;  // the GGUF file is made here from model.safetensors
};
const std::vector<Family> kFamilies = {
    {"llama2", false},    {"llama3", false},    {"mistral", false},
    {"qwen2", false},     {"qwen3", false},     {"gemma3_text", false},
    {"mistral_sw", true}, {"llama_bias", true}, {"llama_rope_linear", true}};

std::string file_of(const Family& f, const TempDir& dir) {
  if (f.made) return make_gguf(f.name, dir);
  return data_path("models/" + f.name + "/model-f32.gguf");
}

// Greedy ids equal those of the golden up to the first step whose margin is within `noise`.
void check_greedy(Loaded& model, const Golden& g, float noise) {
  const std::vector<int32_t> ids = greedy_after(model, g.ids, g.greedy.size());
  for (size_t i = 0; i < ids.size() && g.margin[i] > noise; ++i) {
    CAPTURE(i, g.margin[i]);
    REQUIRE(ids[i] == g.greedy[i]);
  }
}

}  // namespace

TEST_CASE("float weights on the reference backend give transformers' logits", "[golden]") {
  TempDir dir;
  for (const Family& f : kFamilies) {
    CAPTURE(f.name);
    const Golden g = read_golden(f.name);
    Loaded model(file_of(f, dir), {.backend = "ref"});
    REQUIRE(model.plan().n_vocab == g.n_vocab);
    const std::vector<float> whole = logits_of(model, g.ids, 512);
    const float off = largest_difference(whole, g.logits);
    INFO("largest difference " << off << ", spread " << g.spread());
    CHECK(off < kFloatNoise);
    // With the state of what came before, token by token: the same arithmetic, so the same bits.
    CHECK(logits_of(model, g.ids, 1) == whole);
    check_greedy(model, g, 2 * kFloatNoise);
  }
}

TEST_CASE("float weights on the cpu backend give transformers' logits", "[golden]") {
  TempDir dir;
  for (const Family& f : kFamilies) {
    CAPTURE(f.name);
    const Golden g = read_golden(f.name);
    SECTION(f.name + ", f32 state") {
      Loaded model(file_of(f, dir), {.backend = "cpu", .state_type = kv::StateType::f32});
      CHECK(largest_difference(logits_of(model, g.ids, 512), g.logits) < kFloatNoise);
      check_greedy(model, g, 2 * kFloatNoise);
    }
    SECTION(f.name + ", default state") {
      Loaded model(file_of(f, dir), {.backend = "cpu"});
      const std::vector<float> logits = logits_of(model, g.ids, 512);
      const Agreement a = compare(g.logits, logits, g.n_vocab, 0.02f);
      INFO("KL " << a.mean_kl << ", difference " << largest_difference(logits, g.logits));
      CHECK(a.mean_kl < 2e-6);  // the state is rounded to f16
      CHECK(a.same == a.clear);
      check_greedy(model, g, 0.01f);
    }
  }
}

TEST_CASE("q8_0 weights stay near transformers' f32", "[golden]") {
  // llama.cpp on the same files: mean KL 0.0006 to 0.0031 (goldens' manifest), with 8-bit activations.
  for (const std::string name : {"llama3", "qwen2", "gemma3_text"}) {
    CAPTURE(name);
    const Golden g = read_golden(name);
    const std::string path =
        data_path(name == "qwen2" ? "models/qwen2-q8_0.gguf" : "models/" + name + "/model-q8_0.gguf");
    Loaded ref(path, {.backend = "ref"}), cpu(path, {.backend = "cpu"});
    const std::vector<float> float_activations = logits_of(ref, g.ids, 512),
                             fast = logits_of(cpu, g.ids, 512);
    const Agreement of_ref = compare(g.logits, float_activations, g.n_vocab, 0.5f);
    const Agreement of_cpu = compare(float_activations, fast, g.n_vocab, 0.05f);
    INFO("KL of q8_0 weights " << of_ref.mean_kl << ", of the kernels " << of_cpu.mean_kl);
    CHECK(of_ref.mean_kl < 0.004);
    CHECK(of_ref.same == of_ref.clear);
    CHECK(of_cpu.mean_kl < 4e-6);
    CHECK(of_cpu.same == of_cpu.clear);
  }
}
