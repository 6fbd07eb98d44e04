// Tells content, reasoning and calls of an answer apart while it arrives.
#pragma once
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "ingle/answer.hpp"
#include "text/tools/reader.h"

namespace ingle::text {

// How a template's answers are to be read.
struct AnswerFormat {
  const Dialect* tools = nullptr;             // null: none, or not known
  const ReasoningMarks* reasoning = nullptr;  // null: none
  std::string unknown;                        // how the template writes a call, where no dialect reads it
  bool arguments_as_text = false;  // the template takes a call's arguments as JSON text, not as an object
  bool content_parts = false;      // the template takes content in parts
  bool opens_call = false;         // the prompt ends with what opens a call, or content
  std::string written;  // two calls of the probe's tool (detect.h), or one, as the template writes them

  // What the end of a rendered prompt has opened already, as text to read before the answer.
  std::string opened_by(std::string_view prompt) const;
};

class AnswerReader : private CallSink {
 public:
  AnswerReader(const AnswerFormat& format, std::shared_ptr<const ToolSchemas> schemas, ReasoningUse use,
               int64_t first_index, std::string_view opening);
  AnswerReader(const AnswerReader& other);
  AnswerReader(AnswerReader&&) = default;
  AnswerReader& operator=(AnswerReader&&) = default;
  AnswerReader& operator=(const AnswerReader& other) { return *this = AnswerReader(other); }

  std::vector<AnswerEvent> feed(std::string_view text);
  std::vector<AnswerEvent> finish();
  const ParsedAnswer& answer() const { return answer_; }

 private:
  enum class State { free, reasoning, call, recover };
  enum class MarkKind { call, reasoning, reasoning_end, noise };
  struct Mark {
    std::string_view text;
    MarkKind kind;
  };

  void add_mark(std::string_view text, MarkKind kind);
  std::vector<AnswerEvent> run();
  bool step(Cursor& in);  // false: more is needed
  bool free_text(Cursor& in);
  std::optional<bool> begin_anchored(Cursor& in);
  bool met(Cursor& in, const Mark& mark);
  bool reasoning_text(Cursor& in);
  bool call(Cursor& in);
  bool recover(Cursor& in);
  void begin_call(size_t from, std::unique_ptr<CallReader> reader, bool guess);
  void leave_call(const Cursor& in);
  void add_error(AnswerFault fault, std::string why, std::string_view text);
  void add(AnswerPart part, std::string_view text);
  void add_content(std::string_view text);
  void add_reasoning(std::string_view text);

  // CallSink
  void begin(std::string name, std::string id) override;
  void arguments(std::string_view json) override;
  void end() override;
  void content(std::string_view text) override { add_content(text); }
  void reasoning(std::string_view text) override { add_reasoning(text); }

  AnswerFormat format_;
  std::shared_ptr<const ToolSchemas> schemas_;
  ReasoningUse use_;
  int64_t first_index_;
  std::vector<Mark> marks_;
  std::array<bool, 256> begins_{};  // a mark does with this byte

  std::string text_;  // what was opened, then what came
  size_t opening_ = 0, at_ = 0, scan_ = 0;
  bool ended_ = false, closed_ = false;
  State state_ = State::free;
  bool may_anchor_ = false;
  bool content_seen_ = false;  // since the start, or the last call
  bool skip_space_ = false;    // white space behind a marker is the template's
  bool skip_reasoning_space_ = true;
  std::string space_, reasoning_space_;  // white space that may stand before a marker

  std::unique_ptr<CallReader> reader_;
  size_t call_from_ = 0;
  bool guess_ = false, call_open_ = false, call_met_ = false;
  std::string why_;
  std::unordered_set<std::string> ids_;  // of the calls so far
  std::vector<AnswerEvent> events_;
  ParsedAnswer answer_;
};

}  // namespace ingle::text
