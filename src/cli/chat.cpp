#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>

#include "common.h"

namespace ingle::cli {
namespace {

struct ChatFlags {
  Common common;
  SamplingFlags sampling;
  std::string model, system;
};

constexpr const char* kHelp =
    "/help  this list\n/system TEXT  set the system message and start over\n/regen  another answer to the "
    "last message\n"
    "/undo  take the last exchange back\n/stats  timings\n/quit  leave (also Ctrl-D)\n\"\"\"  begin and end "
    "a message of "
    "several lines\nCtrl-C stops an answer.\n";

class Chat {
 public:
  Chat(const ChatFlags& flags, const Model& model)
      : flags_(flags),
        model_(model),
        session_(model, {flags.sampling.context, flags.sampling.chunk, 0}),
        sampler_(make_sampler(flags.sampling)) {
    start_over(flags.system);
  }

  int loop() {
    const bool terminal = isatty(STDIN_FILENO) && isatty(STDERR_FILENO) && !flags_.common.quiet;
    if (terminal) std::fprintf(stderr, "%s. /help lists the commands.\n", model_.info().name.c_str());
    std::string line;
    for (;;) {
      if (terminal) std::fprintf(stderr, "> ");
      if (!read_message(line)) return kOk;
      if (line.empty()) continue;
      if (line == "/quit") return kOk;
      try {
        if (line.front() == '/')
          command(line);
        else
          say(line);
      } catch (const Error& e) {
        std::fprintf(stderr, "ingle: %s\n", e.what());
        if (!terminal) return exit_code(e);
      }
    }
  }

 private:
  static bool read_message(std::string& out) {
    if (!std::getline(std::cin, out)) return false;
    if (out != "\"\"\"") return true;
    out.clear();
    for (std::string line; std::getline(std::cin, line) && line != "\"\"\"";)
      out += (out.empty() ? "" : "\n") + line;
    return true;
  }

  void start_over(const std::string& system) {
    messages_.clear();
    if (!system.empty()) messages_.push_back({"system", system});
  }

  void command(const std::string& line) {
    if (line == "/help") {
      std::fputs(kHelp, stderr);
    } else if (line == "/stats") {
      print_stats(session_, model_);
    } else if (line == "/undo") {
      undo(2);
    } else if (line == "/regen") {
      if (undo(1)) answer();
    } else if (line.rfind("/system ", 0) == 0) {
      start_over(line.substr(8));
    } else {
      std::fprintf(stderr, "'%s' is not a command; /help lists them\n", line.c_str());
    }
  }

  bool undo(size_t n) {
    const size_t keep = !messages_.empty() && messages_.front().role == "system" ? 1 : 0;
    if (messages_.size() < keep + n) {
      std::fprintf(stderr, "nothing to take back\n");
      return false;
    }
    messages_.resize(messages_.size() - n);
    return true;
  }

  void say(const std::string& text) {
    messages_.push_back({"user", text});
    try {
      answer();
    } catch (...) {
      messages_.pop_back();
      throw;
    }
  }

  void answer() {
    InterruptScope scope(&session_);
    InterruptScope::clear();
    {
      Progress bar("reading", !flags_.common.quiet);
      session_.feed_chat(messages_, [&](int64_t done, int64_t total) {
        bar.update(static_cast<float>(done) / static_cast<float>(total));
        return true;
      });
    }
    session_.begin(generate_options(flags_.sampling));
    std::string text;
    for (TokenEvent event; event.finish == Finish::none;) {
      event = session_.next(sampler_);
      text += event.text;
      std::fwrite(event.text.data(), 1, event.text.size(), stdout);
      std::fflush(stdout);
    }
    std::fputc('\n', stdout);
    messages_.push_back({"assistant", text});
    if (flags_.sampling.stats) print_stats(session_, model_);
  }

  const ChatFlags& flags_;
  Model model_;
  Session session_;
  Sampler sampler_;
  std::vector<Message> messages_;
};

}  // namespace

void add_chat(CLI::App& app, std::vector<std::pair<CLI::App*, Command>>& commands) {
  auto flags = std::make_shared<ChatFlags>();
  CLI::App* c = app.add_subcommand("chat", "A conversation; commands begin with /");
  c->add_option("MODEL", flags->model, "A GGUF file")->required();
  c->add_option("-s,--system", flags->system, "A system message");
  add_common(*c, flags->common);
  add_sampling(*c, flags->sampling);
  commands.emplace_back(c, [flags] {
    const auto runtime = make_runtime(flags->common);
    const Model model = load_model(*runtime, flags->model, flags->common);
    if (!model.has_chat_template())
      throw Error(Code::unsupported, flags->model, "the model has no chat template that can be used",
                  "`ingle run --raw` continues text");
    return Chat(*flags, model).loop();
  });
}

}  // namespace ingle::cli
