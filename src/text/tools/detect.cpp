#include "text/tools/detect.h"

#include <nlohmann/json.hpp>

#include "core/error.h"

namespace ingle::text {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::string_view kUser = "PROBEUSER", kText = "PROBETEXT", kValue = "PROBEVALUE",
                           kReason = "PROBEREASON", kTool = "probe_tool", kKey = "probe_key",
                           kNumber = "probe_number";
constexpr int64_t kProbeTime = 1722002709;

ordered_json tools() {
  const ordered_json text = {{"type", "string"}, {"description", "a text"}};
  const ordered_json number = {{"type", "integer"}, {"description", "a number"}};
  const ordered_json parameters = {
      {"type", "object"}, {"properties", {{kKey, text}, {kNumber, number}}}, {"required", {kKey}}};
  return {{{"type", "function"},
           {"function", {{"name", kTool}, {"description", "a tool"}, {"parameters", parameters}}}}};
}

ordered_json arguments() { return {{kKey, kValue}, {kNumber, 7}}; }

ordered_json user_turn() { return {{"role", "user"}, {"content", kUser}}; }

// An assistant's turn with one call.
ordered_json calling_turn(const ordered_json& content, bool as_text, bool with_reasoning) {
  ordered_json call = {{"name", kTool}, {"arguments", arguments()}};
  if (as_text) call["arguments"] = arguments().dump();
  ordered_json turn = {{"role", "assistant"}, {"content", content}};
  if (with_reasoning)
    for (const char* key : {"reasoning_content", "reasoning", "thinking"}) turn[key] = kReason;
  turn["tool_calls"] = {{{"id", "probe0001"}, {"type", "function"}, {"function", call}}};
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
      extra_ = {{"tools", with_tools ? tools() : ordered_json(nullptr)}};
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
  std::string render(const ordered_json& messages, bool prompt, const ordered_json& extra) {
    ordered_json context = {
        {"messages", messages}, {"add_generation_prompt", prompt}, {"bos_token", ""}, {"eos_token", ""}};
    for (const auto& [key, value] : extra_.items()) context[key] = value;
    for (const auto& [key, value] : extra.items()) context[key] = value;
    try {
      std::string out = template_.render_json(context.dump(), kProbeTime);
      haystack_ += '\n';
      haystack_ += out;
      return out;
    } catch (const Error& e) {
      if (e.code() == Code::out_of_memory) throw;
      return {};
    }
  }

  void find_tools(AnswerFormat& out) {
    std::string prompt = render(ordered_json::array({user_turn()}), true, ordered_json::object());
    for (const bool as_text : {false, true}) {
      if (out.tools) return;
      for (const ordered_json& content : {ordered_json(""), ordered_json(nullptr), ordered_json(kText)}) {
        const std::string all =
            render(ordered_json::array({user_turn(), calling_turn(content, as_text, false)}), false,
                   ordered_json::object());
        const size_t after = all.rfind(kUser);
        if (after == std::string::npos || all.find(kValue, after) == std::string::npos) continue;
        const std::string_view turn = all.starts_with(prompt) && !prompt.empty()
                                          ? std::string_view(all).substr(prompt.size())
                                          : std::string_view(all).substr(after + kUser.size());
        out.tools = reader_of(turn, prompt, false);
        if (!out.tools) out.tools = reader_of(turn, prompt, true);
        if (out.tools) {
          out.arguments_as_text = as_text;
          out.unknown.clear();
          return;
        }
        if (out.unknown.empty()) out.unknown = turn.substr(0, 160);
      }
    }
  }

  // The dialect that reads the call back; `cut`: though the template leaves the end of all calls out.
  static const Dialect* reader_of(std::string_view turn, const std::string& prompt, bool cut) {
    const auto schemas = std::make_shared<const ToolSchemas>(tools().dump());
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
      if (!call.complete || call.name != kTool || !is_json(call.arguments)) continue;
      if (json::parse(call.arguments, nullptr, false) == json(arguments())) return &d;
    }
    return nullptr;
  }

  // What the template writes about reasoning comes to stand in the haystack.
  void render_reasoning() {
    const ordered_json user = ordered_json::array({user_turn()});
    for (const bool on : {true, false}) render(user, true, {{"enable_thinking", on}, {"thinking", on}});
    for (const bool as_text : {false, true})
      render(ordered_json::array({user_turn(), calling_turn("", as_text, true)}), false,
             {{"enable_thinking", true}, {"thinking", true}});
  }

  // Content in parts must come out as its text alone.
  bool takes_parts() {
    const ordered_json parts = {{{"type", "text"}, {"text", kUser}}};
    const ordered_json messages = ordered_json::array({{{"role", "user"}, {"content", parts}}});
    const std::string plain = render(ordered_json::array({user_turn()}), true, ordered_json::object());
    return !plain.empty() && render(messages, true, ordered_json::object()) == plain;
  }

  const ChatTemplate& template_;
  std::string haystack_;  // the source, and all that was rendered
  ordered_json extra_;
};

}  // namespace

AnswerFormat detect_format(const ChatTemplate& chat_template, std::string_view source) {
  return Prober(chat_template, source).run(source);
}

bool call_shape(const Dialect& d, std::string_view tool, CallShape& out) {
  if (d.form != Form::json && d.form != Form::named && d.form != Form::harmony) return false;
  if (!is_json(tool)) fail(Code::invalid_argument, "tool", "is no JSON, or is nested too deep");
  const ordered_json whole = ordered_json::parse(tool, nullptr, false);
  const ordered_json& function = whole.is_object() && whole.contains("function") ? whole["function"] : whole;
  if (!function.is_object() || !function.contains("name") || !function["name"].is_string()) return false;
  const auto name = function["name"].get<std::string>();
  out.schema = function.contains("parameters") ? function["parameters"].dump() : R"({"type": "object"})";
  out.trigger = d.trigger();
  if (d.form == Form::json) {
    std::string quoted, name_key, arguments_key;
    append_quoted(quoted, name);
    append_quoted(name_key, d.name_key);
    append_quoted(arguments_key, d.arguments_key);
    out.begin = format("{}{}{}", d.section_begin, d.lead, d.before);
    out.begin +=
        d.name_is_key ? "{" + quoted + ": " : "{" + name_key + ": " + quoted + ", " + arguments_key + ": ";
    out.end = format("}}{}{}", d.after, d.section_end);
    return true;
  }
  if (d.form == Form::harmony) {
    out.begin = "<|channel|>commentary to=functions." + name + " <|constrain|>json<|message|>";
    out.trigger = out.begin;
    out.end.clear();
    return true;
  }
  out.begin = format("{}{}", d.section_begin, d.call_begin);
  if (!d.kind_end.empty()) out.begin += format("function{}", d.kind_end);
  out.begin += d.numbered_name ? "functions." + name + ":0" : name;
  out.begin += format("{}{}{}", d.name_end, d.lead, d.lead.empty() ? "" : "\n");
  out.end = format("{}{}{}{}", d.tail.empty() ? "" : "\n", d.tail, d.call_end, d.section_end);
  return true;
}

}  // namespace ingle::text
