// tokenize and detokenize: one JSON object a line in, one out; or plain text and ids.
#include <cstdio>
#include <limits>

#include "common.h"
#include "jsonl.h"

namespace ingle::cli {
namespace {

struct TokenizeFlags {
  std::string what, text;
  bool jsonl = false, special = false, add_special = false, skip_special = false, pieces = false;
};

// ---- fields of a line's object ----

bool bool_field(const Json& in, const char* key) {
  const auto found = in.find(key);
  if (found == in.end()) return false;
  if (!found->is_boolean()) throw Wrong{std::string("\"") + key + "\" is not true or false"};
  return found->get<bool>();
}

std::string text_field(const Json& in) {
  const auto found = in.find("text");
  if (found == in.end() || !found->is_string()) throw Wrong{"\"text\" is missing or not a string"};
  return found->get<std::string>();
}

std::vector<TokenId> ids_field(const Json& in) {
  const auto found = in.find("ids");
  if (found == in.end() || !found->is_array()) throw Wrong{"\"ids\" is missing or not an array"};
  std::vector<TokenId> ids;
  for (const Json& id : *found) {
    const int64_t value = id.is_number_integer() ? id.get<int64_t>() : -1;
    if (value < 0 || value > std::numeric_limits<TokenId>::max())
      throw Wrong{id.dump(-1, ' ', false, Json::error_handler_t::replace) + " is not a token id"};
    ids.push_back(static_cast<TokenId>(value));
  }
  return ids;
}

void print_line(std::string text) {
  text += '\n';
  std::fwrite(text.data(), 1, text.size(), stdout);
}

int tokenize(const TokenizeFlags& flags, bool given) {
  const Tokenizer tokenizer = Tokenizer::load(flags.what);
  if (flags.jsonl)
    return each_line([&](const Json& in, const std::string&) {
      const std::string text = text_field(in);
      return Json{
          {"ids", tokenizer.encode(text, {bool_field(in, "special"), bool_field(in, "add_special")})}};
    });
  const std::string text = given ? flags.text : read_stdin();
  std::string ids;
  for (const TokenId id : tokenizer.encode(text, {flags.special, flags.add_special})) {
    if (flags.pieces)
      print_line(std::to_string(id) + '\t' + printable(tokenizer.token_text(id)));
    else
      ids += (ids.empty() ? "" : " ") + std::to_string(id);
  }
  if (!flags.pieces) print_line(ids);
  return kOk;
}

int detokenize(const TokenizeFlags& flags, bool given) {
  const Tokenizer tokenizer = Tokenizer::load(flags.what);
  if (flags.jsonl)
    return each_line([&](const Json& in, const std::string&) {
      const std::vector<TokenId> ids = ids_field(in);
      return Json{{"text", tokenizer.decode(ids, bool_field(in, "skip_special"))}};
    });
  print_line(tokenizer.decode(parse_ids(given ? flags.text : read_stdin(), given ? "IDS" : "stdin"),
                              flags.skip_special));
  return kOk;
}

constexpr const char* kWhat =
    "A GGUF file (with weights or vocabulary-only), a tokenizer.json, a tokenizer.model or a folder";

}  // namespace

void add_tokenize(Command app, Commands& commands) {
  auto flags = std::make_shared<TokenizeFlags>();
  Command c = app.command("tokenize", "Text to token ids");
  c.option("WHAT", flags->what, kWhat).required();
  Option text = c.option("TEXT", flags->text, "The text; without it, stdin");
  Option special = c.flag("--special", flags->special, "Control tokens in the text become control tokens");
  Option add = c.flag("--add-special", flags->add_special, "Add the model's own BOS and EOS");
  Option pieces = c.flag("--pieces", flags->pieces, "One id a line with its text");
  c.flag("--jsonl", flags->jsonl, "{\"text\", \"special\", \"add_special\"} a line in, {\"ids\"} a line out")
      .excludes(text)
      .excludes(special)
      .excludes(add)
      .excludes(pieces);
  c.footer(
      "Examples:\n  ingle tokenize model.gguf \"Hello there\" --pieces\n"
      "  ingle tokenize model.gguf --add-special < text.txt\n"
      "  echo '{\"text\": \"Hello\", \"add_special\": true}' | ingle tokenize model.gguf --jsonl");
  commands.emplace_back(c, [flags, text] { return tokenize(*flags, text.count() > 0); });

  auto back = std::make_shared<TokenizeFlags>();
  Command d = app.command("detokenize", "Token ids to text");
  d.option("WHAT", back->what, kWhat).required();
  Option ids = d.option("IDS", back->text, "1,2,3; without them, stdin");
  Option skip = d.flag("--skip-special", back->skip_special, "Leave control tokens out");
  d.flag("--jsonl", back->jsonl, "{\"ids\", \"skip_special\"} a line in, {\"text\"} a line out")
      .excludes(ids)
      .excludes(skip);
  d.footer(
      "Examples:\n  ingle detokenize model.gguf 1,2,3\n"
      "  ingle tokenize model.gguf \"Hello\" | ingle detokenize model.gguf\n"
      "  echo '{\"ids\": [1, 2, 3]}' | ingle detokenize model.gguf --jsonl");
  commands.emplace_back(d, [back, ids] { return detokenize(*back, ids.count() > 0); });
}

}  // namespace ingle::cli
