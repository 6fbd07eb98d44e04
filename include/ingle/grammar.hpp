// What an answer must be: a schema's JSON, a regular expression, a context-free grammar, a choice of texts,
// or free text with spans of these. Compiled once; copies share it; any number of threads may use one.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ingle/error.hpp"

namespace ingle {

namespace constrain {
class Grammar;
}  // namespace constrain

struct JsonSchemaOptions {
  // "format" is an annotation by default; with this, date, time, date-time, duration, ipv4, ipv6,
  // uuid, hostname and email must hold, and other formats are refused.
  bool assert_formats = false;
  bool compact = false;  // no white space between tokens
};

// What compiling may spend; past it: Code::unsupported. Compiling may be done on any thread, and cancelled
// from another one by way of go_on.
struct CompileLimits {
  int64_t states = 400'000;          // of automata
  int64_t steps = 100'000'000;       // of all work together; some millions a second
  int64_t bytes = int64_t{8} << 20;  // of the source
  std::function<bool()>
      go_on;  // asked every few thousand steps, on the compiling thread; false: Code::cancelled
};

struct StructuralTag;
struct StructuralTagOptions {
  // The beginnings of tags' beginnings from which on a tag must follow; none: the tags' beginnings.
  std::vector<std::string> triggers;
  bool at_least_one = false;      // the answer does not end without a tag
  bool stop_after_first = false;  // nothing follows a tag
};

class Grammar {
 public:
  // JSON Schema, draft 2020-12, 7, 6 or 4 (told by "$schema", else by spellings of old drafts). Members may come
  // in any order. Throws Code::unsupported naming the path of a keyword that cannot be held exactly: nothing
  // is dropped. Throws Code::invalid_argument for what is no schema.
  static Grammar json_schema(std::string_view schema, const JsonSchemaOptions& options = {},
                             const CompileLimits& limits = {});
  static Grammar json(bool compact = false);  // any JSON value
  // ECMA-262 in Unicode mode, of the whole text; no back references, no look-around.
  static Grammar regex(std::string_view pattern, const CompileLimits& limits = {});
  // llama.cpp's GBNF, from the rule "root" on: every context-free grammar is held exactly, left recursion and
  // ambiguity included. Errors name line and column. Token forms (<think>) are Code::unsupported.
  static Grammar gbnf(std::string_view source, const CompileLimits& limits = {});
  // A grammar file in Lark's notation, from the rule "start" on, without a lexer's choices: a terminal is
  // what its pattern says, wherever the rules let it stand.
  static Grammar lark(std::string_view source, const CompileLimits& limits = {});
  static Grammar choice(std::span<const std::string> texts, const CompileLimits& limits = {});
  // Free text, in which what opens a tag must go on as one.
  static Grammar structural_tags(std::span<const StructuralTag> tags,
                                 const StructuralTagOptions& options = {}, const CompileLimits& limits = {});
  // Free text until one of the markers stands in it, if ever; from there on a text of `grammar`, to the end.
  // `with_marker`: the grammar's text begins with the marker.
  static Grammar lazy(std::span<const std::string> markers, const Grammar& grammar, bool with_marker = false);

  // Judges a whole text.
  bool accepts(std::string_view text) const;

  explicit Grammar(std::shared_ptr<const constrain::Grammar> impl) : impl_(std::move(impl)) {}
  const constrain::Grammar& impl() const { return *impl_; }

 private:
  std::shared_ptr<const constrain::Grammar> impl_;
};

struct StructuralTag {
  std::string begin;  // "<function=weather>"
  Grammar content;
  std::string end;  // "</function>"; where it is empty, the tag may end wherever its content may
};

}  // namespace ingle
