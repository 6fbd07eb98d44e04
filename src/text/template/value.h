// The values of a template, with Python's behaviour. All but namespaces are immutable, as the sandbox
// demands, so no value can contain itself; depth is kept in each container and bounded, so walking one may
// recurse.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "text/template/heap.h"

namespace ingle::text::jinja {

enum class Kind : uint8_t {
  undefined,
  none,
  boolean,
  integer,
  floating,
  string,
  list,
  dict,
  callable,
  space,
  loop
};
// Python's sequence types differ in what they print, equal and allow.
enum class Flavor : uint8_t { list, tuple, range, keys, values, items, generator };

constexpr int kMaxValueDepth = 100;

struct Object {
  Object() = default;
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  virtual ~Object() {
    if (heap) heap->give_back(bytes);
  }
  Heap* heap = nullptr;  // charged with `bytes`, or null for what the caller or the source owns
  size_t bytes = 0;
  int depth = 0;      // of nested owners below
  bool user = false;  // holds text that a user wrote
  bool plain = true;  // data only: no function, loop or namespace inside
};

struct Str;
struct Seq;
struct Map;
struct Func;
struct Space;
struct Loop;

class Value {
 public:
  Value() = default;
  static Value none() { return Value(Kind::none); }
  static Value boolean(bool b);
  static Value integer(int64_t i);
  static Value real(double d);
  // Refers to a namespace that the rendering owns.
  static Value space(Space* s);
  Value(Kind kind, std::shared_ptr<const Object> object) : kind_(kind), object_(std::move(object)) {}

  Kind kind() const { return kind_; }
  bool is(Kind k) const { return kind_ == k; }
  bool is_number() const {
    return kind_ == Kind::boolean || kind_ == Kind::integer || kind_ == Kind::floating;
  }
  bool is_integral() const { return kind_ == Kind::boolean || kind_ == Kind::integer; }
  bool as_bool() const { return int_ != 0; }
  int64_t as_int() const { return int_; }  // of a boolean or an integer
  double as_real() const { return kind_ == Kind::floating ? real_ : static_cast<double>(int_); }
  Space& as_space() const { return *space_; }
  const Str& as_str() const;
  const std::string& text() const;  // of a string
  const Seq& as_seq() const;
  const Map& as_map() const;
  const Func& as_func() const;
  Loop& as_loop() const;
  const Object* object() const { return object_.get(); }
  const std::shared_ptr<const Object>& owner() const { return object_; }

 private:
  explicit Value(Kind kind) : kind_(kind) {}
  Kind kind_ = Kind::undefined;
  union {
    int64_t int_ = 0;
    double real_;
    Space* space_;
  };
  std::shared_ptr<const Object> object_;
};

struct Str : Object {
  std::string text;
  size_t length = 0;    // in code points
  bool ascii = true;    // then bytes are code points
  bool markup = false;  // came from `safe` or `escape`
  Marks marks;          // which bytes a user wrote
};

struct Seq : Object {
  std::vector<Value> items;
  Flavor flavor = Flavor::list;
  bool grouped = false;           // a tuple of groupby, with the attributes grouper and list
  mutable bool consumed = false;  // a generator can be walked once
};

// An ordered dict. Keys compare as Python's do: 1, 1.0 and true are one key.
struct Map : Object {
  std::vector<std::pair<Value, Value>> items;

  void set(Value key, Value value);
  const Value* find(const Value& key) const;  // raises for an unhashable key
  const Value* find(std::string_view key) const;

 private:
  const Value* find_encoded(const std::string& key) const;
  std::unordered_map<std::string, size_t> index_;  // only when there are many
};

// The attributes of `namespace()`: the one thing that a template can change.
struct Space {
  std::vector<std::pair<std::string, Value>> items;
  const Value* find(std::string_view name) const;
  void set(std::string_view name, Value value);
};

// Makers. A null heap charges nobody.
Value make_text(Heap* heap, std::string text, bool markup = false);
Value make_marked(Heap* heap, std::string text, bool markup, Marks marks);
Value make_part(Heap* heap, const Str& of, std::string_view piece, bool markup);  // `piece` lies in it
bool holds_user_text(const Value& v);
Value make_seq(Heap* heap, std::vector<Value> items, Flavor flavor = Flavor::list);
Value make_map(Heap* heap, std::shared_ptr<Map> map);
Value make_undefined(std::string why);  // prints as nothing; using it raises `why`
// Charges and measures an object about to be shared; `children` are walked once.
void adopt(Heap* heap, Object& object, size_t bytes);
void note_child(Object& object, const Value& child);

std::string_view type_name(const Value& v);  // as Python names it
std::string undefined_reason(const Value& v);
bool truthy(const Value& v);
bool equal(Heap& heap, const Value& a, const Value& b);
int compare(Heap& heap, const Value& a, const Value& b,
            std::string_view op);  // -1, 0, 1; raises when unordered
bool contains(Heap& heap, const Value& container, const Value& item);
void write_text(Sink& out, const Value& v);  // str()
void write_repr(Sink& out, const Value& v);  // repr()
std::string to_text(Heap& heap, const Value& v);
std::string real_to_text(double d);  // Python's repr of a float
void write_string_repr(Sink& out, std::string_view text);

// What a `for` walks, as a sequence; consumes a generator. Raises when `v` is not iterable.
Value iterate(Heap& heap, const Value& v);
int64_t length(const Value& v);  // len(); raises when there is none

}  // namespace ingle::text::jinja
