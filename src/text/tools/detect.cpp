#include "text/tools/detect.h"

#include "core/error.h"
#include "core/json.h"

namespace ingle::text {
namespace {

using namespace probe;
constexpr std::string_view kUser = "PROBEUSER", kText = "PROBETEXT", kReason = "PROBEREASON";
constexpr int64_t kProbeTime = 1722002709;

// Parsed, since code that builds them takes many times the bytes.
constexpr const char* kTools = R"([{"type": "function", "function": {"name": "probe_tool",
  "description": "a tool", "parameters": {"type": "object", "properties": {
    "probe_key": {"type": "string", "description": "a text"},
    "probe_number": {"type": "integer", "description": "a number"}}, "required": ["probe_key"]}}}])";
constexpr const char* kArguments = R"({"probe_key":"PROBEVALUE","probe_number":7})";
constexpr const char* kCall = R"({"id": "", "type": "function", "function": {"name": "probe_tool"}})";

Json text(std::string_view s) { return Json::of_string(s); }
Json array(std::vector<Json> items) { return Json::of_array(std::move(items)); }
Json parsed(const char* json) { return parse_json(json, "probe"); }

bool are_arguments(const Json& j) {
  const Json *value = j.find(kKey), *number = j.find(kNumber);
  return j.members.size() == 2 && value && value->is_text(kValue) && number &&
         number->is(Json::Kind::number) && number->text == "7";
}

Json turn_of(std::string_view role, Json content) {
  Json turn = Json::of_object({});
  turn.member("role") = text(role);
  turn.member("content") = std::move(content);
  return turn;
}
Json user_turn() { return turn_of("user", text(kUser)); }

// An assistant's turn with calls.
Json calling_turn(const Json& content, bool as_text, bool with_reasoning, int n_calls = 1) {
  Json turn = turn_of("assistant", content);
  if (with_reasoning)
    for (const char* name : {"reasoning_content", "reasoning", "thinking"}) turn.member(name) = text(kReason);
  std::vector<Json> calls;
  for (int i = 1; i <= n_calls; ++i) {
    Json call = parsed(kCall);
    call.member("id") = text(format("probe000{}", i));
    call.member("function").member("arguments") = as_text ? text(kArguments) : parsed(kArguments);
    calls.push_back(std::move(call));
  }
  turn.member("tool_calls") = array(std::move(calls));
  return turn;
}

class Prober {
 public:
  Prober(const ChatTemplate& chat_template, std::string_view source)
      : template_(chat_template), haystack_(source) {}

  AnswerFormat run(std::string_view source) {
    AnswerFormat out;
    // Some take no tools, or not in the form that others do, and write calls all the same.
    for (const bool with_tools : {true, false}) {
      tools_ = with_tools ? parsed(kTools) : Json{};
      if (!out.tools) find_tools(out);
    }
    if (!out.tools && out.unknown.empty()) {
      for (const Dialect& d : dialects())
        if (!out.tools && !d.hint.empty() && source.find(d.hint) != std::string_view::npos) out.tools = &d;
    }
    render_reasoning();
    for (const ReasoningMarks& m : reasoning_marks()) {
      const auto holds = [&](std::string_view mark) { return haystack_.find(mark) != std::string::npos; };
      if (out.reasoning || !holds(m.hint.empty() ? m.end : m.hint)) continue;
      if (holds(m.begin.substr(0, m.begin.find('\n'))) || m.name == "harmony") out.reasoning = &m;
    }
    out.content_parts = takes_parts();
    return out;
  }

 private:
  // `thinking`: what is said of it, if anything is.
  std::string render(std::vector<Json> messages, bool prompt, std::optional<bool> thinking = std::nullopt) {
    Json context = Json::of_object({});
    context.member("messages") = array(std::move(messages));
    context.member("add_generation_prompt") = Json::of_boolean(prompt);
    context.member("bos_token") = context.member("eos_token") = text("");
    context.member("tools") = tools_;
    if (thinking)
      for (const char* name : {"enable_thinking", "thinking"})
        context.member(name) = Json::of_boolean(*thinking);
    try {
      std::string out = template_.render_json(to_text(context), kProbeTime);
      haystack_ += '\n';
      haystack_ += out;
      return out;
    } catch (const Error& e) {
      if (e.code() == Code::out_of_memory) throw;
      return {};
    }
  }

  void find_tools(AnswerFormat& out) {
    const std::string prompt = render({user_turn()}, true);
    for (const bool as_text : {false, true}) {
      if (out.tools) return;
      for (const Json& content : {text(""), Json{}, text(kText)}) {
        const std::string all = render({user_turn(), calling_turn(content, as_text, false)}, false);
        const std::string_view turn = turn_in(all, prompt);
        if (turn.empty()) continue;
        out.tools = reader_of(turn, prompt, false);
        if (!out.tools) out.tools = reader_of(turn, prompt, true);
        if (out.tools) {
          out.arguments_as_text = as_text;
          out.opens_call = !out.tools->content_name.empty() && prompt.ends_with(out.tools->call_begin);
          const std::string two = render({user_turn(), calling_turn(content, as_text, false, 2)}, false);
          const std::string_view both = turn_in(two, prompt);
          out.written = both.empty() ? turn : both;
          out.unknown.clear();
          return;
        }
        if (out.unknown.empty()) out.unknown = turn.substr(0, 160);
      }
    }
  }

  // What the template writes of the assistant's turn; empty: no call.
  static std::string_view turn_in(std::string_view all, std::string_view prompt) {
    const size_t after = all.rfind(kUser);
    if (after == std::string::npos || all.find(kValue, after) == std::string::npos) return {};
    return all.substr(all.starts_with(prompt) && !prompt.empty() ? prompt.size() : after + kUser.size());
  }

  // Calls of one JSON are read whether they stand in a list or not; they are written as the template does it.
  static bool as_written(const Dialect& d, std::string_view turn) {
    const size_t found = turn.find(d.section_begin);
    if (d.form != Form::json || d.before.empty() || found == std::string_view::npos) return true;
    Cursor in{turn, found + d.section_begin.size(), true};
    in.skip_space();
    if (in.match(d.lead) == Match::yes) in.at += d.lead.size();
    in.skip_space();
    return !in.empty() && (in.peek() == '[') == d.before.starts_with('[');
  }

  // The dialect that reads the call back; `cut`: though the template leaves the end of all calls out.
  static const Dialect* reader_of(std::string_view turn, const std::string& prompt, bool cut) {
    const auto schemas = std::make_shared<const ToolSchemas>(kTools);
    const Dialect* other = nullptr;
    for (const Dialect& d : dialects()) {
      AnswerFormat format;
      format.tools = &d;
      AnswerReader reader(format, schemas, ReasoningUse::pass, 0, format.opened_by(prompt));
      reader.feed(turn);
      reader.finish();
      const ParsedAnswer& got = reader.answer();
      const bool clean = got.errors.empty() || (cut && got.errors.front().fault == AnswerFault::truncated);
      if (got.calls.size() != 1 || !clean) continue;
      const ToolCall& call = got.calls.front();
      if (!call.complete || call.name != kTool || !holds_arguments(call.arguments)) continue;
      if (as_written(d, turn)) return &d;
      if (!other) other = &d;
    }
    return other;
  }

  static bool holds_arguments(const std::string& read) {
    try {
      return are_arguments(parse_json(read, "arguments", RepeatedKeys::last_counts));
    } catch (const Error& e) {
      if (e.code() == Code::out_of_memory) throw;
      return false;
    }
  }

  // What the template writes about reasoning comes to stand in the haystack.
  void render_reasoning() {
    for (const bool on : {true, false}) render({user_turn()}, true, on);
    render({user_turn(), turn_of("assistant", text(kText))}, false);
    for (const bool as_text : {false, true})
      render({user_turn(), calling_turn(text(""), as_text, true)}, false, true);
  }

  // Content in parts must come out as its text alone.
  bool takes_parts() {
    const Json parts = parsed(R"([{"type": "text", "text": "PROBEUSER"}])");
    const std::string plain = render({user_turn()}, true);
    return !plain.empty() && render({turn_of("user", parts)}, true) == plain;
  }

  const ChatTemplate& template_;
  std::string haystack_;  // the source, and all that was rendered
  Json tools_;
};

}  // namespace

AnswerFormat detect_format(const ChatTemplate& chat_template, std::string_view source) {
  return Prober(chat_template, source).run(source);
}

}  // namespace ingle::text
