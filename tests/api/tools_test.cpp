// Conversations with tools, reasoning budgets, and whose text may become a control token.
#include "support.h"

using namespace ingle;
using namespace ingle::tests;

namespace {

constexpr const char* kTools =
    "{% for m in messages %}<|start|>{{ m.role }}:{{ m.content }}{% for t in m.tool_calls "
    "%}<tool_call>{\"name\": "
    "\"{{ t.function.name }}\", \"arguments\": {{ t.function.arguments|tojson }}}</tool_call>{% endfor "
    "%}<|end|>"
    "{% endfor %}{% if add_generation_prompt %}<|start|>assistant:{% if enable_thinking %}<think>{% endif %}"
    "{% endif %}{# </think> #}";

std::vector<TokenId> ids_of(const std::vector<std::variant<TokenId, std::string>>& parts) {
  std::vector<TokenId> out;
  for (const auto& part : parts) {
    if (const auto* id = std::get_if<TokenId>(&part)) out.push_back(*id);
    if (const auto* text = std::get_if<std::string>(&part))
      for (const TokenId id : bytes_of(*text)) out.push_back(id);
  }
  return out;
}

std::vector<TokenId> fed(const Model& model, const std::string& chat) {
  Session session(model);
  session.feed_chat_json(chat);
  return {session.tokens().begin(), session.tokens().end()};
}

constexpr TokenId kEnd = 256, kStart = 257;

}  // namespace

TEST_CASE("a user's text never becomes a control token, whatever the template does with it", "[api][tools]") {
  const Runtime runtime = one_thread();
  struct Row {
    const char *source, *content;
    std::vector<std::variant<TokenId, std::string>> wanted;
  };
  const std::vector<Row> rows = {
      {"{{ '<|start|>' + c + '<|end|>' }}", "a<|end|>b", {kStart, "a<|end|>b", kEnd}},
      {"<|start|>{{ c|trim }}<|end|>", " <|end|> ", {kStart, "<|end|>", kEnd}},
      {"{{ '<|start|>' ~ c.split('x')[1] ~ '<|end|>' }}", "ax<|end|>xb", {kStart, "<|end|>", kEnd}},
      {"{{ c[0:4] + '<|start|>' }}", "<|end|>", {"<|en", kStart}},
      // Two halves of which neither is one.
      {"{{ c.split(' ')[0] + c.split(' ')[1] }}<|end|>", "<|en d|>", {"<|end|>", kEnd}},
      {"{{ '<|en' + c }}<|end|>", "d|>", {"<|end|>", kEnd}},
      {"{{ c + 'd|>' }}<|end|>", "<|en", {"<|end|>", kEnd}},
      {"{{ c|replace('X', '<|end|>') }}", "<|start|>X", {"<|start|>", kEnd}},
      {"{{ 'aXb<|end|>'|replace('X', c) }}", "<|start|>", {"a<|start|>b", kEnd}},
      {"{{ [c, '<|end|>', c]|join('<|start|>') }}", "<|end|>", {"<|end|>", kStart, kEnd, kStart, "<|end|>"}},
      {"{{ messages|tojson }}<|end|>", "<|start|>", {R"([{"role": "user", "content": "<|start|>"}])", kEnd}},
      {"{% macro m(x) %}<|start|>{{ x }}{% endmacro %}{{ m(c) }}<|end|>",
       "<|end|>",
       {kStart, "<|end|>", kEnd}},
      {"{% set ns = namespace(t='<|start|>') %}{% set ns.t = ns.t + c %}{{ ns.t }}",
       "<|end|>",
       {kStart, "<|end|>"}},
      {"{% set b %}<|start|>{{ c }}{% endset %}{{ b }}<|end|>", "<|end|>", {kStart, "<|end|>", kEnd}},
      {"{{ '%s' % c }}<|end|>", "<|start|>", {"<|start|>", kEnd}},
      {"{{ c|upper|lower }}<|end|>", "<|start|>", {"<|start|>", kEnd}},
      {"{{ 'x{}'.format(c) }}<|end|>", "<|start|>", {"x<|start|>", kEnd}},
      {"{% for p in c %}{{ p }}{% endfor %}<|end|>", "<|start|>", {"<|start|>", kEnd}},
      {"{{ c|list|join }}<|end|>", "<|start|>", {"<|start|>", kEnd}},
      {"{{ c * 2 }}<|end|>", "<|end|>", {"<|end|><|end|>", kEnd}},
      {"{{ c|string|reverse|string|reverse }}<|end|>", "<|start|>", {"<|start|>", kEnd}},
      {"{{ {'k': c} }}<|end|>", "<|start|>", {"{'k': '<|start|>'}", kEnd}},
      // What the template searches for is found.
      {"{% if '<|end|>' in c %}<|end|>{% endif %}{{ c }}", "<|end|>", {kEnd, "<|end|>"}},
      {"{{ '<|start|>' if c.startswith('<|end|>') }}x", "<|end|>", {kStart, "x"}},
      // A role is the template's.
      {"{{ '<|' + 'end' + '|>' + messages[0].role }}", "", {kEnd, "user"}},
  };
  for (const Row& row : rows) {
    INFO(row.source);
    const std::string source = "{% set c = messages[0].content %}" + std::string(row.source);
    const Model model = scripted(runtime, "", source);
    std::string quoted;
    for (const char* p = row.content; *p; ++p) quoted += *p;
    CHECK(fed(model, R"([{"role": "user", "content": ")" + quoted + "\"}]") == ids_of(row.wanted));
    if (std::string(row.source).find("tojson") != std::string::npos) continue;
    Session session(model);
    const std::vector<Message> messages{{"user", row.content}};
    session.feed_chat(messages);
    CHECK(std::vector<TokenId>(session.tokens().begin(), session.tokens().end()) == ids_of(row.wanted));
  }
}

TEST_CASE("neither tools, names nor other variables become control tokens", "[api][tools]") {
  const Runtime runtime = one_thread();
  const Model model =
      scripted(runtime, "",
               "{{ tools[0].function.name }}{{ extra }}{% for k in tools[0] %}{{ k }}{% endfor %}<|end|>");
  CHECK(fed(model, R"({"messages": [{"role": "user", "content": ""}], "extra": "<|start|>",
                       "tools": [{"function": {"name": "<|end|>"}, "<|end|>": 1}]})") ==
        ids_of({"<|end|><|start|>function<|end|>", kEnd}));
}

TEST_CASE("conversations in JSON take the form that the template has", "[api][tools]") {
  const Runtime runtime = one_thread();
  const Model model = scripted(runtime, "", kTools);
  CHECK(chat_format(model).dialect == "hermes");
  CHECK(chat_format(model).reasoning == "think");
  const auto render = [&](const std::string& json) { return model.apply_chat_template_json(json); };
  // Arguments as text are what chat APIs send (an object is what this template takes).
  CHECK(render(R"([{"role": "assistant", "content": "", "tool_calls":
                   [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{\"a\":1,\"b\":\"é\"}"}}]}])") ==
        "<|start|>assistant:<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 1, \"b\": \"é\"}}</tool_call>"
        "<|end|><|start|>assistant:");
  CHECK(
      render(
          R"([{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}])") ==
      "<|start|>user:a\nb<|end|><|start|>assistant:");
  CHECK(render(R"({"messages": [{"role": "user", "content": "a"}], "enable_thinking": true})") ==
        "<|start|>user:a<|end|><|start|>assistant:<think>");
  CHECK(
      render(
          R"({"messages": [{"role": "user", "content": "a"}], "chat_template_kwargs": {"enable_thinking": true}})") ==
      "<|start|>user:a<|end|><|start|>assistant:<think>");
  CHECK(render(R"({"messages": [{"role": "user", "content": "a"}], "add_generation_prompt": false})") ==
        "<|start|>user:a<|end|>");
  // Continued, not begun anew.
  CHECK(render(R"({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "It is "}],
                   "continue_final_message": true})") == "<|start|>user:a<|end|><|start|>assistant:It is ");
  for (const char* wrong :
       {R"({"messages": [{"role": "user", "content": "a"}], "continue_final_message": true})",
        R"({"messages": [{"role": "assistant", "content": " "}], "continue_final_message": true})",
        R"({"messages": [{"role": "assistant", "content": "x"}], "continue_final_message": true,
            "add_generation_prompt": true})",
        R"({"messages": [{"role": "user", "content": "a"}], "add_generation_prompt": 1})",
        R"([{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{\"a\": "}}]}])",
        R"([{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": [1]}}]}])",
        R"([{"role": "assistant", "tool_calls": [{}]}])", R"([{"role": "user"}])", R"({"messages": {}})", "[",
        "3", "[{\"role\": \"user\", \"content\": \"\xff\"}]"}) {
    INFO(wrong);
    CHECK(code_of([&] { render(wrong); }) == Code::invalid_argument);
  }
  CHECK(code_of([&] { render(std::string(100000, '[')); }) == Code::invalid_argument);
}

TEST_CASE("arguments stay text for a template that takes them so", "[api][tools]") {
  const Runtime runtime = one_thread();
  const Model model =
      scripted(runtime, "",
               "{% for m in messages %}{% if m.tool_calls %}{{ '[TOOL_CALLS]' + "
               "m.tool_calls[0].function.name + '[ARGS]' + "
               "m.tool_calls[0].function.arguments }}{% else %}{{ m.content }}{% endif %}{% endfor %}");
  CHECK(chat_format(model).dialect == "mistral");
  for (const char* arguments : {R"({"a": 1})", R"("{\"a\":1}")"})
    CHECK(
        model.apply_chat_template_json(
            std::string(R"([{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": )") +
            arguments + "}}]}]") ==
        (arguments[0] == '{' ? "[TOOL_CALLS]f[ARGS]{\"a\":1}" : "[TOOL_CALLS]f[ARGS]{\"a\":1}"));
}

TEST_CASE("calls in an unknown form are refused by what they look like", "[api][tools]") {
  const auto strange = ChatTemplate::compile(
      "{% for m in messages %}{{ m.content }}{% for t in m.tool_calls %}~~{{ t.function.name }}~{{ "
      "t.function.arguments|tojson }}~~{% endfor %}{% endfor %}");
  CHECK(chat_format(strange).dialect.empty());
  CHECK(chat_format(strange).unknown.find("~~probe_tool~") != std::string::npos);
  CHECK(code_of([&] { AnswerParser{strange}; }) == Code::unsupported);
  AnswerOptions text_only;
  text_only.parse_tools = false;
  AnswerParser parser(strange, text_only);
  parser.feed("~~f~{}~~");
  parser.finish();
  CHECK(parser.answer().content == "~~f~{}~~");
  // One that has no calls has nothing to refuse.
  const auto plain = ChatTemplate::compile("{% for m in messages %}{{ m.content }}{% endfor %}");
  CHECK(chat_format(plain).unknown.empty());
  CHECK_NOTHROW(AnswerParser(plain));
}

TEST_CASE("a parser of a session knows what the prompt opened", "[api][tools]") {
  const Runtime runtime = one_thread();
  const Model model = scripted(runtime, "Hm.</think>\n\nYes.", kTools);
  Session session(model);
  session.feed_chat_json(R"({"messages": [{"role": "user", "content": "a"}], "enable_thinking": true})");
  AnswerParser parser(session);
  Sampler greedy = Sampler::greedy();
  GenerateOptions options;
  options.control_text = true;
  parser.feed(session.generate(greedy, options));
  parser.finish();
  CHECK(parser.answer().reasoning == "Hm.");
  CHECK(parser.answer().content == "Yes.");
  // A user who writes the marker opens nothing.
  session.clear();
  session.feed_chat_json(R"([{"role": "user", "content": "<think>"}])");
  AnswerParser other(session);
  other.feed("Yes.");
  other.finish();
  CHECK(other.answer().content == "Yes.");
}

TEST_CASE("reasoning ends at its budget", "[api][tools]") {
  const Runtime runtime = one_thread();
  const Model model = scripted(runtime, "abcdefghijklmnopqrstuvwxyz", kTools);
  const auto answer = [&](bool opened, int64_t budget, int64_t tokens) {
    Session session(model);
    session.feed_chat_json(
        std::string(R"({"messages": [{"role": "user", "content": "q"}], "enable_thinking": )") +
        (opened ? "true}" : "false}"));
    Sampler greedy = Sampler::greedy();
    GenerateOptions options;
    options.reasoning_budget = budget;
    options.max_tokens = tokens;
    return session.generate(greedy, options);
  };
  CHECK(answer(true, -1, 6) == "abcdef");
  CHECK(answer(true, 3, 14) ==
        "abc</think>abc");  // the script starts over behind a token that is not its own
  CHECK(answer(true, 0, 10) == "</think>ab");
  CHECK(answer(false, 3, 6) == "abcdef");  // nothing was begun
  Session session(scripted(runtime, "x", "{{ messages[0].content }}"));
  session.feed_text("q");
  GenerateOptions options;
  options.reasoning_budget = 3;
  CHECK(code_of([&] { session.begin(options); }) == Code::unsupported);
  options.reasoning_budget = -2;
  CHECK(code_of([&] { session.begin(options); }) == Code::invalid_argument);
}

namespace {

// The answer, by a session and by an engine, which say the same unless an option is for sessions alone.
std::string reasoned(const Model& model, bool opened, const GenerateOptions& options) {
  const std::string chat =
      std::string(R"({"messages": [{"role": "user", "content": "q"}], "enable_thinking": )") +
      (opened ? "true}" : "false}");
  Session session(model);
  session.feed_chat_json(chat);
  Sampler greedy = Sampler::greedy();
  const std::string text = session.generate(greedy, options);
  if (options.jump_ahead || !options.banned_phrases.empty()) return text;
  EngineOptions engine_options;
  engine_options.own_thread = false;
  engine_options.state_bytes = 1 << 20;
  Engine engine(model, engine_options);
  Request request;
  request.prompt = ChatJson{chat};
  request.generate = options;
  request.sampler.temperature = 0;
  engine.submit(request);
  while (engine.step()) {
  }
  std::string by_engine;
  while (const auto event = engine.next(0)) by_engine += event->event.text;
  CHECK(by_engine == text);
  return text;
}

}  // namespace

TEST_CASE("a grammar holds for what comes after the reasoning", "[api][tools]") {
  const Runtime runtime = one_thread();
  const Model model = scripted(runtime, "abcdefghijklmnopqrstuvwxyz", kTools);
  GenerateOptions options;
  options.max_tokens = 64;
  const auto answer = [&](const Model& m, bool opened, int64_t budget, const char* pattern) {
    options.reasoning_budget = budget;
    options.grammar = Grammar::regex(pattern);
    return reasoned(m, opened, options);
  };
  CHECK(answer(model, true, 3, "[5-9]x{2}") == "abc</think>5xx");
  CHECK(answer(model, true, 0, "[5-9]x{2}") == "</think>5xx");
  CHECK(answer(model, true, 2, "<think>z+</think>5") == "ab</think><think>z</think>5");
  CHECK(answer(model, false, 3, "[5-9]x{2}") == "5xx");  // nothing was begun
  // The model ends it by itself, or begins it although the prompt did not, unless the grammar begins so too.
  CHECK(answer(scripted(runtime, "ab</think>42", kTools), true, 20, "[0-9]{2}") == "ab</think>42");
  const Model begins = scripted(runtime, "<think>hm</think>42", kTools);
  CHECK(answer(begins, false, 20, "[0-9]{2}") == "<think>hm</think>42");
  CHECK(answer(begins, false, 1, "[0-9]{2}") == "<think>h</think>00");
  CHECK(answer(begins, false, 0, "[0-9]{2}") == "00");
  CHECK(answer(begins, false, 9, "<[a-z]>") == "<t>");
  // Reasoning is no end of the answer: that would be none of the grammar.
  const std::string late = answer(scripted(runtime, "ab", kTools), true, 4, "[0-9]{2}");
  CHECK(late.substr(0, 2) == "ab");
  CHECK(late.ends_with("</think>00"));
}

TEST_CASE("a grammar is refused behind reasoning where answers have marks of their own", "[api][tools]") {
  const Runtime runtime = one_thread();
  GenerateOptions options;
  options.reasoning_budget = 3;
  for (const char* marks : {"<|channel|>analysis<|message|><|end|>", "<|START_THINKING|><|END_THINKING|>"}) {
    Session session(scripted(runtime, "x", std::string(marks) + "{{ messages[0].content }}"));
    session.feed_text("q");
    options.grammar.reset();
    CHECK_NOTHROW(session.begin(options));
    options.grammar = Grammar::json();
    CHECK(code_of([&] { session.begin(options); }) == Code::unsupported);
  }
}

TEST_CASE("phrases are banned in reasoning too, and forced text behind it is taken ahead", "[api][tools]") {
  const Runtime runtime = one_thread();
  const Model model = scripted(runtime, "abcdefghijklmnopqrstuvwxyz", kTools);
  GenerateOptions options;
  options.max_tokens = 64;
  options.reasoning_budget = 4;
  options.banned_phrases = {"bc", "00"};
  options.grammar = Grammar::regex("[0-9]{3}");
  const std::string text = reasoned(model, true, options);
  CHECK(text[0] == 'a');
  CHECK(text.find("bc") == std::string::npos);
  CHECK(text.find("00") == std::string::npos);
  REQUIRE(text.size() == 4 + std::string("</think>000").size());
  CHECK(text.substr(4, 8) == "</think>");
  options.banned_phrases = {"b"};
  options.grammar.reset();
  options.max_tokens = 12;
  CHECK(reasoned(model, true, options).find('b') == std::string::npos);

  options = {};
  options.max_tokens = 64;
  options.reasoning_budget = 20;
  options.grammar = Grammar::gbnf(R"(root ::= "the quick brown fox" [0-9] " jumps over")");
  const std::string plain = reasoned(model, true, options);
  CHECK(plain == "abcdefghijklmnopqrst</think>the quick brown fox0 jumps over");
  options.jump_ahead = true;
  CHECK(reasoned(model, true, options) == plain);
  CHECK(reasoned(scripted(runtime, "the", kTools), false, options) == "the quick brown fox0 jumps over");
  CHECK(reasoned(scripted(runtime, "<think>hm</think>the", kTools), false, options) ==
        "<think>hm</think>the quick brown fox0 jumps over");
}

TEST_CASE("engines take conversations in JSON", "[api][tools]") {
  const Runtime runtime = one_thread();
  const Model model = scripted(runtime, "yes", kTools);
  EngineOptions options;
  options.own_thread = false;
  options.state_bytes = 1 << 20;
  Engine engine(model, options);
  Request request;
  request.prompt = ChatJson{R"({"messages": [{"role": "user", "content": "q"}]})"};
  engine.submit(request);
  std::string text;
  while (engine.step()) {
  }
  while (const auto event = engine.next(0)) text += event->event.text;
  CHECK(text == "yes");
  request.prompt = ChatJson{"{}"};
  CHECK(code_of([&] { engine.submit(request); }) == Code::invalid_argument);
}

TEST_CASE("an integer of a conversation comes as it is, or is refused where it stands", "[api][tools]") {
  const Runtime runtime = one_thread();
  const auto model = [&](const char* write) {
    return scripted(runtime, "",
                    "{% for m in messages %}{{ m.content or '' }}{% for t in m.tool_calls or [] "
                    "%}{% set args = t.function.arguments %}" +
                        std::string(write) + "{% endfor %}{% endfor %}");
  };
  const auto chat = [](const std::string& arguments, const std::string& more = "") {
    return R"({"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": null, )"
           R"("tool_calls": [{"function": {"name": "f", "arguments": )" +
           arguments + "}}]}]" + more + "}";
  };
  const Model object = model("{% for k, v in args|items %}{{ v|tojson }}{% endfor %}");
  const Model as_text = model(
      "<tool_call>{\"name\": \"{{ t.function.name }}\", \"arguments\": {{ args if args is string else "
      "raise_exception('no text') }}}</tool_call>");
  for (const char* fits : {"9223372036854775807", "-9223372036854775808", "0", "-1", "123456789012345678"}) {
    const std::string a = fits;
    CHECK(object.apply_chat_template_json(chat("{\"a\": [" + a + "]}")) == "q[" + a + "]");
    CHECK(object.apply_chat_template_json(chat("\"{\\\"a\\\": [" + a + "]}\"")) == "q[" + a + "]");
  }
  for (const char* large : {"9223372036854775808", "-9223372036854775809", "18446744073709551616",
                            "123456789012345678901234567890"}) {
    const std::string a = large;
    for (const std::string& arguments : {"{\"a\": [1, " + a + "]}", "\"{\\\"a\\\": [1, " + a + "]}\""}) {
      try {
        object.apply_chat_template_json(chat(arguments));
        FAIL("it went through");
      } catch (const Error& e) {
        CHECK(e.code() == Code::unsupported);
        CHECK(e.where() == "messages[1].tool_calls[0].function.arguments.a[1]");
        CHECK(e.message().find(a) != std::string::npos);
      }
      // A template that takes the text gets every digit.
      const std::string written = as_text.apply_chat_template_json(chat(arguments));
      CHECK(written.find(a) != std::string::npos);
    }
    try {
      object.apply_chat_template_json(chat("{}", R"(, "chat_template_kwargs": {"n": )" + a + "}"));
      FAIL("it went through");
    } catch (const Error& e) {
      CHECK(e.where() == "n");
    }
  }
}

TEST_CASE("public reports of templates come out right", "[api][tools]") {
  const Runtime runtime = one_thread();
  const auto render = [&](const std::string& source, const std::string& chat) {
    return scripted(runtime, "", source).apply_chat_template_json(chat);
  };
  // ggml-org/llama.cpp#19905: the template iterates arguments that come as JSON text.
  const std::string items =
      "{% for m in messages %}{% for t in m.tool_calls %}{% set tc = t.function %}{% for k, v in "
      "tc.arguments|items "
      "%}<{{k}}>{{ v if v is string else v|tojson }}</{{k}}>{% endfor %}{% endfor %}{% endfor %}";
  const auto with = [](const std::string& arguments) {
    return R"([{"role": "assistant", "content": null, "tool_calls": [{"function": {"name": "f", "arguments": )" +
           arguments + "}}]}]";
  };
  CHECK(render(items, with(R"("{\"city\":\"Rome\",\"days\":3,\"tags\":[\"x\"]}")")) ==
        R"(<city>Rome</city><days>3</days><tags>["x"]</tags>)");
  CHECK(render(items, with(R"({"city": "Rome", "days": 3, "tags": ["x"]})")) ==
        R"(<city>Rome</city><days>3</days><tags>["x"]</tags>)");
  CHECK(code_of([&] { render(items, with(R"("{\"city\": ")")); }) == Code::invalid_argument);
  // abetlen/llama-cpp-python#1486: nothing is escaped, keys keep their order.
  const std::string x =
      R"({"messages": [{"role": "user", "content": ""}], "x": {"q": "<b>é & 'x'</b>", "a": [1]}})";
  CHECK(render("{{ x|tojson }}", x) == R"({"q": "<b>é & 'x'</b>", "a": [1]})");
  CHECK(render("{{ x|tojson(indent=2) }}", x) ==
        "{\n  \"q\": \"<b>é & 'x'</b>\",\n  \"a\": [\n    1\n  ]\n}");
  // ggml-org/llama.cpp#11402: what the template refuses is told in its words, and nothing is fed.
  const Model alternating = scripted(runtime, "yes",
                                     "{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == "
                                     "0) %}{{ raise_exception('roles must "
                                     "alternate') }}{% endif %}[{{ m.role }}]{{ m.content }}{% endfor %}");
  Session session(alternating);
  try {
    session.feed_chat_json(R"([{"role": "user", "content": "a"}, {"role": "user", "content": "b"}])");
    FAIL("it went through");
  } catch (const Error& e) {
    CHECK(e.code() == Code::invalid_argument);
    CHECK(std::string(e.what()).find("roles must alternate") != std::string::npos);
  }
  CHECK(session.tokens().empty());
  session.feed_chat_json(R"([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}])");
  CHECK(session.tokens().size() == std::string("[user]a[assistant]b").size());
}
