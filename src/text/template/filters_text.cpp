// Filters on text and numbers.
#include <charconv>
#include <cmath>

#include "text/template/library.h"
#include "text/template/utf8.h"

namespace ingle::text::jinja {
namespace {

template <CaseRule rule>
Value cased(Interp& in, const Value& v, const Args& args) {
  const Bound bound("this filter", args, {});
  if (v.is(Kind::string)) in.heap().walked(v.text().size());
  return in.text(change_case(to_text(in.heap(), v), rule));
}

// Unlike str.title, a word begins after a blank, a dash or an opening bracket only.
Value title(Interp& in, const Value& v, const Args&) {
  const std::string s = to_text(in.heap(), v);
  in.heap().walked(s.size());
  const auto starts_word = [](char c) {
    return is_space(static_cast<unsigned char>(c)) ||
           std::string_view("-({[<").find(c) != std::string_view::npos;
  };
  std::string out;
  for (size_t i = 0; i < s.size();) {
    size_t end = i;
    if (starts_word(s[i])) {
      out += s[i++];
      continue;
    }
    while (end < s.size() && !starts_word(s[end])) ++end;
    const size_t first = code_point_at(s, i).size;
    out += change_case(std::string_view(s).substr(i, first), CaseRule::upper);
    out += change_case(std::string_view(s).substr(i + first, end - i - first), CaseRule::lower);
    i = end;
  }
  return in.text(std::move(out));
}

// The subject as a text, with what is a user's of it.
Value as_text(Interp& in, const Value& v) { return v.is(Kind::string) ? v : in.text(to_text(in.heap(), v)); }

Value string(Interp& in, const Value& v, const Args&) {
  return v.is(Kind::string) ? v : in.text(to_text(in.heap(), v));
}
Value safe(Interp& in, const Value& v, const Args&) { return in.text(to_text(in.heap(), v), true); }
Value escape(Interp& in, const Value& v, const Args&) {
  if (v.is(Kind::string) && v.as_str().markup) return v;
  const std::string s = to_text(in.heap(), v);
  in.heap().walked(s.size());
  return in.text(escape_html(s), true);
}

Value trim(Interp& in, const Value& v, const Args& args) {
  const Bound bound("trim", args, {"chars"});
  const Value s = as_text(in, v);
  in.heap().copied(s.text().size());
  const bool given = bound.has(0) && !bound[0]->is(Kind::none);
  return in.part(s.as_str(), strip_charged(in, s.text(), given ? bound[0] : nullptr, true, true));
}

Value center(Interp& in, const Value& v, const Args& args) {
  const Bound bound("center", args, {"width"});
  const std::string s = to_text(in.heap(), v);
  const int64_t n = static_cast<int64_t>(count_code_points(s)), width = bound.integer(0, 80);
  if (width <= n) return in.text(s);
  const int64_t pad = width - n, left = pad / 2 + (pad & width & 1);
  Sink out(in.heap());
  out.repeat(" ", left);
  out.add(s);
  out.repeat(" ", pad - left);
  return in.text(out.take());
}

Value replace(Interp& in, const Value& v, const Args& args) {
  const Bound bound("replace", args, {"old", "new", "count"}, 2);
  Args forward;
  forward.pos = {as_text(in, *bound[0]), as_text(in, *bound[1])};
  if (bound.has(2) && !bound[2]->is(Kind::none)) forward.pos.push_back(*bound[2]);
  return find_text_method("replace")(in, as_text(in, v), forward);
}

Value indent(Interp& in, const Value& v, const Args& args) {
  const Bound bound("indent", args, {"width", "first", "blank"});
  std::string pad;
  if (bound.has(0) && bound[0]->is(Kind::string)) {
    pad = bound[0]->text();
  } else {
    Sink spaces(in.heap());
    spaces.repeat(" ", bound.integer(0, 4));
    pad = spaces.take();
  }
  const Value lines = find_text_method("splitlines")(in, in.text(need_text(v) + "\n"), Args());
  const auto& items = lines.as_seq().items;
  Sink out(in.heap());
  for (size_t i = 0; i < items.size(); ++i) {
    if (i) out.add('\n');
    const bool indented = i == 0 ? bound.flag(1, false) : bound.flag(2, false) || !items[i].text().empty();
    if (indented) out.add(pad);
    out.add(items[i].text());
  }
  return in.text(out.take(), v.as_str().markup);
}

Value truncate(Interp& in, const Value& v, const Args& args) {
  const Bound bound("truncate", args, {"length", "killwords", "end", "leeway"});
  const std::string& s = need_text(v);
  const std::string end(bound.str(2, "..."));
  const int64_t limit = bound.integer(0, 255),
                leeway = bound.has(3) && !bound[3]->is(Kind::none) ? bound.integer(3, 5) : 5;
  const int64_t n_end = static_cast<int64_t>(count_code_points(end));
  if (limit < n_end || leeway < 0)
    raise("truncate: the length is below that of the ending, or the leeway is negative");
  const int64_t n = length(v);
  if (n <= limit || n - limit <= leeway) return v;
  std::string kept = s.substr(0, offset_of(s, static_cast<size_t>(limit - n_end)));
  if (!bound.flag(1, false)) kept = kept.substr(0, kept.rfind(' '));
  return in.text(kept + end);
}

Value word_count(Interp& in, const Value& v, const Args&) {
  const std::string s = to_text(in.heap(), v);
  in.heap().walked(s.size());
  int64_t n = 0;
  bool inside = false;
  for (size_t i = 0; i < s.size();) {
    const CodePoint c = code_point_at(s, i);
    const bool word = c.value == '_' || is_alpha(c.value) || is_numeric(c.value);
    n += word && !inside;
    inside = word;
    i += c.size;
  }
  return Value::integer(n);
}

Value format_filter(Interp& in, const Value& v, const Args& args) {
  if (!args.kw.empty() && !args.pos.empty()) raise("format: positional and named values cannot be mixed");
  if (args.kw.empty())
    return in.text(percent_format(in, to_text(in.heap(), v), in.list(args.pos, Flavor::tuple)));
  auto named = std::make_shared<Map>();
  for (const auto& [name, value] : args.kw) named->set(in.text(name), value);
  return in.text(percent_format(in, to_text(in.heap(), v), in.map(std::move(named))));
}

Value default_(Interp& in, const Value& v, const Args& args) {
  const Bound bound("default", args, {"default_value", "boolean"});
  const bool replaced = v.is(Kind::undefined) || (bound.flag(1, false) && !truthy(v));
  return replaced ? bound.get(0, in.text("")) : v;
}

std::string without_underscores(std::string_view s) {
  std::string out;
  for (const char c : strip(s, nullptr, true, true)) {
    if (c != '_') out += c;
  }
  return out;
}

std::optional<double> parse_real(std::string_view s) {
  std::string text = without_underscores(s);
  if (text.starts_with("+") && !text.starts_with("+-")) text.erase(0, 1);
  double d = 0;
  const auto got = std::from_chars(text.data(), text.data() + text.size(), d);
  if (got.ec != std::errc() || got.ptr != text.data() + text.size() || text.ends_with(")"))
    return std::nullopt;
  return d;
}

std::optional<int64_t> parse_integer(std::string_view s, int64_t base) {
  std::string text = without_underscores(s);
  const bool minus = text.starts_with("-");
  if (minus || text.starts_with("+")) text.erase(0, 1);
  const std::string_view prefix = base == 16 ? "xX" : base == 8 ? "oO" : base == 2 ? "bB" : "";
  if (text.size() > 2 && text[0] == '0' && prefix.find(text[1]) != prefix.npos) text.erase(0, 2);
  if (text.empty() || text[0] == '-') return std::nullopt;
  int64_t i = 0;
  const auto got = std::from_chars(text.data(), text.data() + text.size(), i, static_cast<int>(base));
  if (got.ptr != text.data() + text.size()) return std::nullopt;
  if (got.ec == std::errc::result_out_of_range) refuse("an integer does not fit 64 bits");
  return minus ? -i : i;
}

Value truncated(double d) {
  if (!(std::abs(d) < 9.2e18)) refuse("an integer does not fit 64 bits");
  return Value::integer(static_cast<int64_t>(d));
}

Value int_(Interp& in, const Value& v, const Args& args) {
  const Bound bound("int", args, {"default", "base"});
  if (v.is(Kind::undefined)) raise(undefined_reason(v));
  if (v.is_integral()) return Value::integer(v.as_int());
  const Value fallback = bound.get(0, Value::integer(0));
  if (v.is(Kind::floating)) return std::isnan(v.as_real()) ? fallback : truncated(v.as_real());
  if (!v.is(Kind::string)) return fallback;
  in.heap().walked(v.text().size());
  const int64_t base = bound.integer(1, 10);
  if (base < 2 || base > 36) raise("int: the base must be from 2 to 36");
  if (const auto i = parse_integer(v.text(), base)) return Value::integer(*i);
  const auto d = parse_real(v.text());
  return d && std::isfinite(*d) ? truncated(*d) : fallback;
}

Value float_(Interp& in, const Value& v, const Args& args) {
  const Bound bound("float", args, {"default"});
  if (v.is(Kind::undefined)) raise(undefined_reason(v));
  if (v.is_number()) return Value::real(v.as_real());
  if (v.is(Kind::string)) {
    in.heap().walked(v.text().size());
    if (const auto d = parse_real(v.text())) return Value::real(*d);
  }
  return bound.get(0, Value::real(0));
}

Value abs_(Interp&, const Value& v, const Args&) {
  if (v.is(Kind::undefined)) raise(undefined_reason(v));
  if (!v.is_number()) raise(format("bad operand type for abs(): '{}'", type_name(v)));
  if (v.is(Kind::floating)) return Value::real(std::abs(v.as_real()));
  return v.as_int() < 0 ? negated(v) : Value::integer(v.as_int());
}

double round_decimal(double d, int64_t precision) {
  if (!std::isfinite(d) || precision > 300) return d;
  const std::string text = format("{:.{}f}", d, precision);
  double out = d;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

Value round_(Interp&, const Value& v, const Args& args) {
  const Bound bound("round", args, {"precision", "method"});
  if (v.is(Kind::undefined)) raise(undefined_reason(v));
  if (!v.is_number()) raise(format("type {} cannot be rounded", type_name(v)));
  const int64_t precision = bound.integer(0, 0);
  const std::string_view method = bound.str(1, "common");
  if (precision < 0) refuse("round with a negative precision is not supported");
  if (method == "common") {
    return v.is_integral() ? Value::integer(v.as_int()) : Value::real(round_decimal(v.as_real(), precision));
  }
  if (method != "ceil" && method != "floor") raise("round: the method must be common, ceil or floor");
  const double scale = std::pow(10.0, static_cast<double>(precision)), scaled = v.as_real() * scale;
  return Value::real((method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / scale);
}

void set_separators(JsonStyle& style, const Value& v) {
  if (!v.is(Kind::list) || v.as_seq().items.size() != 2)
    raise("tojson: separators must be a pair of strings");
  style.item_separator = need_text(v.as_seq().items[0]);
  style.key_separator = need_text(v.as_seq().items[1]);
}

Value to_json(Interp& in, const Value& v, const Args& args) {
  const Bound bound("tojson", args, {"ensure_ascii", "indent", "separators", "sort_keys"});
  JsonStyle style;
  style.ensure_ascii = bound.flag(0, false);
  style.sort_keys = bound.flag(3, false);
  if (bound.has(1) && !bound[1]->is(Kind::none)) {
    if (bound[1]->is(Kind::string)) {
      style.indent = bound[1]->text();
    } else {
      const int64_t n = bound.integer(1, 0);
      if (n > 1000) refuse("tojson: an indent above 1000 is not supported");
      style.indent = std::string(static_cast<size_t>(std::max<int64_t>(n, 0)), ' ');
    }
    style.item_separator.assign(1, ',');
  }
  if (bound.has(2) && !bound[2]->is(Kind::none)) set_separators(style, *bound[2]);
  Sink out(in.heap());
  if (v.is(Kind::undefined)) raise("Object of type Undefined is not JSON serializable");
  write_json(out, v, style);
  return in.text(out);
}

constexpr FilterRow kFilters[] = {
    {"upper", cased<CaseRule::upper>},
    {"lower", cased<CaseRule::lower>},
    {"capitalize", cased<CaseRule::capitalize>},
    {"title", title},
    {"string", string},
    {"safe", safe},
    {"escape", escape},
    {"e", escape},
    {"trim", trim},
    {"center", center},
    {"replace", replace},
    {"indent", indent},
    {"truncate", truncate},
    {"wordcount", word_count},
    {"format", format_filter},
    {"default", default_},
    {"d", default_},
    {"int", int_},
    {"float", float_},
    {"abs", abs_},
    {"round", round_},
    {"tojson", to_json},
};

}  // namespace

std::span<const FilterRow> text_filters() { return kFilters; }

}  // namespace ingle::text::jinja
