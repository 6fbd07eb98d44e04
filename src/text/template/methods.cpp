// Attributes and methods of dicts, sequences and loops. Methods that change their object are refused, as in
// Jinja's immutable sandbox: they read as undefined, and using them raises.
#include <algorithm>

#include "text/template/library.h"

namespace ingle::text::jinja {
namespace {

Value dict_get(Interp& in, const Value& self, const Args& args) {
  const Bound bound("get", args, {"key", "default"}, 1);
  if (bound[0]->is(Kind::undefined)) return bound.get(1, Value::none());
  if (bound[0]->is(Kind::string)) in.heap().copied(bound[0]->text().size());
  const Value* found = self.as_map().find(*bound[0]);
  return found ? *found : bound.get(1, Value::none());
}

Value dict_items(Interp& in, const Value& self, const Args& args) {
  const Bound bound("items", args, {});
  std::vector<Value> out;
  for (const auto& [key, value] : self.as_map().items) out.push_back(in.list({key, value}, Flavor::tuple));
  return in.list(std::move(out), Flavor::items);
}

Value dict_keys(Interp& in, const Value& self, const Args& args) {
  const Bound bound("keys", args, {});
  std::vector<Value> out;
  for (const auto& item : self.as_map().items) out.push_back(item.first);
  return in.list(std::move(out), Flavor::keys);
}

Value dict_values(Interp& in, const Value& self, const Args& args) {
  const Bound bound("values", args, {});
  std::vector<Value> out;
  for (const auto& item : self.as_map().items) out.push_back(item.second);
  return in.list(std::move(out), Flavor::values);
}

Value copy(Interp&, const Value& self, const Args& args) {
  const Bound bound("copy", args, {});
  return self;  // nothing can change either of them
}

Value list_index(Interp& in, const Value& self, const Args& args) {
  const Bound bound("index", args, {"value"}, 1);
  const auto& items = self.as_seq().items;
  for (size_t i = 0; i < items.size(); ++i) {
    if (equal(in.heap(), items[i], *bound[0])) return Value::integer(static_cast<int64_t>(i));
  }
  raise("the value is not in the list");
}

Value list_count(Interp& in, const Value& self, const Args& args) {
  const Bound bound("count", args, {"value"}, 1);
  int64_t n = 0;
  for (const Value& item : self.as_seq().items) n += equal(in.heap(), item, *bound[0]);
  return Value::integer(n);
}

struct MethodRow {
  std::string_view name;
  NativeFn fn;
};

constexpr MethodRow kDict[] = {
    {"get", dict_get}, {"items", dict_items}, {"keys", dict_keys}, {"values", dict_values}, {"copy", copy}};
constexpr MethodRow kList[] = {{"index", list_index}, {"count", list_count}, {"copy", copy}};
constexpr std::string_view kDictRefused[] = {"clear", "pop", "popitem", "setdefault", "update"};
constexpr std::string_view kListRefused[] = {"append", "clear",  "extend",  "insert",
                                             "pop",    "remove", "reverse", "sort"};

Value find_row(Interp& in, const Value& self, std::string_view name, std::span<const MethodRow> rows,
               std::span<const std::string_view> refused) {
  for (const MethodRow& row : rows) {
    if (row.name == name) return in.method(name, row.fn, self);
  }
  if (std::find(refused.begin(), refused.end(), name) == refused.end()) return Value();
  return make_undefined(format("access to attribute '{}' of '{}' object is unsafe", name, type_name(self)));
}

Value loop_cycle(Interp&, const Value& self, const Args& args) {
  if (args.pos.empty()) raise("loop.cycle needs a value");
  return args.pos[static_cast<size_t>(self.as_loop().index) % args.pos.size()];
}

Value loop_changed(Interp& in, const Value& self, const Args& args) {
  Loop& loop = self.as_loop();
  for (const Value& v : args.pos) {
    // What refers to the loop would make a cycle that nothing frees.
    if (v.is(Kind::space) || (v.object() && !v.object()->plain))
      refuse("loop.changed takes plain values only");
  }
  bool same = loop.has_last && loop.last.size() == args.pos.size();
  for (size_t i = 0; same && i < args.pos.size(); ++i) same = equal(in.heap(), loop.last[i], args.pos[i]);
  if (same) return Value::boolean(false);
  loop.last = args.pos;
  loop.has_last = true;
  return Value::boolean(true);
}

}  // namespace

Value loop_attr(Interp& in, const Value& self, std::string_view name) {
  const Loop& loop = self.as_loop();
  const auto& items = loop.items.as_seq().items;
  const auto n = static_cast<int64_t>(items.size());
  if (name == "index") return Value::integer(loop.index + 1);
  if (name == "index0") return Value::integer(loop.index);
  if (name == "revindex") return Value::integer(n - loop.index);
  if (name == "revindex0") return Value::integer(n - loop.index - 1);
  if (name == "first") return Value::boolean(loop.index == 0);
  if (name == "last") return Value::boolean(loop.index == n - 1);
  if (name == "length") return Value::integer(n);
  if (name == "depth") return Value::integer(loop.level + 1);
  if (name == "depth0") return Value::integer(loop.level);
  if (name == "previtem") {
    if (loop.index == 0) return make_undefined("there is no previous item");
    return items[static_cast<size_t>(loop.index - 1)];
  }
  if (name == "nextitem") {
    if (loop.index + 1 >= n) return make_undefined("there is no next item");
    return items[static_cast<size_t>(loop.index + 1)];
  }
  if (name == "cycle") return in.method(name, loop_cycle, self);
  if (name == "changed") return in.method(name, loop_changed, self);
  return make_undefined(format("the loop has no attribute '{}'", name));
}

Value find_method(Interp& in, const Value& self, std::string_view name) {
  if (name.starts_with("__")) {
    return make_undefined(format("access to attribute '{}' of '{}' object is unsafe", name, type_name(self)));
  }
  if (self.is(Kind::dict)) return find_row(in, self, name, kDict, kDictRefused);
  if (self.is(Kind::list)) {
    const Flavor flavor = self.as_seq().flavor;
    if (flavor == Flavor::list) return find_row(in, self, name, kList, kListRefused);
    if (self.as_seq().grouped && name == "grouper") return self.as_seq().items[0];
    if (self.as_seq().grouped && name == "list") return self.as_seq().items[1];
    if (flavor == Flavor::tuple) return find_row(in, self, name, std::span(kList).first(2), {});
    return Value();
  }
  if (self.is(Kind::string)) {
    const NativeFn fn = find_text_method(name);
    return fn ? in.method(name, fn, self) : Value();
  }
  if (self.is(Kind::callable) && self.as_func().macro && name == "name") return in.text(self.as_func().name);
  return Value();
}

}  // namespace ingle::text::jinja
