// The name between markers, then the arguments as JSON.
#include "core/format.h"
#include "text/tools/heads.h"
#include "text/tools/reader.h"

namespace ingle::text {
namespace {

class NamedCalls : public CallReader {
 public:
  explicit NamedCalls(const Dialect& dialect)
      : d_(dialect), at_(dialect.section_begin.empty() ? At::head : At::between) {}
  std::unique_ptr<CallReader> clone() const override { return std::make_unique<NamedCalls>(*this); }

  Read read(Cursor& in, CallSink& out) override {
    for (;;) {
      Read step = Read::done;
      switch (at_) {
        case At::between:
          step = between(in);
          break;
        case At::head:
          step = head(in, out);
          break;
        case At::lead:
          step = optional(in, d_.lead, At::value);
          break;
        case At::value:
          step = value(in, out);
          break;
        case At::tail:
          step = optional(in, d_.tail, At::end);
          break;
        case At::end:
          step = end(in, out);
          break;
        case At::over:
          return Read::done;
      }
      if (step != Read::done) return step;
    }
  }

 private:
  enum class At { between, head, lead, value, tail, end, over };

  Read between(Cursor& in) {
    in.skip_space();
    const Match end = in.match(d_.section_end), call = in.match(d_.call_begin);
    if (end == Match::yes) {
      in.at += d_.section_end.size();
      at_ = At::over;
    } else if (call == Match::yes) {
      in.at += d_.call_begin.size();
      at_ = At::head;
    } else if (in.empty() || end == Match::maybe || call == Match::maybe) {
      return Read::more;
    } else {
      return failed("a call is expected");
    }
    return Read::done;
  }

  Read head(Cursor& in, CallSink& out) {
    const Read got = head_.read(d_, in);
    if (got == Read::failed) return failed(head_.why);
    if (got == Read::more) return got;
    if (!d_.content_name.empty() && head_.name == d_.content_name) {
      at_ = At::over;
      return Read::done;
    }
    out.begin(head_.name, head_.id);
    head_ = CallHead();
    span_.reset();
    at_ = At::lead;
    return Read::done;
  }

  Read optional(Cursor& in, std::string_view literal, At next) {
    in.skip_space();
    const Match found = in.match(literal);
    if (found == Match::maybe || (in.empty() && !in.ended)) return Read::more;
    if (found == Match::yes) in.at += literal.size();
    at_ = next;
    return Read::done;
  }

  Read value(Cursor& in, CallSink& out) {
    if (!value_begun_) {
      in.skip_space();
      const Match end = d_.call_end.empty() ? Match::no : in.match(d_.call_end);
      if (in.empty() || end == Match::maybe) return Read::more;
      if (end == Match::yes) {
        out.arguments("{}");
        at_ = At::end;
        return Read::done;
      }
      value_begun_ = true;
    }
    const Read got = span_.take(in);
    if (const std::string_view fresh = span_.fresh(in); !fresh.empty()) out.arguments(fresh);
    if (got == Read::failed) return failed("arguments that are no JSON");
    if (got == Read::more) return got;
    value_begun_ = false;
    at_ = d_.call_end.empty() && d_.tail.empty() ? At::end : At::tail;
    return Read::done;
  }

  Read end(Cursor& in, CallSink& out) {
    if (!d_.call_end.empty()) {
      in.skip_space();
      const Match found = in.match(d_.call_end);
      if (found == Match::maybe || (in.empty() && found == Match::no)) return Read::more;
      if (found == Match::no) return failed("the call does not end");
      in.at += d_.call_end.size();
    }
    out.end();
    at_ = d_.section_begin.empty() ? At::over : At::between;
    return Read::done;
  }

  const Dialect& d_;
  At at_;
  CallHead head_;
  bool value_begun_ = false;
  JsonSpan span_;
};

}  // namespace

std::unique_ptr<CallReader> make_named_calls(const Dialect& dialect) {
  return std::make_unique<NamedCalls>(dialect);
}

}  // namespace ingle::text
