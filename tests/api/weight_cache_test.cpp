// Models whose packed weights come from the cache: the same bits, and never another model's.
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "api/support.h"
#include "support/errors.h"
#include "support/temp.h"

using namespace ingle;
using namespace ingle::tests;

namespace {

RuntimeOptions with_cache(const std::string& folder, const std::string& kernel = {}) {
  RuntimeOptions o;
  o.threads = 2;
  o.kernel = kernel;
  o.cache_folder = folder;
  o.cache_least_bytes = 0;
  return o;
}

struct Loaded {
  bool cached;
  std::vector<float> logits;
  uint64_t weight_bytes;
};
Loaded load(const RuntimeOptions& runtime, const std::string& path, const ModelOptions& options = {}) {
  const Model model = Model::load(Runtime(runtime), path, options);
  Session session(model);
  session.feed(std::vector<TokenId>{5, 6, 7, 8});
  const auto logits = session.logits();
  return {model.info().cached, {logits.begin(), logits.end()}, model.info().weight_bytes};
}

timespec written(const std::string& path) {
  struct stat status = {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status.st_mtim;
}
void set_written(const std::string& path, timespec time) {
  const timespec times[2] = {time, time};
  REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
}

}  // namespace

TEST_CASE("a model out of the cache has the bits of one that was packed", "[api]") {
  const auto name = GENERATE(as<std::string>(), "models/qwen2-q8_0.gguf", "models/gemma3_text/model-f32.gguf",
                             "models/llama3/model-q8_0.gguf", "golden/arch/mamba", "golden/arch/mixtral_bf16",
                             "golden/arch/gpt_oss");
  CAPTURE(name);
  if (!std::filesystem::exists(data_path(name))) {
    WARN("skipped: no " << name);
    return;
  }
  const TempDir dir;
  RuntimeOptions plain;
  plain.threads = 2;
  const Loaded packed = load(plain, data_path(name)), first = load(with_cache(dir.path()), data_path(name)),
               second = load(with_cache(dir.path()), data_path(name));
  CHECK_FALSE(packed.cached);
  CHECK_FALSE(first.cached);
  CHECK(second.cached);
  CHECK(first.logits == packed.logits);
  CHECK(second.logits == packed.logits);
  CHECK(second.weight_bytes == packed.weight_bytes);
  CHECK(Runtime(with_cache(dir.path())).cache().files == 1);
  CHECK(Runtime(plain).cache().folder.empty());
  CHECK(Runtime(plain).clear_cache().files == 0);
}

TEST_CASE("a model whose cache goes while it lives is not disturbed", "[api]") {
  const TempDir dir;
  const std::string path = data_path("models/qwen2-q8_0.gguf");
  const Loaded packed = load(with_cache(dir.path()), path);
  const Runtime runtime(with_cache(dir.path()));
  const Model model = Model::load(runtime, path);
  REQUIRE(model.info().cached);
  CHECK(runtime.clear_cache().files == 1);
  Session session(model);
  session.feed(std::vector<TokenId>{5, 6, 7, 8});
  const auto logits = session.logits();
  CHECK(std::vector<float>(logits.begin(), logits.end()) == packed.logits);
}

TEST_CASE("another file under a model's name is packed anew", "[api]") {
  const TempDir dir, folder;
  const std::string path = dir.path() + "/model.gguf";
  std::filesystem::copy_file(data_path("models/qwen2-q8_0.gguf"), path);
  const RuntimeOptions options = with_cache(folder.path());
  const Loaded first = load(options, path);
  REQUIRE(load(options, path).cached);
  const timespec time = written(path);
  SECTION("written at another time") {
    set_written(path, {time.tv_sec, time.tv_nsec ^ 1});
    const Loaded again = load(options, path);
    CHECK_FALSE(again.cached);
    CHECK(again.logits == first.logits);
    CHECK(load(options, path).cached);
  }
  SECTION("of the same size and time") {
    // All weights differ, as those of a model that was trained further do.
    const uint64_t bytes = std::filesystem::file_size(path);
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    for (uint64_t at = bytes / 2; at + 34 < bytes; at += 97) {
      file.seekg(static_cast<std::streamoff>(at));
      const char c = static_cast<char>(file.get() ^ 1);
      file.seekp(static_cast<std::streamoff>(at));
      file.put(c);
    }
    file.close();
    set_written(path, time);
    CHECK_FALSE(load(options, path).cached);
    CHECK(load(options, path).cached);
  }
  CHECK(Runtime(options).cache().files == 2);
}

TEST_CASE("what is not mapped, small or without a file has no cache", "[api]") {
  const TempDir dir;
  const std::string path = data_path("models/qwen2-q8_0.gguf");
  RuntimeOptions options = with_cache(dir.path());
  const auto nothing = [&] { return Runtime(options).cache().files == 0; };
  ModelOptions read;
  read.map = false;
  load(options, path, read);
  CHECK(nothing());
  ModelOptions reference;
  reference.backend = "ref";
  load(options, path, reference);
  CHECK(nothing());
  std::ifstream in(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  Model::load(Runtime(options), std::as_bytes(std::span(bytes)));
  CHECK(nothing());
  plan_memory(Runtime(options), path);
  CHECK(nothing());
  options.cache_least_bytes = RuntimeOptions().cache_least_bytes;
  load(options, path);
  CHECK(nothing());
  options.cache_least_bytes = 0;
  options.cache_bytes = 1000;
  load(options, path);
  CHECK(nothing());
}

TEST_CASE("kernels of other layouts have files of their own", "[api]") {
  const TempDir dir;
  const std::string path = data_path("golden/arch/mixtral_bf16");
  const Loaded plain = load(with_cache(dir.path(), "plain"), path);
  CHECK(load(with_cache(dir.path(), "plain"), path).cached);
  const Loaded best = load(with_cache(dir.path()), path);
  CHECK(load(with_cache(dir.path()), path).logits == best.logits);
  CHECK(load(with_cache(dir.path(), "plain"), path).logits == plain.logits);
}

TEST_CASE("a load is cancelled while its weights are kept", "[api]") {
  const TempDir dir;
  const std::string path = data_path("models/qwen2-q8_0.gguf");
  const auto steps = [&](int most) {
    ModelOptions options;
    int n = 0;
    options.progress = [&](float) { return ++n <= most; };
    const Code code = error_of([&] { Model::load(Runtime(with_cache(dir.path())), path, options); }).code();
    return code == Code::cancelled;
  };
  int n = 0;
  int64_t kept = 0;
  while (steps(n)) {
    kept += Runtime(with_cache(dir.path())).cache().files;
    REQUIRE(++n < 10000);
  }
  CHECK(n > 1);
  CHECK(kept <= 1);  // by the load that is cancelled behind its last step
  CHECK(Runtime(with_cache(dir.path())).cache().files == 1);
}
