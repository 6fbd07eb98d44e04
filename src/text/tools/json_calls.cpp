// {"name": …, "arguments": {…}}, one, a list of them, or several one behind the other.
#include "core/format.h"
#include "text/tools/reader.h"

namespace ingle::text {
namespace {

class JsonCalls : public CallReader {
 public:
  explicit JsonCalls(const Dialect& dialect) : d_(dialect) {}
  std::unique_ptr<CallReader> clone() const override { return std::make_unique<JsonCalls>(*this); }

  Read read(Cursor& in, CallSink& out) override {
    for (;;) {
      Read step = Read::done;
      switch (at_) {
        case At::lead:
          step = lead(in);
          break;
        case At::between:
          step = between(in);
          if (step == Read::done && finished_) return Read::done;
          break;
        case At::member:
          step = member(in, out);
          break;
        case At::key:
          step = key(in);
          break;
        case At::colon:
          step = colon(in, out);
          break;
        case At::value:
          step = value(in, out);
          break;
      }
      if (step != Read::done) return step;
    }
  }

 private:
  enum class At { lead, between, member, key, colon, value };
  enum class Role { name, arguments, id, other };

  Read lead(Cursor& in) {
    in.skip_space();
    if (in.empty()) return Read::more;
    const Match found = in.match(d_.lead);
    if (found == Match::maybe) return Read::more;
    if (found == Match::yes) in.at += d_.lead.size();
    at_ = At::between;
    return Read::done;
  }

  // Where a call, a comma, or an end may come.
  Read between(Cursor& in) {
    const bool bare_done = d_.section_end.empty() && !list_ && n_calls_ > 0;
    if (bare_done && (d_.separator.empty() || d_.anchored)) {
      // Another call may follow a separator; else what follows is the user's.
      Cursor ahead = in;
      ahead.skip_space();
      if (d_.separator.empty()) return finish();
      if (ahead.empty()) return in.ended ? finish() : Read::more;
      if (ahead.match(d_.separator) == Match::no && !after_separator_) return finish();
    }
    in.skip_space();
    if (in.empty())
      return in.ended && d_.section_end.empty() && !list_ && n_calls_ > 0 ? finish() : Read::more;
    if (!d_.section_end.empty()) {
      const Match end = in.match(d_.section_end);
      if (end == Match::maybe) return Read::more;
      if (end == Match::yes) {
        if (list_) return failed("the list of calls does not end");
        in.at += d_.section_end.size();
        return finish();
      }
    }
    const char c = in.peek();
    if (c == '[' && !list_ && n_calls_ == 0 && !closed_) {
      list_ = true;
    } else if (c == ']' && list_ && !after_separator_) {
      list_ = false;
      closed_ = true;
      if (d_.section_end.empty()) {
        ++in.at;
        return finish();
      }
    } else if ((c == ',' || d_.separator.starts_with(c)) && n_calls_ > 0 && !closed_ && !after_separator_) {
      after_separator_ = true;
    } else if (c == '{' && !closed_ && (!list_ || n_calls_ == 0 || after_separator_)) {
      after_separator_ = first_member_ = true;
      after_separator_ = false;
      name_.clear();
      id_.clear();
      held_ = {};
      has_arguments_ = begun_ = named_ = false;
      at_ = At::member;
    } else {
      return failed(format("'{}' where a call is expected", c));
    }
    ++in.at;
    return Read::done;
  }

  // Where a key, a comma or the end of the object may come.
  Read member(Cursor& in, CallSink& out) {
    in.skip_space();
    if (in.empty()) return Read::more;
    const char c = in.peek();
    if (c == '"' && (first_member_ || after_comma_)) {
      span_.reset();
      at_ = At::key;
      return Read::done;
    }
    if (c == ',' && !first_member_ && !after_comma_) {
      after_comma_ = true;
      ++in.at;
      return Read::done;
    }
    if (c != '}' || after_comma_) return failed(format("'{}' in a call", c));
    ++in.at;
    ++n_calls_;
    at_ = At::between;
    return end_call(in, out);
  }

  Read end_call(const Cursor& in, CallSink& out) {
    if (d_.name_is_key) return first_member_ ? failed("a call without a name") : Read::done;
    if (!named_) return failed("a call without a name");
    if (!begun_) {
      out.begin(name_, id_);
      out.arguments(has_arguments_ ? in.text.substr(held_.first, held_.second) : "{}");
    }
    out.end();
    return Read::done;
  }

  Read key(Cursor& in) {
    const Read got = span_.take(in);
    if (got == Read::failed) return failed("a key that is no JSON string");
    if (got == Read::more) return got;
    key_ = unquote_json(span_.text(in));
    first_member_ = after_comma_ = false;
    at_ = At::colon;
    return Read::done;
  }

  Read colon(Cursor& in, CallSink& out) {
    in.skip_space();
    if (in.empty()) return Read::more;
    if (in.peek() != ':') return failed("a key without a value");
    ++in.at;
    if (key_.size() > kMaxNameBytes) return failed("a key is too long");
    if (d_.name_is_key) {
      role_ = Role::arguments;
      named_ = begun_ = true;
      out.begin(key_, "");
    } else if (key_ == d_.name_key || (key_ == "name" && !named_)) {
      role_ = named_ ? Role::other : Role::name;
    } else if ((key_ == d_.arguments_key || key_ == "arguments" || key_ == "parameters") && !has_arguments_) {
      role_ = Role::arguments;
      if (named_ && !d_.late_id) {
        out.begin(name_, id_);
        begun_ = true;
      }
    } else {
      role_ = key_ == d_.id_key && id_.empty() ? Role::id : Role::other;
    }
    span_.reset();
    at_ = At::value;
    return Read::done;
  }

  Read value(Cursor& in, CallSink& out) {
    if (!in.empty() && !value_begun_) in.skip_space();
    if (in.empty() && !value_begun_) return Read::more;
    value_begun_ = true;
    const Read got = span_.take(in);
    const bool streamed = role_ == Role::arguments && begun_;
    if (streamed)
      if (const std::string_view fresh = span_.fresh(in); !fresh.empty()) out.arguments(fresh);
    if (got == Read::failed) return failed("a value that is no JSON");
    if (got == Read::more) return got;
    value_begun_ = false;
    at_ = At::member;
    const std::string_view text = span_.text(in);
    if (role_ == Role::arguments) {
      has_arguments_ = true;
      held_ = {in.at - text.size(), text.size()};
      if (d_.name_is_key) out.end();
      return Read::done;
    }
    if (role_ == Role::other) return Read::done;
    if (text.front() != '"') {
      if (role_ == Role::id) return Read::done;
      return failed("a name that is no text");
    }
    if (text.size() > kMaxNameBytes) return failed("a name is too long");
    (role_ == Role::name ? name_ : id_) = unquote_json(text);
    if (role_ != Role::name) return Read::done;
    if (name_.empty()) return failed("an empty name");
    named_ = true;
    return Read::done;
  }

  Read finish() {
    finished_ = true;
    return Read::done;
  }

  const Dialect& d_;
  At at_ = At::lead;
  Role role_ = Role::other;
  bool list_ = false, closed_ = false, finished_ = false, after_separator_ = false;
  bool first_member_ = true, after_comma_ = false, value_begun_ = false;
  bool named_ = false, has_arguments_ = false, begun_ = false;
  int64_t n_calls_ = 0;
  std::string key_, name_, id_;
  std::pair<size_t, size_t> held_;  // arguments that came before the name: where, how many bytes
  JsonSpan span_;
};

}  // namespace

std::unique_ptr<CallReader> make_json_calls(const Dialect& dialect) {
  return std::make_unique<JsonCalls>(dialect);
}

}  // namespace ingle::text
