// Tokens to a tree, by Jinja's grammar. Throws SyntaxError.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "text/template/lexer.h"

namespace ingle::text::jinja {

class Parser {
 public:
  Parser(std::string_view source, const Limits& limits);
  std::unique_ptr<Template> run();

 private:
  // One level of nested source, counted and measured on the stack.
  class Nested;

  // parser.cpp: statements
  Body parse_body(std::initializer_list<std::string_view> ends);
  void parse_statement(Body& out);
  void parse_if(Body& out);
  void parse_for(Body& out);
  void parse_set(Body& out);
  void parse_macro(Body& out);
  void parse_call(Body& out);
  void parse_filter_block(Body& out);
  void parse_with(Body& out);
  void parse_generation(Body& out);
  void parse_jump(Body& out);
  void parse_signature(MacroStmt& macro);
  void parse_macro_body(MacroStmt& macro, std::string_view end);
  Target parse_target(bool with_namespace);
  Target parse_one_target(bool with_namespace);
  std::vector<std::unique_ptr<Filter>> parse_filter_names(bool first_named);
  void expect_end_tag(std::string_view name);

  // parse_expr.cpp
  ExprPtr parse_expr();
  ExprPtr parse_binary(int level);
  ExprPtr parse_unary();
  ExprPtr parse_primary();
  ExprPtr parse_brackets();
  ExprPtr parse_strings();
  ExprPtr parse_postfix(ExprPtr node);
  ExprPtr parse_filters(ExprPtr node);
  ExprPtr parse_subscript(ExprPtr object);
  ExprPtr parse_test(ExprPtr subject);
  ExprPtr parse_tuple(bool with_cond, bool parenthesized, std::string_view end_name = {});
  std::unique_ptr<Filter> parse_one_filter(ExprPtr subject);
  std::unique_ptr<Call> parse_call_of(ExprPtr callee);
  void parse_args(CallArgs& args, Expr& owner);
  bool at_tuple_end(std::string_view end_name) const;
  int binary_level(Op& op) const;
  void deepen(Expr& parent, const ExprPtr& child) const;

  const Token& now() const { return tokens_[at_]; }
  const Token& ahead(size_t n = 1) const { return tokens_[std::min(at_ + n, tokens_.size() - 1)]; }
  bool at_op(std::string_view op) const { return now().kind == TokenKind::op && now().text == op; }
  bool at_name(std::string_view name) const { return now().kind == TokenKind::name && now().text == name; }
  bool skip_op(std::string_view op);
  bool skip_name(std::string_view name);
  void expect_op(std::string_view op);
  void expect(TokenKind kind, std::string_view what);
  std::string expect_name(std::string_view what);
  [[noreturn]] void fail_here(std::string message) const { fail_at(now().pos, std::move(message)); }
  [[noreturn]] static void fail_at(Pos pos, std::string message);
  std::string describe(const Token& token) const;
  void note_unknown(Pos pos, std::string message, bool known);
  uint32_t id_of(const std::string& name);

  const Limits limits_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  std::unique_ptr<Template> out_;
  std::vector<MacroStmt*> macros_;  // being parsed, outermost first
  uint32_t depth_ = 0;
  uint32_t loops_ = 0;  // around this point, within the macro
  bool soft_ = false;   // inside an if: unknown filters and tests fail only when reached, as in Jinja
  std::vector<SyntaxError>
      unknown_;  // filters and tests; dropped when an inline if turns out to be around them
  const char* stack_base_ = nullptr;
};

class Parser::Nested {
 public:
  explicit Nested(Parser& p);
  ~Nested() { --parser_.depth_; }

 private:
  Parser& parser_;
};

}  // namespace ingle::text::jinja
