// Statements, scopes, loops and macros.
#include "text/template/library.h"

namespace ingle::text::jinja {

const Value* Scope::find(uint32_t id) const {
  for (const auto& [key, value] : vars) {
    if (key == id) return &value;
  }
  return nullptr;
}

void Scope::set(uint32_t id, Value value) {
  for (auto& [key, old] : vars) {
    if (key == id) {
      old = std::move(value);
      return;
    }
  }
  vars.emplace_back(id, std::move(value));
}

Interp::Interp(const Template& source, const Limits& limits, int64_t now_unix)
    : heap_(limits),
      source_(source),
      now_unix_(now_unix),
      stack_base_(static_cast<const char*>(__builtin_frame_address(0))) {}

std::string Interp::run(const std::vector<std::pair<std::string, Value>>& variables, Marks* marks) {
  const Inner root(*this, nullptr);
  for (const auto& [name, value] : variables) {
    const auto id = source_.ids.find(name);
    if (id != source_.ids.end()) scope_->set(id->second, value);
  }
  Sink out(heap_);
  out_ = &out;
  exec(source_.body);
  if (marks) *marks = out.take_marks();
  return out.take();
}

Scope* Interp::new_scope(Scope* parent) {
  if (free_scopes_.empty()) {
    heap_.take(sizeof(Scope) + 128);
    Scope& fresh = scopes_.emplace_back();
    // Room for all of them, so that releasing one cannot fail.
    if (free_scopes_.capacity() < scopes_.size()) free_scopes_.reserve(2 * scopes_.size());
    free_scopes_.push_back(&fresh);
  }
  Scope* scope = free_scopes_.back();
  free_scopes_.pop_back();
  scope->parent = parent;
  return scope;
}

void Interp::release_scope(Scope* scope) {
  if (scope->captured) return;
  scope->vars.clear();
  free_scopes_.push_back(scope);
}

Flow Interp::exec(const Body& body) {
  for (const auto& stmt : body) {
    heap_.spend(1);
    if (stmt->kind == StmtKind::text) {
      out_->add(static_cast<const TextStmt&>(*stmt).text);
      continue;
    }
    const Flow flow = exec_one(*stmt);
    if (flow != Flow::normal) return flow;
  }
  return Flow::normal;
}

Flow Interp::exec_one(const Stmt& stmt) {
  const Nested nested(*this);
  pos_ = stmt.pos;
  switch (stmt.kind) {
    case StmtKind::output:
      exec_output(static_cast<const OutputStmt&>(stmt));
      return Flow::normal;
    case StmtKind::if_:
      return exec_if(static_cast<const IfStmt&>(stmt));
    case StmtKind::for_: {
      const auto& loop = static_cast<const ForStmt&>(stmt);
      return exec_for(loop, eval(*loop.iterable), 0);
    }
    case StmtKind::set:
      exec_set(static_cast<const SetStmt&>(stmt));
      return Flow::normal;
    case StmtKind::set_block:
    case StmtKind::filter_block:
    case StmtKind::scope:
      return exec_block(static_cast<const BlockStmt&>(stmt));
    case StmtKind::with:
      return exec_with(static_cast<const WithStmt&>(stmt));
    case StmtKind::macro:
      exec_macro(static_cast<const MacroStmt&>(stmt));
      return Flow::normal;
    case StmtKind::call_block:
      exec_call(static_cast<const CallStmt&>(stmt));
      return Flow::normal;
    case StmtKind::break_:
      return Flow::break_;
    case StmtKind::continue_:
      return Flow::continue_;
    default:
      return Flow::normal;
  }
}

[[gnu::noinline]] void Interp::exec_output(const OutputStmt& stmt) {
  const Value v = eval(*stmt.expr);
  pos_ = stmt.pos;
  write_text(*out_, v);
}

[[gnu::noinline]] Flow Interp::exec_if(const IfStmt& stmt) {
  for (const auto& [test, body] : stmt.arms) {
    if (truthy(eval(*test))) return exec(body);
  }
  return exec(stmt.otherwise);
}

[[gnu::noinline]] Value Interp::filter_items(const ForStmt& stmt, const Value& items) {
  std::vector<Value> kept;
  for (const Value& item : items.as_seq().items) {
    const Inner inner(*this, scope_);
    assign(stmt.target, item);
    if (truthy(eval(*stmt.filter))) kept.push_back(item);
  }
  return list(std::move(kept));
}

[[gnu::noinline]] Flow Interp::exec_iteration(const ForStmt& stmt, const Value& loop, const Value& item) {
  const Inner inner(*this, scope_);
  scope_->set(source_.id_loop, loop);
  assign(stmt.target, item);
  return exec(stmt.body);
}

[[gnu::noinline]] Flow Interp::exec_for(const ForStmt& stmt, const Value& iterable, int64_t level) {
  pos_ = stmt.iterable->pos;
  auto state = std::make_shared<Loop>();
  state->items = iterate(heap_, iterable);
  if (stmt.filter) state->items = filter_items(stmt, state->items);
  state->stmt = &stmt;
  state->level = level;
  state->scope = scope_;
  state->depth = state->items.object()->depth + 1;
  // A recursive loop may be called after its scope ended, if a namespace keeps it.
  for (Scope* s = stmt.recursive ? scope_ : nullptr; s && !s->captured; s = s->parent) s->captured = true;
  adopt(&heap_, *state, sizeof(Loop));
  Loop& at = *state;
  const Value loop(Kind::loop, std::move(state));
  const auto& items = at.items.as_seq().items;
  if (items.empty()) {
    const Inner inner(*this, scope_);
    return exec(stmt.otherwise);
  }
  for (size_t i = 0; i < items.size(); ++i) {
    heap_.spend(1);
    at.index = static_cast<int64_t>(i);
    if (exec_iteration(stmt, loop, items[i]) == Flow::break_) break;
  }
  return Flow::normal;
}

[[gnu::noinline]] Value Interp::call_loop(const Loop& loop, const Args& args) {
  if (!loop.stmt->recursive) raise("the loop is not recursive: it cannot be called");
  if (args.pos.size() != 1 || !args.kw.empty()) raise("loop() takes one iterable");
  Sink out(heap_);
  Sink* saved_out = std::exchange(out_, &out);
  Scope* saved_scope = std::exchange(scope_, loop.scope);
  struct Restore {
    Interp& in;
    Sink* out;
    Scope* scope;
    ~Restore() { in.out_ = out, in.scope_ = scope; }
  } const restore{*this, saved_out, saved_scope};
  exec_for(*loop.stmt, args.pos[0], loop.level + 1);
  return text(out);
}

[[gnu::noinline]] void Interp::assign(const Target& target, const Value& value) {
  if (!target.attribute.empty()) {
    const Value* owner = nullptr;
    for (const Scope* s = scope_; s && !owner; s = s->parent) owner = s->find(target.id);
    if (!owner || !owner->is(Kind::space)) {
      pos_ = target.pos;
      raise(
          format("cannot assign the attribute '{}': '{}' is not a namespace", target.attribute, target.name));
    }
    set_member(owner->as_space(), target.attribute, value);
    return;
  }
  if (!target.is_tuple) {
    heap_.spend(scope_->vars.size() / 32);
    return scope_->set(target.id, value);
  }
  const Value items = iterate(heap_, value);
  const size_t n = items.as_seq().items.size();
  if (n != target.parts.size()) {
    pos_ = target.pos;
    raise(format("cannot unpack {} values into {} names", n, target.parts.size()));
  }
  for (size_t i = 0; i < n; ++i) assign(target.parts[i], items.as_seq().items[i]);
}

[[gnu::noinline]] void Interp::exec_set(const SetStmt& stmt) {
  const Value value = eval(*stmt.value);
  assign(stmt.target, value);
}

// The text that a body writes, in a scope of its own.
[[gnu::noinline]] Value Interp::capture(const Body& body) {
  const Inner inner(*this, scope_);
  Sink out(heap_);
  struct Restore {
    Interp& in;
    Sink* out;
    ~Restore() { in.out_ = out; }
  } const restore{*this, std::exchange(out_, &out)};
  exec(body);
  return text(out);
}

[[gnu::noinline]] Flow Interp::exec_block(const BlockStmt& stmt) {
  if (stmt.kind == StmtKind::scope) {
    const Inner inner(*this, scope_);
    return exec(stmt.body);
  }
  Value value = capture(stmt.body);
  for (const auto& filter : stmt.filters) value = apply_filter(*filter, value);
  if (stmt.kind == StmtKind::set_block) {
    assign(stmt.target, value);
  } else {
    if (!value.is(Kind::string))
      raise(format("a filter block must end as a str, not as {}", type_name(value)));
    write_text(*out_, value);
  }
  return Flow::normal;
}

[[gnu::noinline]] Flow Interp::exec_with(const WithStmt& stmt) {
  std::vector<Value> values;
  for (const auto& [target, expr] : stmt.items) values.push_back(eval(*expr));
  const Inner inner(*this, scope_);
  for (size_t i = 0; i < values.size(); ++i) assign(stmt.items[i].first, values[i]);
  return exec(stmt.body);
}

Value Interp::make_macro(const MacroStmt& stmt) {
  auto func = std::make_shared<Func>();
  func->name = stmt.name;
  func->macro = &stmt;
  func->scope = scope_;
  for (Scope* s = scope_; s && !s->captured; s = s->parent) s->captured = true;
  adopt(&heap_, *func, sizeof(Func));
  return Value(Kind::callable, std::move(func));
}

[[gnu::noinline]] void Interp::exec_macro(const MacroStmt& stmt) { scope_->set(stmt.id, make_macro(stmt)); }

[[gnu::noinline]] void Interp::exec_call(const CallStmt& stmt) {
  const Value callee = eval(*stmt.call->callee);
  Args args;
  eval_args(stmt.call->args, args);
  args.kw.emplace_back("caller", make_macro(*stmt.caller));
  pos_ = stmt.pos;
  write_text(*out_, call(callee, args));
}

Value Interp::call(const Value& callee, const Args& args) {
  heap_.spend(1);
  if (callee.is(Kind::undefined)) raise(undefined_reason(callee));
  if (callee.is(Kind::loop)) return call_loop(callee.as_loop(), args);
  if (!callee.is(Kind::callable)) raise(format("'{}' object is not callable", type_name(callee)));
  const Func& func = callee.as_func();
  if (!func.fn) return call_macro(func, args);
  const MarkAll marking(heap_, given_user_text(func.self, args));
  return func.fn(*this, func.self, args);
}

bool given_user_text(const Value& self, const Args& args) {
  if (holds_user_text(self)) return true;
  for (const Value& v : args.pos)
    if (holds_user_text(v)) return true;
  for (const auto& [name, v] : args.kw)
    if (holds_user_text(v)) return true;
  return false;
}

[[gnu::noinline]] void Interp::bind_params(const Func& func, const Args& args) {
  const MacroStmt& macro = *func.macro;
  const size_t n = macro.params.size();
  std::vector<bool> used(args.kw.size());
  for (size_t i = 0; i < n; ++i) {
    const MacroStmt::Param& param = macro.params[i];
    if (i < args.pos.size()) {
      scope_->set(param.id, args.pos[i]);
      continue;
    }
    heap_.spend(args.kw.size() / 32);
    size_t k = 0;
    while (k < args.kw.size() && args.kw[k].first != param.name) ++k;
    if (k < args.kw.size()) {
      used[k] = true;
      scope_->set(param.id, args.kw[k].second);
    } else if (param.fallback) {
      scope_->set(param.id, eval(*param.fallback));
    } else {
      scope_->set(param.id, make_undefined(format("parameter '{}' was not provided", param.name)));
    }
  }
  auto others = std::make_shared<Map>();
  for (size_t k = 0; k < args.kw.size(); ++k) {
    if (used[k]) continue;
    if (macro.uses_caller && args.kw[k].first == "caller") {
      scope_->set(source_.id_caller, args.kw[k].second);
    } else if (macro.uses_kwargs) {
      others->set(text(args.kw[k].first), args.kw[k].second);
    } else {
      raise(format("macro '{}' takes no keyword argument '{}'", macro.name, args.kw[k].first));
    }
  }
  if (macro.uses_kwargs) scope_->set(source_.id_kwargs, map(std::move(others)));
  if (macro.uses_varargs) {
    std::vector<Value> rest(args.pos.begin() + static_cast<ptrdiff_t>(std::min(n, args.pos.size())),
                            args.pos.end());
    scope_->set(source_.id_varargs, list(std::move(rest), Flavor::tuple));
  } else if (args.pos.size() > n) {
    raise(format("macro '{}' takes not more than {} argument(s)", macro.name, n));
  }
}

[[gnu::noinline]] Value Interp::call_macro(const Func& func, const Args& args) {
  const Nested nested(*this);
  const Inner inner(*this, func.scope);
  if (func.macro->uses_caller) scope_->set(source_.id_caller, make_undefined("no caller defined"));
  bind_params(func, args);
  return capture(func.macro->body);
}

}  // namespace ingle::text::jinja
