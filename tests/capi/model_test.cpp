// Models from files, memory and readers; what the host lends; files.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

#include "capi.h"
#include "support/temp.h"

using namespace ingle::tests;

namespace {

std::string file_bytes() {
  std::ifstream in(model_path(), std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<int32_t> greedy_ids(ingle_model* model) {
  Err err;
  const int32_t prompt[] = {1, 2, 3, 4, 5};
  const Session session = make_session(model);
  REQUIRE_OK(ingle_session_feed_tokens(session, prompt, 5, nullptr, err));
  REQUIRE_OK(ingle_session_generate(session, make_greedy(),
                                    make_options("generate", R"({"max_tokens": 8, "ignore_end": true})"),
                                    nullptr, nullptr, nullptr, nullptr, err));
  Tokens tokens;
  REQUIRE_OK(ingle_session_tokens(session, tokens.out(), err));
  return {ingle_tokens_data(tokens), ingle_tokens_data(tokens) + ingle_tokens_length(tokens)};
}

// A host that counts what it lends, and may refuse.
struct Host {
  std::string file;
  std::atomic<int64_t> blocks{0}, calls{0}, refuse_after{INT64_MAX}, closed{0}, reads{0};
  std::atomic<int64_t> fail_read{INT64_MAX};
  std::string log;
  bool misaligned = false;

  ingle_allocator allocator() {
    ingle_allocator a = INGLE_ALLOCATOR_INIT;
    a.user = this;
    a.allocate = [](uint64_t bytes, uint64_t alignment, void* user) -> void* {
      auto& h = *static_cast<Host*>(user);
      if (++h.calls > h.refuse_after) return nullptr;
      ++h.blocks;
      auto* memory =
          static_cast<char*>(std::aligned_alloc(alignment, (bytes + 2 * alignment) / alignment * alignment));
      return h.misaligned ? memory + 8 : memory;
    };
    a.release = [](void* memory, uint64_t, void* user) {
      auto& h = *static_cast<Host*>(user);
      --h.blocks;
      std::free(static_cast<char*>(memory) - (h.misaligned ? 8 : 0));
    };
    a.close = [](void* user) { ++static_cast<Host*>(user)->closed; };
    return a;
  }
  ingle_logger logger() {
    ingle_logger l = INGLE_LOGGER_INIT;
    l.user = this;
    l.level = INGLE_LOG_DEBUG;
    l.log = [](int32_t, const char* text, uint64_t length, void* user) {
      if (text[length] == '\0') static_cast<Host*>(user)->log += std::string(text, length) + "\n";
    };
    l.close = [](void* user) { ++static_cast<Host*>(user)->closed; };
    return l;
  }
  ingle_reader reader() {
    ingle_reader r = INGLE_READER_INIT;
    r.user = this;
    r.name = "pak/model.gguf";
    r.size = file.size();
    r.read_at = [](uint64_t offset, void* out, uint64_t bytes, void* user) {
      auto& h = *static_cast<Host*>(user);
      if (++h.reads > h.fail_read) return int32_t{1};
      if (offset > h.file.size() || bytes > h.file.size() - offset) return int32_t{2};
      std::memcpy(out, h.file.data() + offset, bytes);
      return int32_t{0};
    };
    r.close = [](void* user) { ++static_cast<Host*>(user)->closed; };
    return r;
  }
};

int32_t count_progress(double fraction, void* user) {
  auto& heard = *static_cast<std::vector<double>*>(user);
  heard.push_back(fraction);
  return 0;
}

}  // namespace

TEST_CASE("a model is the same from a file, from memory and from a reader", "[capi]") {
  Err err;
  const Runtime runtime = make_runtime();
  Model from_file, from_memory, from_reader;
  std::vector<double> heard;
  ingle_progress progress = INGLE_PROGRESS_INIT;
  progress.report = count_progress;
  progress.user = &heard;
  REQUIRE_OK(ingle_model_load(runtime, model_path().c_str(), nullptr, &progress, from_file.out(), err));
  REQUIRE_FALSE(heard.empty());
  CHECK(std::is_sorted(heard.begin(), heard.end()));
  CHECK(heard.front() >= 0.0);
  CHECK(heard.back() <= 1.0);
  const std::string bytes = file_bytes();
  REQUIRE_OK(
      ingle_model_load_memory(runtime, bytes.data(), bytes.size(), nullptr, nullptr, from_memory.out(), err));
  Host host;
  host.file = bytes;
  const ingle_reader reader = host.reader();
  REQUIRE_OK(ingle_model_load_reader(runtime, &reader, nullptr, nullptr, from_reader.out(), err));
  CHECK(host.reads > 0);
  const auto ids = greedy_ids(from_file);
  CHECK(ids.size() == 13);
  CHECK(greedy_ids(from_memory) == ids);
  CHECK(greedy_ids(from_reader) == ids);
  CHECK(host.closed == 0);
  from_reader.reset();
  CHECK(host.closed == 1);

  int64_t n = 0;
  REQUIRE_OK(ingle_model_info_int(from_file, "n_vocab", &n, err));
  CHECK(n > 0);
  Text text;
  REQUIRE_OK(ingle_model_info(from_file, text.out(), err));
  CHECK(contains(str(text), "\"n_layers\":"));
  REQUIRE_OK(ingle_model_info_text(from_file, "architecture", text.out(), err));
  CHECK(str(text) == "qwen2");
}

TEST_CASE("loads are cancelled by their progress callback", "[capi]") {
  Err err;
  const Runtime runtime = make_runtime();
  ingle_progress progress = INGLE_PROGRESS_INIT;
  progress.report = [](double, void*) { return int32_t{1}; };
  Model model;
  CHECK_FAILS(ingle_model_load(runtime, model_path().c_str(), nullptr, &progress, model.out(), err),
              INGLE_E_CANCELLED, "");
  CHECK(static_cast<ingle_model*>(model) == nullptr);
}

TEST_CASE("a reader that fails fails the load, and stays the caller's", "[capi]") {
  Err err;
  const Runtime runtime = make_runtime();
  Host host;
  host.file = file_bytes();
  const ingle_reader reader = host.reader();
  Model model;
  for (const int64_t n : {0, 1, 3}) {
    host.reads = 0;
    host.fail_read = n;
    CHECK_FAILS(ingle_model_load_reader(runtime, &reader, nullptr, nullptr, model.out(), err), INGLE_E_IO,
                "pak/model.gguf");
  }
  CHECK(host.closed == 0);
  host.fail_read = INT64_MAX;
  host.file.resize(host.file.size() / 2);
  ingle_reader cut = host.reader();
  CHECK_FAILS(ingle_model_load_reader(runtime, &cut, nullptr, nullptr, model.out(), err), INGLE_E_CORRUPT,
              "");
}

TEST_CASE("files that are no models are refused by name", "[capi]") {
  Err err;
  const TempDir dir;
  const Runtime runtime = make_runtime();
  Model model;
  Tokenizer tokenizer;
  Text text;
  const std::string path = dir.write("noise.gguf", "GGUFnoise and more noise, too short for anything");
  CHECK_FAILS(ingle_model_load(runtime, path.c_str(), nullptr, nullptr, model.out(), err),
              INGLE_E_UNSUPPORTED, "noise.gguf");
  CHECK(ingle_tokenizer_load(path.c_str(), tokenizer.out(), err) != INGLE_OK);
  CHECK(ingle_inspect(path.c_str(), text.out(), err) != INGLE_OK);
  CHECK_FAILS(ingle_inspect("/no/such/file", text.out(), err), INGLE_E_NOT_FOUND, "/no/such/file");
  CHECK_FAILS(ingle_model_load(runtime, model_path().c_str(), make_options("model", R"({"backend": "gpu"})"),
                               nullptr, model.out(), err),
              err.code(), "gpu");
}

TEST_CASE("memory comes from the host's allocator and goes back to it", "[capi]") {
  Err err;
  Host host;
  const ingle_allocator allocator = host.allocator();
  const ingle_logger logger = host.logger();
  {
    Runtime runtime;
    REQUIRE_OK(ingle_runtime_create(nullptr, &allocator, &logger, runtime.out(), err));
    Model model;
    REQUIRE_OK(ingle_model_load(runtime, model_path().c_str(), nullptr, nullptr, model.out(), err));
    CHECK(host.blocks > 0);
    const Session session = make_session(model, "hello");
    runtime.reset();
    model.reset();
    CHECK(greedy_ids(make_scripted(make_runtime(), "{}")).size() >
          5);  // another runtime knows nothing of this host
    CHECK(host.closed == 0);
  }
  CHECK(host.blocks == 0);
  CHECK(host.closed == 2);  // allocator and logger
}

TEST_CASE("an allocator that refuses gives an error, at each call", "[capi]") {
  Err err;
  const Options one_thread = make_options("runtime", R"({"threads": 1})");
  for (int64_t n = 0;; ++n) {
    Host host;
    host.refuse_after = n;
    const ingle_allocator allocator = host.allocator();
    ingle_code code = INGLE_OK;
    {
      Runtime runtime;
      Model model;
      Session session;
      code = ingle_runtime_create(one_thread, &allocator, nullptr, runtime.out(), err);
      if (code == INGLE_OK)
        code = ingle_model_load(runtime, model_path().c_str(), nullptr, nullptr, model.out(), err);
      if (code == INGLE_OK) code = ingle_session_create(model, nullptr, session.out(), err);
      if (code == INGLE_OK) code = ingle_session_feed_text(session, "hello", -1, 0, nullptr, err);
    }
    CHECK(host.blocks == 0);
    if (code == INGLE_OK) {
      CHECK(n > 2);
      break;
    }
    REQUIRE(code == INGLE_E_OUT_OF_MEMORY);
    CHECK(err.code() == INGLE_E_OUT_OF_MEMORY);
    REQUIRE(n < 1000);
  }
}

TEST_CASE("memory that is not aligned counts as none", "[capi]") {
  Err err;
  Host host;
  host.misaligned = true;
  const ingle_allocator allocator = host.allocator();
  {
    Runtime runtime;
    Model model;
    REQUIRE_OK(ingle_runtime_create(nullptr, &allocator, nullptr, runtime.out(), err));
    CHECK(ingle_model_load(runtime, model_path().c_str(), nullptr, nullptr, model.out(), err) ==
          INGLE_E_OUT_OF_MEMORY);
  }
  CHECK(host.blocks == 0);
}

TEST_CASE("what is lent to a call that fails is not closed", "[capi]") {
  Err err;
  Host host;
  const ingle_allocator allocator = host.allocator();
  const ingle_logger logger = host.logger();
  Runtime runtime;
  CHECK(ingle_runtime_create(make_options("runtime", R"({"kernel": "no such kernel"})"), &allocator, &logger,
                             runtime.out(), err) != INGLE_OK);
  CHECK(host.closed == 0);
}

TEST_CASE("the doctor tells what there is", "[capi]") {
  Err err;
  const Runtime runtime = make_runtime();
  Text text;
  REQUIRE_OK(ingle_runtime_doctor(runtime, 0, text.out(), err));
  for (const char* key :
       {"\"version\":\"0.1.0\"", "\"processor\"", "\"threads\":2", "\"backends\":[\"cpu\"", "\"can_run\""})
    CHECK(contains(str(text), key));
  CHECK_FALSE(contains(str(text), "self_test"));
  REQUIRE_OK(ingle_runtime_doctor(runtime, 1, text.out(), err));
  CHECK(contains(str(text), "\"self_test\":"));
  CHECK(contains(str(text), "\"name\":\"openblas\""));
}

TEST_CASE("packed weights are kept in a folder where one is named", "[capi]") {
  const TempDir dir;
  Err err;
  const Options options = make_options(
      "runtime", R"({"threads": 2, "cache_least_bytes": 0, "cache_folder": ")" + dir.path() + R"("})");
  Text text;
  for (const char* cached : {"\"cached\":false", "\"cached\":true"}) {
    Runtime runtime;
    Model model;
    REQUIRE_OK(ingle_runtime_create(options, nullptr, nullptr, runtime.out(), err));
    REQUIRE_OK(ingle_model_load(runtime, model_path().c_str(), nullptr, nullptr, model.out(), err));
    REQUIRE_OK(ingle_model_info(model, text.out(), err));
    CHECK(contains(str(text), cached));
    REQUIRE_OK(ingle_runtime_doctor(runtime, 0, text.out(), err));
    CHECK(contains(str(text), "\"cache\":{\"folder\":\"" + dir.path() + "\",\"files\":1,\"bytes\":"));
  }
  REQUIRE_OK(ingle_runtime_doctor(make_runtime(), 0, text.out(), err));
  CHECK(contains(str(text), "\"cache\":{\"folder\":\"\",\"files\":0"));
  CHECK_FAILS(ingle_options_set_int(options, "cache_bytes", -1, err), INGLE_E_INVALID_ARGUMENT,
              "cache_bytes");
}

TEST_CASE("texts become tokens and come back", "[capi]") {
  Err err;
  Tokenizer tokenizer;
  REQUIRE_OK(ingle_tokenizer_load(model_path().c_str(), tokenizer.out(), err));
  Tokens tokens;
  Text text;
  const std::string given = "Hello, Grüße\n";
  REQUIRE_OK(ingle_tokenizer_encode(tokenizer, given.data(), static_cast<int64_t>(given.size()), 0,
                                    tokens.out(), err));
  REQUIRE(ingle_tokens_length(tokens) > 0);
  REQUIRE_OK(ingle_tokenizer_decode(tokenizer, ingle_tokens_data(tokens),
                                    static_cast<int64_t>(ingle_tokens_length(tokens)), 0, text.out(), err));
  CHECK(str(text) == given);
  REQUIRE_OK(ingle_tokenizer_encode(tokenizer, nullptr, 0, 0, tokens.out(), err));
  CHECK(ingle_tokens_length(tokens) == 0);
  int32_t eos = -2, ends = 0;
  REQUIRE_OK(ingle_tokenizer_eos(tokenizer, &eos, err));
  REQUIRE(eos >= 0);
  REQUIRE_OK(ingle_tokenizer_ends_generation(tokenizer, eos, &ends, err));
  CHECK(ends == 1);
  REQUIRE_OK(ingle_tokenizer_token_text(tokenizer, eos, text.out(), err));
  CHECK_FALSE(str(text).empty());
}

TEST_CASE("a file is inspected and rewritten in another type", "[capi]") {
  Err err;
  const TempDir dir;
  const Runtime runtime = make_runtime();
  Text before, after;
  REQUIRE_OK(ingle_inspect(model_path().c_str(), before.out(), err));
  CHECK(contains(str(before), "\"container\":\"gguf\""));
  CHECK(contains(str(before), "general.architecture"));
  const std::string to = dir.path() + "/small.gguf";
  REQUIRE_OK(ingle_quantize(runtime, model_path().c_str(), to.c_str(), "q4_0", nullptr, err));
  REQUIRE_OK(ingle_inspect(to.c_str(), after.out(), err));
  CHECK(contains(str(after), "q4_0"));
  CHECK_FALSE(contains(str(before), "q4_0"));
  Model model;
  REQUIRE_OK(ingle_model_load(runtime, to.c_str(), nullptr, nullptr, model.out(), err));
  CHECK_FAILS(ingle_quantize(runtime, model_path().c_str(), to.c_str(), "q99", nullptr, err), err.code(),
              "q99");
  CHECK(err.get() != nullptr);
}

TEST_CASE("a chat template renders what its context says", "[capi]") {
  Err err;
  Template t;
  const char source[] =
      "{{ bos_token }}{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}{{ tools }}"
      "{{ add_generation_prompt }}{{ strftime_now('%Y-%m-%d %H:%M:%S') }}";
  REQUIRE_OK(ingle_template_compile(source, -1, "mine", t.out(), err));
  Text text;
  REQUIRE_OK(ingle_template_render(t,
                                   R"({"messages": [{"role": "user", "content": "é"}], "bos_token": "<s>"})",
                                   -1, 1722002709, text.out(), err));
  CHECK(str(text) == "<s>user: é\nNoneFalse2024-07-26 14:05:09");
  CHECK_FAILS(ingle_template_render(t, "[]", -1, 0, text.out(), err), INGLE_E_INVALID_ARGUMENT, "mine");
  CHECK_FAILS(ingle_template_compile("{% if %}", -1, "mine", t.out(), err), INGLE_E_UNSUPPORTED, "mine:1:");
  REQUIRE_OK(ingle_template_compile("{{ raise_exception('no ' + messages) }}", -1, nullptr, t.out(), err));
  CHECK_FAILS(ingle_template_render(t, R"({"messages": "tools"})", -1, 0, text.out(), err),
              INGLE_E_INVALID_ARGUMENT, "template");
  CHECK(err.message() == "no tools");
}

TEST_CASE("a chat template comes from a file of its own or from a model", "[capi]") {
  Err err;
  const TempDir folder;
  const std::string path = folder.write("chat.jinja", std::string("{{ messages[0].content }}"));
  Template t;
  REQUIRE_OK(ingle_template_load(path.c_str(), t.out(), err));
  Text text;
  const char context[] = R"({"messages": [{"role": "user", "content": "Hello"}]})";
  REQUIRE_OK(ingle_template_render(t, context, -1, 0, text.out(), err));
  CHECK(str(text) == "Hello");
  CHECK_FAILS(ingle_template_load((folder.path() + "/none.jinja").c_str(), t.out(), err), INGLE_E_NOT_FOUND,
              "none.jinja");
}
