// The filters, tests, methods, functions and operators that templates may use. To add a filter: write it in
// one of the filters_*.cpp files and add a line to its table.
#pragma once
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>

#include "text/template/interp.h"

namespace ingle::text::jinja {

struct FilterRow {
  std::string_view name;
  FilterFn fn;
};
struct TestRow {
  std::string_view name;
  TestFn fn;
};

// Null when there is none.
FilterFn find_filter(std::string_view name);
TestFn find_test(std::string_view name);
NativeFn find_global(std::string_view name);
// Jinja has it, whether or not it is held here.
bool is_known_filter(std::string_view name);
bool is_known_test(std::string_view name);

std::span<const FilterRow> text_filters();      // filters_text.cpp
std::span<const FilterRow> sequence_filters();  // filters_sequence.cpp
std::span<const FilterRow> select_filters();    // filters_select.cpp

// A method or attribute of a plain value. Undefined when there is none; raises for what the sandbox refuses.
Value find_method(Interp& in, const Value& self, std::string_view name);
Value loop_attr(Interp& in, const Value& loop, std::string_view name);
// methods_text.cpp: a method of str
NativeFn find_text_method(std::string_view name);
// utf8.h's strip, paid for; `chars` is a string, or null for white space.
std::string_view strip_charged(Interp& in, std::string_view text, const Value* chars, bool left, bool right);

// Named arguments of a builtin, matched to positions. An absent one is null.
class Bound {
 public:
  Bound(std::string_view function, const Args& args, std::initializer_list<std::string_view> names,
        size_t required = 0);
  const Value* operator[](size_t i) const { return values_[i]; }
  bool has(size_t i) const { return values_[i] != nullptr; }
  Value get(size_t i, Value fallback) const { return values_[i] ? *values_[i] : std::move(fallback); }
  bool flag(size_t i, bool fallback) const { return values_[i] ? truthy(*values_[i]) : fallback; }
  int64_t integer(size_t i, int64_t fallback) const;
  std::string_view str(size_t i, std::string_view fallback) const;

 private:
  std::string_view function_;
  std::vector<const Value*> values_;
};
int64_t need_integer(const Value& v);
const std::string& need_text(const Value& v);  // raises unless it is a string

// ops.cpp
Value arithmetic(Interp& in, Op op, const Value& a, const Value& b);
Value negated(const Value& v);
Value slice(Interp& in, const Value& object, const Value& start, const Value& stop, const Value& step);

// json.cpp
struct JsonStyle {
  bool ensure_ascii = false, sort_keys = false;
  std::optional<std::string> indent;
  std::string item_separator = ", ", key_separator = ": ";
};
void write_json(Sink& out, const Value& v, const JsonStyle& style);
// The members of an object, in order; `user`: their texts are a user's. Throws Failure.
std::vector<std::pair<std::string, Value>> parse_json_object(std::string_view text, bool user = false);

// format_text.cpp
std::string percent_format(Interp& in, std::string_view pattern, const Value& arg);
std::string brace_format(Interp& in, std::string_view pattern, const Args& args);
std::string strftime_utc(int64_t unix_seconds, std::string_view pattern);
std::string escape_html(std::string_view text);

}  // namespace ingle::text::jinja
