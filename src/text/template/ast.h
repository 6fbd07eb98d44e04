// What the parser makes of a template. Chains of one operator are flat, and `depth` bounds what is left
// nested.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "text/template/value.h"

namespace ingle::text::jinja {

class Interp;
struct Args;
using FilterFn = Value (*)(Interp&, const Value& self, const Args& args);
using TestFn = bool (*)(Interp&, const Value& self, const Args& args);

struct Pos {
  uint32_t line = 1, column = 1;
};

enum class Op : uint8_t {
  add,
  sub,
  concat,
  mul,
  div,
  floordiv,
  mod,
  pow,
  eq,
  ne,
  lt,
  le,
  gt,
  ge,
  in,
  not_in,
  and_,
  or_
};

enum class ExprKind : uint8_t {
  literal,
  name,
  attr,
  item,
  slice,
  call,
  filter,
  test,
  negate,
  plus,
  not_,
  chain,
  compare,
  logic,
  cond,
  list,
  tuple,
  dict
};

struct Expr {
  Expr(ExprKind k, Pos p) : kind(k), pos(p) {}
  virtual ~Expr() = default;
  ExprKind kind;
  uint16_t depth = 1;
  Pos pos;
};
using ExprPtr = std::unique_ptr<Expr>;

struct Literal : Expr {
  Literal(Pos p, Value v) : Expr(ExprKind::literal, p), value(std::move(v)) {}
  Value value;
};
struct Name : Expr {
  Name(Pos p, std::string n, uint32_t i) : Expr(ExprKind::name, p), name(std::move(n)), id(i) {}
  std::string name;
  uint32_t id;
};
struct Attr : Expr {  // object.name
  Attr(Pos p, ExprPtr o, std::string n) : Expr(ExprKind::attr, p), object(std::move(o)), name(std::move(n)) {}
  ExprPtr object;
  std::string name;
};
struct Item : Expr {  // object[index]
  Item(Pos p, ExprPtr o, ExprPtr i) : Expr(ExprKind::item, p), object(std::move(o)), index(std::move(i)) {}
  ExprPtr object, index;
};
struct Slice : Expr {  // object[start:stop:step], each may be absent
  Slice(Pos p, ExprPtr o) : Expr(ExprKind::slice, p), object(std::move(o)) {}
  ExprPtr object, start, stop, step;
};
struct CallArgs {
  std::vector<ExprPtr> positional;
  std::vector<std::pair<std::string, ExprPtr>> keywords;
  ExprPtr star, star_star;
};
struct Call : Expr {
  Call(Pos p, ExprPtr f) : Expr(ExprKind::call, p), callee(std::move(f)) {}
  ExprPtr callee;
  CallArgs args;
};
struct Filter : Expr {
  Filter(Pos p, ExprPtr s, std::string n)
      : Expr(ExprKind::filter, p), subject(std::move(s)), name(std::move(n)) {}
  ExprPtr subject;  // null at the head of a filter block
  std::string name;
  FilterFn fn = nullptr;  // null: unknown, an error once reached
  CallArgs args;
};
struct Test : Expr {
  Test(Pos p, ExprPtr s, std::string n)
      : Expr(ExprKind::test, p), subject(std::move(s)), name(std::move(n)) {}
  ExprPtr subject;
  std::string name;
  TestFn fn = nullptr;
  bool negated = false;
  CallArgs args;
};
struct Unary : Expr {  // negate, plus, not_; applied `times`
  Unary(ExprKind k, Pos p, ExprPtr o, uint32_t n) : Expr(k, p), operand(std::move(o)), times(n) {}
  ExprPtr operand;
  uint32_t times;
};
struct Chain : Expr {  // first op rest op rest …, left to right: chain, compare, logic
  Chain(ExprKind k, Pos p, ExprPtr f) : Expr(k, p), first(std::move(f)) {}
  ExprPtr first;
  std::vector<std::pair<Op, ExprPtr>> rest;
};
struct Cond : Expr {  // the value of the first arm whose test holds
  explicit Cond(Pos p) : Expr(ExprKind::cond, p) {}
  std::vector<std::pair<ExprPtr, ExprPtr>> arms;  // test, value
  ExprPtr otherwise;                              // may be null
};
struct Sequence : Expr {  // list, tuple
  Sequence(ExprKind k, Pos p) : Expr(k, p) {}
  std::vector<ExprPtr> items;
};
struct DictExpr : Expr {
  explicit DictExpr(Pos p) : Expr(ExprKind::dict, p) {}
  std::vector<std::pair<ExprPtr, ExprPtr>> items;
};

enum class StmtKind : uint8_t {
  text,
  output,
  if_,
  for_,
  set,
  set_block,
  macro,
  call_block,
  filter_block,
  with,
  scope,
  break_,
  continue_
};

struct Stmt {
  Stmt(StmtKind k, Pos p) : kind(k), pos(p) {}
  virtual ~Stmt() = default;
  StmtKind kind;
  Pos pos;
};
using Body = std::vector<std::unique_ptr<Stmt>>;

struct Target {  // what `for` and `set` assign to: a name, name.attribute, or several
  Pos pos;
  std::string name, attribute;
  uint32_t id = 0;
  std::vector<Target> parts;
  bool is_tuple = false;
};

struct TextStmt : Stmt {
  TextStmt(Pos p, std::string t) : Stmt(StmtKind::text, p), text(std::move(t)) {}
  std::string text;
};
struct OutputStmt : Stmt {
  OutputStmt(Pos p, ExprPtr e) : Stmt(StmtKind::output, p), expr(std::move(e)) {}
  ExprPtr expr;
};
struct IfStmt : Stmt {
  explicit IfStmt(Pos p) : Stmt(StmtKind::if_, p) {}
  std::vector<std::pair<ExprPtr, Body>> arms;
  Body otherwise;
};
struct ForStmt : Stmt {
  explicit ForStmt(Pos p) : Stmt(StmtKind::for_, p) {}
  Target target;
  ExprPtr iterable, filter;
  Body body, otherwise;
  bool recursive = false;
};
struct SetStmt : Stmt {
  explicit SetStmt(Pos p) : Stmt(StmtKind::set, p) {}
  Target target;
  ExprPtr value;
};
struct BlockStmt
    : Stmt {  // set_block, filter_block, scope: a body rendered apart, then passed through filters
  BlockStmt(StmtKind k, Pos p) : Stmt(k, p) {}
  Target target;
  std::vector<std::unique_ptr<Filter>> filters;
  Body body;
};
struct WithStmt : Stmt {
  explicit WithStmt(Pos p) : Stmt(StmtKind::with, p) {}
  std::vector<std::pair<Target, ExprPtr>> items;
  Body body;
};
struct MacroStmt : Stmt {  // also the caller of a call block
  explicit MacroStmt(Pos p) : Stmt(StmtKind::macro, p) {}
  std::string name;
  uint32_t id = 0;
  struct Param {
    std::string name;
    uint32_t id;
    ExprPtr fallback;  // may be null
  };
  std::vector<Param> params;
  bool uses_varargs = false, uses_kwargs = false, uses_caller = false;
  Body body;
};
struct CallStmt : Stmt {
  explicit CallStmt(Pos p) : Stmt(StmtKind::call_block, p) {}
  std::unique_ptr<MacroStmt> caller;
  std::unique_ptr<Call> call;
};
struct JumpStmt : Stmt {
  JumpStmt(StmtKind k, Pos p) : Stmt(k, p) {}
};

struct Template {
  std::map<std::string, uint32_t, std::less<>> ids;  // of every name in the source
  uint32_t id_caller = 0, id_varargs = 0, id_kwargs = 0, id_loop = 0;
  Body body;
};

}  // namespace ingle::text::jinja
