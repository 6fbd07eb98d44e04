#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "common.h"

namespace ingle::cli {
namespace {

using Json = nlohmann::ordered_json;

struct LogprobFlags {
  Common common;
  std::string model, ids, ids_file;
  int32_t top = 1;
  int64_t greedy = 0, chunk = 512, context = 0;
};

std::vector<TokenId> wanted_ids(const LogprobFlags& flags) {
  if (flags.ids_file.empty()) return parse_ids(flags.ids);
  std::ifstream file(flags.ids_file);
  if (!file) throw Error(Code::not_found, flags.ids_file, "cannot be read");
  return parse_ids({std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()});
}

int logprobs(const LogprobFlags& flags) {
  const std::vector<TokenId> ids = wanted_ids(flags);
  if (ids.empty()) throw Error(Code::invalid_argument, "--ids", "no ids were given");
  const auto runtime = make_runtime(flags.common);
  const Model model = load_model(*runtime, flags.model, flags.common);
  Session session(model, {flags.context, flags.chunk, 0});
  Json top = Json::array();
  session.score(ids, [&](int64_t, std::span<const float> logits) {
    Json row = Json::array();
    for (const TokenLogprob& t : top_logprobs(logits, flags.top))
      row.push_back(Json::array({t.id, t.logprob}));
    top.push_back(std::move(row));
  });
  Json greedy = Json::array();
  Sampler sampler = Sampler::greedy();
  if (flags.greedy > 0) {
    GenerateOptions options;
    options.max_tokens = flags.greedy;
    options.ignore_end = true;
    session.begin(options);
    for (TokenEvent event; event.finish == Finish::none;) {
      event = session.next(sampler);
      if (event.id >= 0) greedy.push_back(event.id);
    }
  }
  if (flags.common.json) {
    std::puts(Json{{"ids", ids}, {"top", top}, {"greedy", greedy}}.dump().c_str());
    return kOk;
  }
  for (size_t i = 0; i < top.size(); ++i) {
    std::printf("%zu\t%d", i, ids[i]);
    for (const Json& t : top[i]) std::printf("\t%d %.4f", t[0].get<int>(), t[1].get<double>());
    std::puts("");
  }
  if (!greedy.empty()) std::printf("greedy\t%s\n", greedy.dump().c_str());
  return kOk;
}

}  // namespace

void add_logprobs(CLI::App& app, std::vector<std::pair<CLI::App*, Command>>& commands) {
  auto flags = std::make_shared<LogprobFlags>();
  CLI::App* c = app.add_subcommand("logprobs", "Log-probabilities of what follows each id of a prompt");
  c->add_option("MODEL", flags->model, "A GGUF file")->required();
  c->add_option("--ids", flags->ids, "The prompt as ids: 1,2,3");
  c->add_option("--ids-file", flags->ids_file, "A file of ids");
  c->add_option("--top", flags->top, "Most likely ids per position")->check(CLI::Range(0, 1 << 20));
  c->add_option("--greedy", flags->greedy, "Then so many ids greedily, past end-of-text ids too")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 32));
  c->add_option("--chunk", flags->chunk, "Tokens of one step; never changes results");
  c->add_option("--ctx", flags->context, "Tokens of context; 0: what the model was trained for");
  add_common(*c, flags->common);
  commands.emplace_back(c, [flags] { return logprobs(*flags); });
}

}  // namespace ingle::cli
