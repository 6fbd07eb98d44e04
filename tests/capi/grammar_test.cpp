// Grammars through the C ABI: made of every kind of source, used by answers, cancelled while they compile.
#include "capi.h"

using namespace ingle::tests;

namespace {

Grammar make(const char* kind, const std::string& source) {
  Err err;
  Grammar out;
  REQUIRE_OK(ingle_grammar_create(kind, source.data(), static_cast<int64_t>(source.size()), nullptr, nullptr,
                                  out.out(), err));
  return out;
}

bool accepts(const ingle_grammar* grammar, const std::string& text) {
  Err err;
  int32_t out = -1;
  REQUIRE_OK(ingle_grammar_accepts(grammar, text.data(), static_cast<int64_t>(text.size()), &out, err));
  return out == 1;
}

}  // namespace

TEST_CASE("a grammar of each kind judges whole texts", "[capi]") {
  struct Case {
    const char *kind, *source, *good, *bad;
  };
  const Case cases[] = {
      {"json_schema", R"({"type": "integer"})", "12", "1.5"},
      {"regex", "a+", "aa", "b"},
      {"gbnf", "root ::= \"(\" root \")\" | \"\"", "(())", "(()"},
      {"lark", "start: \"a\" start | \"b\"", "aab", "aa"},
      {"choice", R"(["yes", "no"])", "no", "nope"},
      {"structural_tags",
       R"({"tags": [{"begin": "<n>", "end": "</n>", "json_schema": "{\"type\": \"integer\"}"},
                    {"begin": "<c>", "end": "</c>", "choice": ["a", "b"]}], "at_least_one": true})",
       "so <n>1</n> and <c>b</c>", "so <n>x</n>"},
      {"lazy", R"({"markers": ["{"], "with_marker": true, "gbnf": "root ::= \"{\" [a-z]* \"}\""})", "ok {x}",
       "ok {"},
  };
  for (const Case& c : cases) {
    INFO(c.kind);
    const Grammar grammar = make(c.kind, c.source);
    CHECK(accepts(grammar, c.good));
    CHECK_FALSE(accepts(grammar, c.bad));
  }
}

TEST_CASE("what is no grammar is refused, naming what and where", "[capi]") {
  Err err;
  Grammar g;
  const auto refuse = [&](const char* kind, const char* source, ingle_code code, const char* named) {
    INFO(kind << ": " << source);
    CHECK_FAILS(ingle_grammar_create(kind, source, -1, nullptr, nullptr, g.out(), err), code, named);
    CHECK(g == nullptr);
  };
  refuse("gbnff", "", INGLE_E_NOT_FOUND, "gbnff");
  CHECK(err.hint() == "did you mean \"gbnf\"?");
  refuse("gbnf", "root ::= x", INGLE_E_INVALID_ARGUMENT, "line 1, column 10");
  refuse("json_schema", R"({"$ref": "other.json"})", INGLE_E_UNSUPPORTED, "other.json");
  refuse("choice", "{}", INGLE_E_INVALID_ARGUMENT, "choice");
  refuse("choice", "[1]", INGLE_E_INVALID_ARGUMENT, "choice");
  refuse("structural_tags", "[]", INGLE_E_INVALID_ARGUMENT, "structural_tags");
  refuse("structural_tags", R"({"tags": [{"begin": "a"}]})", INGLE_E_INVALID_ARGUMENT, "tag 0");
  refuse("structural_tags", R"({"tags": [{"begin": "a", "regex": "b", "gbnf": "c"}]})",
         INGLE_E_INVALID_ARGUMENT, "tag 0");
  refuse("structural_tags", R"({"tags": [], "tagz": 1})", INGLE_E_INVALID_ARGUMENT, "tagz");
  refuse("lazy", R"({"markers": "x", "regex": "y"})", INGLE_E_INVALID_ARGUMENT, "markers");
}

TEST_CASE("compiling keeps to the limits of its options, and a callback cancels it", "[capi]") {
  Err err;
  Grammar g;
  const Options few = make_options("grammar", R"({"states": 10})");
  CHECK_FAILS(ingle_grammar_create("gbnf", "root ::= \"abcdefghijklm\"", -1, few, nullptr, g.out(), err),
              INGLE_E_UNSUPPORTED, "too large");
  ingle_progress progress = INGLE_PROGRESS_INIT;
  progress.report = [](double, void*) { return int32_t{1}; };
  CHECK_FAILS(ingle_grammar_create("gbnf", "root ::= \"a\"{90000}", -1, nullptr, &progress, g.out(), err),
              INGLE_E_CANCELLED, "cancelled");
  const Options loose = make_options("grammar", R"({"formats": 0, "compact": 1})");
  REQUIRE_OK(ingle_grammar_create("json_schema", R"({"format": "date"})", -1, loose, nullptr, g.out(), err));
  CHECK(accepts(g, "\"x\""));
  CHECK_FALSE(accepts(g, "{\"a\": 1}"));
}

TEST_CASE("an answer is held to a grammar, which may be released before", "[capi]") {
  Err err;
  const Runtime runtime = make_runtime();
  const Model model = make_scripted(runtime, R"({"text": "anything"})");
  Options options;
  REQUIRE_OK(ingle_options_create("generate", options.out(), err));
  {
    const Grammar grammar = make("gbnf", "root ::= \"[\" [0-9] \"]\"");
    REQUIRE_OK(ingle_options_set_grammar(options, grammar, err));
  }
  const Sampler greedy = make_greedy();
  Text text;
  int32_t finish = 0;
  const Session session = make_session(model, "q");
  REQUIRE_OK(ingle_session_generate(session, greedy, options, nullptr, nullptr, &finish, text.out(), err));
  CHECK(str(text) == "[0]");
  CHECK(finish == INGLE_FINISH_END);
  REQUIRE_OK(ingle_options_set_grammar(options, nullptr, err));
  const Session plain = make_session(model, "q");
  REQUIRE_OK(ingle_session_generate(plain, greedy, options, nullptr, nullptr, nullptr, text.out(), err));
  CHECK(str(text) == "anything");
  const Options wrong = make_options("sampler", "{}");
  CHECK_FAILS(ingle_options_set_grammar(wrong, nullptr, err), INGLE_E_INVALID_ARGUMENT, "options");
}

TEST_CASE("stop patterns, banned phrases and GBNF are options by key", "[capi]") {
  Err err;
  const Runtime runtime = make_runtime();
  const Sampler greedy = make_greedy();
  Text text;
  const auto answer = [&](const char* options) {
    const Model model = make_scripted(runtime, R"({"text": "one 23 two"})");
    const Session session = make_session(model, "q");
    const Options o = make_options("generate", options);
    REQUIRE_OK(ingle_session_generate(session, greedy, o, nullptr, nullptr, nullptr, text.out(), err));
    return str(text);
  };
  CHECK(answer(R"({"stop_patterns": [" [0-9]+ "]})") == "one");
  CHECK(answer(R"({"gbnf": "root ::= \"one\""})") == "one");
  CHECK(answer(R"({"banned_phrases": ["23"]})").find("23") == std::string::npos);
  const Options o = make_options("generate", R"({"stop_patterns": ["("]})");
  const Session session = make_session(make_scripted(runtime, "{}"), "q");
  CHECK_FAILS(ingle_session_begin(session, o, err), INGLE_E_INVALID_ARGUMENT, "stop_patterns");
}

TEST_CASE("stop tokens, and a stop that is kept, are options by key", "[capi]") {
  Err err;
  const Runtime runtime = make_runtime();
  const Sampler greedy = make_greedy();
  const auto answer = [&](const char* options, const char* script) {
    const Model model = make_scripted(runtime, script);
    const Session session = make_session(model, "q");
    const Options o = make_options("generate", options);
    Text text;
    int32_t finish = 0;
    REQUIRE_OK(ingle_session_generate(session, greedy, o, nullptr, nullptr, &finish, text.out(), err));
    CHECK(finish == INGLE_FINISH_STOP);
    // Pulled it is the same.
    const Session pulled = make_session(model, "q");
    REQUIRE_OK(ingle_session_begin(pulled, o, err));
    std::string joined;
    for (ingle_event event = INGLE_EVENT_INIT; event.finish == INGLE_FINISH_NONE;) {
      REQUIRE_OK(ingle_session_next(pulled, greedy, &event, err));
      joined.append(event.text, event.text_length);
    }
    CHECK(joined == str(text));
    return joined;
  };
  const char* text = R"({"text": "ab<END>cd"})";
  CHECK(answer(R"({"stop": ["<END>"]})", text) == "ab");
  CHECK(answer(R"({"stop": ["<END>"], "include_stop": true})", text) == "ab<END>");
  CHECK(answer(R"({"stop": ["<END>"], "include_stop": 0, "top_logprobs": 10})", text) == "ab");
  CHECK(answer(R"({"stop_tokens": [69]})", text) == "ab<");
  CHECK(answer(R"({"stop_tokens": [1, 69], "include_stop": 1})", text) == "ab<E");
  CHECK(answer(R"({"stop_tokens": [10], "top_logprobs": 10})", R"({"text": "\nab"})").empty());
  const char* control = R"({"ids": [97, 257, 98]})";
  CHECK(answer(R"({"stop_tokens": [257], "include_stop": 1})", control) == "a");
  CHECK(answer(R"({"stop_tokens": [257], "include_stop": 1, "control_text": 1})", control) == "a<|start|>");

  const Options o = make_options("generate", "{}");
  CHECK_FAILS(ingle_options_set_json(o, R"({"stop_tokens": [-1]})", -1, err), INGLE_E_INVALID_ARGUMENT,
              "stop_tokens");
  CHECK_FAILS(ingle_options_set_json(o, R"({"stop_tokens": ["a"]})", -1, err), INGLE_E_INVALID_ARGUMENT,
              "stop_tokens");
  std::string many = R"({"stop_tokens": [0)";
  for (int i = 0; i < 256; ++i) many += ",0";
  CHECK_FAILS(ingle_options_set_json(o, (many + "]}").c_str(), -1, err), INGLE_E_INVALID_ARGUMENT, "256");
  const Session session = make_session(make_scripted(runtime, text), "q");
  const Options outside = make_options("generate", R"({"stop_tokens": [258]})");
  CHECK_FAILS(ingle_session_begin(session, outside, err), INGLE_E_INVALID_ARGUMENT, "258");
}
