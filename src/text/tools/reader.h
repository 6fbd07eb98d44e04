// Reads the calls of one form out of an answer, as far as it came.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "text/tools/cursor.h"
#include "text/tools/dialect.h"
#include "text/tools/json_scan.h"
#include "text/tools/schema.h"

namespace ingle::text {

// What is found, in order. Calls do not nest.
class CallSink {
 public:
  virtual ~CallSink() = default;
  virtual void begin(std::string name, std::string id) = 0;
  virtual void arguments(std::string_view json) = 0;
  virtual void end() = 0;
  virtual void content(std::string_view text) = 0;    // harmony alone
  virtual void reasoning(std::string_view text) = 0;  // the same
};

enum class Read { more, done, failed };

class CallReader {
 public:
  virtual ~CallReader() = default;
  // Goes on from in.at, just behind the trigger at first, and moves it over what was taken. `more` stands for
  // "the answer is cut" when in.ended. Each byte is looked at a bounded number of times over all calls.
  virtual Read read(Cursor& in, CallSink& out) = 0;
  virtual std::unique_ptr<CallReader> clone() const = 0;
  const std::string& why() const { return why_; }  // it failed

 protected:
  Read failed(std::string why) {
    why_ = std::move(why);
    return Read::failed;
  }
  std::string why_;
};

std::unique_ptr<CallReader> make_json_calls(const Dialect& dialect);
std::unique_ptr<CallReader> make_named_calls(const Dialect& dialect);
std::unique_ptr<CallReader> make_tagged_calls(const Dialect& dialect, const ToolSchemas& schemas);
std::unique_ptr<CallReader> make_nested_calls(const Dialect& dialect, const ToolSchemas& schemas);
// `marked`: behind the section's marker, which then ends it too.
std::unique_ptr<CallReader> make_python_calls(const Dialect& dialect, const ToolSchemas& schemas,
                                              bool marked);
std::unique_ptr<CallReader> make_braces_calls(const Dialect& dialect);
std::unique_ptr<CallReader> make_harmony(bool in_channel);  // behind <|channel|>, else behind <|start|>

constexpr size_t kMaxNameBytes = 1024;  // of names, ids and keys

// A JSON value in the text of an answer.
class JsonSpan {
 public:
  // Takes the value's bytes; `done` once it ended, before the byte that follows.
  Read take(Cursor& in) {
    if (!begun_) begin_ = in.at;
    begun_ = true;
    while (!in.empty()) {
      const JsonScan::Step step = scan_.push(in.peek());
      if (step == JsonScan::Step::bad) return Read::failed;
      if (step == JsonScan::Step::before) return finish(in);
      ++in.at;
      if (step == JsonScan::Step::last) return finish(in);
    }
    return in.ended && scan_.whole() ? finish(in) : Read::more;
  }
  std::string_view text(const Cursor& in) const { return in.text.substr(begin_, end_ - begin_); }
  // What came since the last call.
  std::string_view fresh(const Cursor& in) {
    const size_t from = told_ < begin_ ? begin_ : told_;
    told_ = in.at;
    return in.text.substr(from, in.at - from);
  }
  void reset() { *this = JsonSpan(); }

 private:
  Read finish(const Cursor& in) {
    end_ = in.at;
    return Read::done;
  }
  JsonScan scan_;
  size_t begin_ = 0, end_ = 0, told_ = 0;
  bool begun_ = false;
};

}  // namespace ingle::text
