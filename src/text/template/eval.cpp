// Expressions. Each kind has its own function, kept out of line so that the recursing frame stays small.
#include "text/template/library.h"

namespace ingle::text::jinja {

Interp::Nested::Nested(Interp& in) : in_(in) {
  const char* here = static_cast<const char*>(__builtin_frame_address(0));
  const size_t used =
      static_cast<size_t>(in.stack_base_ > here ? in.stack_base_ - here : here - in.stack_base_);
  if (in.depth_ >= in.heap_.limits.depth || used > in.heap_.limits.stack_bytes) {
    refuse(format("the template's calls and blocks nest more than {} deep", in.depth_));
  }
  ++in.depth_;
}

Value Interp::eval(const Expr& expr) {
  heap_.spend(1);
  if (expr.kind == ExprKind::literal) return static_cast<const Literal&>(expr).value;
  pos_ = expr.pos;
  if (expr.kind == ExprKind::name) return eval_name(static_cast<const Name&>(expr));
  const Nested nested(*this);
  switch (expr.kind) {
    case ExprKind::attr:
      return eval_attr(static_cast<const Attr&>(expr));
    case ExprKind::item:
      return eval_item(static_cast<const Item&>(expr));
    case ExprKind::slice:
      return eval_slice(static_cast<const Slice&>(expr));
    case ExprKind::call:
      return eval_call(static_cast<const Call&>(expr));
    case ExprKind::filter:
      return eval_filter(static_cast<const Filter&>(expr));
    case ExprKind::test:
      return eval_test(static_cast<const Test&>(expr));
    case ExprKind::negate:
    case ExprKind::plus:
    case ExprKind::not_:
      return eval_unary(static_cast<const Unary&>(expr));
    case ExprKind::chain:
      return eval_chain(static_cast<const Chain&>(expr));
    case ExprKind::compare:
      return eval_compare(static_cast<const Chain&>(expr));
    case ExprKind::logic:
      return eval_logic(static_cast<const Chain&>(expr));
    case ExprKind::cond:
      return eval_cond(static_cast<const Cond&>(expr));
    case ExprKind::list:
    case ExprKind::tuple:
      return eval_sequence(static_cast<const Sequence&>(expr));
    case ExprKind::dict:
      return eval_dict(static_cast<const DictExpr&>(expr));
    default:
      refuse("an expression of unknown kind");
  }
}

[[gnu::noinline]] Value Interp::eval_name(const Name& expr) {
  for (const Scope* s = scope_; s; s = s->parent) {
    if (s->vars.size() > 32) heap_.spend(s->vars.size() / 32);
    if (const Value* found = s->find(expr.id)) return *found;
  }
  if (const NativeFn fn = find_global(expr.name)) return method(expr.name, fn, Value());
  return make_undefined(format("'{}' is undefined", expr.name));
}

[[gnu::noinline]] Value Interp::eval_attr(const Attr& expr) {
  const Value object = eval(*expr.object);
  pos_ = expr.pos;
  return get_attr(object, expr.name);
}

[[gnu::noinline]] Value Interp::eval_item(const Item& expr) {
  const Value object = eval(*expr.object);
  const Value index = eval(*expr.index);
  pos_ = expr.pos;
  return get_item(object, index);
}

[[gnu::noinline]] Value Interp::eval_slice(const Slice& expr) {
  const Value object = eval(*expr.object);
  const Value start = expr.start ? eval(*expr.start) : Value::none();
  const Value stop = expr.stop ? eval(*expr.stop) : Value::none();
  const Value step = expr.step ? eval(*expr.step) : Value::none();
  pos_ = expr.pos;
  return slice(*this, object, start, stop, step);
}

[[gnu::noinline]] void Interp::spread(const CallArgs& from, Args& to) {
  if (from.star) {
    const Value items = iterate(heap_, eval(*from.star));
    heap_.copied(items.as_seq().items.size() * sizeof(Value));
    to.pos.insert(to.pos.end(), items.as_seq().items.begin(), items.as_seq().items.end());
  }
  if (from.star_star) {
    const Value named = eval(*from.star_star);
    if (!named.is(Kind::dict)) raise(format("argument after ** must be a mapping, not {}", type_name(named)));
    heap_.copied(named.as_map().items.size() * 64);
    for (const auto& [key, value] : named.as_map().items) to.kw.emplace_back(need_text(key), value);
  }
}

void Interp::eval_args(const CallArgs& from, Args& to) {
  to.pos.reserve(from.positional.size());
  for (const ExprPtr& each : from.positional) to.pos.push_back(eval(*each));
  for (const auto& [name, each] : from.keywords) to.kw.emplace_back(name, eval(*each));
  if (from.star || from.star_star) spread(from, to);
}

[[gnu::noinline]] Value Interp::eval_call(const Call& expr) {
  const Value callee = eval(*expr.callee);
  Args args;
  eval_args(expr.args, args);
  pos_ = expr.pos;
  return call(callee, args);
}

[[gnu::noinline]] Value Interp::apply_filter(const Filter& filter, const Value& subject) {
  if (!filter.fn) raise(format("no filter named '{}'", filter.name));
  Args args;
  eval_args(filter.args, args);
  pos_ = filter.pos;
  const MarkAll marking(heap_, given_user_text(subject, args));
  return filter.fn(*this, subject, args);
}

[[gnu::noinline]] Value Interp::eval_filter(const Filter& expr) {
  const Value subject = eval(*expr.subject);
  return apply_filter(expr, subject);
}

[[gnu::noinline]] Value Interp::eval_test(const Test& expr) {
  const Value subject = eval(*expr.subject);
  if (!expr.fn) raise(format("no test named '{}'", expr.name));
  Args args;
  eval_args(expr.args, args);
  pos_ = expr.pos;
  return Value::boolean(expr.fn(*this, subject, args) != expr.negated);
}

[[gnu::noinline]] Value Interp::eval_unary(const Unary& expr) {
  Value v = eval(*expr.operand);
  pos_ = expr.pos;
  if (expr.kind == ExprKind::not_) return Value::boolean(truthy(v) == (expr.times % 2 == 0));
  if (v.is(Kind::undefined)) raise(undefined_reason(v));
  if (!v.is_number()) raise(format("bad operand type for unary sign: '{}'", type_name(v)));
  if (v.is(Kind::boolean)) v = Value::integer(v.as_int());
  return expr.times % 2 ? negated(v) : v;
}

[[gnu::noinline]] Value Interp::eval_concat(const Chain& expr) {
  Sink out(heap_);
  write_text(out, eval(*expr.first));
  for (const auto& [op, operand] : expr.rest) write_text(out, eval(*operand));
  return text(out);
}

[[gnu::noinline]] Value Interp::eval_chain(const Chain& expr) {
  if (expr.rest.front().first == Op::concat) return eval_concat(expr);
  Value left = eval(*expr.first);
  for (const auto& [op, operand] : expr.rest) {
    const Value right = eval(*operand);
    pos_ = expr.pos;
    left = arithmetic(*this, op, left, right);
  }
  return left;
}

namespace {

bool holds(Heap& heap, Op op, const Value& a, const Value& b) {
  switch (op) {
    case Op::eq:
      return equal(heap, a, b);
    case Op::ne:
      return !equal(heap, a, b);
    case Op::in:
      return contains(heap, b, a);
    case Op::not_in:
      return !contains(heap, b, a);
    case Op::lt:
      return compare(heap, a, b, "<") == -1;
    case Op::gt:
      return compare(heap, a, b, ">") == 1;
    case Op::le:
      return compare(heap, a, b, "<=") <= 0;
    default: {
      const int order = compare(heap, a, b, ">=");
      return order == 0 || order == 1;
    }
  }
}

}  // namespace

[[gnu::noinline]] Value Interp::eval_compare(const Chain& expr) {
  Value left = eval(*expr.first);
  for (const auto& [op, operand] : expr.rest) {
    Value right = eval(*operand);
    pos_ = expr.pos;
    if (!holds(heap_, op, left, right)) return Value::boolean(false);
    left = std::move(right);
  }
  return Value::boolean(true);
}

[[gnu::noinline]] Value Interp::eval_logic(const Chain& expr) {
  Value v = eval(*expr.first);
  for (const auto& [op, operand] : expr.rest) {
    if (truthy(v) == (op == Op::or_)) return v;
    v = eval(*operand);
  }
  return v;
}

[[gnu::noinline]] Value Interp::eval_cond(const Cond& expr) {
  for (const auto& [test, value] : expr.arms) {
    if (truthy(eval(*test))) return eval(*value);
  }
  if (expr.otherwise) return eval(*expr.otherwise);
  return make_undefined(format("the inline if on line {} is false and has no else", expr.pos.line));
}

[[gnu::noinline]] Value Interp::eval_sequence(const Sequence& expr) {
  std::vector<Value> items;
  items.reserve(expr.items.size());
  for (const ExprPtr& item : expr.items) items.push_back(eval(*item));
  return list(std::move(items), expr.kind == ExprKind::tuple ? Flavor::tuple : Flavor::list);
}

[[gnu::noinline]] Value Interp::eval_dict(const DictExpr& expr) {
  auto out = std::make_shared<Map>();
  for (const auto& [key, value] : expr.items) {
    Value k = eval(*key);
    Value v = eval(*value);
    pos_ = expr.pos;
    if (k.is(Kind::string)) heap_.copied(k.text().size());
    out->set(std::move(k), std::move(v));
  }
  return map(std::move(out));
}

Value Interp::method(std::string_view name, NativeFn fn, Value self) {
  auto func = std::make_shared<Func>();
  func->name = name;
  func->fn = fn;
  func->self = std::move(self);
  note_child(*func, func->self);
  func->plain = false;
  adopt(&heap_, *func, sizeof(Func));
  return Value(Kind::callable, std::move(func));
}

Value Interp::get_attr(const Value& object, const std::string& name) {
  if (object.is(Kind::undefined)) raise(undefined_reason(object));
  if (object.is(Kind::space)) {
    heap_.spend(object.as_space().items.size() / 32);
    if (const Value* found = object.as_space().find(name)) return *found;
  } else if (object.is(Kind::loop)) {
    return loop_attr(*this, object, name);
  } else {
    Value found = find_method(*this, object, name);
    if (!found.is(Kind::undefined) || found.object()) return found;
    if (object.is(Kind::dict)) {
      if (const Value* value = object.as_map().find(name)) return *value;
    }
  }
  return make_undefined(format("'{} object' has no attribute '{}'", type_name(object), name));
}

namespace {

// A position in a sequence of n, counted from either end.
std::optional<size_t> position(int64_t index, int64_t n) {
  if (index < 0) index += n;
  return index >= 0 && index < n ? std::optional(static_cast<size_t>(index)) : std::nullopt;
}

std::optional<std::string_view> character(const Str& str, int64_t index) {
  if (str.ascii) {
    const auto at = position(index, static_cast<int64_t>(str.text.size()));
    return at ? std::optional(std::string_view(str.text).substr(*at, 1)) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

Value Interp::get_item(const Value& object, const Value& index) {
  if (object.is(Kind::undefined)) raise(undefined_reason(object));
  if (object.is(Kind::dict) && (index.is(Kind::string) || index.is_number() || index.is(Kind::none))) {
    if (index.is(Kind::string)) heap_.copied(index.text().size());
    if (const Value* found = object.as_map().find(index)) return *found;
  }
  if (object.is(Kind::list) && index.is_integral() && object.as_seq().flavor <= Flavor::range) {
    const auto& items = object.as_seq().items;
    if (const auto at = position(index.as_int(), static_cast<int64_t>(items.size()))) return items[*at];
  }
  if (object.is(Kind::string) && index.is_integral()) {
    if (const auto found = character(object.as_str(), index.as_int())) return part(object.as_str(), *found);
    if (!object.as_str().ascii) {
      if (position(index.as_int(), length(object))) {
        const int64_t from = index.as_int();
        return slice(*this, object, index, from == -1 ? Value::none() : Value::integer(from + 1),
                     Value::none());
      }
    }
  }
  if (index.is(Kind::string)) {
    if (object.is(Kind::space) || object.is(Kind::loop)) return get_attr(object, index.text());
    Value found = find_method(*this, object, index.text());
    if (!found.is(Kind::undefined) || found.object()) return found;
    return make_undefined(format("'{} object' has no attribute '{}'", type_name(object), index.text()));
  }
  return make_undefined(format("the {} has no element {}", type_name(object),
                               index.is_integral() ? std::to_string(index.as_int()) : "of that key"));
}

void Interp::set_member(Space& space, std::string_view name, Value value) {
  heap_.spend(space.items.size() / 32);
  const size_t before = space.items.size();
  space.set(name, std::move(value));
  if (space.items.size() > before) heap_.take(sizeof(space.items[0]) * 2 + name.size());
}

Space& Interp::new_space() {
  heap_.take(sizeof(Space) + 256);
  return spaces_.emplace_back();
}

}  // namespace ingle::text::jinja
