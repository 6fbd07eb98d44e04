// The name, then each argument between tags that bear its key; objects and arrays are tags within.
#include "core/format.h"
#include "text/tools/heads.h"
#include "text/tools/reader.h"

namespace ingle::text {
namespace {

constexpr int kMostDepth = 64;
constexpr std::string_view kItem = "item";

// Of a value as it stands between its tags.
class NestedValue {
 public:
  NestedValue(const Dialect& d, std::string_view text) : open_(d.key_begin), end_(d.key_end), text_(text) {}
  // False: the tags within do not match, or nest too deep.
  bool write(const SchemaPlace& schema, std::string& out, int depth = 0) {
    const size_t tag = text_.find(open_, at_);
    const size_t close = tag == std::string_view::npos ? text_.size() : tag;
    if (!closes(tag) && tag != std::string_view::npos) {
      if (text_.substr(at_, tag - at_).find_first_not_of(" \t\r\n") != std::string_view::npos) return false;
      at_ = tag;
      return depth < kMostDepth && members(schema, out, depth);
    }
    const std::string_view leaf = text_.substr(at_, close - at_);
    at_ = close;
    const TypeSet types = schema.types();
    const bool empty = leaf.empty() && (types & kStringType) == 0;
    if (empty && (types & (kObjectType | kArrayType)) != 0)
      out += (types & kArrayType) != 0 ? "[]" : "{}";
    else
      out += value_to_json(leaf, types);
    return true;
  }
  bool over() const { return at_ == text_.size(); }

 private:
  bool closes(size_t tag) const {
    return tag != std::string_view::npos && text_.substr(tag + open_.size()).starts_with('/');
  }
  void skip_space() {
    while (at_ < text_.size() && Cursor::is_space(text_[at_])) ++at_;
  }
  // Behind a tag's beginning: what stands before its end.
  bool name(std::string_view& out) {
    const size_t found = text_.find(end_, at_);
    if (found == std::string_view::npos || found - at_ > kMaxNameBytes) return false;
    out = text_.substr(at_, found - at_);
    at_ = found + end_.size();
    return true;
  }

  bool members(const SchemaPlace& schema, std::string& out, int depth) {
    const size_t begin = out.size();
    const TypeSet types = schema.types();
    bool array = false;
    for (bool first = true;; first = false) {
      skip_space();
      if (!text_.substr(at_).starts_with(open_) || closes(at_)) break;
      at_ += open_.size();
      std::string_view key, closed;
      if (!name(key) || key.empty()) return false;
      if (first) array = key == kItem && (types == 0 || (types & kArrayType) != 0);
      if (array && key != kItem) return false;
      if (!first) out += ", ";
      if (!array) {
        append_quoted(out, key);
        out += ": ";
      }
      if (!write(array ? schema.item() : schema.member(key), out, depth + 1)) return false;
      if (!closes(at_) || !text_.substr(at_).starts_with(open_)) return false;
      at_ += open_.size() + 1;
      if (!name(closed) || closed != key) return false;
    }
    out.insert(begin, 1, array ? '[' : '{');
    out += array ? ']' : '}';
    return true;
  }

  std::string_view open_, end_, text_;
  size_t at_ = 0;
};

class NestedCalls : public CallReader {
 public:
  NestedCalls(const Dialect& dialect, const ToolSchemas& schemas) : d_(dialect), schemas_(schemas) {}
  std::unique_ptr<CallReader> clone() const override { return std::make_unique<NestedCalls>(*this); }

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
        case At::value:
          step = value(in, out);
          break;
        case At::end:
          out.arguments(n_arguments_ == 0 ? "{}" : "}");
          out.end();
          at_ = At::between;
          break;
        case At::over:
          return Read::done;
      }
      if (step != Read::done) return step;
    }
  }

 private:
  enum class At { between, head, arguments, key, value, end, over };

  // The first one counts where both could stand.
  Read either(Cursor& in, std::string_view a, At after_a, std::string_view b, At after_b,
              const char* otherwise) {
    in.skip_space();
    const Match first = in.match(a), second = in.match(b);
    if (first == Match::yes) {
      in.at += a.size();
      at_ = after_a;
    } else if (in.empty() || first == Match::maybe) {
      return Read::more;
    } else if (second == Match::yes) {
      in.at += b.size();
      at_ = after_b;
    } else {
      return second == Match::maybe ? Read::more : failed(otherwise);
    }
    scan_ = in.at;
    return Read::done;
  }

  Read head(Cursor& in, CallSink& out) {
    const Read got = head_.read(d_, in);
    if (got == Read::failed) return failed(head_.why);
    if (got == Read::more) return got;
    name_ = head_.name;
    out.begin(head_.name, head_.id);
    head_ = CallHead();
    n_arguments_ = 0;
    at_ = At::arguments;
    return Read::done;
  }

  Read key(Cursor& in) {
    const size_t found = search(in, d_.key_end, scan_);
    if ((found == std::string_view::npos ? in.text.size() : found) - in.at > kMaxNameBytes)
      return failed("a key is too long");
    if (found == std::string_view::npos) return Read::more;
    key_ = in.text.substr(in.at, found - in.at);
    if (key_.empty() || key_.front() == '/') return failed("an argument is expected");
    in.at = scan_ = found + d_.key_end.size();
    depth_ = 0;
    at_ = At::value;
    return Read::done;
  }

  // Up to the tag that ends it, over those within.
  Read value(Cursor& in, CallSink& out) {
    for (;;) {
      const size_t tag = search(in, d_.key_begin, scan_);
      const size_t kind = tag + d_.key_begin.size();
      if (tag == std::string_view::npos || kind >= in.text.size()) {
        if (tag != std::string_view::npos) scan_ = tag;
        return Read::more;
      }
      if (in.text[kind] != '/') {
        ++depth_;
        scan_ = kind;
        continue;
      }
      if (depth_ > 0) {
        --depth_;
        scan_ = kind;
        continue;
      }
      const std::string closing = format("/{}{}", key_, d_.key_end);
      const Match closed = in.match_at(kind, closing);
      scan_ = tag;
      if (closed == Match::maybe) return Read::more;
      if (closed == Match::no) return failed("the value does not end");
      return end_value(in, out, tag, kind + closing.size());
    }
  }

  Read end_value(Cursor& in, CallSink& out, size_t end, size_t after) {
    std::string json = n_arguments_++ == 0 ? "{" : ", ";
    append_quoted(json, key_);
    json += ": ";
    NestedValue value(d_, in.text.substr(in.at, end - in.at));
    if (!value.write(schemas_.place(name_, key_), json) || !value.over())
      return failed("tags that do not match");
    out.arguments(json);
    in.at = scan_ = after;
    at_ = At::arguments;
    return Read::done;
  }

  const Dialect& d_;
  const ToolSchemas& schemas_;
  At at_ = At::between;
  CallHead head_;
  std::string name_, key_;
  int64_t depth_ = 0;
  size_t scan_ = 0;
  int64_t n_arguments_ = 0;
};

}  // namespace

std::unique_ptr<CallReader> make_nested_calls(const Dialect& dialect, const ToolSchemas& schemas) {
  return std::make_unique<NestedCalls>(dialect, schemas);
}

}  // namespace ingle::text
