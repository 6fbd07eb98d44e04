#include "answer_out.h"

#include <cstdio>

namespace ingle::cli {

void add_answer(Command command, AnswerFlags& flags) {
  command.option(
      "--tools", flags.tools_file,
      "A JSON file with the tools that the model may call: [{\"type\": \"function\", \"function\": …}]");
  command.option("--tool-choice", flags.choice,
                 "Hold calls to the tools and their schemas: auto, required, none, or a tool's name");
  command
      .option(
          "--reasoning",
          [&flags](const std::string& text) {
            flags.wanted = true;
            flags.reasoning = text == "apart"  ? ReasoningUse::apart
                              : text == "drop" ? ReasoningUse::drop
                                               : ReasoningUse::pass;
          },
          "What the model wrote for itself: apart (to stderr), drop, or pass (in the answer)")
      .one_of({"apart", "drop", "pass"});
  add_count(command, "--reasoning-budget", flags.budget,
            "Tokens that the model may reason for; then its reasoning is ended", 0);
}

void read_tools(AnswerFlags& flags) {
  if (!flags.choice.empty() && flags.tools_file.empty())
    throw Error(Code::invalid_argument, "--tool-choice", "goes with --tools");
  if (flags.tools_file.empty()) return;
  flags.tools = read_text_file(flags.tools_file);
  const Json parsed = Json::parse(flags.tools, nullptr, false);
  if (!parsed.is_array() || parsed.empty())
    throw Error(Code::invalid_argument, flags.tools_file, "holds no JSON array of tools");
}

std::string conversation(const AnswerFlags& flags, const std::string& system, const std::string& prompt) {
  Json messages = Json::array();
  if (!system.empty()) messages.push_back({{"role", "system"}, {"content", system}});
  messages.push_back({{"role", "user"}, {"content", prompt}});
  Json all = {{"messages", std::move(messages)}};
  if (!flags.tools.empty()) all["tools"] = Json::parse(flags.tools, nullptr, false);
  return all.dump(-1, ' ', false, Json::error_handler_t::replace);
}

AnswerOut::AnswerOut(const Session& session, const AnswerFlags& flags, bool json)
    : parser_(session, {flags.tools, !flags.tools.empty(), flags.reasoning, 0}), json_(json) {
  if (!flags.tools.empty() && chat_format(session.model()).dialect.empty())
    throw Error(Code::unsupported, "--tools", "the model's chat template writes no tool calls");
}

void AnswerOut::feed(const std::string& text) { show(parser_.feed(text)); }

void AnswerOut::show(const std::vector<AnswerEvent>& events) {
  if (json_) return;
  for (const AnswerEvent& e : events) {
    if (e.part == AnswerPart::reasoning) {
      std::fwrite(e.text.data(), 1, e.text.size(), stderr);
    } else if (e.part == AnswerPart::content || e.part == AnswerPart::error) {
      print_answer(e.text);  // what could not be read is shown as it is
      if (!e.text.empty()) line_open_ = e.text.back() != '\n';
    }
  }
}

void AnswerOut::finish(const Json& rest) {
  show(parser_.finish());
  const ParsedAnswer& answer = parser_.answer();
  Json calls = Json::array(), errors = Json::array();
  for (const ToolCall& c : answer.calls) {
    Json call = {
        {"id", c.id}, {"type", "function"}, {"function", {{"name", c.name}, {"arguments", c.arguments}}}};
    if (!c.complete) call["complete"] = false;
    calls.push_back(std::move(call));
  }
  for (const AnswerError& e : answer.errors) errors.push_back({{"message", e.message}, {"text", e.text}});
  if (!json_) {
    if (line_open_) std::fputc('\n', stdout);
    for (const Json& call : calls) print_json(call);
    return;
  }
  Json all = {{"text", answer.raw}, {"content", answer.content}};
  if (!answer.reasoning.empty()) all["reasoning"] = answer.reasoning;
  all["tool_calls"] = std::move(calls);
  if (!errors.empty()) all["errors"] = std::move(errors);
  all.update(rest);
  print_json(all);
}

}  // namespace ingle::cli
