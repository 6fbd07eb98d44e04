// Answers with tool calls: whole, cut anywhere, broken, hostile. tests/data/text/make_tool_answers.py made
// the recorded ones, from real templates.
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "ingle/error.hpp"
#include "support/catch.h"
#include "support/paths.h"
#include "text/tools/call_shape.h"
#include "text/tools/detect.h"

using namespace ingle::text;
using ingle::AnswerEvent;
using ingle::AnswerFault;
using ingle::AnswerPart;
using ingle::ParsedAnswer;
using ingle::ReasoningUse;
using nlohmann::json;

namespace {

constexpr const char* kTools = R"([
 {"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object", "properties": {
   "place": {"type": "string"}, "days": {"type": "integer"}, "exact": {"type": "boolean"}}}}},
 {"name": "find_it", "parameters": {"properties": {"text": {"type": "string"}, "tags": {"type": "array"}}}}])";

const ReasoningMarks* marks_of(std::string_view name) {
  for (const ReasoningMarks& m : reasoning_marks())
    if (m.name == name) return &m;
  return nullptr;
}

AnswerReader reader_for(std::string_view dialect, std::string_view marks, const std::string& prompt = "",
                        ReasoningUse use = ReasoningUse::apart) {
  AnswerFormat format;
  format.tools = find_dialect(dialect);
  format.reasoning = marks_of(marks);
  return AnswerReader(format, std::make_shared<const ToolSchemas>(kTools), use, 0, format.opened_by(prompt));
}

// The events of one kind joined, each call's arguments apart: what a client that only streams would hold.
struct Streamed {
  std::string content, reasoning;
  std::vector<std::string> names, ids, arguments, errors;
  std::vector<bool> ended;

  void take(const std::vector<AnswerEvent>& events) {
    for (const AnswerEvent& e : events) {
      const auto i = static_cast<size_t>(e.index);
      if (e.part == AnswerPart::content) content += e.text;
      if (e.part == AnswerPart::reasoning) reasoning += e.text;
      if (e.part == AnswerPart::error) errors.push_back(e.text);
      if (e.part == AnswerPart::call) {
        CHECK(i == names.size());
        names.push_back(e.name);
        ids.push_back(e.id);
        arguments.emplace_back();
        ended.push_back(false);
      }
      if (e.part == AnswerPart::arguments) arguments.at(i) += e.text;
      if (e.part == AnswerPart::call_end) ended.at(i) = true;
    }
  }

  bool operator==(const Streamed&) const = default;
};

// What was streamed is what the answer holds.
void check_same(const Streamed& s, const ParsedAnswer& a) {
  CHECK(s.content == a.content);
  CHECK(s.reasoning == a.reasoning);
  REQUIRE(s.names.size() == a.calls.size());
  REQUIRE(s.errors.size() == a.errors.size());
  for (size_t i = 0; i < a.calls.size(); ++i) {
    CHECK(s.names[i] == a.calls[i].name);
    CHECK(s.ids[i] == a.calls[i].id);
    CHECK(s.arguments[i] == a.calls[i].arguments);
    CHECK(s.ended[i] == a.calls[i].complete);
  }
  for (size_t i = 0; i < a.errors.size(); ++i) {
    CHECK(s.errors[i] == a.errors[i].text);
    CHECK(a.raw.substr(static_cast<size_t>(a.errors[i].offset), s.errors[i].size()) == s.errors[i]);
  }
}

Streamed whole(AnswerReader reader, std::string_view text) {
  Streamed out;
  out.take(reader.feed(text));
  out.take(reader.finish());
  CHECK(reader.answer().raw == text);
  check_same(out, reader.answer());
  return out;
}

template <class F>
void each_recorded(F f) {
  std::ifstream in(ingle::tests::data_path("text/tool_answers.jsonl"));
  int n = 0;
  for (std::string line; std::getline(in, line); ++n) {
    const json row = json::parse(line);
    INFO(row["template"].get<std::string>());
    f(row,
      reader_for(row["dialect"].get<std::string>(), row["marks"].get<std::string>(),
                 row["prompt"].get<std::string>()),
      row["answer"].get<std::string>());
  }
  CHECK(n > 50);
}

}  // namespace

TEST_CASE("recorded answers hold what they were made of", "[tools]") {
  each_recorded([](const json& row, AnswerReader reader, const std::string& text) {
    CAPTURE(text);
    const Streamed got = whole(std::move(reader), text);
    CHECK(got.errors.empty());
    CHECK(got.content == row["content"].get<std::string>());
    CHECK(got.reasoning == row["reasoning"].get<std::string>());
    REQUIRE(got.names.size() == row["calls"].size());
    for (size_t i = 0; i < got.names.size(); ++i) {
      CHECK(got.names[i] == row["calls"][i]["name"].get<std::string>());
      CHECK(json::parse(got.arguments[i]) == row["calls"][i]["arguments"]);
      CHECK(got.ended[i]);
      CHECK(!got.ids[i].empty());
    }
    if (got.ids.size() == 2) CHECK(got.ids[0] != got.ids[1]);
  });
}

TEST_CASE("cuts make no difference", "[tools]") {
  std::mt19937 random(20261201);
  each_recorded([&](const json&, AnswerReader reader, const std::string& text) {
    const Streamed wanted = whole(reader, text);
    for (int round = 0; round < 12; ++round) {
      AnswerReader cut = reader;
      Streamed got;
      const size_t most = round == 0 ? 1 : 1 + random() % 24;
      for (size_t at = 0; at < text.size();) {
        const size_t n = std::min(text.size() - at, 1 + random() % most);
        got.take(cut.feed(std::string_view(text).substr(at, n)));
        at += n;
        if (random() % 8 == 0) cut = AnswerReader(cut);  // a copy goes on as the original would
      }
      got.take(cut.finish());
      CHECK(got == wanted);
      CHECK(cut.answer().raw == text);
    }
  });
}

TEST_CASE("an answer may end anywhere", "[tools]") {
  each_recorded([](const json& row, AnswerReader reader, const std::string& text) {
    const Streamed all = whole(reader, text);
    for (size_t n = 0; n <= text.size(); ++n) {
      AnswerReader cut = reader;
      Streamed got;
      got.take(cut.feed(std::string_view(text).substr(0, n)));
      got.take(cut.finish());
      const ParsedAnswer& a = cut.answer();
      INFO("cut after " << n << " bytes");
      CHECK(a.raw == text.substr(0, n));
      check_same(got, a);
      CHECK(a.errors.size() <= 1);
      // The partial result is typed, and a beginning of the whole one.
      REQUIRE(a.calls.size() <= all.names.size());
      for (size_t i = 0; i < a.calls.size(); ++i) {
        CHECK(all.names[i] == a.calls[i].name);
        CHECK(all.arguments[i].starts_with(a.calls[i].arguments));
        if (!a.calls[i].complete) CHECK(a.errors.size() == 1);
      }
      for (const auto& e : a.errors) CHECK(e.fault == AnswerFault::truncated);
      // A marker that was cut is text.
      const auto reasoning = row["reasoning"].get<std::string>();
      CHECK((reasoning.starts_with(a.reasoning) || a.reasoning.starts_with(reasoning)));
    }
  });
}

TEST_CASE("broken answers keep their text", "[tools]") {
  std::mt19937 random(7);
  each_recorded([&](const json&, AnswerReader reader, const std::string& text) {
    for (int round = 0; round < 40; ++round) {
      std::string broken = text;
      for (int edits = 1 + static_cast<int>(random() % 3); edits > 0; --edits) {
        const size_t at = random() % broken.size();
        switch (random() % 3) {
          case 0:
            broken.erase(at, 1 + random() % 5);
            break;
          case 1:
            broken.insert(at, 1, "{}[]<>\",:\\\n|"[random() % 12]);
            break;
          default:
            broken[at] = static_cast<char>(random() % 256);
        }
        if (broken.empty()) broken = "<";
      }
      CAPTURE(broken);
      const Streamed once = whole(reader, broken);
      AnswerReader bytes = reader;
      Streamed got;
      for (const char c : broken) got.take(bytes.feed(std::string_view(&c, 1)));
      got.take(bytes.finish());
      CHECK(got == once);
    }
  });
}

TEST_CASE("a malformed call is told, and the answer goes on", "[tools]") {
  const Streamed got = whole(reader_for("hermes", ""),
                             "One.\n<tool_call>\n{\"name\": \"a\", \"arguments\": {\"x\": "
                             "1}}\n</tool_call>\n<tool_call>\n{\"name\": \"b\", "
                             "\"arguments\": {oops}}\n</tool_call>\n<tool_call>{\"name\": \"c\", "
                             "\"arguments\": {}}</tool_call> Two.");
  CHECK(got.content == "One.Two.");
  CHECK(got.names == std::vector<std::string>{"a", "b", "c"});
  CHECK(got.ended == std::vector<bool>{true, false, true});
  REQUIRE(got.errors.size() == 1);
  CHECK(got.errors[0] == "<tool_call>\n{\"name\": \"b\", \"arguments\": {oops}}\n</tool_call>");
}

TEST_CASE("arguments stay as the model wrote them", "[tools]") {
  const std::string written = "{ \"x\" :  1.50e+1,\"y\":\"\\u00e9\" }";
  for (const bool name_first : {true, false}) {
    const std::string text = name_first
                                 ? "<tool_call>{\"name\":\"f\",\"arguments\":" + written + "}</tool_call>"
                                 : "<tool_call>{\"arguments\":" + written + ",\"name\":\"f\"}</tool_call>";
    const Streamed got = whole(reader_for("hermes", ""), text);
    REQUIRE(got.arguments.size() == 1);
    CHECK(got.arguments[0] == written);
  }
}

TEST_CASE("values between tags take their types from the tool", "[tools]") {
  const auto arguments = [](const std::string& tool, const std::string& key, const std::string& value) {
    const Streamed got = whole(reader_for("minimax-m2", ""),
                               "<minimax:tool_call><invoke name=\"" + tool + "\"><parameter name=\"" + key +
                                   "\">" + value + "</parameter></invoke></minimax:tool_call>");
    REQUIRE(got.arguments.size() == 1);
    return json::parse(got.arguments[0])[key];
  };
  CHECK(arguments("get_weather", "place", "12") == "12");
  CHECK(arguments("get_weather", "place", "true") == "true");
  CHECK(arguments("get_weather", "place", " a\n\"b\" ") == " a\n\"b\" ");
  CHECK(arguments("get_weather", "days", "12") == 12);
  CHECK(arguments("get_weather", "days", "twelve") == "twelve");
  CHECK(arguments("get_weather", "exact", "True") == true);
  CHECK(arguments("find_it", "tags", "['a', None]") == json({"a", nullptr}));
  CHECK(arguments("find_it", "tags", "[\"a\"]") == json({"a"}));
  // A tool that nobody told of: what reads as JSON is JSON.
  CHECK(arguments("other", "n", "12") == 12);
  CHECK(arguments("other", "s", "twelve") == "twelve");
}

TEST_CASE("structures between tags are read by the tool's schema", "[tools]") {
  const std::string ns = "]<]minimax[>[";
  const auto schemas = std::make_shared<const ToolSchemas>(R"([{"name": "f", "parameters": {"properties": {
      "o": {"$ref": "#/$defs/o"}, "l": {"type": "array", "items": {"type": "string"}}, "s": {"type": "string"},
      "n": {"type": "integer"}}, "$defs": {"o": {"type": "object", "properties": {"item": {"type": "string"},
      "deep": {"type": "array", "items": {"$ref": "#/$defs/o"}}, "n": {"type": ["integer", "null"]}}}}}}])");
  const auto tag = [&](const std::string& key, const std::string& value) {
    return ns + "<" + key + ">" + value + ns + "</" + key + ">";
  };
  const auto read = [&](const std::string& arguments) {
    AnswerFormat format;
    format.tools = find_dialect("minimax-m3");
    return whole(AnswerReader(format, schemas, ReasoningUse::apart, 0, ""),
                 ns + "<tool_call>\n" + ns + "<invoke name=\"f\">" + arguments + ns + "</invoke>\n" + ns +
                     "</tool_call>");
  };
  const auto value = [&](const std::string& arguments) {
    const Streamed got = read(arguments);
    CHECK(got.errors.empty());
    REQUIRE(got.arguments.size() == 1);
    return json::parse(got.arguments[0]);
  };
  CHECK(value("") == json::object());
  CHECK(value(tag("s", "12") + tag("n", "12") + "\n" + tag("x", "12")) ==
        json({{"s", "12"}, {"n", 12}, {"x", 12}}));
  CHECK(value(tag("l", tag("item", "1") + tag("item", ""))) == json({{"l", {"1", ""}}}));
  CHECK(value(tag("l", "") + tag("o", "") + tag("s", "")) ==
        json({{"l", json::array()}, {"o", json::object()}, {"s", ""}}));
  CHECK(value(tag("o", tag("item", "5"))) == json({{"o", {{"item", "5"}}}}));
  CHECK(value(tag("o", tag("deep", tag("item", tag("n", "5") + tag("item", "x")) + tag("item", "")))) ==
        json({{"o", {{"deep", {{{"n", 5}, {"item", "x"}}, json::object()}}}}}));
  CHECK(value(tag("x", tag("item", tag("a", "1")))) == json({{"x", {{{"a", 1}}}}}));
  CHECK(value(tag("s", "a < b\n</s> \"q\"")) == json({{"s", "a < b\n</s> \"q\""}}));
  for (const std::string& wrong : {ns + "<s>a" + ns + "</t>", tag("l", "x" + tag("item", "1")),
                                   tag("l", tag("item", "1") + "x"), tag("l", ns + "<item>1" + ns + "</itm>"),
                                   tag("l", tag("item", "1") + tag("other", "1")), tag("", "x")}) {
    CAPTURE(wrong);
    CHECK(read(wrong).errors.size() == 1);
  }
  std::string deep = "1";
  for (int i = 0; i < 60; ++i) deep = tag("a", deep);
  CHECK(read(deep).errors.empty());
  for (int i = 0; i < 60; ++i) deep = tag("a", deep);
  CHECK(read(deep).errors.size() == 1);
}

TEST_CASE("reasoning is kept, dropped or passed", "[tools]") {
  const std::string text = "<think>\nHm.\n</think>\n\nYes.";
  const auto read = [&](ReasoningUse use, const std::string& prompt, const std::string& answer) {
    return whole(reader_for("hermes", "think", prompt, use), answer);
  };
  CHECK(read(ReasoningUse::apart, "", text).reasoning == "Hm.");
  CHECK(read(ReasoningUse::apart, "", text).content == "Yes.");
  CHECK(read(ReasoningUse::drop, "", text).reasoning.empty());
  CHECK(read(ReasoningUse::drop, "", text).content == "Yes.");
  CHECK(read(ReasoningUse::pass, "", text).content == text);
  // The prompt opened it.
  CHECK(read(ReasoningUse::apart, "…<think>\n", "Hm.\n</think>\n\nYes.").reasoning == "Hm.");
  CHECK(read(ReasoningUse::apart, "…<think>\n", "Hm.\n</think>\n\nYes.").content == "Yes.");
  CHECK(read(ReasoningUse::apart, "…<think>\n\n</think>\n\n", "Yes.").content == "Yes.");
  // Not where it only is spoken of.
  CHECK(read(ReasoningUse::apart, "", "The tag <think> opens.").content == "The tag <think> opens.");
  CHECK(read(ReasoningUse::apart, "", "<think>a <tool_call> b</think>c").reasoning == "a <tool_call> b");
}

TEST_CASE("Llama's forms", "[tools]") {
  const auto read = [](const std::string& text) { return whole(reader_for("llama3", ""), text); };
  const Streamed bare = read(R"({"name": "f", "parameters": {"a": 1}})");
  CHECK(bare.names == std::vector<std::string>{"f"});
  CHECK(bare.arguments == std::vector<std::string>{R"({"a": 1})"});
  CHECK(read(R"(<|python_tag|>{"name": "f", "parameters": {}}; {"name": "g", "parameters": {}})").names ==
        std::vector<std::string>{"f", "g"});
  const Streamed built_in = read(R"(<|python_tag|>brave_search.call(query="a, \"b\"", n=2))");
  CHECK(built_in.names == std::vector<std::string>{"brave_search"});
  CHECK(json::parse(built_in.arguments.at(0)) == json({{"query", "a, \"b\""}, {"n", 2}}));
  // JSON that is no call is an answer.
  CHECK(read(R"({"colour": "red"})").content == R"({"colour": "red"})");
  CHECK(read(R"({"colour)").content == R"({"colour)");
  CHECK(read("Use {\"name\": \"f\"} so.").content == "Use {\"name\": \"f\"} so.");
}

TEST_CASE("plain words are no markers by themselves", "[tools]") {
  CHECK(whole(reader_for("command-r-plus", ""), "Action: go home.").content == "Action: go home.");
  CHECK(whole(reader_for("functionary-v3.2", "", ">>>"), "all\n>>> print(1)\nis Python.").content ==
        ">>> print(1)\nis Python.");
  CHECK(whole(reader_for("hermes", ""), "a <tool_ca").content == "a <tool_ca");
}

TEST_CASE("hostile answers end in linear work and bounded depth", "[tools]") {
  const auto many = [](std::string_view piece, size_t n) {
    std::string out;
    for (size_t i = 0; i < n; ++i) out += piece;
    return out;
  };
  for (const Dialect& d : dialects()) {
    INFO(d.name);
    const std::string begin = std::string(d.section_begin) + std::string(d.call_begin);
    const std::string head = begin + "f" + std::string(d.name_end);
    for (const std::string& text :
         {many(begin, 20000), begin + many("[", 200000), head + many("{\"a\":", 50000),
          head + many("[", 200000), begin + "{\"name\": \"f\", \"arguments\": " + many("[", 200000),
          many("<", 200000), begin + many("a", 300000), begin + "{\"name\": \"" + many("a", 300000) + "\"}",
          head + std::string(d.key_begin) + "k" + std::string(d.key_end) + many("(", 100000) +
              std::string(d.value_end),
          begin + "[f(a=" + many("[", 100000) + many("]", 100000) + ")]", many("\"", 100000),
          many("{", 100000)}) {
      AnswerReader reader = reader_for(d.name, "think");
      for (size_t at = 0; at < text.size(); at += 1000) reader.feed(std::string_view(text).substr(at, 1000));
      reader.finish();
      CHECK(reader.answer().raw == text);
    }
  }
}

TEST_CASE("the list of dialects is sound", "[tools]") {
  std::set<std::string_view> names;
  for (const Dialect& d : dialects()) {
    INFO(d.name);
    CHECK(names.insert(d.name).second);
    CHECK(!d.trigger().empty());
    CHECK(!d.checked.empty());
    CHECK(find_dialect(d.name) == &d);
    CallShape shape;
    if (!d.writes_json()) continue;
    AnswerFormat format;
    format.tools = &d;
    REQUIRE(call_shape(format,
                       R"({"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}})",
                       shape));
    // What a constrained call would write is a call.
    const std::string call = shape.begin + R"({"a": [1, "x"]})" + shape.end;
    std::string all = shape.head + call;
    for (size_t n = 1; n <= (shape.many ? 3 : 1); ++n, all += shape.separator + call) {
      const Streamed got = whole(reader_for(d.name, ""), all + shape.foot);
      CHECK(got.names == std::vector<std::string>(n, "f"));
      CHECK(got.arguments == std::vector<std::string>(n, R"({"a": [1, "x"]})"));
      CHECK(got.ended == std::vector<bool>(n, true));
      CHECK(got.errors.empty());
    }
    CHECK((shape.head + shape.begin).starts_with(shape.trigger));
    CHECK(json::parse(shape.schema) == json({{"type", "object"}}));
  }
  CHECK(names.size() >= 30);
  CHECK_FALSE(find_dialect("none"));
}

TEST_CASE("wrong tools are told", "[tools]") {
  for (const char* wrong : {"{}", "[1]", "[{\"function\": {}}]", "[", "\"x\"", "[{\"name\": 3}]"})
    CHECK_THROWS_AS(ToolSchemas(wrong), ingle::Error);
  CHECK_NOTHROW(ToolSchemas(""));
  CHECK_NOTHROW(ToolSchemas("null"));
  CHECK_THROWS_AS(ToolSchemas(std::string(100000, '[')), ingle::Error);
}
