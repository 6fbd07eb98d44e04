// Look-up of builtins by name, their arguments, and the global functions.
#include "text/template/library.h"

#include <algorithm>

namespace ingle::text::jinja {

FilterFn find_filter(std::string_view name) {
  for (const auto rows : {text_filters(), sequence_filters(), select_filters()}) {
    for (const FilterRow& row : rows) {
      if (row.name == name) return row.fn;
    }
  }
  return nullptr;
}

bool is_known_filter(std::string_view name) {
  static constexpr std::string_view kRefused[] = {"attr",     "filesizeformat", "forceescape", "pprint",
                                                  "random",   "striptags",      "urlize",      "xmlattr",
                                                  "wordwrap", "urlencode"};
  return find_filter(name) || std::find(std::begin(kRefused), std::end(kRefused), name) != std::end(kRefused);
}

bool is_known_test(std::string_view name) { return find_test(name) || name == "filter" || name == "test"; }

Bound::Bound(std::string_view function, const Args& args, std::initializer_list<std::string_view> names,
             size_t required)
    : function_(function), values_(names.size(), nullptr) {
  if (args.pos.size() > names.size()) {
    raise(format("{} takes at most {} arguments, got {}", function, names.size(), args.pos.size()));
  }
  for (size_t i = 0; i < args.pos.size(); ++i) values_[i] = &args.pos[i];
  for (const auto& [name, value] : args.kw) {
    const auto at = std::find(names.begin(), names.end(), name);
    if (at == names.end()) raise(format("{} has no argument named '{}'", function, name));
    const Value*& slot = values_[static_cast<size_t>(at - names.begin())];
    if (slot) raise(format("{} got its argument '{}' twice", function, name));
    slot = &value;
  }
  for (size_t i = 0; i < required; ++i) {
    if (!values_[i]) raise(format("{} needs its argument '{}'", function, *(names.begin() + i)));
  }
}

int64_t need_integer(const Value& v) {
  if (v.is(Kind::undefined)) raise(undefined_reason(v));
  if (!v.is_integral()) raise(format("'{}' object cannot be interpreted as an integer", type_name(v)));
  return v.as_int();
}

const std::string& need_text(const Value& v) {
  if (v.is(Kind::undefined)) raise(undefined_reason(v));
  if (!v.is(Kind::string)) raise(format("expected str, found {}", type_name(v)));
  return v.text();
}

int64_t Bound::integer(size_t i, int64_t fallback) const {
  return values_[i] ? need_integer(*values_[i]) : fallback;
}

std::string_view Bound::str(size_t i, std::string_view fallback) const {
  return values_[i] ? std::string_view(need_text(*values_[i])) : fallback;
}

namespace {

constexpr int64_t kMaxRange = 100'000;  // as Jinja's sandbox

Value raise_exception(Interp&, const Value&, const Args& args) {
  const Bound bound("raise_exception", args, {"message"}, 1);
  const Value& message = *bound[0];
  raise(message.is(Kind::string) ? message.text() : std::string("the template raised an exception"));
}

Value strftime_now(Interp& in, const Value&, const Args& args) {
  const Bound bound("strftime_now", args, {"format"}, 1);
  return in.text(strftime_utc(in.now_unix(), bound.str(0, "")));
}

Value range(Interp& in, const Value&, const Args& args) {
  const Bound bound("range", args, {"start", "stop", "step"}, 1);
  int64_t start = 0, stop = bound.integer(0, 0);
  const int64_t step = bound.integer(2, 1);
  if (bound.has(1)) start = stop, stop = bound.integer(1, 0);
  if (step == 0) raise("range() arg 3 must not be zero");
  std::vector<Value> items;
  for (int64_t i = start; step > 0 ? i < stop : i > stop;) {
    if (static_cast<int64_t>(items.size()) >= kMaxRange)
      raise(format("range too big: at most {} items", kMaxRange));
    items.push_back(Value::integer(i));
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  in.heap().copied(items.size() * sizeof(Value));
  return in.list(std::move(items), Flavor::range);
}

std::shared_ptr<Map> dict_of(Interp& in, const Args& args) {
  auto out = std::make_shared<Map>();
  if (args.pos.size() > 1) raise(format("dict expected at most 1 argument, got {}", args.pos.size()));
  if (!args.pos.empty() && args.pos[0].is(Kind::dict)) {
    in.heap().copied(args.pos[0].as_map().items.size() * 128);
    for (const auto& [key, value] : args.pos[0].as_map().items) out->set(key, value);
  } else if (!args.pos.empty()) {
    const Value pairs = iterate(in.heap(), args.pos[0]);
    for (const Value& each : pairs.as_seq().items) {
      const Value pair = iterate(in.heap(), each);
      if (pair.as_seq().items.size() != 2) raise("dict needs pairs of a key and a value");
      out->set(pair.as_seq().items[0], pair.as_seq().items[1]);
    }
  }
  in.heap().copied(args.kw.size() * 128);
  for (const auto& [name, value] : args.kw) out->set(in.text(name), value);
  return out;
}

Value dict(Interp& in, const Value&, const Args& args) { return in.map(dict_of(in, args)); }

Value make_namespace(Interp& in, const Value&, const Args& args) {
  const auto members = dict_of(in, args);
  Space& space = in.new_space();
  for (const auto& [key, value] : members->items) in.set_member(space, need_text(key), value);
  return Value::space(&space);
}

[[noreturn]] Value not_held(Interp&, const Value&, const Args&) {
  refuse("lipsum, cycler and joiner are not supported");
}

}  // namespace

NativeFn find_global(std::string_view name) {
  struct Row {
    std::string_view name;
    NativeFn fn;
  };
  static constexpr Row kRows[] = {{"raise_exception", raise_exception},
                                  {"strftime_now", strftime_now},
                                  {"namespace", make_namespace},
                                  {"range", range},
                                  {"dict", dict},
                                  {"lipsum", not_held},
                                  {"cycler", not_held},
                                  {"joiner", not_held}};
  for (const Row& row : kRows) {
    if (row.name == name) return row.fn;
  }
  return nullptr;
}

}  // namespace ingle::text::jinja
