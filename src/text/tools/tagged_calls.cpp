// The name, then each argument between tags of its own.
#include "core/format.h"
#include "text/tools/heads.h"
#include "text/tools/reader.h"

namespace ingle::text {
namespace {

constexpr std::string_view kData = "<![CDATA[", kDataEnd = "]]>";

class TaggedCalls : public CallReader {
 public:
  TaggedCalls(const Dialect& dialect, const ToolSchemas& schemas)
      : d_(dialect), schemas_(schemas), at_(dialect.section_begin.empty() ? At::head : At::between) {}
  std::unique_ptr<CallReader> clone() const override { return std::make_unique<TaggedCalls>(*this); }

  Read read(Cursor& in, CallSink& out) override {
    for (;;) {
      Read step = Read::done;
      switch (at_) {
        case At::between:
          step = either(in, d_.section_end, At::over, d_.call_begin, At::head, "a call is expected");
          break;
        case At::head:
          step = head(in, out);
          break;
        case At::arguments:
          step = either(in, d_.call_end, At::end, d_.key_begin, At::key, "an argument is expected");
          break;
        case At::key:
          step = key(in);
          break;
        case At::type:
          step = type(in);
          break;
        case At::value_begin:
          step = either(in, d_.value_begin, At::value, d_.value_begin, At::value, "a value is expected");
          break;
        case At::value:
          step = value(in, out);
          break;
        case At::value_end:
          step =
              either(in, d_.value_end, At::arguments, d_.value_end, At::arguments, "the value does not end");
          break;
        case At::end:
          out.arguments(n_arguments_ == 0 ? "{}" : "}");
          out.end();
          at_ = d_.section_begin.empty() ? At::over : At::between;
          break;
        case At::over:
          return Read::done;
      }
      if (step != Read::done) return step;
    }
  }

 private:
  enum class At { between, head, arguments, key, type, value_begin, value, value_end, end, over };

  Read either(Cursor& in, std::string_view a, At after_a, std::string_view b, At after_b,
              const char* otherwise) {
    in.skip_space();
    const Match first = in.match(a), second = in.match(b);
    if (first == Match::yes) {
      in.at += a.size();
      go(after_a, in);
    } else if (second == Match::yes) {
      in.at += b.size();
      go(after_b, in);
    } else if (in.empty() || first == Match::maybe || second == Match::maybe) {
      return Read::more;
    } else {
      return failed(otherwise);
    }
    return Read::done;
  }
  void go(At next, const Cursor& in) {
    at_ = next;
    scan_ = in.at;
  }

  Read head(Cursor& in, CallSink& out) {
    const Read got = head_.read(d_, in);
    if (got == Read::failed) return failed(head_.why);
    if (got == Read::more) return got;
    name_ = head_.name;
    out.begin(head_.name, head_.id);
    head_ = CallHead();
    n_arguments_ = 0;
    go(At::arguments, in);
    return Read::done;
  }

  Read until(Cursor& in, std::string_view end, size_t most, std::string_view& found) {
    const size_t place = search(in, end, scan_);
    if (place == std::string_view::npos ? in.text.size() - in.at > most + end.size() : place - in.at > most)
      return failed("a key is too long");
    if (place == std::string_view::npos) return Read::more;
    found = in.text.substr(in.at, place - in.at);
    in.at = place + end.size();
    return Read::done;
  }

  Read key(Cursor& in) {
    std::string_view found;
    const Read got = until(in, d_.key_end, kMaxNameBytes, found);
    if (got != Read::done) return got;
    key_ = found;
    type_ = schemas_.type(name_, key_);
    go(!d_.type_end.empty() ? At::type : d_.value_begin.empty() ? At::value : At::value_begin, in);
    return Read::done;
  }

  Read type(Cursor& in) {
    std::string_view found;
    const Read got = until(in, d_.type_end, kMaxNameBytes, found);
    if (got != Read::done) return got;
    const bool text = found == "true" || found == "string";
    if (text) {
      type_ = kStringType;
    } else {
      type_ = static_cast<TypeSet>(~kStringType);
    }
    go(At::value, in);
    return Read::done;
  }

  Read value(Cursor& in, CallSink& out) {
    std::string_view found;
    if (d_.cdata && !in_data_ && scan_ == in.at) {
      const Match data = in.match(kData);
      if (data == Match::maybe) return Read::more;
      if (data == Match::yes) {
        in.at = scan_ = in.at + kData.size();
        in_data_ = true;
      }
    }
    const Read got = until(in, in_data_ ? kDataEnd : d_.value_end, in.text.size(), found);
    if (got != Read::done) return got;
    if (d_.trim_lines) {
      if (found.starts_with('\n')) found.remove_prefix(1);
      if (found.ends_with('\n')) found.remove_suffix(1);
    }
    std::string json = n_arguments_++ == 0 ? "{" : ", ";
    append_quoted(json, key_);
    json += ": ";
    json += value_to_json(found, type_);
    out.arguments(json);
    go(in_data_ ? At::value_end : At::arguments, in);
    in_data_ = false;
    return Read::done;
  }

  const Dialect& d_;
  const ToolSchemas& schemas_;
  At at_;
  CallHead head_;
  std::string name_, key_;
  TypeSet type_ = 0;
  bool in_data_ = false;
  size_t scan_ = 0;
  int64_t n_arguments_ = 0;
};

}  // namespace

std::unique_ptr<CallReader> make_tagged_calls(const Dialect& dialect, const ToolSchemas& schemas) {
  return std::make_unique<TaggedCalls>(dialect, schemas);
}

}  // namespace ingle::text
