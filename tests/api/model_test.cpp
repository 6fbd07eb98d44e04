// Loading: by path, from memory, through a reader; and what can go wrong.
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <thread>

#include "support.h"
#include "support/temp.h"

using namespace ingle;
using namespace ingle::tests;

namespace {

std::string file_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::vector<TokenId> answer(const Model& model, uint64_t seed = 7) {
  Session session(model);
  session.feed(std::vector<TokenId>{5, 6, 7, 8, 9, 10, 11, 12, 13});
  SamplerOptions options;
  options.seed = seed;
  Sampler sampler(options);
  GenerateOptions generate;
  generate.max_tokens = 24;
  generate.ignore_end = true;
  session.generate(sampler, generate);
  return {session.tokens().begin(), session.tokens().end()};
}

struct Counter {
  std::atomic<int64_t> live{0};
  std::atomic<int64_t> left{INT64_MAX};  // allocations that still succeed
};
void* counted_allocate(size_t bytes, size_t alignment, void* user) {
  auto* counter = static_cast<Counter*>(user);
  if (counter->left.fetch_sub(1) <= 0) return nullptr;
  counter->live += static_cast<int64_t>(bytes);
  return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}
void counted_release(void* memory, size_t bytes, void* user) {
  static_cast<Counter*>(user)->live -= static_cast<int64_t>(bytes);
  std::free(memory);
}

}  // namespace

TEST_CASE("a model answers alike from a mapping, a plain file, memory and a reader", "[api]") {
  const Runtime runtime = one_thread();
  const std::vector<TokenId> mapped = answer(Model::load(runtime, tiny_model()));
  ModelOptions plain;
  plain.map = false;
  CHECK(answer(Model::load(runtime, tiny_model(), plain)) == mapped);
  const std::string bytes = file_bytes(tiny_model());
  CHECK(answer(Model::load(runtime, std::as_bytes(std::span(bytes)))) == mapped);
  ModelReader reader{"pak", bytes.size(), [&](uint64_t offset, std::span<std::byte> out) {
                       if (offset + out.size() > bytes.size()) return false;
                       std::memcpy(out.data(), bytes.data() + offset, out.size());
                       return true;
                     }};
  CHECK(answer(Model::load(runtime, reader)) == mapped);
}

TEST_CASE("the same bits whatever the threads and the chunk", "[api]") {
  std::vector<std::vector<TokenId>> answers;
  for (const int threads : {1, 2, 3}) {
    RuntimeOptions options;
    options.threads = threads;
    const Runtime runtime(options);
    answers.push_back(answer(Model::load(runtime, tiny_model())));
  }
  CHECK(answers[1] == answers[0]);
  CHECK(answers[2] == answers[0]);
}

TEST_CASE("progress is told to the end, and may cancel", "[api]") {
  const Runtime runtime = one_thread();
  float last = 0;
  ModelOptions options;
  options.progress = [&](float fraction) {
    CHECK(fraction >= last);
    last = fraction;
    return true;
  };
  Model::load(runtime, tiny_model(), options);
  CHECK(last == 1.0f);
  options.progress = [](float) { return false; };
  CHECK(code_of([&] { Model::load(runtime, tiny_model(), options); }) == Code::cancelled);
}

TEST_CASE("a reader that fails, a file that is not there, a backend that is not known", "[api]") {
  const Runtime runtime = one_thread();
  const ModelReader broken{"pak", 1000, [](uint64_t, std::span<std::byte>) { return false; }};
  CHECK(code_of([&] { Model::load(runtime, broken); }) == Code::io);
  CHECK(code_of([&] { Model::load(runtime, ModelReader{"pak", 1000, nullptr}); }) == Code::invalid_argument);
  CHECK(code_of([&] { Model::load(runtime, "/nowhere/at/all.gguf"); }) == Code::not_found);
  ModelOptions options;
  options.backend = "abacus";
  CHECK(code_of([&] { Model::load(runtime, tiny_model(), options); }) == Code::not_found);
  options.backend = "cpu";
  options.state_type = "f64";
  CHECK(code_of([&] { Model::load(runtime, tiny_model(), options); }) == Code::invalid_argument);
}

TEST_CASE("a host's allocator gets everything back, and may fail at any call", "[api]") {
  Counter counter;
  RuntimeOptions options;
  options.threads = 1;
  options.allocate = counted_allocate;
  options.release = counted_release;
  options.allocator_user = &counter;
  const Runtime runtime(options);
  const std::vector<TokenId> expected = answer(Model::load(runtime, tiny_model()));
  CHECK(counter.live == 0);
  int failures = 0;
  for (int64_t k = 0;; ++k) {
    counter.left = k;
    std::vector<TokenId> found;
    const Code code = code_of([&] { found = answer(Model::load(runtime, tiny_model())); });
    CHECK(counter.live == 0);
    if (code == Code::ok) {
      CHECK(found == expected);
      break;
    }
    CHECK(code == Code::out_of_memory);
    ++failures;
  }
  CHECK(failures > 20);
}

TEST_CASE("eight threads on one model give 200 answers as alone", "[api][concurrent]") {
  RuntimeOptions options;
  options.threads = 2;
  const Runtime runtime(options);
  const Model model = Model::load(runtime, tiny_model());
  constexpr uint64_t kThreads = 8, kAnswers = 200;  // in all
  std::vector<std::vector<TokenId>> alone, found(kAnswers);
  for (uint64_t i = 0; i < kAnswers; ++i) alone.push_back(answer(model, i));
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (uint64_t i = t; i < kAnswers; i += kThreads) found[i] = answer(model, i);
    });
  for (std::thread& t : threads) t.join();
  CHECK(found == alone);
}

TEST_CASE("two runtimes know nothing of each other", "[api]") {
  auto first = std::make_unique<Runtime>(one_thread());
  const Runtime second = one_thread();
  Model a = Model::load(*first, tiny_model()), b = Model::load(second, tiny_model());
  first.reset();  // the model keeps what it needs
  CHECK(answer(a) == answer(b));
}

TEST_CASE("a file is inspected without being run", "[api]") {
  const FileReport report = inspect(tiny_model());
  CHECK(report.container == "gguf");
  CHECK(report.tensors.size() == 27);
  bool found = false;
  for (const auto& [key, value] : report.metadata) found |= key == "general.architecture" && value == "qwen2";
  CHECK(found);
}

TEST_CASE("a file is rewritten in other types and still answers", "[api]") {
  const Runtime runtime = one_thread();
  const TempDir folder;
  const std::string to = folder.path() + "/q.gguf";
  for (const char* type : {"f16", "q8_0", "q4_0", "q5_1"}) {
    quantize(runtime, tiny_model(), to, type);
    CHECK(answer(Model::load(runtime, to)).size() == 9 + 24);
  }
  CHECK(code_of([&] { quantize(runtime, tiny_model(), to, "iq1_s"); }) == Code::invalid_argument);
  CHECK(code_of([&] { quantize(runtime, tiny_model(), tiny_model(), "q8_0"); }) == Code::invalid_argument);
}

TEST_CASE("the machine's kernels agree with their oracle", "[api]") {
  CHECK(one_thread().self_test().empty());
}
