// Real models against transformers in float32 on the weights of the same files (goldens/real; its README
// states the tolerances). Prompts are fed as ids; the greedy continuation is fed too, so that one pass shows
// every choice.
#include "golden/support.h"

using namespace ingle;
using namespace ingle::tests;

namespace {

struct RealModel {
  std::string golden, file;
};
const RealModel kSmol{"smollm2-135m", "SmolLM2-135M-Instruct.Q4_1.gguf"};
const RealModel kGemma{"gemma3-270m", "gemma-3-270m-q4_k_m.gguf"};
const RealModel kQwen{"qwen2.5-coder-0.5b", "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"};

constexpr size_t kListed = 64;  // ids that the golden lists of each position

struct Text {
  std::vector<int32_t> ids, top_ids, greedy;
  std::vector<float> top_logprobs;
};

std::optional<std::string> golden_path(const RealModel& m) {
  const std::string small = data_path("models/real/" + m.golden + ".safetensors");
  return first_existing({small}) ? small : shared_path("goldens/real/" + m.golden + ".safetensors");
}

struct Tally {
  int positions = 0, clear = 0, same = 0, greedy_off = 0;
  double sum = 0;      // of the most likely ids' differences
  double largest = 0;  // of the 16 most likely
};

void tally_text(Loaded& model, const Text& t, Tally& tally) {
  std::vector<int32_t> fed = t.ids;
  fed.insert(fed.end(), t.greedy.begin(), t.greedy.end() - 1);
  engine::Sequence s = model.sequence();
  engine::FeedOptions options;
  options.chunk = 64;
  options.row = [&](int64_t position, std::span<const float> row) {
    const auto p = static_cast<size_t>(position);
    if (p + 1 >= t.ids.size()) {
      const int32_t expected = t.greedy[p + 1 - t.ids.size()];
      tally.greedy_off += argmax(row) != expected && margin_of(row) >= 0.01f;
    }
    if (p >= t.ids.size()) return;
    const std::vector<double> logprobs = log_softmax(row);
    for (size_t i = 0; i < 16; ++i) {
      const size_t at = p * kListed + i;
      const double off =
          std::abs(logprobs[static_cast<size_t>(t.top_ids[at])] - static_cast<double>(t.top_logprobs[at]));
      tally.largest = std::max(tally.largest, off);
      if (i == 0) tally.sum += off;
    }
    ++tally.positions;
    if (t.top_logprobs[p * kListed] - t.top_logprobs[p * kListed + 1] <= 0.1f) return;
    ++tally.clear;
    tally.same += argmax(row) == t.top_ids[p * kListed];
  };
  s.feed(fed, options);
}

// Nothing when the model or its golden is not on this machine.
std::optional<Tally> run(const RealModel& m, const Setting& setting) {
  const auto path = model_path(m.file), golden = golden_path(m);
  if (!path || !golden) return std::nullopt;
  const auto file = formats::open_safetensors(*golden, quant::dtype_table());
  Loaded model(*path, setting);
  Tally tally;
  for (const std::string key : {"en", "tr", "code"})
    tally_text(model,
               {ids_in(*file, key + ".ids"), ids_in(*file, key + ".top_ids"), ids_in(*file, key + ".greedy"),
                floats_in(*file, key + ".top_logprobs")},
               tally);
  return tally;
}

void check_float(const RealModel& m) {
  const auto t = run(m, {.backend = "ref"});
  if (!t) return;
  CAPTURE(m.golden, t->largest, t->positions);
  CHECK(t->largest < 0.01);
  CHECK(t->greedy_off == 0);
}

void check_eight_bit(const RealModel& m) {
  const auto t = run(m, {.backend = "cpu"});
  if (!t) return;
  CAPTURE(m.golden, t->sum / t->positions, t->largest, t->same, t->clear);
  CHECK(t->sum / t->positions <= 0.05);
  CHECK(t->same >= 0.97 * t->clear);
}

}  // namespace

TEST_CASE("SmolLM2 on the cpu backend gives transformers' log-probabilities", "[golden]") {
  check_eight_bit(kSmol);
}

TEST_CASE("real models on the cpu backend give transformers' log-probabilities", "[golden][long]") {
  check_eight_bit(kGemma);
  check_eight_bit(kQwen);
}

TEST_CASE("SmolLM2 on the reference backend gives transformers' log-probabilities", "[golden][long]") {
  check_float(kSmol);
}

TEST_CASE("real models on the reference backend give transformers' log-probabilities", "[golden][long]") {
  check_float(kGemma);
  check_float(kQwen);
}
