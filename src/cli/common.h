// What the commands share: options, progress, exit codes. Data goes to stdout, talk to stderr.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "command.h"
#include "ingle/ingle.hpp"

namespace ingle::cli {

// Exit codes (the same for every command).
enum Exit : int {
  kOk = 0,
  kFailure = 1,
  kUsage = 2,
  kNotFound = 3,
  kBadModel = 4,
  kNoMemory = 5,
  kContextFull = 6,
  kCheckFailed = 7,
  kInterrupted = 130,
  kTerminated = 143,
};
int exit_code(const Error& error);
int report(const Error& error);  // on stderr, with the hint; returns the exit code

constexpr const char* kModelHelp = "A GGUF file, or a model's folder (config.json and safetensors)";

struct Common {
  bool json = false, quiet = false, verbose = false;
  int64_t threads = 0;
  std::string kernel;            // "ref" is the reference backend, anything else a kernel or instruction set
  std::string backend, plugins;  // of models; where plug-ins lie
  std::string state_type;
  bool no_map = false;
  std::string cache;  // the folder of packed weights; empty: the user's own
  bool no_cache = false;
};
void add_threads(Command command, Common& common);
void add_common(Command command, Common& common);  // threads, kernel, quiet, verbose
void add_loading(Command command, Common& common);
void add_cache(Command command, Common& common);
Option add_json(Command command, bool& json);
// A whole number that may be written 8k or 2M (of 1024 and 1024²), checked against [low, high]; `variable` of
// the environment, where there is one, says it where the command line does not.
Option add_count(Command command, const std::string& name, int64_t& value, const std::string& help,
                 int64_t low, int64_t high = int64_t{1} << 40, const char* variable = nullptr);

struct SamplingFlags {
  SamplerOptions options;
  std::vector<std::string> bias;      // "ID=VALUE"
  std::vector<std::string> breakers;  // texts, for DRY
  int64_t max_tokens = -1;
  std::vector<std::string> stop, stop_ids;  // ids as text: "5" or "5,6"
  bool include_stop = false;
  std::string json_schema, regex, grammar;  // a file; an expression; a file
  std::vector<std::string> stop_patterns, banned_phrases;
  bool jump_ahead = false;
  bool stats = false;
  int64_t context = 0, chunk = 512;
};
void add_sampling(Command command, SamplingFlags& flags);
void add_session(Command command, int64_t& context, int64_t& chunk);
// What needs a vocabulary (the ends of an answer, DRY's breakers) is left open as long as there is no model.
Sampler make_sampler(const SamplingFlags& flags, const Model* model = nullptr);
void print_chain(const Sampler& sampler, const Common& common);  // with --verbose, on stderr
// A grammar file by its name: Lark's notation where it ends in ".lark", else GBNF.
Grammar load_grammar(const std::string& path);
GenerateOptions generate_options(const SamplingFlags& flags);

std::unique_ptr<Runtime> make_runtime(const Common& common);
ModelOptions model_options(const Common& common);
Model load_model(const Runtime& runtime, const std::string& path, const Common& common);
// Throws Code::unsupported, naming what can be done, when messages cannot be put to the model.
void need_chat_template(const Model& model, const std::string& path);
// Says on stderr that an answer was cut since the context is full; the exit code of it.
int report_full(const Session& session, int64_t context);

// A bar on a terminal's stderr, after the first second; elsewhere nothing.
class Progress {
 public:
  Progress(std::string label, bool enabled);
  ~Progress();
  void update(float fraction);

 private:
  std::string label_;
  bool enabled_, shown_ = false;
  int64_t start_ms_;
  int last_ = -1;
};

// Ctrl-C ends the process with kInterrupted, SIGTERM with kTerminated: at once, or, while a scope lives, by
// the running call's own end (what was begun is tidied up), and at once the second time.
void catch_interrupts();
class InterruptScope {
 public:
  explicit InterruptScope(Session* session = nullptr);
  ~InterruptScope();
  void watch(Session& session);  // Ctrl-C cancels it
  static bool interrupted();
  static bool terminated();  // by SIGTERM, after which nothing is begun
  static int exit_code();    // kInterrupted or kTerminated
  static void check();       // throws Code::cancelled
  static void clear();

 private:
  bool before_;
};

// The standard descriptors that the caller has closed are opened again, so that no model file takes their
// place and is read as a prompt or written over by a message: stdin is then empty, writing to the others
// fails.
void open_missing_descriptors();

// To the end. Throws Code::io when it cannot be read, and past 1 GiB, which no prompt has and an endless pipe
// soon does.
std::string read_stdin();
std::string read_text_file(const std::string& path);  // the same of a file, which may be a pipe
// Of stdin; false at the end. Code::io when it cannot be read, or is longer than 64 MiB.
bool read_line(std::string& line);
// What goes to stdout could not be written: there is no point in going on.
void check_stdout();
void print_stats(const Session& session, const Model& model);
std::vector<TokenId> parse_ids(const std::string& text, const char* where);  // "1,2,3", white space allowed
std::string finish_name(Finish finish);
// A model's text on stdout, at once. What could steer a terminal is made printable when stdout is one.
void print_answer(const std::string& text);
// Text of a file, fit for a terminal: what could steer it becomes "\xNN".
std::string printable(const std::string& text);

// Each command adds itself to the app; its function runs after parsing and returns an exit code.
using Action = std::function<int()>;
using Commands = std::vector<std::pair<Command, Action>>;
void add_run(Command app, Commands& commands);
void add_chat(Command app, Commands& commands);
void add_inspect(Command app, Commands& commands);
void add_constrain(Command app, Commands& commands);
void add_template(Command app, Commands& commands);
void add_tokenize(Command app, Commands& commands);
void add_logprobs(Command app, Commands& commands);
void add_quantize(Command app, Commands& commands);
void add_doctor(Command app, Commands& commands);
void add_bench(Command app, Commands& commands);
void add_bench_cancel(Command bench, Commands& commands);
void add_bench_serve(Command bench, Commands& commands);
void add_perplexity(Command app, Commands& commands);
void add_completion(Command app, Commands& commands);
void add_man(Command app, Commands& commands);

// Says on stderr what is wrong with the command line, and what was probably meant.
int report_usage(Command app, const Parsed& wrong, int argc, const char* const* argv);

}  // namespace ingle::cli
