// Every allocation, read and write of what a program does with Ingle fails in turn: the call that meets it
// says so, its handles stay usable, the same call then succeeds, and what comes out at last is what came out
// undisturbed.
#include <ingle/ingle.h>

#include <filesystem>
#include <iterator>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "../capi/capi.h"
#include "interpose.h"
#include "support/temp.h"

using namespace ingle::tests;

namespace {

// Calls of the library, until one meets the fault.
class Run {
 public:
  Run() = default;  // undisturbed
  explicit Run(ingle_code expected) : expected_(expected), disturbed_(true) {}

  // `f` makes one call, whose last argument it is given. When the call fails by the fault, it is made again.
  template <class F>
  void operator()(F f) {
    ingle_error* error = nullptr;
    if (disturbed_) go();
    ingle_code code = f(&error);
    if (disturbed_) met_ = hold();
    if (code != INGLE_OK && disturbed_ && met_) {
      check(code, error, expected_);
      error = nullptr;
      code = f(&error);
    }
    check(code, error, INGLE_OK);
    if (met_) disturbed_ = false;
  }
  bool met() const { return met_; }

 private:
  static void check(ingle_code code, ingle_error* error, ingle_code expected) {
    const std::string what = std::string(ingle_error_where(error)) + ": " + ingle_error_message(error);
    const ingle_code told = ingle_error_code(error);
    ingle_error_release(error);
    if (code == expected && told == code) return;
    CAPTURE(what, told);
    REQUIRE(code == expected);
  }
  ingle_code expected_ = INGLE_OK;
  bool disturbed_ = false, met_ = false;
};

constexpr const char* kModel = INGLE_TEST_DATA "/models/qwen2-q8_0.gguf";
using Engine = Owned<ingle_engine, ingle_engine_release>;
using Scenario = std::string (*)(Run&);

std::string take(Text& text) {
  const std::string out = str(text);
  text.reset();
  return out;
}

std::string load_a_model(Run& run) {
  Runtime runtime;
  Model model;
  Text info;
  Options options = make_options("runtime", R"({"threads": 2})");
  run([&](auto err) { return ingle_runtime_create(options, nullptr, nullptr, runtime.out(), err); });
  run([&](auto err) { return ingle_model_load(runtime, kModel, nullptr, nullptr, model.out(), err); });
  run([&](auto err) { return ingle_model_info(model, info.out(), err); });
  return take(info);
}

std::string load_by_reading(Run& run) {
  const Runtime runtime = make_runtime();
  const Options options = make_options("model", R"({"map": false})");
  Model model;
  Text info;
  run([&](auto err) { return ingle_model_load(runtime, kModel, options, nullptr, model.out(), err); });
  run([&](auto err) { return ingle_model_info(model, info.out(), err); });
  return take(info);
}

// Twice: packed weights are kept by the first load and found by the second. Both go on without.
std::string load_by_cache(Run& run) {
  static const TempDir dir;
  const std::string folder = dir.path() + "/cache";
  std::filesystem::remove_all(folder);
  const Options options = make_options(
      "runtime", R"({"threads": 2, "cache_least_bytes": 0, "cache_folder": ")" + folder + R"("})");
  std::string out;
  for (int i = 0; i < 2; ++i) {
    Runtime runtime;
    Model model;
    Session session;
    Text info;
    run([&](auto err) { return ingle_runtime_create(options, nullptr, nullptr, runtime.out(), err); });
    run([&](auto err) { return ingle_model_load(runtime, kModel, nullptr, nullptr, model.out(), err); });
    run([&](auto err) { return ingle_model_info(model, info.out(), err); });
    std::string text = take(info);
    out += text.substr(0, text.find("\"cached\""));  // it need not be
  }
  return out;
}

// A Hugging Face folder: of a model with a recurrent state and experts, and of tokenizers.
std::string load_folders(Run& run) {
  const Runtime runtime = make_runtime();
  Model model;
  Text info;
  std::string out;
  run([&](auto err) {
    return ingle_model_load(runtime, INGLE_TEST_DATA "/golden/arch/granitemoehybrid", nullptr, nullptr,
                            model.out(), err);
  });
  run([&](auto err) { return ingle_model_info(model, info.out(), err); });
  out += take(info);
  for (const char* path :
       {INGLE_TEST_DATA "/text/trained/bpe-gpt2", INGLE_TEST_DATA "/text/trained/unigram-t5",
        INGLE_TEST_DATA "/text/trained/wordpiece-uncased"}) {
    Tokenizer tokenizer;
    Tokens ids;
    run([&](auto err) { return ingle_tokenizer_load(path, tokenizer.out(), err); });
    run([&](auto err) {
      return ingle_tokenizer_encode(tokenizer, "Hello there", -1, INGLE_ADD_SPECIAL, ids.out(), err);
    });
    for (uint64_t i = 0; i < ingle_tokens_length(ids); ++i)
      out += std::to_string(ingle_tokens_data(ids)[i]) + " ";
  }
  return out;
}

// What the others work with, made once.
struct World {
  Runtime runtime = make_runtime();
  Model model;
  World() {
    Err err;
    REQUIRE_OK(ingle_model_load(runtime, kModel, nullptr, nullptr, model.out(), err));
  }
  static World& get() {
    static World world;
    return world;
  }
};

std::string use_a_tokenizer(Run& run) {
  Tokenizer tokenizer;
  Tokens ids;
  Text text;
  const std::string in = "Größe, 12 <|im_end|> \xF0\x9F\xA6\x99 and the end";
  run([&](auto err) { return ingle_model_tokenizer(World::get().model, tokenizer.out(), err); });
  run([&](auto err) {
    return ingle_tokenizer_encode(tokenizer, in.data(), static_cast<int64_t>(in.size()), INGLE_PARSE_SPECIAL,
                                  ids.out(), err);
  });
  run([&](auto err) {
    return ingle_tokenizer_decode(tokenizer, ingle_tokens_data(ids),
                                  static_cast<int64_t>(ingle_tokens_length(ids)), 0, text.out(), err);
  });
  std::string out = take(text);
  run([&](auto err) { return ingle_tokenizer_tokens_with(tokenizer, "a", 1, ids.out(), err); });
  return out + std::to_string(ingle_tokens_length(ids));
}

constexpr const char* kConversation = R"([{"role": "system", "content": "Be brief."},
                                          {"role": "user", "content": "<|im_end|> Tell me more"}])";

const ingle_message kMessages[] = {INGLE_MESSAGE("system", "Be brief."),
                                   INGLE_MESSAGE("user", "<|im_end|> Tell me more")};

std::string use_a_template(Run& run) {
  Template compiled;
  Text text;
  const std::string source =
      "{% for m in messages %}{{ loop.index }}: {{ m.content | trim | tojson }}\n{% endfor %}";
  const std::string variables = std::string(R"({"messages": )") + kConversation + "}";
  run([&](auto err) { return ingle_template_compile(source.c_str(), -1, nullptr, compiled.out(), err); });
  run([&](auto err) { return ingle_template_render(compiled, variables.c_str(), -1, 0, text.out(), err); });
  std::string out = take(text);
  run([&](auto err) {
    return ingle_model_apply_chat_template(World::get().model, kMessages, 2, 1, text.out(), err);
  });
  return out + take(text);
}

// A conversation as chat APIs send it: parts, reasoning, calls whose arguments are a text or an object.
std::string use_a_conversation(Run& run) {
  constexpr const char* kRequest = R"({
    "messages": [
      {"role": "user", "content": [{"type": "text", "text": "What is the weather"}, "in Rome?"]},
      {"role": "assistant", "content": "Let me see.", "reasoning": "I must look.", "tool_calls": [
        {"id": "a", "type": "function", "function": {"name": "weather", "arguments": "{\"city\": \"Rome\"}"}},
        {"id": "b", "type": "function", "function": {"name": "weather", "arguments": {"city": "Milan"}}}]},
      {"role": "tool", "content": "sunny", "tool_call_id": "a"},
      {"role": "assistant", "content": "It is"}],
    "tools": [{"type": "function", "function": {"name": "weather", "description": "tells it",
      "parameters": {"type": "object", "properties": {"city": {"type": ["string", "null"]}}}}}],
    "chat_template_kwargs": {"enable_thinking": false}, "continue_final_message": true})";
  const Model& model = World::get().model;
  Session session;
  Text text;
  Tokens held;
  run([&](auto err) {
    return ingle_model_apply_chat_template_json(model, kRequest, -1, 1, text.out(), err);
  });
  std::string out = take(text);
  run([&](auto err) { return ingle_session_create(model, nullptr, session.out(), err); });
  run([&](auto err) { return ingle_session_feed_chat_json(session, kRequest, -1, nullptr, err); });
  run([&](auto err) { return ingle_session_tokens(session, held.out(), err); });
  return out + std::to_string(ingle_tokens_length(held));
}

struct Asked {
  Options sampling, answer;
  Sampler sampler;
  Session session;
};

// Everything up to the first token, all of it through calls that may be disturbed.
Asked ask(Run& run, const char* sampling, const char* answer) {
  Asked a;
  run([&](auto err) { return ingle_options_create("sampler", a.sampling.out(), err); });
  run([&](auto err) { return ingle_options_set_json(a.sampling, sampling, -1, err); });
  run([&](auto err) { return ingle_sampler_create(a.sampling, a.sampler.out(), err); });
  run([&](auto err) { return ingle_options_create("generate", a.answer.out(), err); });
  run([&](auto err) { return ingle_options_set_json(a.answer, answer, -1, err); });
  run([&](auto err) { return ingle_session_create(World::get().model, nullptr, a.session.out(), err); });
  run([&](auto err) { return ingle_session_feed_chat(a.session, kMessages, 2, nullptr, err); });
  run([&](auto err) { return ingle_session_begin(a.session, a.answer, err); });
  return a;
}

std::string pull(Run& run, Asked& a) {
  std::string out;
  ingle_event event = INGLE_EVENT_INIT;
  while (event.finish == INGLE_FINISH_NONE) {
    run([&](auto err) { return ingle_session_next(a.session, a.sampler, &event, err); });
    out.append(event.text, event.text_length);
    out += "[" + std::to_string(event.id) + " " + std::to_string(event.logprob);
    for (uint64_t i = 0; i < event.n_top; ++i) out += " " + std::to_string(event.top_ids[i]);
    out += "]";
  }
  return out + std::to_string(event.finish);
}

std::string generate(Run& run) {
  Asked a = ask(
      run, R"({"temperature": 1.2, "seed": 7, "repeat_penalty": 1.1, "dry_multiplier": 0.5, "top_k": 50})",
      R"({"max_tokens": 16, "stop": ["never there", "\n\n\n\n"], "top_logprobs": 3, "ignore_end": true})");
  return pull(run, a);
}

std::string generate_by_a_schema(Run& run) {
  Asked a = ask(
      run, R"({"temperature": 1, "seed": 3})",
      R"({"max_tokens": 16, "json_schema": "{\"type\": \"array\", \"items\": {\"enum\": [\"red\", 7]}}"})");
  return pull(run, a);
}

// Reasoning that the model begins, an end that is written for it, and an answer of a grammar.
std::string reason_by_a_schema(Run& run) {
  constexpr const char* kAnswer =
      R"({"max_tokens": 24, "reasoning_budget": 3, "json_schema": "{\"enum\": [\"red\", 7]}"})";
  static const Runtime runtime = make_runtime();
  static const Model model = make_scripted(
      runtime,
      R"({"text": "<think>so be it", "chat_template": "{{ messages[0].content }}{# <think></think> #}"})");
  Asked a;
  run([&](auto err) { return ingle_options_create("sampler", a.sampling.out(), err); });
  run([&](auto err) { return ingle_options_set_json(a.sampling, R"({"temperature": 0})", -1, err); });
  run([&](auto err) { return ingle_sampler_create(a.sampling, a.sampler.out(), err); });
  run([&](auto err) { return ingle_options_create("generate", a.answer.out(), err); });
  run([&](auto err) { return ingle_options_set_json(a.answer, kAnswer, -1, err); });
  run([&](auto err) { return ingle_session_create(model, nullptr, a.session.out(), err); });
  run([&](auto err) { return ingle_session_feed_chat_json(a.session, kConversation, -1, nullptr, err); });
  run([&](auto err) { return ingle_session_begin(a.session, a.answer, err); });
  return pull(run, a);
}

std::string go_back_and_forth(Run& run) {
  Asked a = ask(run, R"({"temperature": 0})", R"({"max_tokens": 4, "ignore_end": true})");
  Session fork;
  Tokens held;
  Text beams;
  Options wide = make_options("beams", R"({"beams": 3, "max_tokens": 3})");
  std::string out = pull(run, a);
  run([&](auto err) { return ingle_session_fork(a.session, fork.out(), err); });
  run([&](auto err) { return ingle_session_truncate(a.session, 9, err); });
  const int32_t ids[] = {70, 71, 72};
  run([&](auto err) { return ingle_session_feed_tokens(a.session, ids, 3, nullptr, err); });
  run([&](auto err) { return ingle_session_beam_search(a.session, wide, beams.out(), err); });
  run([&](auto err) { return ingle_session_tokens(fork, held.out(), err); });
  return out + take(beams) + std::to_string(ingle_tokens_length(held));
}

// A conversation put away in the middle of an answer, and taken up again.
std::string save_and_go_on(Run& run) {
  static const TempDir folder;
  const std::string path = folder.path() + "/saved";
  Asked a = ask(run, R"({"temperature": 0})", R"({"max_tokens": 16, "ignore_end": true})");
  ingle_event event = INGLE_EVENT_INIT;
  for (int i = 0; i < 3; ++i)
    run([&](auto err) { return ingle_session_next(a.session, a.sampler, &event, err); });
  run([&](auto err) { return ingle_session_save(a.session, path.c_str(), err); });
  std::string out = pull(run, a);  // saving has changed nothing
  Asked b;
  b.sampler = make_greedy();
  run([&](auto err) { return ingle_options_create("generate", b.answer.out(), err); });
  run([&](auto err) {
    return ingle_options_set_json(b.answer, R"({"max_tokens": 13, "ignore_end": true})", -1, err);
  });
  run([&](auto err) {
    return ingle_session_load(World::get().model, path.c_str(), nullptr, b.session.out(), err);
  });
  run([&](auto err) { return ingle_session_begin(b.session, b.answer, err); });
  out += pull(run, b);
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    out += entry.path().filename().string() + " " + std::to_string(entry.file_size());
  std::filesystem::remove(path);
  return out;
}

// What is told of a file before it is loaded, and of a session while it computes.
std::string look_inside(Run& run) {
  const Model& model = World::get().model;
  Text text;
  Session session;
  std::string out;
  run([&](auto err) { return ingle_inspect(kModel, text.out(), err); });
  out += take(text);
  run([&](auto err) {
    return ingle_plan_memory(World::get().runtime, kModel, nullptr, nullptr, text.out(), err);
  });
  out += take(text);
  run([&](auto err) { return ingle_session_create(model, nullptr, session.out(), err); });
  double sum = 0;
  ingle_tap tap = INGLE_TAP_INIT;
  tap.user = &sum;
  tap.hear = [](int32_t point, int64_t position, int32_t, const float* values, int64_t n, void* user) {
    *static_cast<double*>(user) += values[n / 2] * (point + 5) * static_cast<double>(position + 1);
    return int32_t{0};
  };
  const int32_t points[] = {INGLE_TAP_EMBEDDING, 1, INGLE_TAP_FINAL_NORM, INGLE_TAP_LOGITS};
  const int32_t ids[] = {70, 71, 72, 73, 74};
  run([&](auto err) { return ingle_session_tap(session, points, 4, &tap, err); });
  run([&](auto err) { return ingle_session_feed_tokens(session, ids, 5, nullptr, err); });
  return out + std::to_string(sum);
}

// Requests side by side, worked off by this thread: what a step could not get memory for is tried again, or
// ends that request by the error, and it is asked once more.
std::string serve(Run& run) {
  Engine engine;
  Options options = make_options(
              "engine", R"({"own_thread": 0, "state_bytes": 4000000, "prefill_chunk": 8, "least_chunk": 4})"),
          greedy = make_options("sampler", R"({"temperature": 0})"),
          answer = make_options("generate", R"({"max_tokens": 6, "ignore_end": true, "top_logprobs": 2})");
  run([&](auto err) { return ingle_engine_create(World::get().model, options, nullptr, engine.out(), err); });
  ingle_request request = INGLE_REQUEST_INIT;
  request.sampler = greedy;
  request.generate = answer;
  const char* const prompts[] = {"Tell me more about it", "Tell me more", "A"};
  std::string texts[3];
  for (bool all = false; !all;) {
    std::map<uint64_t, size_t> asked;
    for (size_t i = 0; i < std::size(prompts); ++i) {
      if (!texts[i].empty()) continue;
      request.text = prompts[i];
      uint64_t id = 0;
      run([&](auto err) { return ingle_engine_submit(engine, &request, &id, err); });
      asked[id] = i;
    }
    for (int32_t more = 1; more != 0;)
      run([&](auto err) { return ingle_engine_step(engine, 0, &more, err); });
    for (uint64_t id = 1; id != 0;) {
      ingle_event event = INGLE_EVENT_INIT;
      ingle_error* failure = nullptr;
      run([&](auto err) { return ingle_engine_next(engine, 0, &id, &event, &failure, err); });
      const ingle_code died_of = ingle_error_code(failure);
      ingle_error_release(failure);
      if (id == 0) continue;
      std::string& text = texts[asked.at(id)];
      if (event.finish == INGLE_FINISH_ERROR) {
        REQUIRE(died_of == INGLE_E_OUT_OF_MEMORY);
        text.clear();
        continue;
      }
      text.append(event.text, event.text_length);
      text += "[" + std::to_string(event.id) + " " + std::to_string(event.logprob) + "]";
    }
    all = true;
    for (const std::string& text : texts) all = all && !text.empty();
  }
  return texts[0] + texts[1] + texts[2];
}

std::string write_a_file(Run& run) {
  static const TempDir folder;
  const std::string to = folder.path() + "/out.gguf";
  run([&](auto err) {
    const ingle_code code = ingle_quantize(World::get().runtime, kModel, to.c_str(), "q4_0", nullptr, err);
    return code;
  });
  std::string names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    names += entry.path().filename().string() + " " + std::to_string(entry.file_size());
  std::filesystem::remove(to);
  return names;  // of the file alone: nothing was left behind
}

struct Case {
  const char* name;
  Scenario run;
  int64_t stride;  // of the k that the short form takes
};
constexpr Case kCases[] = {
    {"load", load_a_model, 29},
    {"load by reading", load_by_reading, 29},
    {"load by cache", load_by_cache, 61},
    {"tokenizer", use_a_tokenizer, 1},
    {"template", use_a_template, 1},
    {"conversation", use_a_conversation, 3},
    {"write", write_a_file, 29},
    {"folders", load_folders, 97},
    {"back and forth", go_back_and_forth, 5},
    {"generate", generate, 3},
    {"schema", generate_by_a_schema, 7},
    {"reasoning", reason_by_a_schema, 5},
    {"save and load", save_and_go_on, 3},
    {"engine", serve, 3},
    {"look inside", look_inside, 7},
};

// Every k of one fault, until it is not met any more. Returns how many were met.
int64_t disturb(const Case& c, Fault fault, ingle_code expected, bool onwards, int64_t stride) {
  Run undisturbed;
  c.run(undisturbed);  // what is made once is made
  Run again;
  const int64_t before = blocks_allocated();
  const std::string right = c.run(again);
  const int64_t kept = blocks_allocated() - before;  // `right` itself
  int64_t n = 0;
  for (int64_t k = 0;; k += stride) {
    CAPTURE(c.name, k, onwards, static_cast<int>(fault));
    const auto once = [&] {  // whether it was met, and how many blocks stay
      plan(fault, k, onwards);
      Run run(expected);
      const int64_t blocks = blocks_allocated();
      const std::string out = c.run(run);
      REQUIRE(out == right);
      return std::pair(run.met(), blocks_allocated() - blocks);
    };
    auto [met, left] = once();
    if (left != kept) std::tie(met, left) = once();  // what is made once may have been made just then
    REQUIRE(left == kept);
    if (!met) return n;
    ++n;
  }
}

void disturb_memory(bool every) {
  for (const Case& c : kCases) DYNAMIC_SECTION(c.name) {
      int64_t n = 0;
      for (const bool onwards : {false, true})
        n += disturb(c, Fault::memory, INGLE_E_OUT_OF_MEMORY, onwards, every ? 1 : c.stride);
      WARN("failed allocations: " << n << " in turn, " << faults_injected() << " in all");
    }
}

}  // namespace

TEST_CASE("memory runs out at some places of everything", "[faults]") { disturb_memory(false); }
TEST_CASE("memory runs out at each place of everything", "[faults][long]") { disturb_memory(true); }

TEST_CASE("reads fail, come short or are interrupted", "[faults]") {
  const Case mapped{"map", load_a_model, 1};
  int64_t n = 0;
  for (const Case& read : {Case{"read", load_by_reading, 1}, Case{"load a session", save_and_go_on, 1}}) {
    for (const bool onwards : {false, true}) n += disturb(read, Fault::read_error, INGLE_E_IO, onwards, 1);
    for (const Fault harmless : {Fault::read_again, Fault::read_short})
      n += disturb(read, harmless, INGLE_OK, false, 1);
  }
  n += disturb(mapped, Fault::read_error, INGLE_E_IO, true, 1);
  n += disturb(mapped, Fault::map_memory, INGLE_E_OUT_OF_MEMORY, false, 1);
  const Case cached{"cached", load_by_cache, 1};
  for (const bool onwards : {false, true}) n += disturb(cached, Fault::read_error, INGLE_E_IO, onwards, 1);
  for (const Fault harmless : {Fault::read_again, Fault::read_short})
    n += disturb(cached, harmless, INGLE_OK, false, 1);
  n += disturb(cached, Fault::map_memory, INGLE_E_OUT_OF_MEMORY, false, 1);
  WARN("failed reads: " << n);
}

TEST_CASE("the disk is full, or takes less than it is given", "[faults]") {
  int64_t n = 0;
  for (const Case& write : {Case{"write", write_a_file, 1}, Case{"save", save_and_go_on, 1}}) {
    for (const bool onwards : {false, true}) n += disturb(write, Fault::write_full, INGLE_E_IO, onwards, 1);
    for (const Fault harmless : {Fault::write_again, Fault::write_short})
      n += disturb(write, harmless, INGLE_OK, false, 1);
  }
  const Case cached{"cached", load_by_cache, 1};  // a cache that cannot be written is none
  for (const bool onwards : {false, true}) n += disturb(cached, Fault::write_full, INGLE_OK, onwards, 1);
  for (const Fault harmless : {Fault::write_again, Fault::write_short})
    n += disturb(cached, harmless, INGLE_OK, false, 1);
  WARN("failed writes: " << n);
}
