// constrain: judges texts by a schema, a regular expression or a grammar, one a line.
#include <fstream>
#include <iterator>

#include "jsonl.h"

namespace ingle::cli {
namespace {

struct ConstrainFlags {
  std::string schema, regex, grammar, tokenizer;
  bool formats = false, compact = false, jsonl = false;
};

// With a tokenizer: what its ids for the text spell, which normalisation may have changed.
bool accepts(const Grammar& grammar, const Tokenizer* tokenizer, const std::string& text) {
  if (!tokenizer) return grammar.accepts(text);
  return grammar.accepts(tokenizer->decode(tokenizer->encode(text)));
}

Grammar compile(const ConstrainFlags& flags) {
  if (!flags.grammar.empty()) return load_grammar(flags.grammar);
  if (flags.schema.empty()) return Grammar::regex(flags.regex);
  return Grammar::json_schema(read_text_file(flags.schema), {flags.formats, flags.compact});
}

int judge(const ConstrainFlags& flags) {
  std::unique_ptr<Grammar> grammar;
  try {
    grammar = std::make_unique<Grammar>(compile(flags));
  } catch (const Error& e) {
    if (e.code() != Code::unsupported && e.code() != Code::invalid_argument) throw;
    print_json(Json{{"error", e.message()}, {"where", e.where()}});
    return kCheckFailed;
  }
  std::unique_ptr<Tokenizer> tokenizer;
  if (!flags.tokenizer.empty()) tokenizer = std::make_unique<Tokenizer>(Tokenizer::load(flags.tokenizer));
  return each_line([&](const Json& in, const std::string&) {
    const auto text = in.find("text");
    if (text == in.end() || !text->is_string()) throw Wrong{"\"text\" is missing or not a string"};
    return Json{{"accepts", accepts(*grammar, tokenizer.get(), text->get<std::string>())}};
  });
}

}  // namespace

void add_constrain(Command app, Commands& commands) {
  auto flags = std::make_shared<ConstrainFlags>();
  Command c = app.command("constrain", "Judge texts by a JSON Schema, a regular expression or a grammar");
  Option schema = c.option("--schema", flags->schema, "A file with a JSON Schema");
  Option regex = c.option("--regex", flags->regex, "A regular expression of the whole text");
  Option grammar = c.option("--grammar", flags->grammar, "A file with a grammar: GBNF, or .lark");
  schema.excludes(regex);
  grammar.excludes(schema);
  grammar.excludes(regex);
  c.require_options(1, 0);
  c.flag("--formats", flags->formats, "\"format\" must hold; without this it is an annotation").needs(schema);
  c.flag("--compact", flags->compact, "No white space between tokens").needs(schema);
  c.option("--tokenizer", flags->tokenizer, "A model: judge what its tokens spell");
  c.flag("--jsonl", flags->jsonl, "{\"text\"} a line in, {\"accepts\"} a line out").required();
  c.footer(
      "Where it cannot be held: one {\"error\", \"where\"} and exit code 7.\n\n"
      "Examples:\n  echo '{\"text\": \"[1, 2]\"}' | ingle constrain --schema schema.json --jsonl\n"
      "  echo '{\"text\": \"2024-07-26\"}' | ingle constrain --regex '\\d{4}-\\d\\d-\\d\\d' --jsonl");
  commands.emplace_back(c, [flags, schema, regex, grammar] {
    if (schema.count() + regex.count() + grammar.count() != 1)
      throw Error(Code::invalid_argument, "constrain", "expected one of --schema, --grammar and --regex");
    return judge(*flags);
  });
}

}  // namespace ingle::cli
