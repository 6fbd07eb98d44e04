// Answers that are held to calls of the tools they were given.
#include <fstream>
#include <set>
#include <sstream>
#include <tuple>

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
  const auto refused = [&](const std::string& parameters, const char* why) {
    const std::string message = message_of(tagged, with(parameters), {"required"}, Code::unsupported);
    INFO(message);
    CHECK(message.find(why) != std::string::npos);
    CHECK(message.find("tool \"f\", parameters#") != std::string::npos);
  };
  // "5" could be either, and only one of them is allowed.
  refused(R"({"properties": {"a": {"type": ["string", "integer"], "minimum": 7}}})", "by the value alone");
  refused(R"({"properties": {"a": {"not": {"type": "string"}}}})", "by the value alone");
  refused(R"({"properties": {"a": {"type": "integer"}}, "minProperties": 1})", "minProperties");
  refused(R"({"properties": {"a": {"type": "integer"}}, "required": ["b"]})", "\"b\" is no property");
  refused(R"({"properties": {"a b": {"type": "integer"}}})", "key");
  std::string many;
  for (int i = 0; i < 65; ++i) many += (i ? ", \"k" : "\"k") + std::to_string(i) + "\": {\"type\": \"null\"}";
  refused("{\"properties\": {" + many + "}}", "at most 64");
}

namespace {

constexpr const char* kMade = R"({"type": "object", "required": ["code", "n"], "properties": {
  "code": {"type": "string", "pattern": "^[A-Z<\\\\\"/]{1,3}$"}, "n": {"type": "integer", "minimum": -3, "maximum": 12},
  "colour": {"$ref": "#/$defs/colour"}, "exact": {"type": "boolean"}},
  "$defs": {"colour": {"enum": ["red", "5", "true", "a \"b\"\n"]}}})";
constexpr const char* kLists = R"({"type": "object", "required": ["list"], "properties": {
  "list": {"type": "array", "minItems": 1, "maxItems": 3, "items": {"type": "string", "pattern": "^[a-z</&]{0,4}$"}},
  "maybe": {"anyOf": [{"type": "integer", "minimum": 0, "maximum": 99}, {"type": "null"}]}}})";

std::string file_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

// Required calls in the form of a template are read back as calls that the schemas allow.
void check_held(const Runtime& runtime, const std::string& source, const std::string& dialect, bool lists) {
  INFO(dialect);
  const Model model = scripted(runtime, "", source);
  REQUIRE(chat_format(model).dialect == dialect);
  const std::string list =
      std::string(R"([{"type": "function", "function": {"name": "made", "parameters": )") + kMade + "}}" +
      (lists ? std::string(R"(, {"type": "function", "function": {"name": "lists", "parameters": )") +
                   kLists + "}}"
             : "") +
      R"(, {"type": "function", "function": {"name": "none"}}])";
  const Grammar any = tool_grammar(model, list, {"required"}),
                one = tool_grammar(model, list, {"made", false});
  std::set<std::string> names, keys;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    Session session(model);
    session.feed_chat_json(R"([{"role": "user", "content": "q"}])");
    SamplerOptions sampling;
    sampling.temperature = 1;
    sampling.top_k = 0;
    sampling.seed = seed;
    Sampler sampler(sampling);
    GenerateOptions options;
    options.grammar = seed % 4 ? any : one;
    options.control_text = true;
    options.max_tokens = 4000;
    if (!chat_format(model).reasoning.empty()) options.reasoning_budget = 0;  // the prompt may have opened it
    AnswerOptions read;
    read.tools = list;
    AnswerParser parser(session, read);
    session.begin(options);
    for (Finish finish = Finish::none; finish == Finish::none;) {
      INFO(parser.answer().raw);
      const TokenEvent event = session.next(sampler);
      parser.feed(event.text);
      finish = event.finish;
    }
    parser.finish();
    const ParsedAnswer& got = parser.answer();
    CAPTURE(got.raw, seed);
    CHECK(got.errors.empty());
    CHECK(got.content.empty());
    REQUIRE_FALSE(got.calls.empty());
    if (seed % 4 == 0) CHECK(got.calls.size() == 1);
    for (const ToolCall& call : got.calls) {
      CHECK(call.complete);
      names.insert(call.name);
      INFO(call.arguments);
      if (call.name == "made") CHECK(Grammar::json_schema(kMade).accepts(call.arguments));
      if (call.name == "lists") CHECK(Grammar::json_schema(kLists).accepts(call.arguments));
      if (call.name == "none") CHECK(call.arguments == "{}");
      for (const char* key : {"code", "colour", "exact", "list", "maybe"})
        if (call.arguments.find("\"" + std::string(key) + "\": ") != std::string::npos) keys.insert(key);
    }
  }
  CHECK(names.size() == (lists ? 3 : 2));
  CHECK(keys.size() == (lists ? 5 : 3));
}

}  // namespace

TEST_CASE("arguments that are written one by one are held to their schemas", "[api][tools]") {
  const Runtime runtime = one_thread();
  check_held(
      runtime,
      "{% for m in messages %}{{ m.content }}{% for t in m.tool_calls %}<tool_call>\n<function={{ "
      "t.function.name }}>{% for k, v in t.function.arguments|items %}\n<parameter={{ k }}>\n{{ v if v "
      "is string else v|tojson }}\n</parameter>{% endfor %}\n</function>\n</tool_call>{% endfor %}{% "
      "endfor %}",
      "qwen3-coder", true);
  for (const auto& [file, dialect] : {std::pair{"llama4-pythonic", "pythonic"}, {"olmo3", "olmo3"}})
    check_held(runtime, file_text(data_path("text/templates/" + std::string(file) + ".jinja")), dialect,
               true);
  const auto named = environment("INGLE_TEMPLATES"), home = environment("HOME");
  const std::string folder = named ? *named : home.value_or("") + "/.cache/ingle-models/templates";
  if (!std::filesystem::exists(folder)) {
    WARN("skipped in part: no templates in " << folder << " (INGLE_TEMPLATES names the folder)");
    return;
  }
  const std::tuple<const char*, const char*, bool> real[] = {
      {"Qwen3-Coder", "qwen3-coder", true},
      {"GLM-4.6", "glm", true},
      {"MiniMax-M2", "minimax-m2", true},
      {"ByteDance-Seed-OSS", "seed-oss", true},
      {"tencent-Hy3", "hunyuan", true},
      {"openbmb-MiniCPM5-1B", "minicpm5", true},
      {"deepseek-ai-DeepSeek-V3.2", "deepseek-v3.2", true},
      {"deepseek-ai-DeepSeek-V4", "deepseek-v4", true},
      {"LFM2.5-8B-A1B", "lfm2", true},
      {"google-gemma-4-31B-it", "gemma4", false},
  };
  for (const auto& [file, dialect, lists] : real)
    check_held(runtime, file_text(folder + "/" + file + ".jinja"), dialect, lists);
}

TEST_CASE("a call that the prompt has opened, or that needs no marker, is held as well", "[api][tools]") {
  const Runtime runtime = one_thread();
  const std::string good = R"({"place": "Oslo"})", bad = R"({"place": "Paris"})";
  // The prompt ends with what opens a call, or with "all" the content.
  const Model opened = scripted(
      runtime, "",
      "{% for m in messages %}>>>{% if m.tool_calls %}{% for t in m.tool_calls %}{{ t.function.name }}\n{{ "
      "t.function.arguments|tojson }}{% endfor %}{% else %}all\n{{ m.content }}{% endif %}{% endfor %}{% if "
      "add_generation_prompt %}>>>{% endif %}");
  REQUIRE(chat_format(opened).dialect == "functionary-v3.2");
  const Grammar may = tool_grammar(opened, tools()), must = tool_grammar(opened, tools(), {"required"}),
                never = tool_grammar(opened, tools(), {"none"});
  for (const Grammar* g : {&may, &must}) {
    CHECK(g->accepts("weather\n" + good));
    CHECK_FALSE(g->accepts("weather\n" + bad));
    CHECK_FALSE(g->accepts(">>>weather\n" + good));
  }
  for (const Grammar* g : {&may, &never}) {
    CHECK(g->accepts("all\nHello"));
    CHECK_FALSE(g->accepts("Hello"));
    CHECK_FALSE(g->accepts("all\nHello\n>>>weather\n" + bad));
  }
  CHECK(may.accepts("all\nHello\n>>>weather\n" + good));
  CHECK_FALSE(never.accepts("all\nHello\n>>>weather\n" + good));
  CHECK_FALSE(never.accepts("weather\n" + good));
  CHECK_FALSE(must.accepts("all\nHello"));
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const ParsedAnswer got = answer(opened, must, seed);
    INFO(got.raw);
    REQUIRE(got.calls.size() == 1);
    CHECK((got.calls[0].complete && allowed(got.calls[0]) && got.errors.empty()));
  }

  // Bare JSON, as Llama 3's templates write it.
  const Model bare = scripted(
      runtime, "",
      "{% for m in messages %}{{ m.role }}: {{ m.content }}{% for t in m.tool_calls %}{\"name\": \"{{ "
      "t.function.name }}\", \"parameters\": {{ t.function.arguments|tojson }}}{% endfor %}\n{% endfor %}{% "
      "if "
      "add_generation_prompt %}assistant: {% endif %}");
  REQUIRE(chat_format(bare).dialect == "llama3");
  const std::string call = R"({"name": "weather", "parameters": )";
  const Grammar bare_may = tool_grammar(bare, tools()), bare_never = tool_grammar(bare, tools(), {"none"}),
                bare_must = tool_grammar(bare, tools(), {"required"});
  for (const Grammar* g : {&bare_may, &bare_must}) {
    CHECK(g->accepts(call + good + "}"));
    CHECK_FALSE(g->accepts(call + bad + "}"));
  }
  CHECK(bare_may.accepts("Hello {}"));
  CHECK(bare_never.accepts("Hello {}"));
  CHECK_FALSE(bare_must.accepts("Hello {}"));
  for (const char* start : {"{", " \n{", "["}) CHECK_FALSE(bare_never.accepts(std::string(start) + "}"));
  CHECK(bare_may.accepts("So: <|python_tag|>" + call + good + "}"));
  CHECK_FALSE(bare_may.accepts("So: <|python_tag|>" + call + bad + "}"));
  CHECK_FALSE(bare_never.accepts("So: <|python_tag|>" + call + good + "}"));

  // A list of Python's calls.
  const Model python = scripted(runtime, "", file_text(data_path("text/templates/llama4-pythonic.jinja")));
  const Grammar list_may = tool_grammar(python, tools());
  CHECK(list_may.accepts(R"([weather(place="Oslo"), time(zone="CET"), weather(days=3, place="Rome")])"));
  CHECK_FALSE(list_may.accepts(R"([weather(place="Paris")])"));
  CHECK_FALSE(list_may.accepts(R"([weather(days=3)])"));
  CHECK(list_may.accepts("See [1]."));
  CHECK_FALSE(list_may.accepts("[1]"));
  CHECK_FALSE(list_may.accepts("See <|python_start|>"));
}
