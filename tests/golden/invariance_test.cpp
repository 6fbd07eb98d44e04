// A request gives the same bits of logits whatever stands beside it: other threads, other chunks, other
// sequences, and, for what the numeric contract promises, other kernels.
#include <map>
#include <random>

#include "golden/made.h"
#include "golden/support.h"
#include "support/errors.h"
#include "support/temp.h"

using namespace ingle;
using namespace ingle::tests;

namespace {

// Long enough for several pages, two splits of attention and every window.
std::vector<int32_t> some_ids(size_t n, int64_t n_vocab, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<int32_t> ids;
  while (ids.size() < n) ids.push_back(static_cast<int32_t>(random() % static_cast<uint32_t>(n_vocab)));
  return ids;
}

struct File {
  std::string label, path;
  std::optional<kv::StateType> state = {};
};
std::vector<File> tiny_files(const TempDir& dir) {
  return {{"llama3 f32", data_path("models/llama3/model-f32.gguf")},
          {"llama3 q8_0", data_path("models/llama3/model-q8_0.gguf")},
          {"qwen2 q8_0", data_path("models/qwen2-q8_0.gguf")},
          {"qwen2 q8_0, 8-bit state", data_path("models/qwen2-q8_0.gguf"), kv::StateType::q8},
          {"qwen2 q8_0, 4-bit state", data_path("models/qwen2-q8_0.gguf"), kv::StateType::q4},
          {"qwen3 f32", data_path("models/qwen3/model-f32.gguf")},
          {"gemma3 f32", data_path("models/gemma3_text/model-f32.gguf")},
          {"gemma3 q8_0", data_path("models/gemma3_text/model-q8_0.gguf")},
          {"mistral_sw f32", make_gguf("mistral_sw", dir)},
          {"mistral_sw f32, 8-bit state", make_gguf("mistral_sw", dir), kv::StateType::q8},
          {"mistral_sw f32, 4-bit state", make_gguf("mistral_sw", dir), kv::StateType::q4},
          // Recurrent state: gated delta net, Mamba 2 beside attention, Mamba, short convolutions.
          {"qwen3_5_text bf16", data_path("golden/arch/qwen3_5_text")},
          {"falcon_h1 f32", data_path("golden/arch/falcon_h1")},
          {"mamba f32", data_path("golden/arch/mamba")},
          {"lfm2 f32", data_path("golden/arch/lfm2")}};
}

// The number of the first row that differs, or -1.
int64_t first_difference(std::span<const float> a, std::span<const float> b, int64_t n_vocab) {
  REQUIRE(a.size() == b.size());
  for (size_t i = 0; i < a.size(); ++i)
    if (std::memcmp(&a[i], &b[i], sizeof(float)) != 0) return static_cast<int64_t>(i) / n_vocab;
  return -1;
}

// One sequence of several that share steps.
struct Lane {
  explicit Lane(Loaded& model, std::vector<int32_t> all) : state(model.states()), ids(std::move(all)) {}
  kv::SequenceState state;
  std::vector<int32_t> ids;
  std::vector<float> logits;  // of the positions that were wanted, [..][n_vocab]
  int64_t left() const { return static_cast<int64_t>(ids.size()) - state.length(); }
};

// The next take[i] tokens of each lane in one step; every row is wanted of lane `watched`, the last of the
// others.
void step_together(Loaded& model, std::vector<Lane>& lanes, const std::vector<int64_t>& take,
                   size_t watched) {
  std::vector<backends::Slice> slices;
  std::vector<size_t> whose;
  int64_t wanted = 0;
  for (size_t i = 0; i < lanes.size(); ++i) {
    const int64_t n = std::min(take[i], lanes[i].left());
    if (n == 0) continue;
    const int64_t start = lanes[i].state.length();
    lanes[i].state.reserve(n);
    slices.push_back(
        {&lanes[i].state, start,
         std::span<const int32_t>(lanes[i].ids).subspan(static_cast<size_t>(start), static_cast<size_t>(n)),
         i == watched ? n : 1});
    wanted += slices.back().n_wanted;
    whose.push_back(i);
  }
  if (slices.empty()) return;
  std::vector<backends::StepStatus> status(slices.size());
  std::vector<float> logits(static_cast<size_t>(wanted * model.plan().n_vocab));
  model.runner().step({slices, status, logits.data(), nullptr});
  auto at = logits.begin();
  for (size_t s = 0; s < slices.size(); ++s) {
    REQUIRE(status[s] == backends::StepStatus::ok);
    Lane& lane = lanes[whose[s]];
    const auto n = slices[s].n_wanted * model.plan().n_vocab;
    lane.logits.insert(lane.logits.end(), at, at + n);
    at += n;
    lane.state.commit(static_cast<int64_t>(slices[s].tokens.size()));
  }
}

// All logits of `ids`, computed in steps that seven other sequences share, in uneven chunks.
std::vector<float> logits_among_others(Loaded& model, const std::vector<int32_t>& ids, size_t place) {
  std::vector<Lane> lanes;
  for (size_t i = 0; i < 8; ++i)
    lanes.emplace_back(model, i == place ? ids
                                         : some_ids(ids.size() / 2 + 17 * i, model.plan().n_vocab,
                                                    static_cast<uint32_t>(100 + i)));
  std::mt19937 random(7);
  const int64_t takes[] = {1, 1, 2, 5, 31, 0, 1, 64};
  while (lanes[place].left() > 0) {
    std::vector<int64_t> take;
    for (size_t i = 0; i < lanes.size(); ++i) take.push_back(takes[random() % std::size(takes)]);
    step_together(model, lanes, take, place);
  }
  return std::move(lanes[place].logits);
}

void check_invariance(const File& file, const std::string& backend, const std::vector<int32_t>& ids,
                      std::initializer_list<int64_t> chunks) {
  Loaded one(file.path, {.backend = backend, .threads = 1, .state_type = file.state});
  const int64_t n_vocab = one.plan().n_vocab;
  const std::vector<float> expected = logits_of(one, ids, 1);
  for (const int threads : {1, 2, 3}) {
    CAPTURE(file.label, backend, threads);
    Loaded model(file.path, {.backend = backend, .threads = threads, .state_type = file.state});
    for (const int64_t chunk : chunks) {
      CAPTURE(chunk);
      CHECK(first_difference(expected, logits_of(model, ids, chunk), n_vocab) == -1);
    }
    CHECK(first_difference(expected, logits_among_others(model, ids, threads == 2 ? 0 : 5), n_vocab) == -1);
  }
}

void check_kernels(const File& file, const std::vector<int32_t>& ids) {
  Loaded best(file.path, {.backend = "cpu", .threads = 2, .state_type = file.state});
  const std::vector<float> expected = logits_of(best, ids, 64);
  for (const std::string kernel : {"plain", "avx2", "avx512", "avx512vnni"}) {
    CAPTURE(file.label, kernel);
    const CpuFeatures cpu = detect_cpu();
    const std::map<std::string, bool> runs = {
        {"plain", true}, {"avx2", cpu.avx2}, {"avx512", cpu.avx512}, {"avx512vnni", cpu.avx512_vnni}};
    if (!runs.at(kernel)) {
      WARN("skipped: this processor lacks " << kernel);
      continue;
    }
    Loaded model(file.path, {.backend = "cpu", .threads = 2, .kernel = kernel, .state_type = file.state});
    CHECK(first_difference(expected, logits_of(model, ids, 64), model.plan().n_vocab) == -1);
    CHECK(first_difference(expected, logits_of(model, ids, 1), model.plan().n_vocab) == -1);
  }
}

}  // namespace

TEST_CASE("the cpu backend gives the same bits in any batch", "[golden][concurrent]") {
  TempDir dir;
  for (const File& file : tiny_files(dir))
    check_invariance(file, "cpu", some_ids(300, 256, 1), {1, 7, 64, 512});
}

TEST_CASE("the reference backend gives the same bits in any batch", "[golden]") {
  TempDir dir;
  for (const File& file : tiny_files(dir))
    if (file.label == "gemma3 q8_0" || file.label == "llama3 f32" || file.label == "falcon_h1 f32" ||
        file.label == "qwen3_5_text bf16")
      check_invariance(file, "ref", some_ids(80, 256, 1), {7, 512});
}

TEST_CASE("every instruction set gives the same bits", "[golden]") {
  TempDir dir;
  for (const File& file : tiny_files(dir)) check_kernels(file, some_ids(100, 256, 2));
}

TEST_CASE("forked and truncated sequences go on with the same bits", "[golden]") {
  TempDir dir;
  for (const std::string backend : {"cpu", "ref"}) {
    for (const File& file : tiny_files(dir)) {
      if (backend == "ref" && file.label != "qwen2 q8_0" && file.label != "mistral_sw f32" &&
          file.label != "qwen3_5_text bf16" && file.label != "lfm2 f32")
        continue;
      CAPTURE(file.label, backend);
      Loaded model(file.path, {.backend = backend, .state_type = file.state});
      const std::vector<int32_t> head = some_ids(75, 256, 3), left = some_ids(40, 256, 4),
                                 right = some_ids(33, 256, 5);
      const auto fresh = [&](std::span<const int32_t> tail) {
        engine::Sequence s = model.sequence();
        s.feed(head, {});
        s.feed(tail, {});
        return std::vector<float>(s.logits().begin(), s.logits().end());
      };
      const std::vector<float> of_left = fresh(left), of_right = fresh(right);
      engine::Sequence a = model.sequence();
      a.feed(head, {});
      engine::Sequence b = a.fork();
      CHECK(std::equal(a.logits().begin(), a.logits().end(), b.logits().begin(), b.logits().end()));
      // In turns, token by token, so that each writes where the other one reads.
      for (size_t i = 0; i < left.size(); ++i) {
        a.feed(std::span(left).subspan(i, 1), {});
        if (i < right.size()) b.feed(std::span(right).subspan(i, 1), {});
      }
      CHECK(std::equal(a.logits().begin(), a.logits().end(), of_left.begin(), of_left.end()));
      CHECK(std::equal(b.logits().begin(), b.logits().end(), of_right.begin(), of_right.end()));
      if (std::any_of(model.plan().parts.begin(), model.plan().parts.end(),
                      [](const kv::PartSpec& p) { return p.window != 0; })) {
        // A window that has moved on is gone; but 4-bit keys begin their page again, which is the first.
        if (file.state == kv::StateType::q4) {
          a.truncate(10);
          CHECK(a.length() == 10);
        } else {
          CHECK(error_of([&] { a.truncate(10); }).code() == Code::invalid_argument);
          CHECK(a.length() == 115);
        }
        a.truncate(0);
        a.feed(head, {});
      } else {
        a.truncate(static_cast<int64_t>(head.size()));
      }
      // To a place that nobody marked: what recurrent state lacks is computed again.
      if (a.length() > 0 && std::none_of(model.plan().parts.begin(), model.plan().parts.end(),
                                         [](const kv::PartSpec& p) { return p.window != 0; })) {
        a.truncate(31);
        CHECK(a.length() == 31);
        engine::Sequence c = a.fork();
        a.feed(std::span(head).subspan(31, 1), {});
        a.feed(std::span(head).subspan(32), {});
        c.truncate(20);
        c.feed(std::span(head).subspan(20), {});
        CHECK(std::equal(a.logits().begin(), a.logits().end(), c.logits().begin(), c.logits().end()));
      }
      a.feed(right, {});
      CHECK(std::equal(a.logits().begin(), a.logits().end(), of_right.begin(), of_right.end()));
    }
  }
}

TEST_CASE("a real model gives the same bits in any batch and on any kernel", "[golden][long]") {
  const auto path = model_path("SmolLM2-135M-Instruct.Q4_1.gguf");
  if (!path) return;
  const File file{"SmolLM2", *path};
  check_invariance(file, "cpu", some_ids(70, 49152, 6), {7, 64, 512});
  check_kernels(file, some_ids(40, 49152, 7));
}
