// The methods of str.
#include <algorithm>

#include "text/template/library.h"
#include "text/template/utf8.h"

namespace ingle::text::jinja {
namespace {

template <CaseRule rule>
Value cased(Interp& in, const Value& self, const Args& args) {
  const Bound bound("this method", args, {});
  in.heap().walked(self.text().size());
  return in.text(change_case(self.text(), rule), self.as_str().markup);
}

template <bool left, bool right>
Value stripped(Interp& in, const Value& self, const Args& args) {
  const Bound bound("strip", args, {"chars"});
  const bool given = bound.has(0) && !bound[0]->is(Kind::none);
  return in.part(self.as_str(), strip_charged(in, self.text(), given ? bound[0] : nullptr, left, right),
                 self.as_str().markup);
}

// The part of the text that optional start and end arguments name, and where it begins in code points.
struct Window {
  std::string_view text;
  int64_t start = 0;
};
std::optional<Window> window(Interp& in, const Value& self, const Bound& bound, size_t at) {
  if (!bound.has(at) && !bound.has(at + 1)) return Window{self.text(), 0};
  in.heap().walked(self.text().size());
  const int64_t n = length(self);
  const auto clamp = [&](size_t i, int64_t fallback) {
    if (!bound.has(i) || bound[i]->is(Kind::none)) return fallback;
    const int64_t v = bound.integer(i, 0);
    return v < 0 ? std::max<int64_t>(v < -n ? 0 : v + n, 0) : v;
  };
  const int64_t start = clamp(at, 0), end = std::min(clamp(at + 1, n), n);
  if (start > n) return std::nullopt;
  const size_t from = offset_of(self.text(), static_cast<size_t>(start));
  const size_t to = offset_of(self.text(), static_cast<size_t>(std::max(end, start)));
  return end < start ? std::nullopt
                     : std::optional(Window{std::string_view(self.text()).substr(from, to - from), start});
}

template <bool at_start>
Value has_affix(Interp& in, const Value& self, const Args& args) {
  const Bound bound("startswith and endswith", args, {"prefix", "start", "end"}, 1);
  const auto part = window(in, self, bound, 1);
  const auto holds = [&](const Value& affix) {
    const std::string& s = need_text(affix);
    return part && (at_start ? part->text.starts_with(s) : part->text.ends_with(s));
  };
  if (!bound[0]->is(Kind::list) || bound[0]->as_seq().flavor != Flavor::tuple)
    return Value::boolean(holds(*bound[0]));
  const auto& any = bound[0]->as_seq().items;
  return Value::boolean(std::any_of(any.begin(), any.end(), holds));
}

template <bool from_end, bool must>
Value find(Interp& in, const Value& self, const Args& args) {
  const Bound bound("find", args, {"sub", "start", "end"}, 1);
  const auto part = window(in, self, bound, 1);
  const std::string& sub = need_text(*bound[0]);
  in.heap().searched(self.text().size(), sub.size());
  const size_t at = !part ? std::string::npos : from_end ? part->text.rfind(sub) : part->text.find(sub);
  if (at != std::string::npos) {
    return Value::integer(part->start + static_cast<int64_t>(count_code_points(part->text.substr(0, at))));
  }
  if (must) raise("substring not found");
  return Value::integer(-1);
}

Value count(Interp& in, const Value& self, const Args& args) {
  const Bound bound("count", args, {"sub", "start", "end"}, 1);
  const auto part = window(in, self, bound, 1);
  const std::string& sub = need_text(*bound[0]);
  in.heap().searched(self.text().size(), sub.size());
  if (!part) return Value::integer(0);
  if (sub.empty()) return Value::integer(static_cast<int64_t>(count_code_points(part->text)) + 1);
  int64_t n = 0;
  for (size_t at = part->text.find(sub); at != part->text.npos; at = part->text.find(sub, at + sub.size()))
    ++n;
  return Value::integer(n);
}

Value replace(Interp& in, const Value& self, const Args& args) {
  const Bound bound("replace", args, {"old", "new", "count"}, 2);
  const std::string &s = self.text(), &from = need_text(*bound[0]), &to = need_text(*bound[1]);
  int64_t left = bound.integer(2, -1);
  Sink out(in.heap());
  in.heap().searched(s.size(), from.size());
  size_t at = 0;
  for (; left != 0; --left) {
    const size_t found = from.empty() ? at : s.find(from, at);
    if (found == std::string::npos) break;
    in.heap().spend(1);
    out.add(std::string_view(s).substr(at, found - at), self.as_str().marks, at);
    out.add(to, bound[1]->as_str().marks);
    at = found + from.size();
    if (!from.empty()) continue;
    if (at >= s.size()) return in.text(out, self.as_str().markup);
    const size_t size = code_point_at(s, at).size;  // an empty `old` stands between all characters
    out.add(std::string_view(s).substr(at, size), self.as_str().marks, at);
    at += size;
  }
  out.add(std::string_view(s).substr(at), self.as_str().marks, at);
  return in.text(out, self.as_str().markup);
}

template <bool prefix>
Value without_affix(Interp& in, const Value& self, const Args& args) {
  const Bound bound("removeprefix and removesuffix", args, {"affix"}, 1);
  std::string_view s = self.text();
  const std::string& affix = need_text(*bound[0]);
  if (prefix && s.starts_with(affix)) s.remove_prefix(affix.size());
  if (!prefix && s.ends_with(affix)) s.remove_suffix(affix.size());
  return in.part(self.as_str(), s, self.as_str().markup);
}

// Pieces between runs of white space.
std::vector<std::string_view> split_space(std::string_view s, int64_t most) {
  std::vector<std::string_view> out;
  for (s = strip(s, nullptr, true, false); !s.empty(); s = strip(s, nullptr, true, false)) {
    size_t end = 0;
    while (end < s.size() && !is_space(code_point_at(s, end).value)) end += code_point_at(s, end).size;
    if (most-- == 0) end = s.size();
    out.push_back(s.substr(0, end));
    s = s.substr(end);
  }
  return out;
}

// The same, counted from the end.
std::vector<std::string_view> rsplit_space(std::string_view s, int64_t most) {
  std::vector<std::string_view> out;
  for (s = strip(s, nullptr, false, true); !s.empty(); s = strip(s, nullptr, false, true)) {
    size_t begin = s.size();
    while (begin > 0) {
      const size_t before = offset_before(s, begin);
      if (is_space(code_point_at(s, before).value)) break;
      begin = before;
    }
    if (most-- == 0) begin = 0;
    out.push_back(s.substr(begin));
    s = s.substr(0, begin);
  }
  std::reverse(out.begin(), out.end());
  return out;
}

std::vector<std::string_view> split_at(std::string_view s, std::string_view separator, int64_t most,
                                       bool from_end) {
  std::vector<std::string_view> out;
  while (most-- != 0) {
    const size_t at = from_end ? s.rfind(separator) : s.find(separator);
    if (at == s.npos) break;
    out.push_back(from_end ? s.substr(at + separator.size()) : s.substr(0, at));
    s = from_end ? s.substr(0, at) : s.substr(at + separator.size());
  }
  out.push_back(s);
  if (from_end) std::reverse(out.begin(), out.end());
  return out;
}

Value texts(Interp& in, const Str& of, const std::vector<std::string_view>& pieces) {
  std::vector<Value> out;
  out.reserve(pieces.size());
  for (const std::string_view piece : pieces) out.push_back(in.part(of, piece, of.markup));
  return in.list(std::move(out));
}

template <bool from_end>
Value split(Interp& in, const Value& self, const Args& args) {
  const Bound bound("split", args, {"sep", "maxsplit"});
  const int64_t most = bound.integer(1, -1);
  const Str& of = self.as_str();
  if (!bound.has(0) || bound[0]->is(Kind::none)) {
    in.heap().walked(self.text().size());
    return texts(in, of, from_end ? rsplit_space(of.text, most) : split_space(of.text, most));
  }
  const std::string_view separator = bound.str(0, "");
  if (separator.empty()) raise("empty separator");
  in.heap().searched(self.text().size(), separator.size());
  return texts(in, of, split_at(of.text, separator, most, from_end));
}

template <bool from_end>
Value partition(Interp& in, const Value& self, const Args& args) {
  const Bound bound("partition", args, {"sep"}, 1);
  const std::string_view s = self.text(), separator = bound.str(0, "");
  if (separator.empty()) raise("empty separator");
  in.heap().searched(self.text().size(), separator.size());
  const size_t at = from_end ? s.rfind(separator) : s.find(separator);
  std::vector<Value> out;
  const auto piece = [&](std::string_view p) { out.push_back(in.part(self.as_str(), p)); };
  if (at == s.npos) {
    const std::string_view none = s.substr(0, 0);
    from_end ? (piece(none), piece(none), piece(s)) : (piece(s), piece(none), piece(none));
  } else {
    piece(s.substr(0, at)), piece(s.substr(at, separator.size())), piece(s.substr(at + separator.size()));
  }
  return in.list(std::move(out), Flavor::tuple);
}

bool is_line_end(uint32_t c) {
  return (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 || c == 0x2029;
}

Value split_lines(Interp& in, const Value& self, const Args& args) {
  const Bound bound("splitlines", args, {"keepends"});
  const std::string_view s = self.text();
  in.heap().walked(s.size());
  std::vector<std::string_view> out;
  size_t begin = 0;
  for (size_t i = 0; i < s.size();) {
    const CodePoint c = code_point_at(s, i);
    size_t end = i + c.size;
    if (is_line_end(c.value)) {
      if (c.value == '\r' && end < s.size() && s[end] == '\n') ++end;
      out.push_back(s.substr(begin, (bound.flag(0, false) ? end : i) - begin));
      begin = end;
    }
    i = end;
  }
  if (begin < s.size()) out.push_back(s.substr(begin));
  return texts(in, self.as_str(), out);
}

Value join(Interp& in, const Value& self, const Args& args) {
  const Bound bound("join", args, {"iterable"}, 1);
  const Value items = iterate(in.heap(), *bound[0]);
  Sink out(in.heap());
  bool later = false;
  for (const Value& item : items.as_seq().items) {
    in.heap().spend(1);
    if (later) out.add(self.text(), self.as_str().marks);
    later = true;
    const std::string& text = need_text(item);  // before its marks are looked at: it may be no text
    out.add(text, item.as_str().marks);
  }
  return in.text(out);
}

enum class Align : uint8_t { left, right, center, zero };

template <Align align>
Value padded(Interp& in, const Value& self, const Args& args) {
  const Bound bound("padding", args, {"width", "fillchar"}, 1);
  const int64_t n = length(self), width = bound.integer(0, 0), pad = std::max<int64_t>(width - n, 0);
  std::string_view fill = align == Align::zero ? "0" : bound.str(1, " "), s = self.text();
  if (count_code_points(fill) != 1) raise("the fill character must be exactly one character long");
  const int64_t left = align == Align::left ? 0 : align == Align::center ? pad / 2 + (pad & width & 1) : pad;
  Sink out(in.heap());
  if (align == Align::zero && pad > 0 && (s.starts_with("+") || s.starts_with("-"))) {
    out.add(s[0]);
    s.remove_prefix(1);
  }
  out.repeat(fill, left);
  out.add(s);
  out.repeat(fill, pad - left);
  return in.text(out.take());
}

template <bool (*holds)(uint32_t)>
Value all_are(Interp& in, const Value& self, const Args&) {
  const std::string& s = self.text();
  in.heap().walked(s.size());
  for (size_t i = 0; i < s.size();) {
    const CodePoint c = code_point_at(s, i);
    if (!holds(c.value)) return Value::boolean(false);
    i += c.size;
  }
  return Value::boolean(!s.empty());
}

bool is_alnum(uint32_t c) { return is_alpha(c) || is_numeric(c); }

template <bool upper>
Value all_cased(Interp& in, const Value& self, const Args&) {
  in.heap().walked(self.text().size());
  return Value::boolean(has_case(self.text(), upper));
}

Value is_ascii_method(Interp&, const Value& self, const Args&) { return Value::boolean(self.as_str().ascii); }

Value brace_format_method(Interp& in, const Value& self, const Args& args) {
  return in.text(brace_format(in, self.text(), args));
}

[[noreturn]] Value not_held(Interp&, const Value&, const Args&) {
  refuse("this method of str is not supported");
}

struct Row {
  std::string_view name;
  NativeFn fn;
};
constexpr Row kMethods[] = {
    {"upper", cased<CaseRule::upper>},
    {"lower", cased<CaseRule::lower>},
    {"casefold", not_held},
    {"title", cased<CaseRule::title>},
    {"capitalize", cased<CaseRule::capitalize>},
    {"swapcase", cased<CaseRule::swap>},
    {"strip", stripped<true, true>},
    {"lstrip", stripped<true, false>},
    {"rstrip", stripped<false, true>},
    {"startswith", has_affix<true>},
    {"endswith", has_affix<false>},
    {"find", find<false, false>},
    {"rfind", find<true, false>},
    {"index", find<false, true>},
    {"rindex", find<true, true>},
    {"count", count},
    {"replace", replace},
    {"removeprefix", without_affix<true>},
    {"removesuffix", without_affix<false>},
    {"split", split<false>},
    {"rsplit", split<true>},
    {"partition", partition<false>},
    {"rpartition", partition<true>},
    {"splitlines", split_lines},
    {"join", join},
    {"ljust", padded<Align::left>},
    {"rjust", padded<Align::right>},
    {"center", padded<Align::center>},
    {"zfill", padded<Align::zero>},
    {"isspace", all_are<is_space>},
    {"isdigit", all_are<is_digit>},
    {"isdecimal", all_are<is_decimal>},
    {"isnumeric", all_are<is_numeric>},
    {"isalpha", all_are<is_alpha>},
    {"isalnum", all_are<is_alnum>},
    {"islower", all_cased<false>},
    {"isupper", all_cased<true>},
    {"isascii", is_ascii_method},
    {"format", brace_format_method},
    {"format_map", not_held},
    {"encode", not_held},
    {"expandtabs", not_held},
    {"translate", not_held},
    {"maketrans", not_held},
    {"isidentifier", not_held},
    {"isprintable", not_held},
    {"istitle", not_held},
};

}  // namespace

std::string_view strip_charged(Interp& in, std::string_view text, const Value* chars, bool left, bool right) {
  const std::string_view set = chars ? std::string_view(need_text(*chars)) : "";
  // Each character is looked for in the whole set: with a long one, that is paid for in advance.
  const uint64_t each = 1 + set.size() / 4;
  if (set.size() > 64) in.heap().spend(text.size() / 16 * each);
  const std::string_view kept = strip(text, chars ? &set : nullptr, left, right);
  in.heap().spend(1 + (text.size() - kept.size()) / 16 * each);
  return kept;
}

NativeFn find_text_method(std::string_view name) {
  for (const Row& row : kMethods) {
    if (row.name == name) return row.fn;
  }
  return nullptr;
}

}  // namespace ingle::text::jinja
