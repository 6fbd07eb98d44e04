// run --tools: an answer's parts, shown as they come.
#pragma once
#include <optional>
#include <string>

#include "common.h"
#include "json_out.h"

namespace ingle::cli {

struct AnswerFlags {
  std::string tools_file, tools;  // its path; its text
  std::string choice;             // of tools; empty: not held to any
  ReasoningUse reasoning = ReasoningUse::apart;
  bool given() const { return !tools_file.empty() || wanted; }
  int64_t budget = -1;  // tokens of reasoning
  bool wanted = false;  // reasoning is to be told apart without tools too
};
void add_answer(Command command, AnswerFlags& flags);
// Reads the file of tools, which must be JSON.
void read_tools(AnswerFlags& flags);
// {"messages": […], "tools": […]}
std::string conversation(const AnswerFlags& flags, const std::string& system, const std::string& prompt);

class AnswerOut {
 public:
  AnswerOut(const Session& session, const AnswerFlags& flags, bool json);
  void feed(const std::string& text);
  // Prints the calls; with --json all of it.
  void finish(const Json& rest);

 private:
  void show(const std::vector<AnswerEvent>& events);
  AnswerParser parser_;
  bool json_, line_open_ = false;
};

}  // namespace ingle::cli
