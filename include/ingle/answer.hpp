// What a model's answer holds: text, reasoning and tool calls, told apart as the text arrives.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ingle/error.hpp"
#include "ingle/grammar.hpp"

namespace ingle {

class ChatTemplate;  // ingle/chat.hpp
class Model;         // ingle/model.hpp
class Session;       // ingle/session.hpp

enum class AnswerPart : int32_t {
  content = 0,    // text for the user
  reasoning = 1,  // text that the model wrote for itself
  call = 2,       // a tool call begins: index, id, name
  arguments = 3,  // more of the JSON text of that call's arguments
  call_end = 4,   // that call is whole
  error = 5,      // a call that cannot be read: `text` is what it was written as, `message` why
};

struct AnswerEvent {
  AnswerPart part = AnswerPart::content;
  int64_t index = -1;    // of the call, from 0; -1: of none
  std::string text;      // content, reasoning, arguments, or what could not be read
  std::string id, name;  // of a call that begins
  std::string message;   // of an error
};

struct ToolCall {
  std::string id;  // the model's own, or else one that is given here
  std::string name;
  std::string arguments;  // JSON text; as the model wrote it where it wrote JSON
  bool complete = false;  // false: the answer was cut, or went wrong, within it
};

enum class AnswerFault : int32_t {
  malformed = 0,  // not the form of the model's tool calls
  truncated = 1,  // the answer ended within a call
};

struct AnswerError {
  AnswerFault fault = AnswerFault::malformed;
  int64_t offset = 0;  // in the raw text, of the bytes in `text`
  int64_t index = -1;  // of the call that it happened in; -1: its name was not known yet
  std::string message, text;
};

// All of an answer. Each byte of `raw` is a marker, or white space beside one, or stands in one of the
// others.
struct ParsedAnswer {
  std::string raw;
  std::string content, reasoning;
  std::vector<ToolCall> calls;
  std::vector<AnswerError> errors;
};

enum class ReasoningUse : int32_t {
  apart = 0,  // events of their own
  drop = 1,   // left out (of events and of ParsedAnswer::reasoning, never of `raw`)
  pass = 2,   // part of the content, markers and all, as if there were no reasoning
};

struct AnswerOptions {
  // The tools that the model was told of: [{"type": "function", "function": {"name", "parameters"}}, …].
  // Gives the types of arguments in the forms that are not JSON; without it a value that reads as JSON is
  // taken so.
  std::string tools;
  bool parse_tools = true;  // false: calls stay text
  ReasoningUse reasoning = ReasoningUse::apart;
  int64_t first_index = 0;  // what made-up ids count from, so that those of one conversation differ
};

// How a chat template writes tool calls and reasoning, found by rendering conversations with it.
struct ChatFormat {
  std::string dialect;    // of tool calls: "hermes", "harmony", …; empty: none
  std::string reasoning;  // of reasoning: "think", …; empty: none
  // Why calls cannot be read, though the template writes them: its form is none that is known.
  std::string unknown;
};

ChatFormat chat_format(const ChatTemplate& chat_template);
ChatFormat chat_format(const Model& model);  // of its own template; without one, nothing

struct ToolChoice {
  // "auto": the model answers as it likes, and what it writes from the marker of a call on is a call; where
  // the template writes calls without a marker, an answer that begins as one does is one.
  // "required": calls, from the answer's first token on. "none": no call. Otherwise the name of the tool that
  // is called at once, also as {"type": "function", "function": {"name": "…"}}.
  std::string choice = "auto";
  bool parallel = true;  // more than one call, where the model's form has room for them
};

// What an answer must be (GenerateOptions::grammar) for its calls to be calls of these tools, each with
// arguments that its `parameters`, a JSON Schema, allows; in the form of the model's chat template, control
// tokens and all. Of that model, and such as share its vocabulary. `tools` as in AnswerOptions. Throws
// Code::unsupported where the template writes no calls, or in a form that cannot be held, and for a schema
// that cannot be, with the tool's name and the path in it; Code::invalid_argument for what are no tools, and
// for a choice that is none of them.
Grammar tool_grammar(const Model& model, std::string_view tools, const ToolChoice& choice = {},
                     const CompileLimits& limits = {});

// Reads one answer as it arrives. Text may be cut anywhere, also within a character: the result is the same.
// The text must hold the control tokens' (GenerateOptions::control_text). Copies go on separately.
class AnswerParser {
 public:
  // `prompt` is the rendered conversation that is being answered, or its end: reasoning that it opened goes
  // on in the answer. Throws Code::unsupported naming the form when the template writes calls in one that is
  // not known (AnswerOptions::parse_tools false reads such answers without their calls);
  // Code::invalid_argument for tools that are not JSON.
  AnswerParser(const ChatTemplate& chat_template, const AnswerOptions& options = {},
               std::string_view prompt = {});
  AnswerParser(const Model& model, const AnswerOptions& options = {}, std::string_view prompt = {});
  // Of the answer to what the session holds now.
  explicit AnswerParser(const Session& session, const AnswerOptions& options = {});
  AnswerParser(const AnswerParser& other);
  AnswerParser& operator=(const AnswerParser& other);
  AnswerParser(AnswerParser&&) noexcept;
  AnswerParser& operator=(AnswerParser&&) noexcept;
  ~AnswerParser();

  std::vector<AnswerEvent> feed(std::string_view text);
  std::vector<AnswerEvent> finish();   // the answer has ended; feeding more is Code::invalid_argument
  const ParsedAnswer& answer() const;  // so far

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ingle
