#include "text/template/parser.h"

#include <algorithm>

#include "core/format.h"
#include "text/template/library.h"

namespace ingle::text::jinja {

Parser::Nested::Nested(Parser& p) : parser_(p) {
  const char* here = static_cast<const char*>(__builtin_frame_address(0));
  const size_t used = static_cast<size_t>(p.stack_base_ > here ? p.stack_base_ - here : here - p.stack_base_);
  if (p.depth_ >= p.limits_.parse_depth || used > p.limits_.stack_bytes) {
    p.fail_here(format("constructs nest more than {} deep", p.depth_));
  }
  ++p.depth_;
}

Parser::Parser(std::string_view source, const Limits& limits)
    : limits_(limits),
      tokens_(tokenize(source)),
      out_(std::make_unique<Template>()),
      stack_base_(static_cast<const char*>(__builtin_frame_address(0))) {}

void Parser::fail_at(Pos pos, std::string message) {
  throw SyntaxError{pos, {Code::unsupported, std::move(message)}};
}

// A filter or test that is not held: an error now if Jinja knows it, else when the template is not sure to
// skip it.
void Parser::note_unknown(Pos pos, std::string message, bool known) {
  if (known) fail_at(pos, std::move(message));
  if (!soft_) unknown_.push_back({pos, {Code::unsupported, std::move(message)}});
}

std::string Parser::describe(const Token& token) const {
  switch (token.kind) {
    case TokenKind::data:
      return "text";
    case TokenKind::end:
      return token.text;
    case TokenKind::string:
      return "a string";
    default:
      return format("'{}'", token.text.substr(0, 40));
  }
}

uint32_t Parser::id_of(const std::string& name) {
  return out_->ids.emplace(name, static_cast<uint32_t>(out_->ids.size())).first->second;
}

bool Parser::skip_op(std::string_view op) {
  if (!at_op(op)) return false;
  ++at_;
  return true;
}

bool Parser::skip_name(std::string_view name) {
  if (!at_name(name)) return false;
  ++at_;
  return true;
}

void Parser::expect_op(std::string_view op) {
  if (!skip_op(op)) fail_here(format("expected '{}', found {}", op, describe(now())));
}

void Parser::expect(TokenKind kind, std::string_view what) {
  if (now().kind != kind) fail_here(format("expected {}, found {}", what, describe(now())));
  ++at_;
}

std::string Parser::expect_name(std::string_view what) {
  if (now().kind != TokenKind::name) fail_here(format("expected {}, found {}", what, describe(now())));
  return tokens_[at_++].text;
}

void Parser::expect_end_tag(std::string_view name) {
  if (!skip_name(name)) fail_here(format("expected {}, found {}", name, describe(now())));
  expect(TokenKind::block_end, "%}");
}

std::unique_ptr<Template> Parser::run() {
  out_->id_caller = id_of("caller");
  out_->id_varargs = id_of("varargs");
  out_->id_kwargs = id_of("kwargs");
  out_->id_loop = id_of("loop");
  out_->body = parse_body({});
  if (!unknown_.empty()) throw unknown_.front();
  return std::move(out_);
}

// Up to, and not including, the name of one of `ends`; the tag's opening is consumed.
Body Parser::parse_body(std::initializer_list<std::string_view> ends) {
  const Nested nested(*this);
  Body body;
  for (;;) {
    const Token& token = now();
    if (token.kind == TokenKind::end) {
      if (ends.size() == 0) return body;
      fail_here(format("the template ends inside a block: expected {}", *(ends.end() - 1)));
    }
    ++at_;
    if (token.kind == TokenKind::data) {
      body.push_back(std::make_unique<TextStmt>(token.pos, token.text));
    } else if (token.kind == TokenKind::print_begin) {
      body.push_back(std::make_unique<OutputStmt>(token.pos, parse_tuple(true, false)));
      expect(TokenKind::print_end, "}}");
    } else {
      if (now().kind == TokenKind::name && std::find(ends.begin(), ends.end(), now().text) != ends.end())
        return body;
      parse_statement(body);
    }
  }
}

void Parser::parse_statement(Body& out) {
  struct Tag {
    std::string_view name;
    void (Parser::*parse)(Body&);
  };
  static constexpr Tag kTags[] = {
      {"if", &Parser::parse_if},      {"for", &Parser::parse_for},
      {"set", &Parser::parse_set},    {"macro", &Parser::parse_macro},
      {"call", &Parser::parse_call},  {"filter", &Parser::parse_filter_block},
      {"with", &Parser::parse_with},  {"generation", &Parser::parse_generation},
      {"break", &Parser::parse_jump}, {"continue", &Parser::parse_jump},
  };
  if (now().kind != TokenKind::name)
    fail_here(format("expected the name of a tag, found {}", describe(now())));
  for (const Tag& tag : kTags) {
    if (now().text == tag.name) return (this->*tag.parse)(out);
  }
  for (const std::string_view refused :
       {"include", "import", "from", "extends", "block", "autoescape", "do", "trans", "debug"}) {
    if (now().text == refused) fail_here(format("the tag '{}' is not supported in a chat template", refused));
  }
  fail_here(format("unknown tag '{}'", now().text));
}

void Parser::parse_if(Body& out) {
  auto node = std::make_unique<IfStmt>(now().pos);
  const bool was_soft = soft_;
  soft_ = true;
  for (;;) {
    ++at_;  // if, elif
    ExprPtr test = parse_tuple(false, false);
    expect(TokenKind::block_end, "%}");
    Body body = parse_body({"elif", "else", "endif"});
    node->arms.emplace_back(std::move(test), std::move(body));
    if (!at_name("elif")) break;
  }
  if (skip_name("else")) {
    expect(TokenKind::block_end, "%}");
    node->otherwise = parse_body({"endif"});
  }
  expect_end_tag("endif");
  soft_ = was_soft;
  out.push_back(std::move(node));
}

void Parser::parse_for(Body& out) {
  auto node = std::make_unique<ForStmt>(now().pos);
  ++at_;
  node->target = parse_target(false);
  if (!skip_name("in")) fail_here(format("expected 'in', found {}", describe(now())));
  node->iterable = parse_tuple(false, false, "recursive");
  const bool was_soft = soft_;
  soft_ = false;
  if (skip_name("if")) node->filter = parse_expr();
  node->recursive = skip_name("recursive");
  expect(TokenKind::block_end, "%}");
  ++loops_;
  node->body = parse_body({"else", "endfor"});
  --loops_;
  if (skip_name("else")) {
    expect(TokenKind::block_end, "%}");
    node->otherwise = parse_body({"endfor"});
  }
  expect_end_tag("endfor");
  soft_ = was_soft;
  out.push_back(std::move(node));
}

Target Parser::parse_one_target(bool with_namespace) {
  Target target;
  target.pos = now().pos;
  if (skip_op("(")) {
    target = parse_target(with_namespace);
    expect_op(")");
    return target;
  }
  target.name = expect_name("a name to assign to");
  for (const std::string_view reserved : {"true", "false", "none", "True", "False", "None"}) {
    if (target.name == reserved) fail_at(target.pos, format("'{}' cannot be assigned to", target.name));
  }
  target.id = id_of(target.name);
  if (with_namespace && skip_op(".")) target.attribute = expect_name("an attribute");
  return target;
}

Target Parser::parse_target(bool with_namespace) {
  const Nested nested(*this);
  Target first = parse_one_target(with_namespace);
  if (!at_op(",")) return first;
  Target tuple;
  tuple.pos = first.pos;
  tuple.is_tuple = true;
  tuple.parts.push_back(std::move(first));
  while (skip_op(",")) {
    if (at_op("=") || at_op(")") || at_name("in")) break;
    tuple.parts.push_back(parse_one_target(with_namespace));
  }
  return tuple;
}

void Parser::parse_set(Body& out) {
  const Pos pos = now().pos;
  ++at_;
  Target target = parse_target(true);
  if (skip_op("=")) {
    auto node = std::make_unique<SetStmt>(pos);
    node->target = std::move(target);
    node->value = parse_tuple(true, false);
    expect(TokenKind::block_end, "%}");
    out.push_back(std::move(node));
    return;
  }
  auto node = std::make_unique<BlockStmt>(StmtKind::set_block, pos);
  node->target = std::move(target);
  node->filters = parse_filter_names(false);
  expect(TokenKind::block_end, "%}");
  const uint32_t loops = std::exchange(loops_, 0);
  node->body = parse_body({"endset"});
  loops_ = loops;
  expect_end_tag("endset");
  out.push_back(std::move(node));
}

std::vector<std::unique_ptr<Filter>> Parser::parse_filter_names(bool first_named) {
  std::vector<std::unique_ptr<Filter>> filters;
  while (first_named || skip_op("|")) {
    first_named = false;
    filters.push_back(parse_one_filter(nullptr));
  }
  return filters;
}

void Parser::parse_filter_block(Body& out) {
  auto node = std::make_unique<BlockStmt>(StmtKind::filter_block, now().pos);
  ++at_;
  node->filters = parse_filter_names(true);
  expect(TokenKind::block_end, "%}");
  const uint32_t loops = std::exchange(loops_, 0);
  node->body = parse_body({"endfilter"});
  loops_ = loops;
  expect_end_tag("endfilter");
  out.push_back(std::move(node));
}

void Parser::parse_signature(MacroStmt& macro) {
  expect_op("(");
  while (!at_op(")")) {
    if (!macro.params.empty()) expect_op(",");
    MacroStmt::Param param;
    param.name = expect_name("a parameter");
    param.id = id_of(param.name);
    if (skip_op("=")) {
      param.fallback = parse_expr();
    } else if (!macro.params.empty() && macro.params.back().fallback) {
      fail_here(format("the parameter '{}' has no default but follows one that has", param.name));
    }
    macro.params.push_back(std::move(param));
  }
  expect_op(")");
}

void Parser::parse_macro_body(MacroStmt& macro, std::string_view end) {
  expect(TokenKind::block_end, "%}");
  const bool was_soft = std::exchange(soft_, false);
  const uint32_t loops = std::exchange(loops_, 0);
  macros_.push_back(&macro);
  macro.body = parse_body({end});
  macros_.pop_back();
  loops_ = loops;
  soft_ = was_soft;
  expect_end_tag(end);
}

void Parser::parse_macro(Body& out) {
  auto node = std::make_unique<MacroStmt>(now().pos);
  ++at_;
  node->name = expect_name("the macro's name");
  node->id = id_of(node->name);
  parse_signature(*node);
  parse_macro_body(*node, "endmacro");
  out.push_back(std::move(node));
}

void Parser::parse_call(Body& out) {
  auto node = std::make_unique<CallStmt>(now().pos);
  ++at_;
  node->caller = std::make_unique<MacroStmt>(node->pos);
  node->caller->name = "caller";
  node->caller->id = out_->id_caller;
  if (at_op("(")) parse_signature(*node->caller);
  ExprPtr call = parse_expr();
  if (call->kind != ExprKind::call) fail_at(node->pos, "a call block must call a macro");
  node->call.reset(static_cast<Call*>(call.release()));
  parse_macro_body(*node->caller, "endcall");
  out.push_back(std::move(node));
}

void Parser::parse_with(Body& out) {
  auto node = std::make_unique<WithStmt>(now().pos);
  ++at_;
  while (now().kind != TokenKind::block_end) {
    if (!node->items.empty()) expect_op(",");
    Target target = parse_one_target(false);
    expect_op("=");
    node->items.emplace_back(std::move(target), parse_expr());
  }
  expect(TokenKind::block_end, "%}");
  node->body = parse_body({"endwith"});
  expect_end_tag("endwith");
  out.push_back(std::move(node));
}

// Marks the assistant's tokens for training; a scope of its own when rendering.
void Parser::parse_generation(Body& out) {
  auto node = std::make_unique<BlockStmt>(StmtKind::scope, now().pos);
  ++at_;
  expect(TokenKind::block_end, "%}");
  const uint32_t loops = std::exchange(loops_, 0);
  node->body = parse_body({"endgeneration"});
  loops_ = loops;
  expect_end_tag("endgeneration");
  out.push_back(std::move(node));
}

void Parser::parse_jump(Body& out) {
  if (loops_ == 0) fail_here(format("'{}' outside of a loop", now().text));
  out.push_back(
      std::make_unique<JumpStmt>(at_name("break") ? StmtKind::break_ : StmtKind::continue_, now().pos));
  ++at_;
  expect(TokenKind::block_end, "%}");
}

}  // namespace ingle::text::jinja
