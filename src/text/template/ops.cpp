// Operators: Python's arithmetic on 64-bit integers, where passing 64 bits is an error.
#include <cmath>

#include "text/template/library.h"
#include "text/template/utf8.h"

namespace ingle::text::jinja {
namespace {

std::string_view op_text(Op op) {
  switch (op) {
    case Op::add:
      return "+";
    case Op::sub:
      return "-";
    case Op::mul:
      return "*";
    case Op::div:
      return "/";
    case Op::floordiv:
      return "//";
    case Op::mod:
      return "%";
    default:
      return "**";
  }
}

[[noreturn]] void too_large() { refuse("an integer does not fit 64 bits"); }
[[noreturn]] void by_zero() { raise("division by zero"); }

int64_t floor_div(int64_t a, int64_t b) {
  if (b == 0) by_zero();
  if (b == -1) {
    if (a == INT64_MIN) too_large();
    return -a;
  }
  const int64_t q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

int64_t floor_mod(int64_t a, int64_t b) {
  if (b == 0) by_zero();
  if (b == -1) return 0;
  const int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

Value power(int64_t base, int64_t exponent) {
  if (exponent < 0) {
    if (base == 0) by_zero();
    return Value::real(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  }
  int64_t result = 1;
  if (base == 0 || base == 1) return Value::integer(exponent == 0 ? 1 : base);
  if (base == -1) return Value::integer(exponent % 2 ? -1 : 1);
  for (; exponent > 0; --exponent) {  // at most 64 rounds before it overflows
    if (__builtin_mul_overflow(result, base, &result)) too_large();
  }
  return Value::integer(result);
}

Value integers(Op op, int64_t a, int64_t b) {
  int64_t r = 0;
  switch (op) {
    case Op::add:
      if (__builtin_add_overflow(a, b, &r)) too_large();
      return Value::integer(r);
    case Op::sub:
      if (__builtin_sub_overflow(a, b, &r)) too_large();
      return Value::integer(r);
    case Op::mul:
      if (__builtin_mul_overflow(a, b, &r)) too_large();
      return Value::integer(r);
    case Op::div:
      if (b == 0) by_zero();
      return Value::real(static_cast<double>(a) / static_cast<double>(b));
    case Op::floordiv:
      return Value::integer(floor_div(a, b));
    case Op::mod:
      return Value::integer(floor_mod(a, b));
    default:
      return power(a, b);
  }
}

Value reals(Op op, double a, double b) {
  if ((op == Op::div || op == Op::floordiv || op == Op::mod) && b == 0) by_zero();
  switch (op) {
    case Op::add:
      return Value::real(a + b);
    case Op::sub:
      return Value::real(a - b);
    case Op::mul:
      return Value::real(a * b);
    case Op::div:
      return Value::real(a / b);
    case Op::floordiv:
      return Value::real(std::floor(a / b));
    case Op::mod: {
      const double r = std::fmod(a, b);
      return Value::real(r != 0 && (r < 0) != (b < 0) ? r + b : r);
    }
    default:
      return Value::real(std::pow(a, b));
  }
}

Value joined(Interp& in, const Value& a, const Value& b) {
  if (a.is(Kind::string)) {
    Sink out(in.heap());
    const bool markup = a.as_str().markup || b.as_str().markup;
    for (const Value* v : {&a, &b}) {
      const Str& str = v->as_str();
      const size_t begin = out.size();
      if (!markup || str.markup) {
        out.add(str.text, str.marks);
      } else {
        out.add(escape_html(str.text));
        if (str.user) out.mark_since(begin);
      }
    }
    return in.text(out, markup);
  }
  const auto &x = a.as_seq().items, &y = b.as_seq().items;
  in.heap().copied((x.size() + y.size()) * sizeof(Value));
  std::vector<Value> items(x);
  items.insert(items.end(), y.begin(), y.end());
  return in.list(std::move(items), a.as_seq().flavor);
}

Value repeated(Interp& in, const Value& v, int64_t times) {
  if (v.is(Kind::string)) {
    Sink out(in.heap());
    out.repeat(v.text(), times);
    if (v.as_str().user) out.mark_since(0);
    return in.text(out, v.as_str().markup);
  }
  const auto& items = v.as_seq().items;
  std::vector<Value> out;
  if (times > 0 && !items.empty()) {
    const size_t most = in.heap().limits.live_bytes / sizeof(Value) / items.size();
    if (static_cast<uint64_t>(times) > most) refuse(format("a list repeated {} times is too long", times));
    in.heap().copied(items.size() * static_cast<size_t>(times) * sizeof(Value));
    for (int64_t i = 0; i < times; ++i) out.insert(out.end(), items.begin(), items.end());
  }
  return in.list(std::move(out), v.as_seq().flavor);
}

bool is_sequence(const Value& v) {
  return v.is(Kind::string) ||
         (v.is(Kind::list) && (v.as_seq().flavor == Flavor::list || v.as_seq().flavor == Flavor::tuple));
}

bool same_sequence(const Value& a, const Value& b) {
  if (!is_sequence(a) || a.kind() != b.kind()) return false;
  return a.is(Kind::string) || a.as_seq().flavor == b.as_seq().flavor;
}

}  // namespace

Value negated(const Value& v) {
  if (v.is(Kind::floating)) return Value::real(-v.as_real());
  if (v.as_int() == INT64_MIN) too_large();
  return Value::integer(-v.as_int());
}

Value arithmetic(Interp& in, Op op, const Value& a, const Value& b) {
  if (a.is_integral() && b.is_integral()) return integers(op, a.as_int(), b.as_int());
  if (a.is_number() && b.is_number()) return reals(op, a.as_real(), b.as_real());
  if (a.is(Kind::undefined)) raise(undefined_reason(a));
  if (op == Op::mod && a.is(Kind::string)) {
    const MarkAll marking(in.heap(), holds_user_text(a) || holds_user_text(b));
    return in.text(percent_format(in, a.text(), b));
  }
  if (b.is(Kind::undefined)) raise(undefined_reason(b));
  if (op == Op::add && same_sequence(a, b)) return joined(in, a, b);
  if (op == Op::mul && is_sequence(a) && b.is_integral()) return repeated(in, a, b.as_int());
  if (op == Op::mul && is_sequence(b) && a.is_integral()) return repeated(in, b, a.as_int());
  if (op == Op::add && a.is(Kind::string)) {
    raise(format("can only concatenate str (not \"{}\") to str", type_name(b)));
  }
  raise(format("unsupported operand types for {}: '{}' and '{}'", op_text(op), type_name(a), type_name(b)));
}

namespace {

struct Range {
  int64_t start, step, n;  // n positions from start
};

int64_t clamp_index(const Value& v, int64_t absent, int64_t n, int64_t low, int64_t high) {
  if (v.is(Kind::none)) return absent;
  if (!v.is_integral()) raise("slice indices must be integers or None");
  int64_t i = v.as_int();
  if (i < 0) i = i < -n ? low : std::max(i + n, low);
  return std::min(i, high);
}

Range resolve(const Value& start, const Value& stop, const Value& step, int64_t n) {
  if (!step.is(Kind::none) && !step.is_integral()) raise("slice indices must be integers or None");
  const int64_t by = step.is(Kind::none) ? 1 : step.as_int();
  if (by == 0) raise("slice step cannot be zero");
  if (by > 0) {
    const int64_t from = clamp_index(start, 0, n, 0, n), to = clamp_index(stop, n, n, 0, n);
    return {from, by, to > from ? (to - from - 1) / by + 1 : 0};
  }
  const int64_t from = clamp_index(start, n - 1, n, -1, n - 1), to = clamp_index(stop, -1, n, -1, n - 1);
  // -by would overflow for the lowest integer, whose slice has one element at most.
  return {from, by, from > to ? (by == INT64_MIN ? 0 : (from - to - 1) / -by) + 1 : 0};
}

Value slice_text(Interp& in, const Str& str, const Range& r) {
  if (!str.ascii || r.step != 1) in.heap().walked(str.text.size());
  if (r.n == 0) return in.text("", str.markup);
  std::vector<uint32_t> starts;  // byte offset of each code point
  const bool whole = r.step == 1;
  if (str.ascii && whole) {
    return in.part(str,
                   std::string_view(str.text).substr(static_cast<size_t>(r.start), static_cast<size_t>(r.n)),
                   str.markup);
  }
  if (whole) {
    const size_t from = offset_of(str.text, static_cast<size_t>(r.start));
    const size_t size = offset_of(std::string_view(str.text).substr(from), static_cast<size_t>(r.n));
    return in.part(str, std::string_view(str.text).substr(from, size), str.markup);
  }
  for (size_t i = 0; i < str.text.size(); i += code_point_at(str.text, i).size)
    starts.push_back(static_cast<uint32_t>(i));
  std::string out;
  for (int64_t k = 0, i = r.start; k < r.n; ++k) {
    const size_t at = starts[static_cast<size_t>(i)];
    out += str.text.substr(at, code_point_at(str.text, at).size);
    if (k + 1 < r.n) i += r.step;
  }
  const MarkAll marking(in.heap(), str.user);
  return in.text(std::move(out), str.markup);
}

}  // namespace

Value slice(Interp& in, const Value& object, const Value& start, const Value& stop, const Value& step) {
  if (object.is(Kind::undefined)) raise(undefined_reason(object));
  const bool sliceable =
      object.is(Kind::string) || (object.is(Kind::list) && object.as_seq().flavor <= Flavor::range);
  if (!sliceable) raise(format("'{}' object cannot be sliced", type_name(object)));
  const Range r = resolve(start, stop, step, length(object));
  if (object.is(Kind::string)) return slice_text(in, object.as_str(), r);
  std::vector<Value> out;
  in.heap().copied(static_cast<size_t>(r.n) * sizeof(Value));
  out.reserve(static_cast<size_t>(r.n));
  for (int64_t k = 0, i = r.start; k < r.n; ++k) {
    out.push_back(object.as_seq().items[static_cast<size_t>(i)]);
    if (k + 1 < r.n) i += r.step;
  }
  return in.list(std::move(out), object.as_seq().flavor);
}

}  // namespace ingle::text::jinja
