// The tests of `is`.
#include "text/template/library.h"
#include "text/template/utf8.h"

namespace ingle::text::jinja {
namespace {

template <Kind kind>
bool is_kind(Interp&, const Value& v, const Args&) {
  return v.is(kind);
}

bool defined(Interp&, const Value& v, const Args&) { return !v.is(Kind::undefined); }
bool number(Interp&, const Value& v, const Args&) { return v.is_number(); }
bool is_true(Interp&, const Value& v, const Args&) { return v.is(Kind::boolean) && v.as_bool(); }
bool is_false(Interp&, const Value& v, const Args&) { return v.is(Kind::boolean) && !v.as_bool(); }
bool callable(Interp&, const Value& v, const Args&) {
  // Python's Undefined has __call__ too.
  return v.is(Kind::callable) || v.is(Kind::loop) || v.is(Kind::undefined);
}

bool iterable(Interp&, const Value& v, const Args&) {
  return v.is(Kind::string) || v.is(Kind::list) || v.is(Kind::dict) || v.is(Kind::undefined) ||
         v.is(Kind::loop);
}

// What has a length and can be indexed, as far as Jinja can tell.
bool sequence(Interp&, const Value& v, const Args&) {
  if (v.is(Kind::undefined)) return true;
  if (v.is(Kind::list)) return v.as_seq().flavor <= Flavor::range;
  return v.is(Kind::string) || v.is(Kind::dict);
}

bool odd(Interp&, const Value& v, const Args&) { return need_integer(v) % 2 != 0; }
bool even(Interp&, const Value& v, const Args&) { return need_integer(v) % 2 == 0; }

bool divisible_by(Interp&, const Value& v, const Args& args) {
  const Bound bound("divisibleby", args, {"num"}, 1);
  const int64_t by = bound.integer(0, 1);
  if (by == 0) raise("division by zero");
  return by == -1 || need_integer(v) % by == 0;
}

bool eq(Interp& in, const Value& v, const Args& args) {
  return equal(in.heap(), v, *Bound("eq", args, {"other"}, 1)[0]);
}
bool ne(Interp& in, const Value& v, const Args& args) { return !eq(in, v, args); }
bool lt(Interp& in, const Value& v, const Args& args) {
  return compare(in.heap(), v, *Bound("lt", args, {"other"}, 1)[0], "<") == -1;
}
bool le(Interp& in, const Value& v, const Args& args) {
  return compare(in.heap(), v, *Bound("le", args, {"other"}, 1)[0], "<=") <= 0;
}
bool gt(Interp& in, const Value& v, const Args& args) {
  return compare(in.heap(), v, *Bound("gt", args, {"other"}, 1)[0], ">") == 1;
}
bool ge(Interp& in, const Value& v, const Args& args) {
  const int order = compare(in.heap(), v, *Bound("ge", args, {"other"}, 1)[0], ">=");
  return order == 0 || order == 1;
}
bool in_(Interp& in, const Value& v, const Args& args) {
  return contains(in.heap(), *Bound("in", args, {"seq"}, 1)[0], v);
}

bool same_as(Interp& in, const Value& v, const Args& args) {
  const Value& other = *Bound("sameas", args, {"other"}, 1)[0];
  if (v.kind() != other.kind()) return false;
  switch (v.kind()) {
    case Kind::none:
      return true;
    case Kind::boolean:
    case Kind::integer:
      return v.as_int() == other.as_int();
    case Kind::floating:
      return v.as_real() == other.as_real();
    case Kind::string:
      in.heap().copied(v.text().size());
      return v.text() == other.text();  // Python may or may not share equal strings
    case Kind::space:
      return &v.as_space() == &other.as_space();
    default:
      return v.object() == other.object();
  }
}

template <bool upper>
bool cased(Interp& in, const Value& v, const Args&) {
  const std::string s = to_text(in.heap(), v);
  in.heap().walked(s.size());
  return has_case(s, upper);
}

bool escaped(Interp&, const Value& v, const Args&) { return v.is(Kind::string) && v.as_str().markup; }

constexpr TestRow kTests[] = {
    {"defined", defined},
    {"undefined", is_kind<Kind::undefined>},
    {"none", is_kind<Kind::none>},
    {"boolean", is_kind<Kind::boolean>},
    {"integer", is_kind<Kind::integer>},
    {"float", is_kind<Kind::floating>},
    {"string", is_kind<Kind::string>},
    {"mapping", is_kind<Kind::dict>},
    {"number", number},
    {"true", is_true},
    {"false", is_false},
    {"callable", callable},
    {"iterable", iterable},
    {"sequence", sequence},
    {"odd", odd},
    {"even", even},
    {"divisibleby", divisible_by},
    {"eq", eq},
    {"equalto", eq},
    {"==", eq},
    {"ne", ne},
    {"!=", ne},
    {"lt", lt},
    {"lessthan", lt},
    {"<", lt},
    {"le", le},
    {"<=", le},
    {"gt", gt},
    {"greaterthan", gt},
    {">", gt},
    {"ge", ge},
    {">=", ge},
    {"in", in_},
    {"sameas", same_as},
    {"lower", cased<false>},
    {"upper", cased<true>},
    {"escaped", escaped},
};

}  // namespace

TestFn find_test(std::string_view name) {
  for (const TestRow& row : kTests) {
    if (row.name == name) return row.fn;
  }
  return nullptr;
}

}  // namespace ingle::text::jinja
