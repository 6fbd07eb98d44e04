// Runs a parsed template within the heap's limits.
#pragma once
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/format.h"
#include "text/template/ast.h"

namespace ingle::text::jinja {

struct Args {
  std::vector<Value> pos;
  std::vector<std::pair<std::string, Value>> kw;
};

// The variables of one level. A scope that a macro closed over lives as long as the rendering.
struct Scope {
  Scope* parent = nullptr;
  std::vector<std::pair<uint32_t, Value>> vars;
  bool captured = false;

  const Value* find(uint32_t id) const;
  void set(uint32_t id, Value value);
};

using NativeFn = Value (*)(Interp&, const Value& self, const Args& args);

struct Func : Object {
  Func() { plain = false; }
  std::string name;
  NativeFn fn = nullptr;  // a builtin, or a method of `self`
  Value self;
  const MacroStmt* macro = nullptr;  // otherwise
  Scope* scope = nullptr;            // where the macro was defined
};

struct Loop : Object {
  Loop() { plain = false; }
  Value items;
  int64_t index = 0;  // from 0
  int64_t level = 0;  // of recursion, from 0
  const ForStmt* stmt = nullptr;
  Scope* scope = nullptr;   // around the loop
  std::vector<Value> last;  // of changed()
  bool has_last = false;
};

enum class Flow : uint8_t { normal, break_, continue_ };

class Interp {
 public:
  Interp(const Template& source, const Limits& limits, int64_t now_unix);
  // The variables are looked up by name; those that the template never names are dropped.
  // `marks`, when given, tells which bytes of the output a user wrote.
  std::string run(const std::vector<std::pair<std::string, Value>>& variables, Marks* marks = nullptr);

  Heap& heap() { return heap_; }
  Pos pos() const { return pos_; }
  int64_t now_unix() const { return now_unix_; }

  Value call(const Value& callee, const Args& args);
  Value get_attr(const Value& object, const std::string& name);
  Value get_item(const Value& object, const Value& index);
  Space& new_space();
  void set_member(Space& space, std::string_view name, Value value);

  Value text(std::string s, bool markup = false) { return make_text(&heap_, std::move(s), markup); }
  // What a sink gathered, and which of it a user wrote.
  Value text(Sink& out, bool markup = false) {
    Marks marks = out.take_marks();
    return make_marked(&heap_, out.take(), markup, std::move(marks));
  }
  // A piece of `of`, which it points into.
  Value part(const Str& of, std::string_view piece, bool markup = false) {
    return make_part(&heap_, of, piece, markup);
  }
  Value list(std::vector<Value> items, Flavor flavor = Flavor::list) {
    return make_seq(&heap_, std::move(items), flavor);
  }
  Value map(std::shared_ptr<Map> m) { return make_map(&heap_, std::move(m)); }
  Value method(std::string_view name, NativeFn fn, Value self);

 private:
  class Nested;
  class Inner;

  // eval.cpp
  Value eval(const Expr& expr);
  Value eval_name(const Name& expr);
  Value eval_attr(const Attr& expr);
  Value eval_item(const Item& expr);
  Value eval_slice(const Slice& expr);
  Value eval_call(const Call& expr);
  Value eval_filter(const Filter& expr);
  Value apply_filter(const Filter& filter, const Value& subject);
  Value eval_test(const Test& expr);
  Value eval_unary(const Unary& expr);
  Value eval_chain(const Chain& expr);
  Value eval_concat(const Chain& expr);
  Value eval_compare(const Chain& expr);
  Value eval_logic(const Chain& expr);
  Value eval_cond(const Cond& expr);
  Value eval_sequence(const Sequence& expr);
  Value eval_dict(const DictExpr& expr);
  void eval_args(const CallArgs& from, Args& to);
  void spread(const CallArgs& from, Args& to);

  // exec.cpp
  Flow exec(const Body& body);
  Flow exec_one(const Stmt& stmt);
  void exec_output(const OutputStmt& stmt);
  Flow exec_if(const IfStmt& stmt);
  Flow exec_for(const ForStmt& stmt, const Value& iterable, int64_t level);
  Value filter_items(const ForStmt& stmt, const Value& items);
  Flow exec_iteration(const ForStmt& stmt, const Value& loop, const Value& item);
  void exec_set(const SetStmt& stmt);
  Flow exec_block(const BlockStmt& stmt);
  Flow exec_with(const WithStmt& stmt);
  void exec_macro(const MacroStmt& stmt);
  void exec_call(const CallStmt& stmt);
  void assign(const Target& target, const Value& value);
  Value capture(const Body& body);
  Value make_macro(const MacroStmt& stmt);
  Value call_macro(const Func& macro, const Args& args);
  void bind_params(const Func& macro, const Args& args);
  Value call_loop(const Loop& loop, const Args& args);
  Scope* new_scope(Scope* parent);
  void release_scope(Scope* scope);

  Heap heap_;  // outlives every value below
  const Template& source_;
  const int64_t now_unix_;
  std::deque<Scope> scopes_;
  std::vector<Scope*> free_scopes_;
  std::deque<Space> spaces_;
  Scope* scope_ = nullptr;
  Sink* out_ = nullptr;
  Pos pos_;
  uint32_t depth_ = 0;
  const char* stack_base_;
};

// Counts a nested evaluation, and measures the stack as a backstop.
class Interp::Nested {
 public:
  explicit Nested(Interp& in);
  ~Nested() { --in_.depth_; }

 private:
  Interp& in_;
};

// For the time of a builtin: is it given a user's text?
class MarkAll {
 public:
  MarkAll(Heap& heap, bool user) : heap_(heap), saved_(heap.mark_all) { heap.mark_all = user || saved_; }
  ~MarkAll() { heap_.mark_all = saved_; }
  MarkAll(const MarkAll&) = delete;

 private:
  Heap& heap_;
  bool saved_;
};
bool given_user_text(const Value& self, const Args& args);

// A scope for the time of a block.
class Interp::Inner {
 public:
  Inner(Interp& in, Scope* parent) : in_(in), saved_(in.scope_) { in.scope_ = in.new_scope(parent); }
  ~Inner() {
    in_.release_scope(in_.scope_);
    in_.scope_ = saved_;
  }
  Inner(const Inner&) = delete;

 private:
  Interp& in_;
  Scope* saved_;
};

}  // namespace ingle::text::jinja
