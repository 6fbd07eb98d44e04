// Answers told apart through the C ABI.
#include <nlohmann/json.hpp>

#include "capi.h"

using namespace ingle::tests;
using nlohmann::json;

namespace {

struct Scripted {
  Runtime runtime = make_runtime();
  Model model;
  Sampler greedy = make_greedy();
  explicit Scripted(const std::string& options) : model(make_scripted(runtime, options)) {}
};

using Parser = Owned<ingle_parser, ingle_parser_release>;

constexpr const char* kHermes =
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% for t in m.tool_calls "
    "%}<tool_call>\\n{\\\"name\\\": "
    "\\\"{{ t.function.name }}\\\", \\\"arguments\\\": {{ t.function.arguments|tojson }}}\\n</tool_call>{% "
    "endfor %}{% "
    "endfor %}{% if add_generation_prompt %}<assistant>{% endif %}";

std::string script(const std::string& text) {
  return R"({"text": )" + json(text).dump() + R"(, "chat_template": ")" + kHermes + "\"}";
}

}  // namespace

TEST_CASE("an answer's calls come as events and as a whole", "[capi]") {
  Err err;
  const std::string answer = "Look.\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>";
  const Scripted s(script(answer));
  Text text;
  REQUIRE_OK(ingle_model_chat_format(s.model, text.out(), err));
  CHECK(json::parse(str(text))["dialect"] == "hermes");

  const Session session = make_session(s.model);
  const char* chat =
      R"({"messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}], "tools": [{"name": "f"}]})";
  REQUIRE_OK(ingle_session_feed_chat_json(session, chat, -1, nullptr, err));
  Parser parser;
  REQUIRE_OK(ingle_session_parser(session, make_options("answer", R"({"reasoning": 0})"), parser.out(), err));
  json events = json::array();
  const auto take = [&] {
    for (const json& e : json::parse(str(text))) events.push_back(e);
  };
  const Options generate = make_options("generate", R"({"control_text": 1})");
  REQUIRE_OK(ingle_session_begin(session, generate, err));
  ingle_event event = INGLE_EVENT_INIT;
  while (event.finish == INGLE_FINISH_NONE) {
    REQUIRE_OK(ingle_session_next(session, s.greedy, &event, err));
    REQUIRE_OK(
        ingle_parser_feed(parser, event.text, static_cast<int64_t>(event.text_length), text.out(), err));
    take();
  }
  REQUIRE_OK(ingle_parser_finish(parser, text.out(), err));
  take();
  std::string content, arguments;
  for (const json& e : events) {
    if (e["part"] == "content") content += e["text"].get<std::string>();
    if (e["part"] == "arguments") arguments += e["text"].get<std::string>();
    if (e["part"] == "call") CHECK(e["name"] == "f");
    if (e["part"] == "call") CHECK(e["index"] == 0);
  }
  CHECK(content == "Look.");
  CHECK(arguments == "{\"a\": 1}");
  CHECK(events.back()["part"] == "call_end");
  REQUIRE_OK(ingle_parser_answer(parser, text.out(), err));
  const json whole = json::parse(str(text));
  CHECK(whole["raw"] == answer);
  CHECK(whole["calls"][0]["arguments"] == "{\"a\": 1}");
  CHECK(whole["calls"][0]["complete"] == true);
  CHECK(whole["errors"].empty());
  CHECK_FAILS(ingle_parser_feed(parser, "x", -1, text.out(), err), INGLE_E_INVALID_ARGUMENT, "ended");
}

TEST_CASE("a cut call is told with its text", "[capi]") {
  Err err;
  const Scripted s(script(""));
  Template chat_template;
  Text text;
  REQUIRE_OK(ingle_model_chat_template(s.model, text.out(), err));
  REQUIRE_OK(ingle_template_compile(str(text).c_str(), -1, nullptr, chat_template.out(), err));
  REQUIRE_OK(ingle_template_chat_format(chat_template, text.out(), err));
  CHECK(json::parse(str(text)) == json({{"dialect", "hermes"}, {"reasoning", ""}, {"unknown", ""}}));
  Parser parser;
  REQUIRE_OK(ingle_parser_create(chat_template, nullptr, nullptr, 0, parser.out(), err));
  REQUIRE_OK(ingle_parser_feed(parser, "<tool_call>{\"name\": \"f\", \"arg", -1, text.out(), err));
  REQUIRE_OK(ingle_parser_finish(parser, text.out(), err));
  REQUIRE_OK(ingle_parser_answer(parser, text.out(), err));
  const json whole = json::parse(str(text));
  CHECK(whole["errors"][0]["fault"] == "truncated");
  CHECK(whole["errors"][0]["text"] == "<tool_call>{\"name\": \"f\", \"arg");
}

TEST_CASE("what is no conversation is refused by place", "[capi]") {
  Err err;
  const Scripted s(script(""));
  const Session session = make_session(s.model);
  const auto refused = [&](const char* chat, int32_t code, const char* words) {
    CHECK_FAILS(ingle_session_feed_chat_json(session, chat, -1, nullptr, err), code, words);
  };
  refused("{}", INGLE_E_INVALID_ARGUMENT, "no messages");
  refused("[]", INGLE_E_INVALID_ARGUMENT, "no array of messages");
  refused("[1]", INGLE_E_INVALID_ARGUMENT, "no object");
  refused(R"([{"content": "x"}])", INGLE_E_INVALID_ARGUMENT, "no role");
  refused(R"([{"role": "user", "content": 3}])", INGLE_E_INVALID_ARGUMENT, "array of parts");
  refused(R"([{"role": "user", "content": [{"type": "image_url"}]}])", INGLE_E_UNSUPPORTED, "image_url");
  refused(R"([{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{"}}]}])",
          INGLE_E_INVALID_ARGUMENT, "no JSON object");
  refused(R"({"messages": [{"role": "user", "content": "x"}], "tools": 3})", INGLE_E_INVALID_ARGUMENT,
          "no array");
  CHECK_FAILS(ingle_options_set_int(make_options("generate", "{}"), "reasoning_budget", -2, err),
              INGLE_E_INVALID_ARGUMENT, "reasoning_budget");
}

TEST_CASE("an answer is held to calls of its tools", "[capi]") {
  Err err;
  const Scripted s(script("Well."));
  const char* tools =
      R"([{"type": "function", "function": {"name": "f", "parameters":
          {"type": "object", "properties": {"a": {"enum": [1, 2]}}, "required": ["a"], "additionalProperties": false}}}])";
  const auto answer = [&](const char* options) {
    Owned<ingle_grammar, ingle_grammar_release> grammar;
    const Options how = make_options("grammar", options);
    REQUIRE_OK(ingle_model_tool_grammar(s.model, tools, -1, how, nullptr, grammar.out(), err));
    const Options generate = make_options("generate", R"({"control_text": 1, "max_tokens": 1000})");
    REQUIRE_OK(ingle_options_set_grammar(generate, grammar, err));
    const Session session = make_session(s.model);
    REQUIRE_OK(
        ingle_session_feed_chat_json(session, R"([{"role": "user", "content": "hi"}])", -1, nullptr, err));
    Text text;
    int32_t finish = 0;
    REQUIRE_OK(ingle_session_generate(session, s.greedy, generate, nullptr, nullptr, &finish, text.out(), err));
    return str(text);
  };
  CHECK(answer("{}") == "Well.");
  CHECK(answer(R"({"tool_choice": "none"})") == "Well.");
  for (const char* choice :
       {R"({"tool_choice": "required", "parallel_calls": 0})", R"({"tool_choice": "f", "parallel_calls": 0})"}) {
    const std::string text = answer(choice);
    INFO(text);
    CHECK(text.starts_with("<tool_call>\n{\"name\": \"f\", \"arguments\": "));
    CHECK(text.ends_with("}\n</tool_call>"));
  }
  Owned<ingle_grammar, ingle_grammar_release> grammar;
  CHECK_FAILS(ingle_model_tool_grammar(s.model, tools, -1, make_options("grammar", R"({"tool_choice": "g"})"),
                                       nullptr, grammar.out(), err),
              INGLE_E_INVALID_ARGUMENT, "\"g\" is none of the tools");
  CHECK_FAILS(ingle_model_tool_grammar(s.model, R"([{"name": "f", "parameters": {"$ref": "x.json"}}])", -1,
                                       nullptr, nullptr, grammar.out(), err),
              INGLE_E_UNSUPPORTED, "tool \"f\", parameters#");
}
