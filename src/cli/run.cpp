#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "answer_out.h"
#include "common.h"
#include "json_out.h"

namespace ingle::cli {
namespace {

struct RunFlags {
  Common common;
  SamplingFlags sampling;
  AnswerFlags answer;
  std::string model, prompt, system, negative, session, save_session;
  float guidance = 1.5f;
  BeamOptions beams = {.beams = 1};
  bool raw = false, wait = false;
};

// What is piped in beside a prompt. A pipe may have been inherited from a program that never writes to it, so
// only one that speaks soon is read, unless it was asked for.
std::string piped_text(const RunFlags& flags) {
  constexpr int kPatienceMs = 3000;
  struct stat status {};
  if (isatty(STDIN_FILENO) || fstat(STDIN_FILENO, &status) != 0) return {};
  if (!S_ISREG(status.st_mode) && !S_ISFIFO(status.st_mode) && !S_ISSOCK(status.st_mode)) return {};
  pollfd in{STDIN_FILENO, POLLIN, 0};
  if (!flags.wait && !S_ISREG(status.st_mode) && poll(&in, 1, kPatienceMs) == 0) {
    if (!flags.common.quiet)
      std::fprintf(stderr, "ingle: stdin is open but silent, going on without it; --stdin waits for it\n");
    return {};
  }
  return read_stdin();
}

std::string whole_prompt(const RunFlags& flags, bool given) {
  std::string prompt = flags.prompt;
  if (!given || prompt == "-") {
    if (!given && isatty(STDIN_FILENO))
      throw Error(Code::invalid_argument, "PROMPT", "is missing", "give it as an argument or on stdin");
    prompt = read_stdin();
  } else if (const std::string context = piped_text(flags); !context.empty()) {
    prompt = context + (context.ends_with('\n') ? "\n" : "\n\n") + prompt;
  }
  if (prompt.empty())
    throw Error(Code::invalid_argument, "PROMPT", "is empty", "give it as an argument or on stdin");
  return prompt;
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
  if (flags.answer.given()) {
    session.feed_chat_json(conversation(flags.answer, flags.system, prompt), progress);
    return;
  }
  std::vector<Message> messages;
  if (!flags.system.empty()) messages.push_back({"system", flags.system});
  messages.push_back({"user", prompt});
  session.feed_chat(messages, progress);
}

// The best continuations, each after its score; the single best one as it is.
int run_beams(const RunFlags& flags, Session& session) {
  BeamOptions options = flags.beams;
  if (flags.sampling.max_tokens >= 0) {
    if (flags.sampling.max_tokens > (1 << 20))
      throw Error(Code::invalid_argument, "--max-tokens", "is more than 1M, which is too many for beams");
    options.max_tokens = static_cast<int32_t>(flags.sampling.max_tokens);
  }
  const std::vector<Beam> found = beam_search(session, options);
  if (flags.common.json) {
    Json all = Json::array();
    for (const Beam& b : found)
      all.push_back(
          {{"text", b.text}, {"ids", b.ids}, {"score", b.score}, {"finish", finish_name(b.finish)}});
    print_json(all);
  } else if (options.results == 1) {
    print_answer(found[0].text + "\n");
  } else {
    for (const Beam& b : found) {
      std::printf("%.4f\t", b.score);
      print_answer(b.text + "\n");
    }
  }
  return found[0].finish == Finish::context ? report_full(session, flags.sampling.context) : kOk;
}

// A second session whose prompt says what is not wanted.
std::unique_ptr<Session> make_negative(const RunFlags& flags, const Model& model, const std::string& prompt) {
  if (flags.negative.empty()) return nullptr;
  auto session =
      std::make_unique<Session>(model, SessionOptions{flags.sampling.context, flags.sampling.chunk, 0});
  RunFlags other = flags;
  other.system = flags.negative;
  feed(*session, other, flags.raw ? flags.negative : prompt);
  return session;
}

int run(RunFlags flags, bool prompt_given) {
  if (flags.beams.beams > 1 && !flags.save_session.empty())
    throw Error(Code::invalid_argument, "--save-session",
                "has nothing to save: beams leave the session as it was");
  read_tools(flags.answer);
  make_sampler(flags.sampling);  // wrong options are told before a long load
  const std::string prompt = whole_prompt(flags, prompt_given);
  const auto runtime = make_runtime(flags.common);
  InterruptScope scope;
  const Model model = load_model(*runtime, flags.model, flags.common);
  if (!flags.raw) need_chat_template(model, flags.model);
  Sampler sampler = make_sampler(flags.sampling, &model);
  const SessionOptions options{flags.sampling.context, flags.sampling.chunk, 0};
  Session session =
      flags.session.empty() ? Session(model, options) : Session::load(model, flags.session, options);
  scope.watch(session);
  feed(session, flags, prompt);
  if (flags.beams.beams > 1) return run_beams(flags, session);
  print_chain(sampler, flags.common);
  const std::unique_ptr<Session> negative = make_negative(flags, model, prompt);
  GenerateOptions wanted = generate_options(flags.sampling);
  wanted.reasoning_budget = flags.answer.budget;
  if (!flags.answer.choice.empty()) {
    if (wanted.grammar)
      throw Error(Code::invalid_argument, "--tool-choice", "does not go with a grammar of one's own");
    wanted.grammar = tool_grammar(model, flags.answer.tools, {flags.answer.choice});
  }
  std::optional<AnswerOut> parts;
  if (flags.answer.given()) {
    parts.emplace(session, flags.answer, flags.common.json);
    wanted.control_text = true;
  }
  session.begin(wanted);
  std::string text;
  Json ids = Json::array();
  TokenEvent event;
  while (event.finish == Finish::none) {
    event = negative ? session.next_guided(sampler, *negative, flags.guidance) : session.next(sampler);
    if (event.id >= 0) ids.push_back(event.id);
    text += event.text;
    if (parts)
      parts->feed(event.text);
    else if (!flags.common.json)
      print_answer(event.text);
  }
  if (!flags.save_session.empty()) session.save(flags.save_session);
  if (parts)
    parts->finish({{"ids", ids}, {"finish", finish_name(event.finish)}});
  else if (flags.common.json)
    print_json({{"text", text}, {"ids", ids}, {"finish", finish_name(event.finish)}});
  else
    std::fputc('\n', stdout);
  if (flags.sampling.stats) print_stats(session, model);
  if (event.finish == Finish::context) return report_full(session, flags.sampling.context);
  return event.finish == Finish::cancelled ? InterruptScope::exit_code() : kOk;
}

void add_beams(Command command, RunFlags& f) {
  command.option("--beams", f.beams.beams, "Follow so many continuations and give the likeliest; 1 is off")
      .type_name("INT");
  command.option("--beam-results", f.beams.results, "Give so many of them, each after its score")
      .type_name("INT");
  command.option("--beam-groups", f.beams.groups, "Groups of beams that avoid each other's tokens")
      .type_name("INT");
  command.option("--diversity", f.beams.diversity, "How much they avoid them, 0 to 100").type_name("FLOAT");
  command.option("--length-penalty", f.beams.length_penalty, "Score: log-probability / length^penalty")
      .type_name("FLOAT");
  command
      .option(
          "--early-stopping",
          [&f](const std::string& text) {
            f.beams.early_stopping = text == "no"    ? EarlyStopping::no
                                     : text == "yes" ? EarlyStopping::yes
                                                     : EarlyStopping::never;
          },
          "When beams have ended: no (a better one is unlikely), yes (at once), never (a better one is "
          "impossible)")
      .one_of({"no", "yes", "never"});
}

}  // namespace

void add_run(Command app, Commands& commands) {
  auto flags = std::make_shared<RunFlags>();
  Command c = app.command("run", "One answer to one prompt, streamed");
  c.option("MODEL", flags->model, kModelHelp).required();
  const Option prompt =
      c.option("PROMPT", flags->prompt, "The question; what is piped in stands before it, or in its place");
  Option system = c.option("-s,--system", flags->system, "A system message");
  c.flag("--raw", flags->raw, "Continue the text as it stands, without the model's chat template")
      .excludes(system);
  add_answer(c, flags->answer);
  c.flag("--stdin", flags->wait, "Wait for what is piped in beside a PROMPT, however slow");
  c.option(
       "--session", flags->session,
       "Go on from a saved session: with --raw the text follows it, else what it holds of the conversation "
       "is not computed again")
      .type_name("FILE");
  c.option("--save-session", flags->save_session, "Save the session once the answer is there")
      .type_name("FILE");
  add_json(c, flags->common.json);
  add_sampling(c, flags->sampling);
  c.option("--negative", flags->negative,
           "Guidance away from this: a system message, or with --raw a whole prompt");
  c.option("--guidance", flags->guidance, "How far away, 0 to 100; 1 is off").type_name("FLOAT");
  add_beams(c, *flags);
  add_common(c, flags->common);
  add_loading(c, flags->common);
  c.footer(
      "Examples:\n  ingle run model.gguf \"What is the capital of France?\"\n"
      "  git diff | ingle run model.gguf \"Write a commit message for this change.\" --temp 0\n"
      "  ingle run base.gguf --raw \"Once upon a time\" -n 64 --json");
  commands.emplace_back(c, [flags, prompt] { return run(*flags, prompt.count() > 0); });
}

}  // namespace ingle::cli
