// Every function of the header against arguments that are wrong: NULL, handles of another kind, released
// ones, pointers to no handle at all. Each must give a code and an error, and go on living.
#include <array>
#include <fstream>
#include <set>
#include <tuple>
#include <vector>

#include "capi.h"

using namespace ingle::tests;

namespace {

int32_t on_event(const ingle_event*, void*) { return 0; }
int32_t on_row(int64_t, const float*, int64_t, void*) { return 0; }
int32_t on_stage(const int32_t*, int64_t, const int32_t*, float*, int64_t, void*) { return 0; }
int32_t on_tap(int32_t, int64_t, int32_t, const float*, int64_t, void*) { return 0; }
int32_t on_read(uint64_t, void*, uint64_t, void*) { return 1; }

template <class T>
constexpr bool kIsHandle =
    std::is_same_v<T, ingle_options> || std::is_same_v<T, ingle_runtime> || std::is_same_v<T, ingle_model> ||
    std::is_same_v<T, ingle_tokenizer> || std::is_same_v<T, ingle_sampler> ||
    std::is_same_v<T, ingle_session> || std::is_same_v<T, ingle_template> ||
    std::is_same_v<T, ingle_engine> || std::is_same_v<T, ingle_grammar> || std::is_same_v<T, ingle_parser>;

template <class A>
constexpr bool is_handle() {
  if constexpr (std::is_pointer_v<A>)
    return kIsHandle<std::remove_const_t<std::remove_pointer_t<A>>>;
  else
    return false;
}

// Good arguments to spoil one by one.
struct Fixture {
  Runtime runtime = make_runtime();
  Model model = make_scripted(runtime, R"({"text": "x", "chat_template": "{{ messages[0].content }}"})");
  Session session = make_session(model, "q");
  Sampler sampler = make_greedy();
  Tokenizer tokenizer;
  Template chat_template;
  Grammar grammar;
  Text text;
  std::array<uint64_t, 64> no_handle{};
  std::set<std::string> seen;

  Fixture() {
    Err err;
    REQUIRE_OK(ingle_model_tokenizer(model, tokenizer.out(), err));
    REQUIRE_OK(ingle_model_info(model, text.out(), err));
    REQUIRE_OK(ingle_template_compile("x", -1, nullptr, chat_template.out(), err));
    REQUIRE_OK(ingle_grammar_create("regex", "x", -1, nullptr, nullptr, grammar.out(), err));
  }

  template <class... A, size_t... I>
  ingle_code call(ingle_code (*f)(A...), std::tuple<A...> arguments, ingle_error** err,
                  std::index_sequence<I...>) {
    std::get<sizeof...(A) - 1>(arguments) = err;
    return f(std::get<I>(arguments)...);
  }

  template <class... A>
  void refused(ingle_code (*f)(A...), const std::tuple<A...>& arguments, const char* how) {
    INFO(how);
    Err err;
    const ingle_code code = call(f, arguments, err, std::index_sequence_for<A...>());
    CHECK(code == INGLE_E_INVALID_ARGUMENT);
    CHECK(err.code() == code);
    CHECK_FALSE(err.where().empty());
    CHECK_FALSE(err.message().empty());
    CHECK(call(f, arguments, nullptr, std::index_sequence_for<A...>()) == code);  // nobody asks for the error
  }

  template <size_t I, class... A>
  void spoil(ingle_code (*f)(A...), const std::tuple<A...>& good, const std::set<size_t>& nullable) {
    using P = std::tuple_element_t<I, std::tuple<A...>>;
    if constexpr (std::is_pointer_v<P> && I + 1 < sizeof...(A)) {
      INFO("argument " << I);
      std::tuple<A...> bad = good;
      if (!nullable.count(I)) {
        std::get<I>(bad) = nullptr;
        refused(f, bad, "NULL");
      }
      if constexpr (is_handle<P>()) {
        std::get<I>(bad) = reinterpret_cast<P>(static_cast<ingle_text*>(text));
        refused(f, bad, "a handle of another kind");
        std::get<I>(bad) = reinterpret_cast<P>(no_handle.data());
        refused(f, bad, "no handle");
      }
    }
  }

  // `nullable`: the pointers that may be NULL, by number.
  template <class... A, class... G>
  void sweep(const char* name, ingle_code (*f)(A...), const std::set<size_t>& nullable, const G&... good) {
    INFO(name);
    seen.insert(name);
    static_assert(sizeof...(G) + 1 == sizeof...(A));
    std::tuple<A...> arguments{};
    [&]<size_t... I>(std::index_sequence<I...>) {
      ((std::get<I>(arguments) = static_cast<std::tuple_element_t<I, std::tuple<A...>>>(good)), ...);
    }
    (std::index_sequence_for<G...>());
    [&]<size_t... I>(std::index_sequence<I...>) { (spoil<I>(f, arguments, nullable), ...); }
    (std::index_sequence_for<A...>());
  }
};

#define SWEEP(function, ...) sweep(#function, function, __VA_ARGS__)
using May = std::set<size_t>;  // be NULL

struct Places {  // where results would go
  ingle_options* options = nullptr;
  ingle_runtime* runtime = nullptr;
  ingle_model* model = nullptr;
  ingle_tokenizer* tokenizer = nullptr;
  ingle_template* chat_template = nullptr;
  ingle_grammar* grammar = nullptr;
  ingle_sampler* sampler = nullptr;
  ingle_session* session = nullptr;
  ingle_engine* engine = nullptr;
  ingle_parser* parser = nullptr;
  ingle_text* text = nullptr;
  ingle_tokens* tokens = nullptr;
  const float* row = nullptr;
  int64_t large = 0;
  int32_t small = 0;
};

void sweep_options(Fixture& f, Places& p) {
  const Options o = make_options("sampler", "{}");
  f.SWEEP(ingle_options_create, May{}, "sampler", &p.options);
  f.SWEEP(ingle_options_set_int, May{}, o, "top_k", 1);
  f.SWEEP(ingle_options_set_float, May{}, o, "top_p", 1);
  f.SWEEP(ingle_options_set_string, May{}, o, "top_p", "x", -1);
  f.SWEEP(ingle_options_set_json, May{}, o, "{}", -1);
  f.SWEEP(ingle_options_describe, May{}, "sampler", &p.text);
  ingle_stage stage = INGLE_STAGE_INIT;
  stage.name = "mine";
  stage.apply = on_stage;
  f.SWEEP(ingle_options_add_stage, May{}, o, &stage);
  const Options g = make_options("generate", "{}"), limits = make_options("grammar", "{}");
  f.SWEEP(ingle_options_set_grammar, May{1}, g, f.grammar);
  f.SWEEP(ingle_grammar_create, (May{3, 4}), "regex", "x", -1, limits, nullptr, &p.grammar);
  f.SWEEP(ingle_model_tool_grammar, (May{3, 4}), f.model, "[]", -1, limits, nullptr, &p.grammar);
  f.SWEEP(ingle_grammar_accepts, May{}, f.grammar, "x", -1, &p.small);
}

void sweep_model(Fixture& f, Places& p) {
  ingle_reader reader = INGLE_READER_INIT;
  reader.read_at = on_read;
  const ingle_message message = INGLE_MESSAGE("user", "hi");
  const Options o = make_options("model", "{}"), r = make_options("runtime", "{}"),
                s = make_options("script", "{}");
  f.SWEEP(ingle_runtime_create, (May{0, 1, 2}), r, nullptr, nullptr, &p.runtime);
  f.SWEEP(ingle_runtime_doctor, May{}, f.runtime, 0, &p.text);
  f.SWEEP(ingle_model_load, (May{2, 3}), f.runtime, "no such file", o, nullptr, &p.model);
  f.SWEEP(ingle_model_load_memory, (May{3, 4}), f.runtime, &reader, 8, o, nullptr, &p.model);
  f.SWEEP(ingle_model_load_reader, (May{2, 3}), f.runtime, &reader, o, nullptr, &p.model);
  f.SWEEP(ingle_model_scripted, May{1}, f.runtime, s, &p.model);
  f.SWEEP(ingle_model_info, May{}, f.model, &p.text);
  f.SWEEP(ingle_model_info_int, May{}, f.model, "n_vocab", &p.large);
  f.SWEEP(ingle_model_info_text, May{}, f.model, "name", &p.text);
  f.SWEEP(ingle_model_tokenizer, May{}, f.model, &p.tokenizer);
  f.SWEEP(ingle_model_has_chat_template, May{}, f.model, &p.small);
  f.SWEEP(ingle_model_chat_template, May{}, f.model, &p.text);
  f.SWEEP(ingle_model_apply_chat_template, May{}, f.model, &message, 1, 1, &p.text);
  f.SWEEP(ingle_model_apply_chat_template_json, May{}, f.model, "[]", -1, 1, &p.text);
  f.SWEEP(ingle_inspect, May{}, "no such file", &p.text);
  f.SWEEP(ingle_plan_memory, (May{2, 3}), f.runtime, "/nowhere.gguf", nullptr, nullptr, &p.text);
  f.SWEEP(ingle_quantize, May{4}, f.runtime, "no such file", "nor that", "q8_0", nullptr);
}

void sweep_tokenizer_and_sampler(Fixture& f, Places& p) {
  const int32_t ids[] = {1, 2};
  const float logits[] = {1, 2};
  const Options o = make_options("sampler", "{}");
  f.SWEEP(ingle_tokenizer_load, May{}, "no such file", &p.tokenizer);
  f.SWEEP(ingle_tokenizer_encode, May{}, f.tokenizer, "x", -1, 0, &p.tokens);
  f.SWEEP(ingle_tokenizer_decode, May{}, f.tokenizer, ids, 2, 0, &p.text);
  f.SWEEP(ingle_tokenizer_token_text, May{}, f.tokenizer, 1, &p.text);
  f.SWEEP(ingle_tokenizer_size, May{}, f.tokenizer, &p.large);
  f.SWEEP(ingle_tokenizer_bos, May{}, f.tokenizer, &p.small);
  f.SWEEP(ingle_tokenizer_eos, May{}, f.tokenizer, &p.small);
  f.SWEEP(ingle_tokenizer_end_tokens, May{}, f.tokenizer, &p.tokens);
  f.SWEEP(ingle_tokenizer_tokens_with, May{}, f.tokenizer, "x", -1, &p.tokens);
  f.SWEEP(ingle_tokenizer_ends_generation, May{}, f.tokenizer, 1, &p.small);
  f.SWEEP(ingle_tokenizer_is_control, May{}, f.tokenizer, 1, &p.small);
  f.SWEEP(ingle_template_compile, May{2}, "x", -1, "name", &p.chat_template);
  f.SWEEP(ingle_template_load, May{}, "no such file", &p.chat_template);
  f.SWEEP(ingle_template_render, May{}, f.chat_template, "{}", -1, 0, &p.text);
  f.SWEEP(ingle_sampler_create, May{0}, o, &p.sampler);
  f.SWEEP(ingle_sampler_greedy, May{}, &p.sampler);
  f.SWEEP(ingle_sampler_clone, May{}, f.sampler, &p.sampler);
  f.SWEEP(ingle_sampler_sample, May{}, f.sampler, logits, 2, &p.small);
  f.SWEEP(ingle_sampler_accept, May{}, f.sampler, 1);
  f.SWEEP(ingle_sampler_describe, May{}, f.sampler, &p.text);
}

void sweep_session(Fixture& f, Places& p) {
  const int32_t ids[] = {1, 2};
  const ingle_message message = INGLE_MESSAGE("user", "hi");
  ingle_event event = INGLE_EVENT_INIT;
  ingle_stats stats = INGLE_STATS_INIT;
  const Options s = make_options("session", "{}"), g = make_options("generate", "{}");
  f.SWEEP(ingle_session_create, May{1}, f.model, s, &p.session);
  f.SWEEP(ingle_session_feed_tokens, May{3}, f.session, ids, 2, nullptr);
  f.SWEEP(ingle_session_feed_text, May{4}, f.session, "x", -1, 0, nullptr);
  f.SWEEP(ingle_session_feed_chat, May{3}, f.session, &message, 1, nullptr);
  f.SWEEP(ingle_session_feed_chat_json, May{3}, f.session, "[]", -1, nullptr);
  f.SWEEP(ingle_session_begin, May{1}, f.session, g);
  f.SWEEP(ingle_session_next, May{}, f.session, f.sampler, &event);
  const Session negative = make_session(f.model, "n");
  f.SWEEP(ingle_session_next_guided, May{}, f.session, negative, 1.5, f.sampler, &event);
  const Options b = make_options("beams", "{}");
  f.SWEEP(ingle_session_beam_search, May{1}, f.session, b, &p.text);
  f.SWEEP(ingle_session_generate, (May{2, 3, 4, 5, 6}), f.session, f.sampler, g, on_event, nullptr, nullptr,
          nullptr);
  f.SWEEP(ingle_session_cancel, May{}, f.session);
  f.SWEEP(ingle_session_logits, May{}, f.session, &p.row, &p.large);
  f.SWEEP(ingle_session_score, May{4}, f.session, ids, 2, on_row, nullptr);
  ingle_tap tap = INGLE_TAP_INIT;
  tap.hear = on_tap;
  const int32_t point = INGLE_TAP_LOGITS;
  f.SWEEP(ingle_session_tap, May{}, f.session, &point, 1, &tap);
  f.SWEEP(ingle_session_tokens, May{}, f.session, &p.tokens);
  f.SWEEP(ingle_session_truncate, May{}, f.session, 0);
  f.SWEEP(ingle_session_fork, May{}, f.session, &p.session);
  f.SWEEP(ingle_session_save, May{}, f.session, "/nowhere/saved");
  f.SWEEP(ingle_session_load, May{2}, f.model, "/nowhere/saved", nullptr, &p.session);
  f.SWEEP(ingle_session_stats, May{}, f.session, &stats);
}

void sweep_engine(Fixture& f, Places& p) {
  const Options o = make_options("engine", R"({"own_thread": 0, "state_bytes": 1000000})");
  Err err;
  Owned<ingle_engine, ingle_engine_release> engine;
  REQUIRE_OK(ingle_engine_create(f.model, o, nullptr, engine.out(), err));
  ingle_request request = INGLE_REQUEST_INIT;
  request.text = "x";
  ingle_event event = INGLE_EVENT_INIT;
  uint64_t id = 0;
  f.SWEEP(ingle_engine_create, (May{1, 2}), f.model, o, nullptr, &p.engine);
  f.SWEEP(ingle_engine_submit, May{}, engine, &request, &id);
  f.SWEEP(ingle_engine_cancel, May{2}, engine, 1, &p.small);
  f.SWEEP(ingle_engine_next, May{4}, engine, 0, &id, &event, nullptr);
  f.SWEEP(ingle_engine_descriptor, May{}, engine, &p.small);
  f.SWEEP(ingle_engine_step, May{}, engine, 0, &p.small);
  f.SWEEP(ingle_engine_pause, May{}, engine, 0);
  f.SWEEP(ingle_engine_drain, May{}, engine, 0, &p.small);
  f.SWEEP(ingle_engine_stats, May{}, engine, &p.text);
}

void sweep_parser(Fixture& f, Places& p) {
  const Options o = make_options("answer", "{}");
  Err err;
  Owned<ingle_parser, ingle_parser_release> parser;
  REQUIRE_OK(ingle_parser_create(f.chat_template, o, "", 0, parser.out(), err));
  f.SWEEP(ingle_model_chat_format, May{}, f.model, &p.text);
  f.SWEEP(ingle_template_chat_format, May{}, f.chat_template, &p.text);
  f.SWEEP(ingle_parser_create, May{1}, f.chat_template, o, "x", -1, &p.parser);
  f.SWEEP(ingle_session_parser, May{1}, f.session, o, &p.parser);
  f.SWEEP(ingle_parser_feed, May{}, parser, "x", -1, &p.text);
  f.SWEEP(ingle_parser_finish, May{}, parser, &p.text);
  f.SWEEP(ingle_parser_answer, May{}, parser, &p.text);
}

// The functions of the committed list that return a code.
std::set<std::string> listed() {
  std::ifstream file(INGLE_SOURCE_DIR "/capi/abi/symbols.txt");
  const std::set<std::string> values = {"ingle_version",     "ingle_version_number", "ingle_code_name",
                                        "ingle_error_code",  "ingle_error_message",  "ingle_error_where",
                                        "ingle_error_hint",  "ingle_text_data",      "ingle_text_length",
                                        "ingle_tokens_data", "ingle_tokens_length"};
  std::set<std::string> out;
  for (std::string line; std::getline(file, line);) {
    const std::string name = line.substr(0, line.find('@'));
    if (name.empty() || name[0] == '#' || values.count(name) || name.ends_with("_retain") ||
        name.ends_with("_release"))
      continue;
    out.insert(name);
  }
  return out;
}

}  // namespace

TEST_CASE("every function refuses NULL, wrong kinds and no handles, by a code", "[capi]") {
  Fixture f;
  Places p;
  sweep_options(f, p);
  sweep_model(f, p);
  sweep_tokenizer_and_sampler(f, p);
  sweep_session(f, p);
  sweep_engine(f, p);
  sweep_parser(f, p);
  const std::set<std::string> all = listed();
  CHECK(all.size() > 50);
  for (const std::string& name : all) {
    INFO(name << " has no test here");
    CHECK(f.seen.count(name) == 1);
  }
}

TEST_CASE("values and retain and release take NULL and wrong kinds", "[capi]") {
  const Runtime runtime = make_runtime();
  auto* wrong = reinterpret_cast<ingle_text*>(static_cast<ingle_runtime*>(runtime));
  for (ingle_text* text : {static_cast<ingle_text*>(nullptr), wrong}) {
    CHECK(std::string(ingle_text_data(text)).empty());
    CHECK(ingle_text_length(text) == 0);
    CHECK(ingle_text_retain(text) == nullptr);
    ingle_text_release(text);
    const auto* tokens = reinterpret_cast<const ingle_tokens*>(text);
    CHECK(ingle_tokens_data(tokens) == nullptr);
    CHECK(ingle_tokens_length(tokens) == 0);
    const auto* error = reinterpret_cast<const ingle_error*>(text);
    CHECK(ingle_error_code(error) == INGLE_OK);
    CHECK(std::string(ingle_error_message(error)).empty());
    CHECK(std::string(ingle_error_where(error)).empty());
    CHECK(std::string(ingle_error_hint(error)).empty());
  }
  Err err;
  Text doctor;
  REQUIRE_OK(ingle_runtime_doctor(runtime, 0, doctor.out(), err));  // still alive
}

TEST_CASE("counts, lengths and flags are checked", "[capi]") {
  Fixture f;
  Err err;
  Tokens tokens;
  Text text;
  const int32_t ids[] = {1, 2};
  ingle_session* const s = f.session;
  CHECK_FAILS(ingle_session_feed_tokens(s, ids, -1, nullptr, err), INGLE_E_INVALID_ARGUMENT, "ids");
  CHECK_FAILS(ingle_session_feed_tokens(s, ids, INT64_MAX, nullptr, err), INGLE_E_INVALID_ARGUMENT, "ids");
  CHECK_FAILS(ingle_session_feed_text(s, "x", -2, 0, nullptr, err), INGLE_E_INVALID_ARGUMENT, "text");
  CHECK_FAILS(ingle_session_feed_text(s, "x", -1, 4, nullptr, err), INGLE_E_INVALID_ARGUMENT, "flags");
  CHECK_FAILS(ingle_session_feed_text(s, "x", -1, -1, nullptr, err), INGLE_E_INVALID_ARGUMENT, "flags");
  const int32_t bad_ids[] = {-1, 258, INT32_MAX, INT32_MIN};
  for (const int32_t& id : bad_ids) {
    int32_t out = 0;
    CHECK_FAILS(ingle_session_feed_tokens(s, &id, 1, nullptr, err), INGLE_E_INVALID_ARGUMENT,
                std::to_string(id));
    CHECK_FAILS(ingle_tokenizer_decode(f.tokenizer, &id, 1, 0, text.out(), err), INGLE_E_INVALID_ARGUMENT,
                "");
    CHECK_FAILS(ingle_tokenizer_token_text(f.tokenizer, id, text.out(), err), INGLE_E_INVALID_ARGUMENT, "id");
    CHECK_FAILS(ingle_tokenizer_is_control(f.tokenizer, id, &out, err), INGLE_E_INVALID_ARGUMENT, "id");
    CHECK_FAILS(ingle_tokenizer_ends_generation(f.tokenizer, id, &out, err), INGLE_E_INVALID_ARGUMENT, "id");
  }
  CHECK_FAILS(ingle_sampler_accept(f.sampler, -1, err), INGLE_E_INVALID_ARGUMENT, "id");
  CHECK_FAILS(ingle_sampler_accept(f.sampler, INT32_MAX, err), INGLE_E_INVALID_ARGUMENT, "id");
  CHECK_FAILS(ingle_tokenizer_decode(f.tokenizer, ids, 2, INGLE_ADD_SPECIAL, text.out(), err),
              INGLE_E_INVALID_ARGUMENT, "flags");
  CHECK_FAILS(ingle_runtime_doctor(f.runtime, 2, text.out(), err), INGLE_E_INVALID_ARGUMENT, "self_test");
  CHECK_FAILS(ingle_session_truncate(s, 2, err), INGLE_E_INVALID_ARGUMENT, "truncate");
  int64_t number = 7;
  CHECK_FAILS(ingle_model_info_int(f.model, "n_vokab", &number, err), INGLE_E_NOT_FOUND, "n_vokab");
  CHECK(number == 0);
  CHECK(err.hint() == "did you mean \"n_vocab\"?");
  CHECK_FAILS(ingle_model_info_int(f.model, "name", &number, err), INGLE_E_INVALID_ARGUMENT, "name");
  CHECK_FAILS(ingle_model_info_text(f.model, "n_vocab", text.out(), err), INGLE_E_INVALID_ARGUMENT,
              "n_vocab");
  ingle_model* model = nullptr;
  CHECK_FAILS(ingle_model_load_memory(f.runtime, ids, UINT64_MAX, nullptr, nullptr, &model, err),
              INGLE_E_INVALID_ARGUMENT, "bytes");
}

TEST_CASE("logits that are no numbers are refused", "[capi]") {
  Err err;
  const Sampler greedy = make_greedy();
  int32_t id = 7;
  for (const float bad : {NAN, INFINITY}) {
    const float row[] = {1, bad, 2};
    CHECK_FAILS(ingle_sampler_sample(greedy, row, 3, &id, err), INGLE_E_NUMERIC, "");
    CHECK(id == -1);
  }
  const float row[] = {1, 3, 2};
  CHECK_FAILS(ingle_sampler_sample(greedy, row, 0, &id, err), INGLE_E_INVALID_ARGUMENT, "logits");
  REQUIRE_OK(ingle_sampler_sample(greedy, row, 3, &id, err));
  CHECK(id == 1);
}

namespace {

// A struct of the size that a program of another version may have.
template <class T>
struct Newer {
  T known;
  uint64_t more = 0;
};

template <class T, class Call>
void check_sizes(T good, Call call) {
  Err err;
  for (const uint32_t size : {0u, 1u, static_cast<uint32_t>(sizeof(T)) - 4, 100000u, UINT32_MAX}) {
    T bad = good;
    bad.struct_size = size;
    CHECK_FAILS(call(&bad, err), INGLE_E_INVALID_ARGUMENT, "struct_size");
  }
  Newer<T> newer{good};
  newer.known.struct_size = sizeof newer;
  REQUIRE_OK(call(&newer.known, err));
}

template <class T, class Call>
void check_unknown_field(T good, Call call) {
  Err err;
  Newer<T> newer{good, 1};
  newer.known.struct_size = sizeof newer;
  CHECK_FAILS(call(&newer.known, err), INGLE_E_UNSUPPORTED, "does not know");
}

}  // namespace

TEST_CASE("structs of the wrong size are refused, of a newer program taken", "[capi]") {
  Fixture f;
  ingle_event event = INGLE_EVENT_INIT;
  const Sampler sampler = make_greedy();
  check_sizes(event, [&](ingle_event* e, ingle_error** err) {
    const Session s = make_session(f.model, "q");
    return ingle_session_next(s, sampler, e, err);
  });
  check_sizes(ingle_stats INGLE_STATS_INIT,
              [&](ingle_stats* s, ingle_error** err) { return ingle_session_stats(f.session, s, err); });

  ingle_progress progress = INGLE_PROGRESS_INIT;
  progress.report = [](double, void*) { return int32_t{0}; };
  const auto feed = [&](ingle_progress* p, ingle_error** err) {
    return ingle_session_feed_text(f.session, "x", -1, 0, p, err);
  };
  check_sizes(progress, feed);
  check_unknown_field(progress, feed);

  ingle_message message = INGLE_MESSAGE("user", "hi");
  const auto render = [&](ingle_message* m, ingle_error** err) {
    Text text;
    return ingle_model_apply_chat_template(f.model, m, 1, 1, text.out(), err);
  };
  check_sizes(message, render);
  check_unknown_field(message, render);

  ingle_logger logger = INGLE_LOGGER_INIT;
  logger.log = [](int32_t, const char*, uint64_t, void*) {};
  const auto create = [](ingle_logger* l, ingle_error** err) {
    Runtime runtime;
    return ingle_runtime_create(nullptr, nullptr, l, runtime.out(), err);
  };
  check_sizes(logger, create);
  check_unknown_field(logger, create);
}

TEST_CASE("callbacks that are missing and reserved fields that are set are refused", "[capi]") {
  Fixture f;
  Err err;
  Runtime runtime;
  Model model;
  ingle_allocator allocator = INGLE_ALLOCATOR_INIT;
  CHECK_FAILS(ingle_runtime_create(nullptr, &allocator, nullptr, runtime.out(), err),
              INGLE_E_INVALID_ARGUMENT, "allocator");
  ingle_logger logger = INGLE_LOGGER_INIT;
  CHECK_FAILS(ingle_runtime_create(nullptr, nullptr, &logger, runtime.out(), err), INGLE_E_INVALID_ARGUMENT,
              "logger");
  logger.log = [](int32_t, const char*, uint64_t, void*) {};
  logger.level = 4;
  CHECK_FAILS(ingle_runtime_create(nullptr, nullptr, &logger, runtime.out(), err), INGLE_E_INVALID_ARGUMENT,
              "level");
  ingle_reader reader = INGLE_READER_INIT;
  CHECK_FAILS(ingle_model_load_reader(f.runtime, &reader, nullptr, nullptr, model.out(), err),
              INGLE_E_INVALID_ARGUMENT, "reader");
  ingle_progress progress = INGLE_PROGRESS_INIT;
  CHECK_FAILS(ingle_session_feed_text(f.session, "x", -1, 0, &progress, err), INGLE_E_INVALID_ARGUMENT,
              "progress");
  progress.report = [](double, void*) { return int32_t{0}; };
  progress.reserved = 1;
  CHECK_FAILS(ingle_session_feed_text(f.session, "x", -1, 0, &progress, err), INGLE_E_INVALID_ARGUMENT,
              "reserved");
}

TEST_CASE("messages are checked one by one", "[capi]") {
  Fixture f;
  Err err;
  Text text;
  ingle_message list[] = {INGLE_MESSAGE("user", "hi"), INGLE_MESSAGE("assistant", "yes")};
  const auto render = [&] { return ingle_model_apply_chat_template(f.model, list, 2, 1, text.out(), err); };
  REQUIRE_OK(render());
  CHECK(str(text) == "hi");
  list[0].length = 1;
  REQUIRE_OK(render());
  CHECK(str(text) == "h");
  list[1].role = nullptr;
  CHECK_FAILS(render(), INGLE_E_INVALID_ARGUMENT, "messages[1].role");
  list[1] = INGLE_MESSAGE("assistant", nullptr);
  CHECK_FAILS(render(), INGLE_E_INVALID_ARGUMENT, "messages[1].content");
  list[1] = INGLE_MESSAGE("assistant", "");
  list[1].struct_size = 8;
  CHECK_FAILS(render(), INGLE_E_INVALID_ARGUMENT, "messages[1]");
  const auto json = [&](const char* j) {
    return ingle_model_apply_chat_template_json(f.model, j, -1, 1, text.out(), err);
  };
  REQUIRE_OK(json(R"([{"role": "user", "content": "h\u00e9"}])"));
  CHECK(str(text) == "hé");
  CHECK_FAILS(json("{}"), INGLE_E_INVALID_ARGUMENT, "no messages");
  CHECK_FAILS(json("[1]"), INGLE_E_INVALID_ARGUMENT, "messages[0]");
  CHECK_FAILS(json(R"([{"role": "user"}])"), INGLE_E_INVALID_ARGUMENT, "messages[0]");
  CHECK_FAILS(json(R"([{"role": "user", "content": null}])"), INGLE_E_INVALID_ARGUMENT,
              "messages[0].content");
  CHECK_FAILS(json(R"([{"role": "user", "content": "x", "tool_calls": [3]}])"), INGLE_E_INVALID_ARGUMENT,
              "messages[0].tool_calls[0]");
}
