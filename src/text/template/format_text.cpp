// Python's two ways of formatting text, strftime and HTML escapes.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>

#include "text/template/library.h"
#include "text/template/utf8.h"

namespace ingle::text::jinja {
namespace {

struct Spec {
  std::string fill = std::string(1, ' ');
  char align = '\0', sign = '\0', type = '\0';
  bool alternate = false, comma = false;
  int64_t width = 0, precision = -1;
};

constexpr int64_t kMaxPrecision = 300;

std::string fixed_or_scientific(double d, char type, int64_t precision, bool alternate) {
  if (!std::isfinite(d)) return std::isnan(d) ? "nan" : "inf";
  if (precision > kMaxPrecision) refuse("a precision above 300 is not supported");
  const int digits = precision < 0 ? 6 : static_cast<int>(precision);
  if (alternate) refuse("the # flag on a float is not supported");
  if (type == 'e') return format("{:.{}e}", d, digits);
  if (type == 'f') return format("{:.{}f}", d, digits);
  return format("{:.{}g}", d, std::max(digits, 1));
}

std::string in_base(uint64_t v, int base, bool upper) {
  char buffer[70];
  const auto made = std::to_chars(buffer, buffer + sizeof buffer, v, base);
  std::string out(buffer, made.ptr);
  return upper ? change_case(out, CaseRule::upper) : out;
}

std::string with_commas(std::string digits) {
  const size_t end = std::min(digits.find_first_not_of("0123456789"), digits.size());
  for (size_t i = end; i > 3;) digits.insert(i -= 3, 1, ',');
  return digits;
}

// Sign, digits and padding of a number whose magnitude is written out.
void pad_number(Sink& out, std::string digits, bool negative, std::string_view prefix, const Spec& spec) {
  if (spec.comma) digits = with_commas(std::move(digits));
  std::string head;
  if (negative || spec.sign) head += negative ? '-' : spec.sign;
  head += prefix;
  const int64_t pad = spec.width - static_cast<int64_t>(head.size() + digits.size());
  const char align = spec.align ? spec.align : '>';
  const int64_t before = align == '>' ? pad : align == '^' ? pad / 2 : 0;
  out.repeat(spec.fill, before);
  out.add(head);
  if (align == '=') out.repeat(spec.fill, pad);
  out.add(digits);
  if (align == '<' || align == '^') out.repeat(spec.fill, pad - before);
}

void pad_text(Sink& out, std::string_view s, const Spec& spec) {
  if (spec.precision >= 0) s = s.substr(0, offset_of(s, static_cast<size_t>(spec.precision)));
  const int64_t pad = std::max<int64_t>(spec.width - static_cast<int64_t>(count_code_points(s)), 0);
  const int64_t before = spec.align == '>' ? pad : spec.align == '^' ? pad / 2 : 0;
  out.repeat(spec.fill, before);
  out.add(s);
  out.repeat(spec.fill, pad - before);
}

uint64_t magnitude(int64_t i) { return i < 0 ? ~static_cast<uint64_t>(i) + 1 : static_cast<uint64_t>(i); }

void write_integer(Sink& out, int64_t i, const Spec& spec) {
  const char type = spec.type ? spec.type : 'd';
  if (type == 'c') {
    if (i < 0 || i > 0x10FFFF || (i >= 0xD800 && i < 0xE000)) raise("%c arg not in range(0x110000)");
    std::string c;
    append_code_point(c, static_cast<uint32_t>(i));
    return pad_text(out, c, spec);
  }
  const int base = type == 'x' || type == 'X' ? 16 : type == 'o' ? 8 : type == 'b' ? 2 : 10;
  std::string digits = in_base(magnitude(i), base, type == 'X');
  if (spec.precision > kMaxPrecision) refuse("a precision above 300 is not supported");
  if (spec.precision > static_cast<int64_t>(digits.size()))
    digits.insert(0, static_cast<size_t>(spec.precision) - digits.size(), '0');
  const std::string prefix = spec.alternate && base != 10 ? std::string{'0', type} : std::string();
  pad_number(out, digits, i < 0, prefix, spec);
}

void write_real(Sink& out, double d, const Spec& spec) {
  const char type = static_cast<char>(spec.type | 32);
  std::string digits =
      fixed_or_scientific(std::abs(d), type == '%' ? 'f' : type, spec.precision, spec.alternate);
  if (spec.type >= 'A' && spec.type <= 'Z') digits = change_case(digits, CaseRule::upper);
  pad_number(out, digits, std::signbit(d) && !std::isnan(d), "", spec);
}

int64_t read_number(std::string_view s, size_t& at) {
  int64_t n = 0;
  for (; at < s.size() && s[at] >= '0' && s[at] <= '9'; ++at) {
    n = n * 10 + (s[at] - '0');
    if (n > 100'000'000) refuse("a width above 100000000 is not supported");
  }
  return n;
}

// The flags, width and precision after a %.
Spec percent_spec(std::string_view s, size_t& at) {
  Spec spec;
  for (; at < s.size() && std::string_view("#0- +").find(s[at]) != std::string_view::npos; ++at) {
    if (s[at] == '#') spec.alternate = true;
    if (s[at] == '-') spec.align = '<';
    if (s[at] == '0' && spec.align != '<') spec.align = '=';
    if (s[at] == '+' || (s[at] == ' ' && !spec.sign)) spec.sign = s[at];
  }
  if (at < s.size() && s[at] == '*') refuse("a width of * is not supported");
  spec.width = read_number(s, at);
  if (at < s.size() && s[at] == '.') spec.precision = read_number(s, ++at);
  if (spec.align == '=') spec.fill.assign(1, '0');
  while (at < s.size() && (s[at] == 'l' || s[at] == 'h' || s[at] == 'L')) ++at;
  if (at >= s.size()) raise("incomplete format");
  spec.type = s[at++];
  return spec;
}

void write_percent(Sink& out, const Value& v, Spec spec) {
  switch (spec.type) {
    case 's':
    case 'r':
    case 'a': {
      Sink text(out.heap());
      spec.type == 's' ? write_text(text, v) : write_repr(text, v);
      spec.fill.assign(1, ' ');
      if (spec.align != '<') spec.align = '>';
      return pad_text(out, text.text(), spec);
    }
    case 'd':
    case 'i':
    case 'u':
      spec.type = 'd';
      [[fallthrough]];
    case 'x':
    case 'X':
    case 'o':
    case 'c':
      if (v.is(Kind::floating) && spec.type == 'd') {
        if (!(std::abs(v.as_real()) < 9.2e18)) refuse("an integer does not fit 64 bits");
        return write_integer(out, static_cast<int64_t>(v.as_real()), spec);
      }
      if (spec.type == 'c' && v.is(Kind::string) && length(v) == 1) return pad_text(out, v.text(), spec);
      if (!v.is_integral())
        raise(format("%{} format: a number is required, not {}", std::string(1, spec.type), type_name(v)));
      return write_integer(out, v.as_int(), spec);
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G':
      if (!v.is_number()) raise(format("must be real number, not {}", type_name(v)));
      return write_real(out, v.as_real(), spec);
    default:
      raise(format("unsupported format character '{}'", std::string(1, spec.type)));
  }
}

}  // namespace

std::string percent_format(Interp& in, std::string_view pattern, const Value& arg) {
  const bool tuple = arg.is(Kind::list) && arg.as_seq().flavor == Flavor::tuple;
  const std::span<const Value> values =
      tuple ? std::span<const Value>(arg.as_seq().items) : std::span<const Value>(&arg, 1);
  size_t used = 0;
  bool named = false;
  Sink out(in.heap());
  in.heap().walked(pattern.size());
  for (size_t at = 0; at < pattern.size();) {
    in.heap().spend(1);
    const size_t percent = std::min(pattern.find('%', at), pattern.size());
    out.add(pattern.substr(at, percent - at));
    at = percent + 1;
    if (percent >= pattern.size()) break;
    if (at < pattern.size() && pattern[at] == '%') {
      out.add('%');
      ++at;
      continue;
    }
    const Value* value = nullptr;
    if (at < pattern.size() && pattern[at] == '(') {
      const size_t close = pattern.find(')', at);
      if (close == pattern.npos) raise("incomplete format key");
      if (!arg.is(Kind::dict)) raise("format requires a mapping");
      value = arg.as_map().find(pattern.substr(at + 1, close - at - 1));
      if (!value) raise(format("no value named '{}' to format", pattern.substr(at + 1, close - at - 1)));
      at = close + 1;
      named = true;
    }
    const Spec spec = percent_spec(pattern, at);
    if (!value && used >= values.size()) raise("not enough arguments for format string");
    write_percent(out, value ? *value : values[used++], spec);
  }
  if (!named && used < values.size() && !arg.is(Kind::dict))
    raise("not all arguments converted during string formatting");
  return out.take();
}

namespace {

Spec brace_spec(std::string_view s) {
  Spec spec;
  size_t at = 0;
  const auto is_align = [](char c) { return c == '<' || c == '>' || c == '^' || c == '='; };
  if (!s.empty()) {
    const size_t first = code_point_at(s, 0).size;
    if (first < s.size() && is_align(s[first])) {
      spec.fill = std::string(s.substr(0, first));
      spec.align = s[first];
      at = first + 1;
    } else if (is_align(s[0])) {
      spec.align = s[at++];
    }
  }
  if (at < s.size() && (s[at] == '+' || s[at] == '-' || s[at] == ' ')) spec.sign = s[at++];
  if (at < s.size() && s[at] == '#') spec.alternate = true, ++at;
  if (at < s.size() && s[at] == '0') {
    ++at;
    if (!spec.align) spec.align = '=', spec.fill.assign(1, '0');
  }
  spec.width = read_number(s, at);
  if (at < s.size() && s[at] == ',') spec.comma = true, ++at;
  if (at < s.size() && s[at] == '.') spec.precision = read_number(s, ++at);
  if (at < s.size()) spec.type = s[at++];
  if (at < s.size()) raise("invalid format specifier");
  return spec;
}

void write_braced(Sink& out, const Value& v, char conversion, std::string_view written) {
  if (conversion) {
    Sink text(out.heap());
    conversion == 's' ? write_text(text, v) : write_repr(text, v);
    return pad_text(out, text.text(), brace_spec(written));
  }
  if (written.empty()) return write_text(out, v);
  Spec spec = brace_spec(written);
  if (v.is(Kind::string) && (spec.type == '\0' || spec.type == 's')) return pad_text(out, v.text(), spec);
  const std::string_view real_types = "eEfFgG%";
  if (v.is_number() && spec.type && real_types.find(spec.type) != real_types.npos) {
    if (spec.type != '%') return write_real(out, v.as_real(), spec);
    spec.type = 'f';
    const int64_t precision = spec.precision < 0 ? 6 : spec.precision;
    const double d = v.as_real() * 100;
    const std::string digits = fixed_or_scientific(std::abs(d), 'f', precision, spec.alternate) + "%";
    return pad_number(out, digits, std::signbit(d), "", spec);
  }
  if (v.is_integral() &&
      (!spec.type || std::string_view("dxXobc").find(spec.type) != std::string_view::npos)) {
    if (spec.precision >= 0) raise("precision not allowed in integer format specifier");
    return write_integer(out, v.as_int(), spec);
  }
  if (v.is(Kind::floating) && !spec.type && spec.precision < 0) {
    std::string digits = real_to_text(std::abs(v.as_real()));
    return pad_number(out, std::move(digits), std::signbit(v.as_real()), "", spec);
  }
  raise(format("the format '{}' does not fit a value of type '{}'", written, type_name(v)));
}

struct Field {
  std::string_view name, spec;
  char conversion = '\0';
};

// What stands between { and }.
Field read_field(std::string_view inside) {
  Field field;
  const size_t colon = std::min(inside.find(':'), inside.size());
  field.name = inside.substr(0, colon);
  field.spec = colon < inside.size() ? inside.substr(colon + 1) : "";
  if (const size_t bang = field.name.find('!'); bang != field.name.npos) {
    if (bang + 2 != field.name.size()) raise("expected one conversion character after '!'");
    field.conversion = field.name[bang + 1];
    if (std::string_view("sra").find(field.conversion) == std::string_view::npos) raise("unknown conversion");
    field.name = field.name.substr(0, bang);
  }
  if (field.spec.find('{') != field.spec.npos) refuse("nested fields in a format are not supported");
  return field;
}

bool all_digits(std::string_view s) {
  return !s.empty() && s.size() < 9 && s.find_first_not_of("0123456789") == s.npos;
}

Value lookup_field(Interp& in, std::string_view name, const Args& args, size_t& next) {
  size_t at = std::min(name.find_first_of(".["), name.size());
  const std::string_view head = name.substr(0, at);
  Value v;
  if (head.empty() || all_digits(head)) {
    const size_t i = head.empty() ? next++ : static_cast<size_t>(std::stoi(std::string(head)));
    if (i >= args.pos.size()) raise("replacement index out of range for positional arguments");
    v = args.pos[i];
  } else {
    const auto found =
        std::find_if(args.kw.begin(), args.kw.end(), [&](const auto& kw) { return kw.first == head; });
    if (found == args.kw.end()) raise(format("no value named '{}' to format", head));
    v = found->second;
  }
  while (at < name.size()) {
    in.heap().spend(1);
    if (name[at] == '.') {
      const size_t end = std::min(name.find_first_of(".[", at + 1), name.size());
      v = in.get_attr(v, std::string(name.substr(at + 1, end - at - 1)));
      at = end;
    } else {
      const size_t end = name.find(']', at);
      if (name[at] != '[' || end == name.npos) raise("expected ']' in a format");
      const std::string_view key = name.substr(at + 1, end - at - 1);
      v = in.get_item(
          v, all_digits(key) ? Value::integer(std::stoi(std::string(key))) : in.text(std::string(key)));
      at = end + 1;
    }
  }
  return v;
}

}  // namespace

std::string brace_format(Interp& in, std::string_view pattern, const Args& args) {
  Sink out(in.heap());
  in.heap().walked(pattern.size());
  size_t next = 0;
  for (size_t at = 0; at < pattern.size();) {
    const size_t brace = std::min(pattern.find_first_of("{}", at), pattern.size());
    out.add(pattern.substr(at, brace - at));
    at = brace;
    if (brace >= pattern.size()) break;
    if (at + 1 < pattern.size() && pattern[at + 1] == pattern[at]) {
      out.add(pattern[at]);
      at += 2;
      continue;
    }
    const size_t close = pattern.find('}', at);
    if (pattern[at] == '}' || close == pattern.npos)
      raise(format("single '{}' in a format", pattern.substr(at, 1)));
    const Field field = read_field(pattern.substr(at + 1, close - at - 1));
    in.heap().spend(1);
    write_braced(out, lookup_field(in, field.name, args, next), field.conversion, field.spec);
    at = close + 1;
  }
  return out.take();
}

std::string escape_html(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&#34;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

namespace {

constexpr std::string_view kMonths[] = {"January",   "February", "March",    "April",
                                        "May",       "June",     "July",     "August",
                                        "September", "October",  "November", "December"};
constexpr std::string_view kDays[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                      "Thursday", "Friday", "Saturday"};

struct Moment {
  int64_t year, month, day, hour, minute, second, weekday, day_of_year;  // weekday from Sunday; days from 1
};

Moment moment_of(int64_t unix_seconds) {
  using namespace std::chrono;
  // Beyond these years a day does not fit std::chrono::year.
  if (unix_seconds < -62'135'596'800 || unix_seconds > 253'402'300'799)
    refuse("the time is outside the years 1 to 9999");
  const sys_seconds t{seconds{unix_seconds}};
  const auto midnight = floor<days>(t);
  const year_month_day date{midnight};
  const hh_mm_ss clock{t - midnight};
  const auto new_year = sys_days{date.year() / January / 1};
  return {int{date.year()},
          static_cast<int64_t>(unsigned{date.month()}),
          static_cast<int64_t>(unsigned{date.day()}),
          clock.hours().count(),
          clock.minutes().count(),
          clock.seconds().count(),
          static_cast<int64_t>(weekday{midnight}.c_encoding()),
          (midnight - new_year).count() + 1};
}

std::string number(int64_t v, size_t width, char pad) {
  std::string s = std::to_string(v);
  if (pad && s.size() < width) s.insert(0, width - s.size(), pad);
  return s;
}

// One conversion. `flag` is '-' for no padding, '_' for blanks, '0', '^', or nothing.
std::string conversion(const Moment& m, char c, char flag) {
  const auto padded = [&](int64_t v, size_t width, char pad = '0') {
    return number(v, width, flag == '-' ? '\0' : flag == '_' ? ' ' : flag == '0' ? '0' : pad);
  };
  const int64_t hour12 = m.hour % 12 == 0 ? 12 : m.hour % 12;
  switch (c) {
    case 'Y':
      return padded(m.year, 0);
    case 'C':
      return padded(m.year / 100, 2);
    case 'y':
      return padded(m.year % 100, 2);
    case 'm':
      return padded(m.month, 2);
    case 'd':
      return padded(m.day, 2);
    case 'e':
      return padded(m.day, 2, ' ');
    case 'H':
      return padded(m.hour, 2);
    case 'k':
      return padded(m.hour, 2, ' ');
    case 'I':
      return padded(hour12, 2);
    case 'l':
      return padded(hour12, 2, ' ');
    case 'M':
      return padded(m.minute, 2);
    case 'S':
      return padded(m.second, 2);
    case 'f':
      return "000000";
    case 'j':
      return padded(m.day_of_year, 3);
    case 'u':
      return padded(m.weekday == 0 ? 7 : m.weekday, 1);
    case 'w':
      return padded(m.weekday, 1);
    case 'U':
      return padded((m.day_of_year + 6 - m.weekday) / 7, 2);
    case 'W':
      return padded((m.day_of_year + 6 - (m.weekday + 6) % 7) / 7, 2);
    case 'B':
      return std::string(kMonths[m.month - 1]);
    case 'b':
    case 'h':
      return std::string(kMonths[m.month - 1].substr(0, 3));
    case 'A':
      return std::string(kDays[m.weekday]);
    case 'a':
      return std::string(kDays[m.weekday].substr(0, 3));
    case 'p':
      return m.hour < 12 ? "AM" : "PM";
    case 'P':
      return m.hour < 12 ? "am" : "pm";
    case 'z':
    case 'Z':
      return "";
    case 'n':
      return "\n";
    case 't':
      return "\t";
    case '%':
      return "%";
    default:
      refuse(format("the conversion %{} of strftime is not supported", std::string(1, c)));
  }
}

std::string_view composite(char c) {
  switch (c) {
    case 'F':
      return "%Y-%m-%d";
    case 'D':
    case 'x':
      return "%m/%d/%y";
    case 'T':
    case 'X':
      return "%H:%M:%S";
    case 'R':
      return "%H:%M";
    case 'r':
      return "%I:%M:%S %p";
    case 'c':
      return "%a %b %e %H:%M:%S %Y";
    default:
      return {};
  }
}

void append_time(std::string& out, const Moment& m, std::string_view pattern) {
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%' || i + 1 == pattern.size()) {
      out += pattern[i];
      continue;
    }
    char c = pattern[++i], flag = '\0';
    if (std::string_view("-_0^").find(c) != std::string_view::npos && i + 1 < pattern.size()) {
      flag = c;
      c = pattern[++i];
    }
    if (const std::string_view longer = composite(c); !longer.empty()) {
      append_time(out, m, longer);  // once: these hold no composite
    } else {
      const std::string piece = conversion(m, c, flag);
      out += flag == '^' ? change_case(piece, CaseRule::upper) : piece;
    }
  }
}

}  // namespace

std::string strftime_utc(int64_t unix_seconds, std::string_view pattern) {
  const Moment m = moment_of(unix_seconds);
  if (pattern.size() > 4096) refuse("a strftime pattern above 4096 bytes is not supported");
  std::string out;
  append_time(out, m, pattern);
  return out;
}

}  // namespace ingle::text::jinja
