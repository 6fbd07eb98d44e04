#include <algorithm>

#include "core/format.h"
#include "text/template/library.h"
#include "text/template/parser.h"

namespace ingle::text::jinja {
namespace {

// Binding strength, weakest first.
enum Level : int { kOr = 1, kAnd, kNot, kCompare, kAdd, kConcat, kMul, kPow };

ExprKind chain_kind(int level) {
  return level <= kAnd ? ExprKind::logic : level == kCompare ? ExprKind::compare : ExprKind::chain;
}

}  // namespace

void Parser::deepen(Expr& parent, const ExprPtr& child) const {
  if (!child) return;
  if (child->depth >= limits_.parse_depth) {
    fail_at(child->pos, format("expressions nest more than {} deep", limits_.parse_depth));
  }
  parent.depth = std::max<uint16_t>(parent.depth, static_cast<uint16_t>(child->depth + 1));
}

// value if test else value if test else value, flat.
ExprPtr Parser::parse_expr() {
  const Nested nested(*this);
  const size_t unknown = unknown_.size();
  ExprPtr value = parse_binary(kOr);
  while (at_name("if")) {
    unknown_.resize(std::min(unknown, unknown_.size()));
    auto cond = std::make_unique<Cond>(now().pos);
    const bool was_soft = std::exchange(soft_, true);
    bool has_else = true;
    while (has_else && skip_name("if")) {
      ExprPtr test = parse_binary(kOr);
      deepen(*cond, test);
      deepen(*cond, value);
      cond->arms.emplace_back(std::move(test), std::move(value));
      has_else = skip_name("else");
      if (has_else) value = parse_binary(kOr);
    }
    soft_ = was_soft;
    if (has_else) {
      deepen(*cond, value);
      cond->otherwise = std::move(value);
    }
    value = std::move(cond);
  }
  return value;
}

// The level of the operator here, or 0.
int Parser::binary_level(Op& op) const {
  struct Row {
    std::string_view text;
    Op op;
    int level;
  };
  static constexpr Row kOps[] = {
      {"+", Op::add, kAdd},     {"-", Op::sub, kAdd},    {"~", Op::concat, kConcat},
      {"*", Op::mul, kMul},     {"/", Op::div, kMul},    {"//", Op::floordiv, kMul},
      {"%", Op::mod, kMul},     {"**", Op::pow, kPow},   {"==", Op::eq, kCompare},
      {"!=", Op::ne, kCompare}, {"<", Op::lt, kCompare}, {"<=", Op::le, kCompare},
      {">", Op::gt, kCompare},  {">=", Op::ge, kCompare}};
  static constexpr Row kWords[] = {{"and", Op::and_, kAnd}, {"or", Op::or_, kOr}, {"in", Op::in, kCompare}};
  const auto look = [&](std::span<const Row> rows) {
    for (const Row& row : rows) {
      if (now().text == row.text) return op = row.op, row.level;
    }
    return 0;
  };
  if (now().kind == TokenKind::op) return look(kOps);
  if (now().kind != TokenKind::name) return 0;
  if (now().text == "not" && ahead().kind == TokenKind::name && ahead().text == "in") {
    op = Op::not_in;
    return kCompare;
  }
  return look(kWords);
}

ExprPtr Parser::parse_binary(int level) {
  const Pos pos = now().pos;
  ExprPtr left;
  if (level <= kNot && at_name("not")) {
    uint32_t times = 0;
    while (skip_name("not")) ++times;
    ExprPtr operand = parse_binary(kCompare);
    left = std::make_unique<Unary>(ExprKind::not_, pos, nullptr, times);
    deepen(*left, operand);
    static_cast<Unary&>(*left).operand = std::move(operand);
  } else {
    left = parse_unary();
  }
  int open = 0;  // the level that `left` is a growing chain of
  Op op{};
  for (int found = binary_level(op); found >= level && found > 0; found = binary_level(op)) {
    const Pos at = now().pos;
    at_ += op == Op::not_in ? 2 : 1;
    ExprPtr right = parse_binary(found + 1);
    if (found != open) {
      auto chain = std::make_unique<Chain>(chain_kind(found), at, nullptr);
      deepen(*chain, left);
      chain->first = std::move(left);
      left = std::move(chain);
      open = found;
    }
    deepen(*left, right);
    static_cast<Chain&>(*left).rest.emplace_back(op, std::move(right));
  }
  return left;
}

ExprPtr Parser::parse_unary() {
  const Pos pos = now().pos;
  uint32_t minuses = 0, signs = 0;
  for (; at_op("-") || at_op("+"); ++signs) minuses += at_op("-"), ++at_;
  ExprPtr node = parse_postfix(parse_primary());
  if (signs > 0) {
    auto unary = std::make_unique<Unary>(minuses ? ExprKind::negate : ExprKind::plus, pos, nullptr, minuses);
    deepen(*unary, node);
    unary->operand = std::move(node);
    node = std::move(unary);
  }
  return parse_filters(std::move(node));
}

ExprPtr Parser::parse_strings() {
  const Pos pos = now().pos;
  std::string text;
  while (now().kind == TokenKind::string) text += tokens_[at_++].text;
  return std::make_unique<Literal>(pos, make_text(nullptr, std::move(text)));
}

ExprPtr Parser::parse_primary() {
  const Token& token = now();
  switch (token.kind) {
    case TokenKind::string:
      return parse_strings();
    case TokenKind::integer:
      ++at_;
      return std::make_unique<Literal>(token.pos, Value::integer(token.integer));
    case TokenKind::floating:
      ++at_;
      return std::make_unique<Literal>(token.pos, Value::real(token.real));
    case TokenKind::op:
      return parse_brackets();
    case TokenKind::name:
      break;
    default:
      fail_here(format("expected an expression, found {}", describe(token)));
  }
  for (const std::string_view word : {"if", "else", "elif", "in", "and", "or", "not", "is"}) {
    if (token.text == word) fail_here(format("expected an expression, found '{}'", word));
  }
  ++at_;
  if (token.text == "true" || token.text == "True")
    return std::make_unique<Literal>(token.pos, Value::boolean(true));
  if (token.text == "false" || token.text == "False")
    return std::make_unique<Literal>(token.pos, Value::boolean(false));
  if (token.text == "none" || token.text == "None")
    return std::make_unique<Literal>(token.pos, Value::none());
  for (MacroStmt* macro : macros_) {
    macro->uses_varargs |= token.text == "varargs";
    macro->uses_kwargs |= token.text == "kwargs";
    macro->uses_caller |= token.text == "caller";
  }
  return std::make_unique<Name>(token.pos, token.text, id_of(token.text));
}

ExprPtr Parser::parse_brackets() {
  const Pos pos = now().pos;
  if (skip_op("(")) {
    ExprPtr inside = parse_tuple(true, true);
    expect_op(")");
    return inside;
  }
  if (skip_op("[")) {
    auto list = std::make_unique<Sequence>(ExprKind::list, pos);
    while (!at_op("]")) {
      if (!list->items.empty()) expect_op(",");
      if (at_op("]")) break;
      list->items.push_back(parse_expr());
      deepen(*list, list->items.back());
    }
    expect_op("]");
    return list;
  }
  if (!skip_op("{")) fail_here(format("expected an expression, found {}", describe(now())));
  auto dict = std::make_unique<DictExpr>(pos);
  while (!at_op("}")) {
    if (!dict->items.empty()) expect_op(",");
    if (at_op("}")) break;
    ExprPtr key = parse_expr();
    expect_op(":");
    ExprPtr value = parse_expr();
    deepen(*dict, key);
    deepen(*dict, value);
    dict->items.emplace_back(std::move(key), std::move(value));
  }
  expect_op("}");
  return dict;
}

bool Parser::at_tuple_end(std::string_view end_name) const {
  return now().kind == TokenKind::print_end || now().kind == TokenKind::block_end || at_op(")") ||
         (!end_name.empty() && at_name(end_name));
}

ExprPtr Parser::parse_tuple(bool with_cond, bool parenthesized, std::string_view end_name) {
  const Pos pos = now().pos;
  std::vector<ExprPtr> items;
  bool is_tuple = false;
  for (;;) {
    if (!items.empty()) expect_op(",");
    if (at_tuple_end(end_name)) break;
    items.push_back(with_cond ? parse_expr() : parse_binary(kOr));
    if (!at_op(",")) break;
    is_tuple = true;
  }
  if (!is_tuple && !items.empty()) return std::move(items[0]);
  if (!is_tuple && !parenthesized) fail_here(format("expected an expression, found {}", describe(now())));
  auto tuple = std::make_unique<Sequence>(ExprKind::tuple, pos);
  for (const ExprPtr& item : items) deepen(*tuple, item);
  tuple->items = std::move(items);
  return tuple;
}

ExprPtr Parser::parse_postfix(ExprPtr node) {
  for (;;) {
    const Pos pos = now().pos;
    if (skip_op(".")) {
      if (now().kind == TokenKind::integer) {
        auto item = std::make_unique<Item>(pos, nullptr,
                                           std::make_unique<Literal>(pos, Value::integer(now().integer)));
        deepen(*item, node);
        item->object = std::move(node);
        node = std::move(item);
        ++at_;
        continue;
      }
      auto attr = std::make_unique<Attr>(pos, nullptr, expect_name("the name of an attribute"));
      deepen(*attr, node);
      attr->object = std::move(node);
      node = std::move(attr);
    } else if (at_op("[")) {
      node = parse_subscript(std::move(node));
    } else if (at_op("(")) {
      node = parse_call_of(std::move(node));
    } else {
      return node;
    }
  }
}

ExprPtr Parser::parse_filters(ExprPtr node) {
  for (;;) {
    if (skip_op("|")) {
      node = parse_one_filter(std::move(node));
    } else if (at_name("is")) {
      node = parse_test(std::move(node));
    } else if (at_op("(")) {
      node = parse_call_of(std::move(node));
    } else {
      return node;
    }
  }
}

ExprPtr Parser::parse_subscript(ExprPtr object) {
  const Pos pos = now().pos;
  expect_op("[");
  ExprPtr start = at_op(":") ? nullptr : parse_expr();
  if (at_op("]")) {
    ++at_;
    auto item = std::make_unique<Item>(pos, nullptr, nullptr);
    deepen(*item, object);
    deepen(*item, start);
    item->object = std::move(object);
    item->index = std::move(start);
    return item;
  }
  auto slice = std::make_unique<Slice>(pos, nullptr);
  deepen(*slice, object);
  slice->object = std::move(object);
  slice->start = std::move(start);
  expect_op(":");
  if (!at_op(":") && !at_op("]")) slice->stop = parse_expr();
  if (skip_op(":") && !at_op("]")) slice->step = parse_expr();
  expect_op("]");
  deepen(*slice, slice->start);
  deepen(*slice, slice->stop);
  deepen(*slice, slice->step);
  return slice;
}

void Parser::parse_args(CallArgs& args, Expr& owner) {
  expect_op("(");
  for (bool first = true; !at_op(")"); first = false) {
    if (!first) expect_op(",");
    if (at_op(")")) break;
    if (skip_op("*")) {
      if (args.star) fail_here("more than one * argument");
      args.star = parse_expr();
      deepen(owner, args.star);
    } else if (skip_op("**")) {
      if (args.star_star) fail_here("more than one ** argument");
      args.star_star = parse_expr();
      deepen(owner, args.star_star);
    } else if (now().kind == TokenKind::name && ahead().kind == TokenKind::op && ahead().text == "=") {
      std::string name = now().text;
      at_ += 2;
      args.keywords.emplace_back(std::move(name), parse_expr());
      deepen(owner, args.keywords.back().second);
    } else {
      if (!args.keywords.empty() || args.star || args.star_star)
        fail_here("a positional argument follows a named one");
      args.positional.push_back(parse_expr());
      deepen(owner, args.positional.back());
    }
  }
  expect_op(")");
}

std::unique_ptr<Call> Parser::parse_call_of(ExprPtr callee) {
  auto call = std::make_unique<Call>(now().pos, nullptr);
  deepen(*call, callee);
  call->callee = std::move(callee);
  parse_args(call->args, *call);
  return call;
}

std::unique_ptr<Filter> Parser::parse_one_filter(ExprPtr subject) {
  const Pos pos = now().pos;
  std::string name = expect_name("the name of a filter");
  while (skip_op(".")) name.append(1, '.').append(expect_name("the name of a filter"));
  auto filter = std::make_unique<Filter>(pos, nullptr, name);
  deepen(*filter, subject);
  filter->subject = std::move(subject);
  filter->fn = find_filter(name);
  if (!filter->fn) note_unknown(pos, format("the filter '{}' is not supported", name), is_known_filter(name));
  if (at_op("(")) parse_args(filter->args, *filter);
  return filter;
}

ExprPtr Parser::parse_test(ExprPtr subject) {
  ++at_;  // is
  const bool negated = skip_name("not");
  const Pos pos = now().pos;
  std::string name = expect_name("the name of a test");
  while (skip_op(".")) name.append(1, '.').append(expect_name("the name of a test"));
  auto test = std::make_unique<Test>(pos, nullptr, name);
  deepen(*test, subject);
  test->subject = std::move(subject);
  test->negated = negated;
  test->fn = find_test(name);
  if (!test->fn) note_unknown(pos, format("the test '{}' is not supported", name), is_known_test(name));
  if (at_op("(")) {
    parse_args(test->args, *test);
    return test;
  }
  const TokenKind kind = now().kind;
  const bool starts_value = kind == TokenKind::name || kind == TokenKind::string ||
                            kind == TokenKind::integer || kind == TokenKind::floating || at_op("[") ||
                            at_op("{");
  if (!starts_value) return test;
  for (const std::string_view word : {"else", "or", "and", "if", "recursive"}) {
    if (at_name(word)) return test;
  }
  if (at_name("is")) fail_here("tests cannot be chained with 'is'");
  test->args.positional.push_back(parse_postfix(parse_primary()));
  deepen(*test, test->args.positional.back());
  return test;
}

}  // namespace ingle::text::jinja
