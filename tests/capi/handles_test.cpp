#include <algorithm>
#include <atomic>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capi.h"
#include "support/temp.h"

using namespace ingle::tests;

TEST_CASE("handles outlive those they were made from, in any order of release", "[capi]") {
  Err err;
  int order[] = {0, 1, 2};
  do {
    Runtime runtime = make_runtime();
    Model model = make_scripted(runtime, R"({"text": "abc"})");
    Tokenizer tokenizer;
    REQUIRE_OK(ingle_model_tokenizer(model, tokenizer.out(), err));
    Session session = make_session(model, "q"), fork;
    REQUIRE_OK(ingle_session_fork(session, fork.out(), err));
    for (const int which : order) {
      if (which == 0) runtime.reset();
      if (which == 1) model.reset();
      if (which == 2) session.reset();
    }
    const Sampler greedy = make_greedy();
    Text text;
    REQUIRE_OK(ingle_session_generate(fork, greedy, nullptr, nullptr, nullptr, nullptr, text.out(), err));
    CHECK(str(text) == "abc");
    int64_t size = 0;
    REQUIRE_OK(ingle_tokenizer_size(tokenizer, &size, err));
    CHECK(size == 258);
  } while (std::next_permutation(std::begin(order), std::end(order)));
}

TEST_CASE("a runtime may be released while it loads or rewrites a model", "[capi]") {
  Err err;
  ingle_progress progress = INGLE_PROGRESS_INIT;
  progress.report = [](double, void* user) {
    static_cast<Runtime*>(user)->reset();
    return int32_t{0};
  };
  Runtime runtime = make_runtime();
  progress.user = &runtime;
  Model model;
  REQUIRE_OK(ingle_model_load(runtime, model_path().c_str(), nullptr, &progress, model.out(), err));
  CHECK(runtime == nullptr);
  const Session session = make_session(model, "q");
  Text text;
  const Options options = make_options("generate", R"({"max_tokens": 4})");
  REQUIRE_OK(
      ingle_session_generate(session, make_greedy(), options, nullptr, nullptr, nullptr, text.out(), err));

  runtime = make_runtime();
  const TempDir folder;
  const std::string to = folder.path() + "/q.gguf";
  REQUIRE_OK(ingle_quantize(runtime, model_path().c_str(), to.c_str(), "q4_0", &progress, err));
  CHECK(runtime == nullptr);
}

TEST_CASE("a retained handle lives until the last release", "[capi]") {
  Err err;
  Text text;
  {
    const Runtime runtime = make_runtime();
    REQUIRE_OK(ingle_runtime_doctor(runtime, 0, text.out(), err));
  }
  ingle_text* second = ingle_text_retain(text);
  CHECK(second == text);
  const std::string before = str(text);
  text.reset();
  CHECK(str(second) == before);
  ingle_text_release(second);
}

TEST_CASE("references are counted from any thread", "[capi][concurrent]") {
  const Runtime runtime = make_runtime();
  const Model model = make_scripted(runtime, R"({"text": "abc"})");
  std::vector<std::thread> threads;
  std::atomic<int> good{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      ingle_model* mine = ingle_model_retain(model);
      ingle_session* session = nullptr;
      ingle_sampler* greedy = nullptr;
      ingle_text* text = nullptr;
      if (ingle_session_create(mine, nullptr, &session, nullptr) == INGLE_OK &&
          ingle_sampler_greedy(&greedy, nullptr) == INGLE_OK &&
          ingle_session_feed_text(session, "q", 1, 0, nullptr, nullptr) == INGLE_OK &&
          ingle_session_generate(session, greedy, nullptr, nullptr, nullptr, nullptr, &text, nullptr) ==
              INGLE_OK &&
          str(text) == "abc")
        ++good;
      ingle_model_release(mine);
      ingle_text_release(text);
      ingle_session_release(session);
      ingle_sampler_release(greedy);
    });
  for (std::thread& t : threads) t.join();
  CHECK(good == 4);
}

TEST_CASE("errors are objects of the caller's", "[capi]") {
  ingle_error* first = nullptr;
  ingle_model* model = nullptr;
  const Runtime runtime = make_runtime();
  CHECK(ingle_model_load(runtime, "/no/such/file.gguf", nullptr, nullptr, &model, &first) ==
        INGLE_E_NOT_FOUND);
  REQUIRE(first);
  CHECK(model == nullptr);
  CHECK(ingle_error_code(first) == INGLE_E_NOT_FOUND);
  CHECK(contains(std::string(ingle_error_where(first)) + ingle_error_message(first), "/no/such/file.gguf"));
  ingle_error* second = first;  // a success sets NULL, and does not release what was there
  Text text;
  CHECK(ingle_runtime_doctor(runtime, 0, text.out(), &second) == INGLE_OK);
  CHECK(second == nullptr);
  ingle_error* kept = ingle_error_retain(first);
  ingle_error_release(first);
  CHECK(ingle_error_code(kept) == INGLE_E_NOT_FOUND);
  ingle_error_release(kept);
}

TEST_CASE("codes have names", "[capi]") {
  CHECK(std::string(ingle_code_name(INGLE_OK)) == "ok");
  CHECK(std::string(ingle_code_name(INGLE_E_CONTEXT_FULL)) == "context full");
  CHECK(ingle_code_name(12345) != nullptr);
  CHECK(ingle_code_name(-1) != nullptr);
}

#if !defined(INGLE_SANITIZED)
namespace {

// In a process of its own with little memory: 0, or the number of what went wrong.
int run_out_of_memory(const std::string& json) {
  ingle_options* options = nullptr;
  if (ingle_options_create("script", &options, nullptr) != INGLE_OK) return 1;
  const rlimit limit{64 << 20, 64 << 20};  // less than what is in use: no more is given
  if (setrlimit(RLIMIT_AS, &limit) != 0) return 2;
  ingle_error* err = nullptr;
  if (ingle_options_set_json(options, json.c_str(), -1, &err) != INGLE_E_OUT_OF_MEMORY) return 3;
  if (ingle_error_code(err) != INGLE_E_OUT_OF_MEMORY || !*ingle_error_message(err)) return 4;
  ingle_error* again = ingle_error_retain(err);
  ingle_error_release(err);
  ingle_error_release(err);  // a static object: one release too many is nothing
  if (ingle_error_code(again) != INGLE_E_OUT_OF_MEMORY) return 5;
  if (ingle_options_set_json(options, "{\"context\": 9}", -1, nullptr) != INGLE_OK) return 6;  // it goes on
  return 0;
}

}  // namespace

TEST_CASE("memory that runs out is an error like any other", "[capi]") {
  std::string json = "{\"ids\": [1";
  for (int i = 0; i < 4000000; ++i) json += ",1";
  json += "]}";
  const pid_t child = fork();
  if (child == 0) _exit(run_out_of_memory(json));
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}
#endif
