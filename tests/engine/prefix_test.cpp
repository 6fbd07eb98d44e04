// What goes on from a prefix that was found has the bits of what is computed from the start.
#include "kv/prefix_index.h"

#include <random>

#include "golden/support.h"

using namespace ingle;
using namespace ingle::tests;

namespace {

std::vector<int32_t> some_ids(size_t n, int64_t n_vocab, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<int32_t> ids;
  while (ids.size() < n) ids.push_back(static_cast<int32_t>(random() % static_cast<uint32_t>(n_vocab)));
  return ids;
}

// Computes the tokens that the state lacks, in steps; the logits of the last `n_wanted`.
std::vector<float> compute(Loaded& model, kv::SequenceState& state, std::span<const int32_t> tokens,
                           int64_t chunk, int64_t n_wanted) {
  std::vector<float> all;
  const auto total = static_cast<int64_t>(tokens.size());
  while (state.length() < total) {
    const int64_t start = state.length(), n = std::min(chunk, total - start);
    const int64_t wanted = std::clamp<int64_t>(start + n - (total - n_wanted), 0, n);
    state.reserve(n);
    backends::Slice slice{&state, start, tokens.subspan(static_cast<size_t>(start), static_cast<size_t>(n)),
                          wanted, total};
    backends::StepStatus status{};
    std::vector<float> logits(static_cast<size_t>(wanted * model.plan().n_vocab));
    model.runner().step({{&slice, 1}, {&status, 1}, logits.data(), nullptr});
    REQUIRE(status == backends::StepStatus::ok);
    state.commit(n);
    all.insert(all.end(), logits.begin(), logits.end());
  }
  return all;
}

}  // namespace

TEST_CASE("an adopted prefix goes on with the same bits", "[engine]") {
  const auto name =
      GENERATE(as<std::string>(), "models/qwen2-q8_0.gguf", "models/gemma3_text/model-f32.gguf",
               "golden/arch/mamba", "golden/arch/lfm2", "golden/arch/falcon_h1", "golden/arch/qwen3_5_text");
  const bool tail = GENERATE(false, true);  // of 4-bit state
  CAPTURE(name, tail);
  Setting setting;
  setting.backend = "cpu";
  if (tail) setting.state_type = kv::StateType::q4;
  Loaded model(data_path(name), setting);
  kv::PrefixIndex index(model.states());
  const int64_t n_vocab = model.plan().n_vocab;
  const std::vector<int32_t> prompt = some_ids(90, n_vocab, 1);
  bool recurrent = false, windowed = false;
  for (const kv::PartSpec& p : model.states().parts()) {
    recurrent |= p.kind == kv::PartKind::recurrent;
    windowed |= p.kind == kv::PartKind::window;
  }
  for (const size_t n : {70u, 90u}) {
    kv::SequenceState state = index.match(std::span(prompt).first(n), {}).state;
    compute(model, state, std::span(prompt).first(n), 40, 1);
    index.store(std::span(prompt).first(n), {}, state);
  }
  for (const int64_t common : {20, 64, 70, 75, 90}) {
    CAPTURE(common);
    std::vector<int32_t> tokens(prompt.begin(), prompt.begin() + common);
    const std::vector<int32_t> rest = some_ids(15, n_vocab, static_cast<uint32_t>(common));
    tokens.insert(tokens.end(), rest.begin(), rest.end());
    kv::PrefixMatch found = index.match(tokens, {}, static_cast<int64_t>(tokens.size()) - 1);
    if (!recurrent && !windowed) CHECK(found.n_matched >= (tail && common < 64 ? 0 : common));
    if (recurrent) CHECK(found.n_matched == (common >= 90 ? 90 : common >= 70 ? 70 : 0));
    kv::SequenceState fresh(model.states());
    const std::vector<float> expected = compute(model, fresh, tokens, 33, 15);
    const std::vector<float> got = compute(model, found.state, tokens, 7, 15);
    REQUIRE(got.size() == expected.size());
    CHECK(std::memcmp(got.data(), expected.data(), got.size() * sizeof(float)) == 0);
  }
}
