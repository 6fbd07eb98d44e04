// Source text to tokens: Jinja's delimiters with trim_blocks and lstrip_blocks on.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "text/template/ast.h"

namespace ingle::text::jinja {

enum class TokenKind : uint8_t {
  data,
  print_begin,
  print_end,
  block_begin,
  block_end,
  name,
  string,
  integer,
  floating,
  op,
  end
};

struct Token {
  TokenKind kind;
  Pos pos;
  std::string text;  // of a string: its value
  int64_t integer = 0;
  double real = 0;
};

// Failures are thrown with their position.
struct SyntaxError {
  Pos pos;
  Failure failure;
};

std::vector<Token> tokenize(std::string_view source);

}  // namespace ingle::text::jinja
