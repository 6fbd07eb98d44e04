// [name(key=value, …), …], name(key=value) one behind the other, and name.call(key=value).
#include "core/format.h"
#include "text/tools/reader.h"

namespace ingle::text {
namespace {

class PythonCalls : public CallReader {
 public:
  PythonCalls(const Dialect& dialect, const ToolSchemas& schemas, bool marked)
      : d_(dialect), schemas_(schemas), end_(marked ? dialect.section_end : std::string_view()) {}
  std::unique_ptr<CallReader> clone() const override { return std::make_unique<PythonCalls>(*this); }

  Read read(Cursor& in, CallSink& out) override {
    for (;;) {
      Read step = Read::done;
      switch (at_) {
        case At::start:
          step = start(in);
          break;
        case At::name:
          step = name(in, out);
          break;
        case At::argument:
          step = argument(in, out);
          break;
        case At::between:
          step = between(in);
          break;
        case At::section_end:
          step = section_end(in);
          break;
        case At::over:
          return Read::done;
      }
      if (step != Read::done) return step;
    }
  }

 private:
  enum class At { start, name, argument, between, section_end, over };

  Read start(Cursor& in) {
    in.skip_space();
    if (in.empty()) return Read::more;
    list_ = in.peek() == '[';
    if (list_) ++in.at;
    begin_name(in);
    return Read::done;
  }
  void begin_name(Cursor& in) {
    at_ = At::name;
    in.skip_space();
    scan_ = in.at;
  }

  Read name(Cursor& in, CallSink& out) {
    if (scan_ == in.at) {
      in.skip_space();
      scan_ = in.at;
    }
    const size_t open = in.text.find_first_of("()[]{}=,'\"<", scan_);
    if (open == std::string_view::npos) {
      scan_ = in.text.size();
      return in.text.size() - in.at > kMaxNameBytes ? failed("a name is too long") : Read::more;
    }
    std::string_view found = in.text.substr(in.at, open - in.at);
    if (d_.python_too && found.ends_with(".call")) found.remove_suffix(5);
    if (in.text[open] != '(' || found.empty() || found.size() > kMaxNameBytes ||
        found.find_first_of(" \t\r\n") != std::string_view::npos)
      return failed("a call is expected");
    name_ = found;
    out.begin(name_, "");
    n_arguments_ = 0;
    in.at = open + 1;
    begin_argument(in);
    return Read::done;
  }

  void begin_argument(const Cursor& in) {
    at_ = At::argument;
    scan_ = in.at;
    quote_ = 0;
    escaped_ = false;
    depth_ = 0;
  }

  // key=value up to a comma or the end of the call, outside texts and brackets.
  Read argument(Cursor& in, CallSink& out) {
    for (; scan_ < in.text.size(); ++scan_) {
      const char c = in.text[scan_];
      if (quote_ != 0) {
        if (escaped_) {
          escaped_ = false;
        } else if (c == '\\') {
          escaped_ = true;
        } else if (c == quote_) {
          quote_ = 0;
        }
        continue;
      }
      if (c == '"' || c == '\'') quote_ = c;
      if (c == '[' || c == '{' || c == '(') ++depth_;
      if ((c == ',' || c == ')') && depth_ == 0) return end_argument(in, out, c == ')');
      if ((c == ']' || c == '}' || c == ')') && --depth_ < 0) return failed("brackets do not match");
    }
    return Read::more;
  }

  Read end_argument(Cursor& in, CallSink& out, bool last) {
    in.skip_space();
    const std::string_view text = in.text.substr(in.at, scan_ - in.at);
    const size_t equals = text.find('=');
    const bool none = text.empty();  // a comma may stand before the end
    if (!none) {
      if (equals == std::string_view::npos || equals == 0) return failed("an argument without a name");
      std::string_view key = text.substr(0, equals);
      while (!key.empty() && Cursor::is_space(key.back())) key.remove_suffix(1);
      if (key.size() > kMaxNameBytes) return failed("a key is too long");
      if (key.find_first_of("'\"[](){} \t\n") != std::string_view::npos)
        return failed("an argument without a name");
      auto value = python_to_json(text.substr(equals + 1));
      if (!value) return failed("a value that is no literal");
      // Some put every value between quotes.
      const TypeSet type = schemas_.type(name_, key);
      if (value->front() == '"' && type != 0 && (type & kStringType) == 0)
        value = value_to_json(unquote_json(*value), type);
      std::string json = n_arguments_++ == 0 ? "{" : ", ";
      append_quoted(json, key);
      out.arguments(json + ": " + *value);
    } else if (!last) {
      return failed("an argument is expected");
    }
    in.at = scan_ + 1;
    if (!last) {
      begin_argument(in);
      return Read::done;
    }
    out.arguments(n_arguments_ == 0 ? "{}" : "}");
    out.end();
    at_ = list_ ? At::between : At::section_end;
    spaced_ = false;
    return Read::done;
  }

  Read between(Cursor& in) {
    in.skip_space();
    if (in.empty()) return Read::more;
    const char c = in.peek();
    if (c != ',' && c != ']') return failed("the list of calls does not go on");
    ++in.at;
    if (c == ',')
      begin_name(in);
    else
      at_ = At::section_end;
    return Read::done;
  }

  Read section_end(Cursor& in) {
    if (end_.empty()) {
      at_ = At::over;
      return Read::done;
    }
    spaced_ = spaced_ || (!in.empty() && Cursor::is_space(in.peek()));
    in.skip_space();
    const Match end = in.match(end_);
    if (end == Match::maybe || in.empty()) return Read::more;
    if (end == Match::no) {
      if (list_ || !spaced_) return failed("the calls do not end");
      begin_name(in);  // another call, on a line of its own
      return Read::done;
    }
    in.at += end_.size();
    at_ = At::over;
    return Read::done;
  }

  const Dialect& d_;
  const ToolSchemas& schemas_;
  std::string_view end_;
  At at_ = At::start;
  std::string name_;
  bool list_ = false, escaped_ = false, spaced_ = false;
  char quote_ = 0;
  int depth_ = 0;
  size_t scan_ = 0;
  int64_t n_arguments_ = 0;
};

// name{key:value,…}: texts stand between marks of their own.
class BracesCalls : public CallReader {
 public:
  explicit BracesCalls(const Dialect& dialect) : d_(dialect) {}
  std::unique_ptr<CallReader> clone() const override { return std::make_unique<BracesCalls>(*this); }

  Read read(Cursor& in, CallSink& out) override {
    if (at_ == At::name) {
      const Read step = name(in, out);
      if (step != Read::done) return step;
    }
    if (at_ == At::body) {
      const Read step = body(in, out);
      if (step != Read::done) return step;
    }
    in.skip_space();
    const Match end = in.match(d_.call_end);
    if (end == Match::maybe || in.empty()) return Read::more;
    if (end == Match::no) return failed("the call does not end");
    in.at += d_.call_end.size();
    out.end();
    return Read::done;
  }

 private:
  enum class At { name, body, end };

  Read name(Cursor& in, CallSink& out) {
    if (scan_ < in.at) scan_ = in.at;
    const size_t open = in.text.find_first_of("{}<\n", scan_);
    if (open == std::string_view::npos) {
      scan_ = in.text.size();
      return in.text.size() - in.at > kMaxNameBytes ? failed("a name is too long") : Read::more;
    }
    if (in.text[open] != '{' || open == in.at || open - in.at > kMaxNameBytes)
      return failed("a call is expected");
    out.begin(std::string(in.text.substr(in.at, open - in.at)), "");
    in.at = scan_ = open;
    at_ = At::body;
    return Read::done;
  }

  Read body(Cursor& in, CallSink& out) {
    while (scan_ < in.text.size()) {
      const Match quote = in.match_at(scan_, d_.quote);
      if (quote == Match::maybe) return Read::more;
      if (quote == Match::yes) {
        quoted_ = !quoted_;
        scan_ += d_.quote.size();
        continue;
      }
      const char c = in.text[scan_++];
      if (quoted_) continue;
      if (c == '{' || c == '[') ++depth_;
      if (c != '}' && c != ']') continue;
      if (--depth_ > 0) continue;
      const auto json = braces_to_json(in.text.substr(in.at, scan_ - in.at), d_.quote);
      if (!json) return failed("arguments that cannot be read");
      out.arguments(*json);
      in.at = scan_;
      at_ = At::end;
      return Read::done;
    }
    return Read::more;
  }

  const Dialect& d_;
  At at_ = At::name;
  bool quoted_ = false;
  int depth_ = 0;
  size_t scan_ = 0;
};

}  // namespace

std::unique_ptr<CallReader> make_python_calls(const Dialect& dialect, const ToolSchemas& schemas,
                                              bool marked) {
  return std::make_unique<PythonCalls>(dialect, schemas, marked);
}
std::unique_ptr<CallReader> make_braces_calls(const Dialect& dialect) {
  return std::make_unique<BracesCalls>(dialect);
}

}  // namespace ingle::text
