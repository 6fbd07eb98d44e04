// Answers that are held to calls of the tools they were given.
#include <set>

#include "support.h"

using namespace ingle;
using namespace ingle::tests;

namespace {

constexpr const char* kHermes =
    "{% for m in messages %}<|start|>{{ m.role }}:{{ m.content }}{% for t in m.tool_calls "
    "%}<tool_call>\n{\"name\": "
    "\"{{ t.function.name }}\", \"arguments\": {{ t.function.arguments|tojson }}}\n</tool_call>{% endfor "
    "%}<|end|>"
    "{% endfor %}{% if add_generation_prompt %}<|start|>assistant:{% endif %}";

constexpr const char* kWeather = R"({"type": "object", "additionalProperties": false, "required": ["place"],
  "properties": {"place": {"enum": ["Rome", "Oslo"]}, "days": {"type": "integer", "minimum": 1, "maximum": 14}}})";
constexpr const char* kTime = R"({"type": "object", "additionalProperties": false,
  "properties": {"zone": {"type": "string", "pattern": "^[A-Z]{3}$"}}})";

std::string tools() {
  return std::string(R"([{"type": "function", "function": {"name": "weather", "parameters": )") + kWeather +
         R"(}}, {"type": "function", "function": {"name": "time", "parameters": )" + kTime + "}}]";
}

// At temperature 1, where the script has nothing to say all that is offered is as likely.
ParsedAnswer answer(const Model& model, const Grammar& grammar, uint64_t seed, int64_t most = 4000) {
  Session session(model);
  session.feed_chat_json(R"([{"role": "user", "content": "q"}])");
  SamplerOptions sampling;
  sampling.temperature = 1;
  sampling.seed = seed;
  Sampler sampler(sampling);
  GenerateOptions options;
  options.grammar = grammar;
  options.control_text = true;
  options.max_tokens = most;
  AnswerOptions read;
  read.tools = tools();
  AnswerParser parser(session, read);
  session.begin(options);
  for (;;) {
    const TokenEvent event = session.next(sampler);
    parser.feed(event.text);
    if (event.finish == Finish::none) continue;
    CHECK(event.finish == Finish::end);
    break;
  }
  parser.finish();
  return parser.answer();
}

bool allowed(const ToolCall& call) {
  return Grammar::json_schema(call.name == "weather" ? kWeather : kTime).accepts(call.arguments);
}

std::string message_of(const Model& model, const std::string& list, const ToolChoice& choice, Code code) {
  try {
    tool_grammar(model, list, choice);
  } catch (const Error& e) {
    CHECK(e.code() == code);
    return e.what();
  }
  FAIL("nothing was refused");
  return {};
}

}  // namespace

TEST_CASE("a required call is written at once, and is one of the tools with arguments of its schema",
          "[api][tools]") {
  const Runtime runtime = one_thread();
  const Model model = scripted(runtime, "", kHermes);
  std::set<std::string> names;
  const Grammar any = tool_grammar(model, tools(), {"required"});
  const Grammar one = tool_grammar(model, tools(), {"required", false});
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    const ParsedAnswer got = answer(model, seed % 2 ? any : one, seed);
    INFO(got.raw);
    CHECK(got.raw.starts_with("<tool_call>\n{\"name\": \""));
    CHECK(got.content.empty());
    CHECK(got.errors.empty());
    REQUIRE_FALSE(got.calls.empty());
    if (seed % 2 == 0) CHECK(got.calls.size() == 1);
    for (const ToolCall& call : got.calls) {
      CHECK(call.complete);
      CHECK(allowed(call));
      names.insert(call.name);
    }
  }
  CHECK(names == std::set<std::string>{"time", "weather"});
  const std::string call = "<tool_call>\n{\"name\": \"time\", \"arguments\": {}}\n</tool_call>";
  CHECK(any.accepts(call + "\n" + call));
  CHECK(one.accepts(call));
  CHECK_FALSE(one.accepts(call + "\n" + call));
}

TEST_CASE("a named tool alone is called", "[api][tools]") {
  const Runtime runtime = one_thread();
  const Model model = scripted(runtime, "", kHermes);
  for (const char* choice : {"weather", R"({"type": "function", "function": {"name": "weather"}})"}) {
    const Grammar grammar = tool_grammar(model, tools(), {choice, false});
    CHECK(grammar.accepts(
        "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"place\": \"Oslo\"}}\n</tool_call>"));
    CHECK_FALSE(grammar.accepts("<tool_call>\n{\"name\": \"time\", \"arguments\": {}}\n</tool_call>"));
    const ParsedAnswer got = answer(model, grammar, 5);
    REQUIRE(got.calls.size() == 1);
    CHECK(got.calls[0].name == "weather");
    CHECK(allowed(got.calls[0]));
  }
}

TEST_CASE("a model that may call answers freely until it does", "[api][tools]") {
  const Runtime runtime = one_thread();
  const Model talks = scripted(runtime, "Hello <b>, all.", kHermes);
  const Grammar grammar = tool_grammar(talks, tools());
  CHECK(answer(talks, grammar, 1).content == "Hello <b>, all.");
  // What it does not say is said for it.
  const Model calls = scripted(runtime, "Let me see. <tool_call>", kHermes);
  const ParsedAnswer got = answer(calls, tool_grammar(calls, tools(), {"auto", false}), 2);
  CHECK(got.content == "Let me see.");
  REQUIRE(got.calls.size() == 1);
  CHECK(allowed(got.calls[0]));
  CHECK(got.errors.empty());
  CHECK_FALSE(grammar.accepts("x <tool_call>\n{\"name\": \"other\", \"arguments\": {}}\n</tool_call>"));
  CHECK_FALSE(grammar.accepts("x <tool_call>"));
  CHECK(grammar.accepts("x <tool_call"));
}

TEST_CASE("a model that may not call writes no marker of a call", "[api][tools]") {
  const Runtime runtime = one_thread();
  const Model model = scripted(runtime, "a <tool_call> b", kHermes);
  const Grammar grammar = tool_grammar(model, tools(), {"none"});
  CHECK(grammar.accepts("a <tool_cal <tool_call"));
  CHECK_FALSE(grammar.accepts("a <tool_call>"));
}

TEST_CASE("markers that are control tokens are written as such", "[api][tools]") {
  const Runtime runtime = one_thread();
  // The scripted vocabulary has <|start|> and <|end|>, the second of which ends answers.
  const Model model = scripted(
      runtime, "ab",
      "{% for m in messages %}{{ m.content }}{% for t in m.tool_calls %}<|start|>assistant to=functions.{{ "
      "t.function.name }}<|channel|>commentary json<|message|>{{ t.function.arguments|tojson }}<|call|>{% "
      "endfor %}"
      "{% endfor %}{# <|channel|>analysis<|message|> #}");
  REQUIRE(chat_format(model).dialect == "harmony");
  const Grammar grammar = tool_grammar(model, tools(), {"weather"});
  const ParsedAnswer got = answer(model, grammar, 3);
  REQUIRE(got.calls.size() == 1);
  CHECK(allowed(got.calls[0]));
  // Free text has room for control tokens.
  const Model writes = [&] {
    ScriptedModel script;
    script.ids = {'a', 257, 'b'};
    script.chat_template = kHermes;
    return Model::scripted(runtime, script);
  }();
  CHECK(answer(writes, tool_grammar(writes, tools()), 1).raw == "a<|start|>b");
}

TEST_CASE("a real model's required calls are valid, whatever it would have said", "[api][tools][long]") {
  const auto path = model_path("qwen2.5-coder-0.5b-instruct-q4_k_m.gguf");
  if (!path) return;
  const Runtime runtime;
  const Model model = Model::load(runtime, *path);
  REQUIRE(chat_format(model).dialect == "hermes");
  const Grammar grammar = tool_grammar(model, tools(), {"required"});
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    const ParsedAnswer got = answer(model, grammar, seed);
    INFO(got.raw);
    CHECK(got.errors.empty());
    CHECK(got.content.empty());
    REQUIRE_FALSE(got.calls.empty());
    for (const ToolCall& c : got.calls) CHECK((c.complete && allowed(c)));
  }
}

TEST_CASE("what cannot be held is refused by name", "[api][tools]") {
  const Runtime runtime = one_thread();
  const Model model = scripted(runtime, "", kHermes);
  const auto with = [](const std::string& parameters) {
    return R"([{"type": "function", "function": {"name": "f", "parameters": )" + parameters + "}}]";
  };
  const std::string schema =
      message_of(model, with(R"x({"properties": {"a": {"type": "string", "pattern": "(?=x)"}}})x"),
                 {"required"}, Code::unsupported);
  CHECK(schema.find("tool \"f\", parameters#/properties/a") != std::string::npos);
  message_of(model, with(R"({"type": "objekt"})"), {}, Code::invalid_argument);
  const std::string other = message_of(model, tools(), {"clock"}, Code::invalid_argument);
  CHECK(other.find("clock") != std::string::npos);
  CHECK(other.find("\"weather\", \"time\"") != std::string::npos);
  message_of(model, tools(), {"{}"}, Code::invalid_argument);
  for (const char* wrong : {"[]", "{}", "[", R"([{"type": "function"}])", "[3]"})
    message_of(model, wrong, {"required"}, Code::invalid_argument);
  const Model plain = scripted(runtime, "", "{% for m in messages %}{{ m.content }}{% endfor %}");
  message_of(plain, tools(), {}, Code::unsupported);
  const Model tagged = scripted(
      runtime, "",
      "{% for m in messages %}{{ m.content }}{% for t in m.tool_calls %}<tool_call>\n<function={{ "
      "t.function.name }}>"
      "{% for k, v in t.function.arguments|items %}\n<parameter={{ k }}>\n{{ v }}\n</parameter>{% endfor %}"
      "\n</function>\n</tool_call>{% endfor %}{% endfor %}");
  REQUIRE(chat_format(tagged).dialect == "qwen3-coder");
  CHECK(message_of(tagged, tools(), {"required"}, Code::unsupported).find("qwen3-coder") !=
        std::string::npos);
}
