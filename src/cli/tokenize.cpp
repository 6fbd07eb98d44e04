// tokenize and detokenize: one JSON object a line in, one out; or plain text and ids.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

#include "common.h"

namespace ingle::cli {
namespace {

using Json = nlohmann::ordered_json;

struct TokenizeFlags {
  std::string what, text;
  bool jsonl = false, special = false, add_special = false, skip_special = false, pieces = false;
};

template <class F>
int each_line(F f) {
  int64_t number = 0;
  for (std::string line; std::getline(std::cin, line);) {
    ++number;
    if (line.empty()) continue;
    const Json in = Json::parse(line, nullptr, false);
    if (!in.is_object())
      throw Error(Code::invalid_argument, "stdin, line " + std::to_string(number), "is not a JSON object");
    try {
      std::puts(f(in).dump(-1, ' ', false, Json::error_handler_t::replace).c_str());
    } catch (const nlohmann::json::exception& e) {
      throw Error(Code::invalid_argument, "stdin, line " + std::to_string(number), e.what());
    }
  }
  return kOk;
}

int tokenize(const TokenizeFlags& flags) {
  const Tokenizer tokenizer = Tokenizer::load(flags.what);
  if (flags.jsonl)
    return each_line([&](const Json& in) {
      const auto text = in.at("text").get<std::string>();
      return Json{
          {"ids", tokenizer.encode(text, {in.value("special", false), in.value("add_special", false)})}};
    });
  const std::string text = flags.text.empty() ? read_stdin() : flags.text;
  for (const TokenId id : tokenizer.encode(text, {flags.special, flags.add_special})) {
    if (flags.pieces)
      std::printf("%d\t%s\n", id, tokenizer.token_text(id).c_str());
    else
      std::printf("%d ", id);
  }
  if (!flags.pieces) std::puts("");
  return kOk;
}

int detokenize(const TokenizeFlags& flags) {
  const Tokenizer tokenizer = Tokenizer::load(flags.what);
  if (flags.jsonl)
    return each_line([&](const Json& in) {
      const auto ids = in.at("ids").get<std::vector<TokenId>>();
      return Json{{"text", tokenizer.decode(ids, in.value("skip_special", false))}};
    });
  const std::string ids = flags.text.empty() ? read_stdin() : flags.text;
  std::puts(tokenizer.decode(parse_ids(ids), flags.skip_special).c_str());
  return kOk;
}

}  // namespace

void add_tokenize(CLI::App& app, std::vector<std::pair<CLI::App*, Command>>& commands) {
  auto flags = std::make_shared<TokenizeFlags>();
  CLI::App* c = app.add_subcommand("tokenize", "Text to token ids");
  c->add_option("WHAT", flags->what, "A GGUF file, with weights or vocabulary-only")->required();
  c->add_option("TEXT", flags->text, "The text; without it, stdin");
  c->add_flag("--jsonl", flags->jsonl, "Objects {\"text\", \"special\", \"add_special\"} a line on stdin");
  c->add_flag("--special", flags->special, "Control tokens in the text become control tokens");
  c->add_flag("--add-special", flags->add_special, "Add the model's own BOS and EOS");
  c->add_flag("--pieces", flags->pieces, "One id a line with its text");
  commands.emplace_back(c, [flags] { return tokenize(*flags); });

  auto back = std::make_shared<TokenizeFlags>();
  CLI::App* d = app.add_subcommand("detokenize", "Token ids to text");
  d->add_option("WHAT", back->what, "A GGUF file, with weights or vocabulary-only")->required();
  d->add_option("IDS", back->text, "1,2,3; without them, stdin");
  d->add_flag("--jsonl", back->jsonl, "Objects {\"ids\", \"skip_special\"} a line on stdin");
  d->add_flag("--skip-special", back->skip_special, "Leave control tokens out");
  commands.emplace_back(d, [back] { return detokenize(*back); });
}

}  // namespace ingle::cli
