#include <unistd.h>

#include <cstdio>

#include "common.h"

namespace ingle::cli {
namespace {

struct ChatFlags {
  Common common;
  SamplingFlags sampling;
  std::string model, system;
};

constexpr const char* kHelp =
    "/help          this list\n"
    "/system TEXT   set the system message and start over\n"
    "/regen         another answer to the last message\n"
    "/undo          take the last exchange back\n"
    "/stats         timings\n"
    "/quit          leave (also Ctrl-D)\n"
    "\"\"\"            begin and end a message of several lines\n"
    "Ctrl-C stops an answer; where none is given, it leaves.\n";

class Chat {
 public:
  Chat(const ChatFlags& flags, const Model& model)
      : flags_(flags),
        model_(model),
        session_(model, {flags.sampling.context, flags.sampling.chunk, 0}),
        sampler_(make_sampler(flags.sampling, &model_)) {
    print_chain(sampler_, flags.common);
    start_over(flags.system);
  }

  int loop() {
    const bool terminal = isatty(STDIN_FILENO) && isatty(STDERR_FILENO) && !flags_.common.quiet;
    if (terminal) std::fprintf(stderr, "%s. /help lists the commands.\n", model_.info().name.c_str());
    std::string line;
    for (;;) {
      if (terminal) std::fprintf(stderr, "> ");
      if (!read_message(line)) {
        if (terminal) std::fputc('\n', stderr);
        return kOk;
      }
      if (line.empty()) continue;
      if (line == "/quit") return kOk;
      int code = kOk;
      try {
        code = line.front() == '/' ? command(line) : say(line);
      } catch (const Error& e) {
        code = report(e);
      }
      if (InterruptScope::terminated() || (code != kOk && !terminal)) return code;
    }
  }

 private:
  static bool read_message(std::string& out) {
    if (!read_line(out)) return false;
    if (out != "\"\"\"") return true;
    out.clear();
    for (std::string line; read_line(line) && line != "\"\"\"";) out += (out.empty() ? "" : "\n") + line;
    return true;
  }

  void start_over(const std::string& system) {
    messages_.clear();
    if (!system.empty()) messages_.push_back({"system", system});
  }

  int command(const std::string& line) {
    if (line == "/help") {
      std::fputs(kHelp, stderr);
    } else if (line == "/stats") {
      print_stats(session_, model_);
    } else if (line == "/undo") {
      if (can_undo()) messages_.resize(messages_.size() - 2);
    } else if (line == "/regen") {
      if (can_undo()) return regenerate();
    } else if (line.rfind("/system ", 0) == 0) {
      start_over(line.substr(8));
    } else {
      std::fprintf(stderr, "'%s' is not a command; /help lists them\n", printable(line).c_str());
      return kUsage;
    }
    return kOk;
  }

  bool can_undo() const {
    const size_t first = !messages_.empty() && messages_.front().role == "system" ? 1 : 0;
    if (messages_.size() >= first + 2) return true;
    std::fprintf(stderr, "nothing to take back\n");
    return false;
  }

  int say(const std::string& text) {
    messages_.push_back({"user", text});
    try {
      return answer();
    } catch (...) {
      messages_.pop_back();
      throw;
    }
  }

  int regenerate() {
    const Message old = std::move(messages_.back());
    messages_.pop_back();
    try {
      return answer();
    } catch (...) {
      messages_.push_back(old);
      throw;
    }
  }

  int answer() {
    InterruptScope::clear();
    const auto [text, finish] = stream();
    std::fputc('\n', stdout);
    std::fflush(stdout);
    messages_.push_back({"assistant", text});
    if (flags_.sampling.stats) print_stats(session_, model_);
    if (InterruptScope::interrupted()) {
      // It may have come too late to end this answer; the next one must not hear of it.
      if (finish != Finish::cancelled) use_up_cancel();
      return InterruptScope::exit_code();
    }
    return finish == Finish::context ? report_full(session_, flags_.sampling.context) : kOk;
  }

  std::pair<std::string, Finish> stream() {
    const InterruptScope scope(&session_);
    {
      Progress bar("reading", !flags_.common.quiet);
      session_.feed_chat(messages_, [&](int64_t done, int64_t total) {
        bar.update(static_cast<float>(done) / static_cast<float>(total));
        return !InterruptScope::interrupted();
      });
    }
    session_.begin(generate_options(flags_.sampling));
    std::string text;
    TokenEvent event;
    while (event.finish == Finish::none) {
      event = session_.next(sampler_);
      text += event.text;
      print_answer(event.text);
    }
    return {std::move(text), event.finish};
  }

  void use_up_cancel() {
    GenerateOptions nothing;
    nothing.max_tokens = 0;
    session_.begin(nothing);
    session_.next(sampler_);
  }

  const ChatFlags& flags_;
  Model model_;
  Session session_;
  Sampler sampler_;
  std::vector<Message> messages_;
};

}  // namespace

void add_chat(Command app, Commands& commands) {
  auto flags = std::make_shared<ChatFlags>();
  Command c = app.command("chat", "A conversation; commands begin with /");
  c.option("MODEL", flags->model, kModelHelp).required();
  c.option("-s,--system", flags->system, "A system message");
  add_sampling(c, flags->sampling);
  add_common(c, flags->common);
  add_loading(c, flags->common);
  c.footer(
      "Without a terminal each line of stdin is a message.\n\n"
      "Examples:\n  ingle chat model.gguf\n  ingle chat model.gguf -s \"You answer in rhymes.\" --temp 1\n"
      "  printf 'Hello\\nAnd again\\n' | ingle chat model.gguf --quiet");
  commands.emplace_back(c, [flags] {
    make_sampler(flags->sampling);  // wrong options are told before a long load
    const auto runtime = make_runtime(flags->common);
    const Model model = load_model(*runtime, flags->model, flags->common);
    need_chat_template(model, flags->model);
    return Chat(*flags, model).loop();
  });
}

}  // namespace ingle::cli
