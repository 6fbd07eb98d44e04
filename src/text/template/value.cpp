#include "text/template/value.h"

#include <algorithm>
#include <cmath>

#include "text/template/interp.h"
#include "text/template/utf8.h"

namespace ingle::text::jinja {

Value Value::boolean(bool b) {
  Value v(Kind::boolean);
  v.int_ = b;
  return v;
}
Value Value::integer(int64_t i) {
  Value v(Kind::integer);
  v.int_ = i;
  return v;
}
Value Value::real(double d) {
  Value v(Kind::floating);
  v.real_ = d;
  return v;
}
Value Value::space(Space* s) {
  Value v(Kind::space);
  v.space_ = s;
  return v;
}
const Str& Value::as_str() const { return static_cast<const Str&>(*object_); }
const std::string& Value::text() const { return as_str().text; }
const Seq& Value::as_seq() const { return static_cast<const Seq&>(*object_); }
const Map& Value::as_map() const { return static_cast<const Map&>(*object_); }
const Func& Value::as_func() const { return static_cast<const Func&>(*object_); }
// A loop's position moves while it runs; nothing else in it does.
Loop& Value::as_loop() const { return const_cast<Loop&>(static_cast<const Loop&>(*object_)); }

void adopt(Heap* heap, Object& object, size_t bytes) {
  if (object.depth > kMaxValueDepth) refuse(format("values nest more than {} deep", kMaxValueDepth));
  if (!heap) return;
  heap->copied(bytes);
  heap->take(bytes);
  object.heap = heap;
  object.bytes = bytes;
}

void note_child(Object& object, const Value& child) {
  if (child.is(Kind::space)) object.plain = false;
  if (holds_user_text(child)) object.user = true;
  if (const Object* below = child.object()) {
    object.depth = std::max(object.depth, below->depth + 1);
    object.plain = object.plain && below->plain;
  }
}

Value make_text(Heap* heap, std::string text, bool markup) {
  Marks marks;
  if (heap && heap->mark_all) add_range(marks, 0, text.size());
  return make_marked(heap, std::move(text), markup, std::move(marks));
}

Value make_part(Heap* heap, const Str& of, std::string_view piece, bool markup) {
  Marks marks;
  if (!of.marks.empty()) {
    if (heap) heap->spend(of.marks.size() / 64);
    const size_t from = static_cast<size_t>(piece.data() - of.text.data()), end = from + piece.size();
    auto it = std::partition_point(of.marks.begin(), of.marks.end(),
                                   [&](const auto& m) { return m.second <= from; });
    for (; it != of.marks.end() && it->first < end; ++it)
      add_range(marks, std::max<size_t>(it->first, from) - from, std::min<size_t>(it->second, end) - from);
  }
  return make_marked(heap, std::string(piece), markup, std::move(marks));
}

// What a namespace holds can change, so it counts always.
bool holds_user_text(const Value& v) { return v.is(Kind::space) || (v.object() && v.object()->user); }

Value make_marked(Heap* heap, std::string text, bool markup, Marks marks) {
  if (heap && text.size() > heap->limits.text_bytes) {
    refuse(format("the template makes a text of more than {} bytes", heap->limits.text_bytes));
  }
  auto str = std::make_shared<Str>();
  str->text = std::move(text);
  str->length = count_code_points(str->text);
  str->ascii = str->length == str->text.size();
  str->markup = markup;
  str->user = !marks.empty();
  str->marks = std::move(marks);
  adopt(heap, *str, sizeof(Str) + str->text.size() + str->marks.size() * sizeof(str->marks[0]));
  return Value(Kind::string, std::move(str));
}

Value make_seq(Heap* heap, std::vector<Value> items, Flavor flavor) {
  auto seq = std::make_shared<Seq>();
  seq->items = std::move(items);
  seq->flavor = flavor;
  seq->depth = 1;
  for (const Value& item : seq->items) note_child(*seq, item);
  adopt(heap, *seq, sizeof(Seq) + seq->items.size() * sizeof(Value));
  return Value(Kind::list, std::move(seq));
}

Value make_map(Heap* heap, std::shared_ptr<Map> map) {
  map->depth = 1;
  for (const auto& [key, value] : map->items) {
    note_child(*map, key);
    note_child(*map, value);
  }
  adopt(heap, *map, sizeof(Map) + map->items.size() * 4 * sizeof(Value));
  return Value(Kind::dict, std::move(map));
}

Value make_undefined(std::string why) {
  auto str = std::make_shared<Str>();
  str->text = std::move(why);
  return Value(Kind::undefined, std::move(str));
}

std::string undefined_reason(const Value& v) {
  return v.object() ? static_cast<const Str*>(v.object())->text : "a value is undefined";
}

namespace {

constexpr size_t kMaxKeyBytes = 16384;

// One text per key such that equal keys, and only they, have equal texts.
void encode_key(std::string& out, const Value& key) {
  switch (key.kind()) {
    case Kind::string:
      out += format("s{}:", key.text().size()).append(key.text());
      return;
    case Kind::none:
      out += "n";
      return;
    case Kind::boolean:
    case Kind::integer:
      out += format("i{};", key.as_int());
      return;
    case Kind::floating: {
      const double d = key.as_real();
      if (d == std::floor(d) && std::abs(d) < 9.2e18) {
        out += format("i{};", static_cast<int64_t>(d));
      } else {
        out += format("f{};", real_to_text(d));
      }
      return;
    }
    case Kind::list:
      if (key.as_seq().flavor == Flavor::tuple && key.as_seq().items.size() <= 64 &&
          key.as_seq().depth <= 4) {
        out += "t(";
        for (const Value& item : key.as_seq().items) {
          encode_key(out, item);
          if (out.size() > kMaxKeyBytes) refuse("a tuple as a key may hold no long text");
        }
        out += ")";
        return;
      }
      break;
    default:
      break;
  }
  raise(format("unhashable type: '{}'", type_name(key)));
}

constexpr size_t kIndexFrom = 12;

}  // namespace

const Value* Map::find_encoded(const std::string& key) const {
  if (!index_.empty()) {
    const auto it = index_.find(key);
    return it == index_.end() ? nullptr : &items[it->second].second;
  }
  for (const auto& [k, v] : items) {
    std::string other;
    encode_key(other, k);
    if (other == key) return &v;
  }
  return nullptr;
}

const Value* Map::find(std::string_view key) const {
  if (index_.empty()) {
    for (const auto& [k, v] : items) {
      if (k.is(Kind::string) && k.text() == key) return &v;
    }
    return nullptr;
  }
  return find_encoded(format("s{}:", key.size()).append(key));
}

const Value* Map::find(const Value& key) const {
  if (key.is(Kind::string)) return find(std::string_view(key.text()));
  std::string encoded;
  encode_key(encoded, key);
  return find_encoded(encoded);
}

void Map::set(Value key, Value value) {
  if (const Value* old = find(key)) {
    const_cast<Value&>(*old) = std::move(value);
    return;
  }
  items.emplace_back(std::move(key), std::move(value));
  if (items.size() < kIndexFrom) return;
  for (size_t i = index_.size(); i < items.size(); ++i) {
    std::string encoded;
    encode_key(encoded, items[i].first);
    index_.emplace(std::move(encoded), i);
  }
}

const Value* Space::find(std::string_view name) const {
  for (const auto& [key, value] : items) {
    if (key == name) return &value;
  }
  return nullptr;
}

void Space::set(std::string_view name, Value value) {
  if (const Value* old = find(name)) {
    const_cast<Value&>(*old) = std::move(value);
  } else {
    items.emplace_back(std::string(name), std::move(value));
  }
}

std::string_view type_name(const Value& v) {
  switch (v.kind()) {
    case Kind::undefined:
      return "Undefined";
    case Kind::none:
      return "NoneType";
    case Kind::boolean:
      return "bool";
    case Kind::integer:
      return "int";
    case Kind::floating:
      return "float";
    case Kind::string:
      return "str";
    case Kind::dict:
      return "dict";
    case Kind::callable:
      return "function";
    case Kind::space:
      return "Namespace";
    case Kind::loop:
      return "LoopContext";
    case Kind::list:
      break;
  }
  switch (v.as_seq().flavor) {
    case Flavor::tuple:
      return "tuple";
    case Flavor::range:
      return "range";
    case Flavor::keys:
      return "dict_keys";
    case Flavor::values:
      return "dict_values";
    case Flavor::items:
      return "dict_items";
    case Flavor::generator:
      return "generator";
    default:
      return "list";
  }
}

bool truthy(const Value& v) {
  switch (v.kind()) {
    case Kind::undefined:
    case Kind::none:
      return false;
    case Kind::boolean:
    case Kind::integer:
      return v.as_int() != 0;
    case Kind::floating:
      return v.as_real() != 0;
    case Kind::string:
      return !v.text().empty();
    case Kind::list:
      return v.as_seq().flavor == Flavor::generator || !v.as_seq().items.empty();
    case Kind::dict:
      return !v.as_map().items.empty();
    default:
      return true;
  }
}

namespace {

int sign_of(bool less, bool greater) { return less ? -1 : greater ? 1 : 0; }

// Exact for an integer against a float, where converting would round.
int compare_numbers(const Value& a, const Value& b) {
  if (a.is_integral() && b.is_integral()) return sign_of(a.as_int() < b.as_int(), a.as_int() > b.as_int());
  const double x = a.as_real(), y = b.as_real();
  if (x != y || !(a.is_integral() || b.is_integral()) || std::abs(x) >= 9.2e18) return sign_of(x<y, x> y);
  const int64_t i = a.is_integral() ? a.as_int() : static_cast<int64_t>(x);
  const int64_t j = b.is_integral() ? b.as_int() : static_cast<int64_t>(y);
  return sign_of(i<j, i> j);
}

bool equal_sequences(Heap& heap, const Seq& a, const Seq& b) {
  if (&a == &b) return true;
  if (a.flavor != b.flavor || a.items.size() != b.items.size()) return false;
  if (a.flavor > Flavor::range && a.flavor != Flavor::keys) return false;
  for (size_t i = 0; i < a.items.size(); ++i) {
    if (!equal(heap, a.items[i], b.items[i])) return false;
  }
  return true;
}

bool equal_maps(Heap& heap, const Map& a, const Map& b) {
  if (&a == &b) return true;
  if (a.items.size() != b.items.size()) return false;
  for (const auto& [key, value] : a.items) {
    const Value* other = b.find(key);
    if (!other || !equal(heap, value, *other)) return false;
  }
  return true;
}

}  // namespace

bool equal(Heap& heap, const Value& a, const Value& b) {
  heap.spend(1);
  if (a.is_number() && b.is_number()) {
    const bool nan = std::isnan(a.as_real()) || std::isnan(b.as_real());
    return !nan && compare_numbers(a, b) == 0;
  }
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::undefined:
    case Kind::none:
      return true;
    case Kind::string:
      heap.copied(a.text().size());
      return a.text() == b.text();
    case Kind::list:
      return equal_sequences(heap, a.as_seq(), b.as_seq());
    case Kind::dict:
      return equal_maps(heap, a.as_map(), b.as_map());
    case Kind::space:
      return &a.as_space() == &b.as_space();
    default:
      return a.object() == b.object();
  }
}

int compare(Heap& heap, const Value& a, const Value& b, std::string_view op) {
  heap.spend(1);
  if (a.is_number() && b.is_number()) {
    // NaN is neither below nor above: 2 makes every ordered comparison false.
    if (std::isnan(a.as_real()) || std::isnan(b.as_real())) return 2;
    return compare_numbers(a, b);
  }
  // UTF-8 sorts as code points do.
  if (a.is(Kind::string) && b.is(Kind::string)) {
    heap.copied(a.text().size());
    return sign_of(a.text() < b.text(), a.text() > b.text());
  }
  if (a.is(Kind::list) && b.is(Kind::list) && a.as_seq().flavor == b.as_seq().flavor &&
      (a.as_seq().flavor == Flavor::list || a.as_seq().flavor == Flavor::tuple)) {
    const auto &x = a.as_seq().items, &y = b.as_seq().items;
    for (size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
      if (!equal(heap, x[i], y[i])) return compare(heap, x[i], y[i], op);
    }
    return sign_of(x.size() < y.size(), x.size() > y.size());
  }
  if (a.is(Kind::undefined)) raise(undefined_reason(a));
  if (b.is(Kind::undefined)) raise(undefined_reason(b));
  raise(format("'{}' not supported between instances of '{}' and '{}'", op, type_name(a), type_name(b)));
}

bool contains(Heap& heap, const Value& container, const Value& item) {
  if (container.is(Kind::string)) {
    if (item.is(Kind::undefined)) raise(undefined_reason(item));
    if (!item.is(Kind::string)) {
      raise(format("'in <string>' requires string as left operand, not {}", type_name(item)));
    }
    heap.searched(container.text().size(), item.text().size());
    return container.text().find(item.text()) != std::string::npos;
  }
  if (container.is(Kind::dict)) {
    if (item.is(Kind::string)) heap.copied(item.text().size());
    return container.as_map().find(item) != nullptr;
  }
  if (container.is(Kind::undefined)) return false;
  if (!container.is(Kind::list)) raise(format("argument of type '{}' is not iterable", type_name(container)));
  const Value walked = iterate(heap, container);
  for (const Value& each : walked.as_seq().items) {
    if (equal(heap, each, item)) return true;
  }
  return false;
}

std::string real_to_text(double d) {
  if (std::isnan(d)) return "nan";
  if (std::isinf(d)) return d < 0 ? "-inf" : "inf";
  std::string out =
      format("{}", d);  // the shortest digits that are d again; an exponent where Python has one
  if (out.find_first_of(".e") == out.npos) out += ".0";
  return out;
}

void write_string_repr(Sink& out, std::string_view text) {
  const bool has_single = text.find('\'') != text.npos, has_double = text.find('"') != text.npos;
  const char quote = has_single && !has_double ? '"' : '\'';
  constexpr char kHex[] = "0123456789abcdef";
  out.add(quote);
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = code_point_at(text, i);
    if (c.value == '\\' || c.value == static_cast<unsigned char>(quote)) {
      out.add('\\');
      out.add(static_cast<char>(c.value));
    } else if (c.value == '\n') {
      out.add("\\n");
    } else if (c.value == '\r') {
      out.add("\\r");
    } else if (c.value == '\t') {
      out.add("\\t");
    } else if (is_printable(c.value)) {
      out.add(text.substr(i, c.size));
    } else {
      const int width = c.value < 0x100 ? 2 : c.value < 0x10000 ? 4 : 8;
      out.add(width == 2 ? "\\x" : width == 4 ? "\\u" : "\\U");
      for (int shift = 4 * (width - 1); shift >= 0; shift -= 4) out.add(kHex[(c.value >> shift) & 15]);
    }
    i += c.size;
  }
  out.add(quote);
}

namespace {

void write_sequence(Sink& out, const Seq& seq) {
  if (seq.flavor == Flavor::range || seq.flavor == Flavor::generator) {
    refuse("printing a range or a generator is not supported; use the list filter");
  }
  const bool tuple = seq.flavor == Flavor::tuple, view = seq.flavor > Flavor::range;
  if (view) {
    out.add(seq.flavor == Flavor::keys     ? "dict_keys("
            : seq.flavor == Flavor::values ? "dict_values("
                                           : "dict_items(");
  }
  out.add(tuple ? '(' : '[');
  for (size_t i = 0; i < seq.items.size(); ++i) {
    if (i) out.add(", ");
    write_repr(out, seq.items[i]);
  }
  if (tuple && seq.items.size() == 1) out.add(',');
  out.add(tuple ? ')' : ']');
  if (view) out.add(')');
}

void write_map(Sink& out, const Map& map) {
  out.add('{');
  for (size_t i = 0; i < map.items.size(); ++i) {
    if (i) out.add(", ");
    write_repr(out, map.items[i].first);
    out.add(": ");
    write_repr(out, map.items[i].second);
  }
  out.add('}');
}

}  // namespace

void write_repr(Sink& out, const Value& v) {
  out.heap().spend(1);
  switch (v.kind()) {
    case Kind::undefined:
      out.add("Undefined");
      return;
    case Kind::none:
      out.add("None");
      return;
    case Kind::boolean:
      out.add(v.as_bool() ? "True" : "False");
      return;
    case Kind::integer:
      out.add(std::to_string(v.as_int()));
      return;
    case Kind::floating:
      out.add(real_to_text(v.as_real()));
      return;
    case Kind::string:
      if (v.as_str().markup) out.add("Markup(");
      out.heap().walked(v.text().size());
      if (const size_t begin = out.size(); true) {
        write_string_repr(out, v.text());
        if (v.as_str().user) out.mark_since(begin);
      }
      if (v.as_str().markup) out.add(')');
      return;
    case Kind::list:
      write_sequence(out, v.as_seq());
      return;
    case Kind::dict:
      write_map(out, v.as_map());
      return;
    default:
      refuse(format("printing a {} is not supported", type_name(v)));
  }
}

void write_text(Sink& out, const Value& v) {
  if (v.is(Kind::string)) {
    out.heap().copied(v.text().size());
    out.add(v.text(), v.as_str().marks);
  } else if (!v.is(Kind::undefined)) {
    write_repr(out, v);
  }
}

std::string to_text(Heap& heap, const Value& v) {
  if (v.is(Kind::string)) {
    heap.copied(v.text().size());
    return v.text();
  }
  Sink out(heap);
  write_text(out, v);
  return out.take();
}

namespace {

std::vector<Value> characters(Heap& heap, const Str& str) {
  const std::string_view text = str.text;
  std::vector<Value> out;
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = code_point_at(text, i);
    out.push_back(make_part(&heap, str, text.substr(i, c.size), false));
    i += c.size;
  }
  return out;
}

}  // namespace

Value iterate(Heap& heap, const Value& v) {
  switch (v.kind()) {
    case Kind::list:
      if (v.as_seq().flavor == Flavor::generator) {
        if (v.as_seq().consumed) return make_seq(&heap, {});
        v.as_seq().consumed = true;
      }
      return v;
    case Kind::string:
      return make_seq(&heap, characters(heap, v.as_str()));
    case Kind::undefined:
      return make_seq(&heap, {});
    case Kind::dict: {
      std::vector<Value> keys;
      for (const auto& [key, value] : v.as_map().items) keys.push_back(key);
      return make_seq(&heap, std::move(keys));
    }
    default:
      raise(format("'{}' object is not iterable", type_name(v)));
  }
}

int64_t length(const Value& v) {
  switch (v.kind()) {
    case Kind::string:
      return static_cast<int64_t>(v.as_str().length);
    case Kind::undefined:
      return 0;
    case Kind::dict:
      return static_cast<int64_t>(v.as_map().items.size());
    case Kind::list:
      if (v.as_seq().flavor != Flavor::generator) return static_cast<int64_t>(v.as_seq().items.size());
      break;
    default:
      break;
  }
  raise(format("object of type '{}' has no len()", type_name(v)));
}

}  // namespace ingle::text::jinja
