#include <cstdio>

#include "common.h"
#include "json_out.h"

namespace ingle::cli {
namespace {

struct LogprobFlags {
  Common common;
  std::string model, ids, ids_file;
  bool from_file = false;
  int64_t top = 1, greedy = 0, chunk = 512, context = 0;
};

std::vector<TokenId> wanted_ids(const LogprobFlags& flags) {
  const char* where = flags.from_file ? "--ids-file" : "--ids";
  std::vector<TokenId> ids = parse_ids(flags.from_file ? read_text_file(flags.ids_file) : flags.ids, where);
  if (ids.empty()) throw Error(Code::invalid_argument, where, "no ids were given");
  return ids;
}

Json score(Session& session, std::span<const TokenId> ids, int32_t top) {
  Json rows = Json::array();
  session.score(ids, [&](int64_t, std::span<const float> logits) {
    InterruptScope::check();
    Json row = Json::array();
    for (const TokenLogprob& t : top_logprobs(logits, top)) row.push_back(Json::array({t.id, t.logprob}));
    rows.push_back(std::move(row));
  });
  return rows;
}

Json go_on_greedily(Session& session, int64_t n) {
  Json ids = Json::array();
  if (n == 0) return ids;
  GenerateOptions options;
  options.max_tokens = n;
  options.ignore_end = true;
  session.begin(options);
  Sampler sampler = Sampler::greedy();
  for (TokenEvent event; event.finish == Finish::none;) {
    event = session.next(sampler);
    if (event.id >= 0) ids.push_back(event.id);
    if (event.finish == Finish::cancelled) throw Error(Code::cancelled, "ingle", "interrupted");
  }
  return ids;
}

int logprobs(const LogprobFlags& flags) {
  const std::vector<TokenId> ids = wanted_ids(flags);
  const auto runtime = make_runtime(flags.common);
  InterruptScope scope;
  const Model model = load_model(*runtime, flags.model, flags.common);
  Session session(model, {flags.context, flags.chunk, 0});
  const int64_t context = flags.context ? flags.context : model.info().n_context;
  const auto n = static_cast<int64_t>(ids.size());
  if (n > context || flags.greedy > context - n + 1)  // the last id that is chosen need not be computed
    throw Error(Code::context_full, "--ids",
                std::to_string(n) + " ids and " + std::to_string(flags.greedy) +
                    " greedy ones do not fit the context of " + std::to_string(context));
  scope.watch(session);
  const Json top = score(session, ids, static_cast<int32_t>(flags.top));
  const Json greedy = go_on_greedily(session, flags.greedy);
  if (flags.common.json) {
    print_json({{"ids", ids}, {"top", top}, {"greedy", greedy}});
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

void add_logprobs(Command app, Commands& commands) {
  auto flags = std::make_shared<LogprobFlags>();
  Command c = app.command("logprobs", "Log-probabilities of what follows each id of a prompt");
  c.option("MODEL", flags->model, kModelHelp).required();
  Option ids = c.option("--ids", flags->ids, "The prompt as ids: 1,2,3");
  const Option file = c.option("--ids-file", flags->ids_file, "A file of ids").excludes(ids);
  c.option("--top", flags->top, "Most likely ids per position").range(int64_t{0}, int64_t{1} << 20);
  add_count(c, "--greedy", flags->greedy, "Then so many ids greedily, past end-of-text ids too", 0);
  add_json(c, flags->common.json);
  add_session(c, flags->context, flags->chunk);
  add_common(c, flags->common);
  add_loading(c, flags->common);
  c.footer(
      "Logarithms are natural. With --json: {\"ids\": […], \"top\": [[[id, logprob], …], …], \"greedy\": "
      "[…]}\n\n"
      "Examples:\n  ingle logprobs model.gguf --ids 1,2,3 --top 5\n"
      "  ingle logprobs model.gguf --ids-file prompt.ids --greedy 32 --json\n"
      "  ingle logprobs model.gguf --ids 1,2,3 --kernel ref --json");
  commands.emplace_back(c, [flags, file] {
    flags->from_file = file.count() > 0;
    return logprobs(*flags);
  });
}

}  // namespace ingle::cli
