#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "common.h"

namespace ingle::cli {
namespace {

struct RunFlags {
  Common common;
  SamplingFlags sampling;
  std::string model, prompt, system;
  bool raw = false;
};

std::string finish_name(Finish f) {
  static constexpr const char* kNames[] = {"none", "end", "stop", "length", "cancelled", "context"};
  return kNames[static_cast<int>(f)];
}

void feed(Session& session, const RunFlags& flags, const std::string& prompt) {
  Progress bar("reading the prompt", !flags.common.quiet);
  const auto progress = [&](int64_t done, int64_t total) {
    bar.update(static_cast<float>(done) / static_cast<float>(total));
    return !InterruptScope::interrupted();
  };
  if (flags.raw) {
    session.feed_text(prompt, {false, true}, progress);
    return;
  }
  std::vector<Message> messages;
  if (!flags.system.empty()) messages.push_back({"system", flags.system});
  messages.push_back({"user", prompt});
  session.feed_chat(messages, progress);
}

int run(const RunFlags& flags) {
  std::string prompt = flags.prompt;
  if (!isatty(STDIN_FILENO) && (prompt.empty() || prompt == "-")) {
    prompt = read_stdin();
  }
  if (prompt.empty())
    throw Error(Code::invalid_argument, "PROMPT", "is empty", "give it as an argument or on stdin");
  const auto runtime = make_runtime(flags.common);
  InterruptScope loading(nullptr);
  const Model model = load_model(*runtime, flags.model, flags.common);
  if (!flags.raw && !model.has_chat_template()) {
    const std::string why = model.chat_template().empty()
                                ? "has no chat template: it is a base model, not one for conversations"
                                : "has a chat template that cannot be used";
    throw Error(Code::unsupported, flags.model, "the model " + why,
                "use --raw to continue the text as it stands");
  }
  Session session(model, {flags.sampling.context, flags.sampling.chunk, 0});
  InterruptScope scope(&session);
  Sampler sampler = make_sampler(flags.sampling);
  feed(session, flags, prompt);
  session.begin(generate_options(flags.sampling));
  std::string text;
  nlohmann::ordered_json ids = nlohmann::ordered_json::array();
  TokenEvent event;
  while (event.finish == Finish::none) {
    event = session.next(sampler);
    if (event.id >= 0) ids.push_back(event.id);
    text += event.text;
    if (!flags.common.json) {
      std::fwrite(event.text.data(), 1, event.text.size(), stdout);
      std::fflush(stdout);
    }
  }
  if (flags.common.json) {
    const nlohmann::ordered_json out{{"text", text}, {"ids", ids}, {"finish", finish_name(event.finish)}};
    std::printf("%s\n", out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
  } else {
    std::fputc('\n', stdout);
  }
  if (flags.sampling.stats) print_stats(session, model);
  return event.finish == Finish::cancelled ? kInterrupted : kOk;
}

}  // namespace

void add_run(CLI::App& app, std::vector<std::pair<CLI::App*, Command>>& commands) {
  auto flags = std::make_shared<RunFlags>();
  CLI::App* c = app.add_subcommand("run", "One answer to one prompt, streamed");
  c->add_option("MODEL", flags->model, "A GGUF file")->required();
  c->add_option("PROMPT", flags->prompt, "The question; without it, stdin");
  c->add_option("-s,--system", flags->system, "A system message");
  c->add_flag("--raw", flags->raw, "Continue the text as it stands, without the model's chat template");
  add_common(*c, flags->common);
  add_sampling(*c, flags->sampling);
  commands.emplace_back(c, [flags] { return run(*flags); });
}

}  // namespace ingle::cli
