// What the commands share: options, progress, exit codes. Data goes to stdout, talk to stderr.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ingle/ingle.hpp"

namespace CLI {
class App;
}

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
};
int exit_code(const Error& error);

struct Common {
  bool json = false, quiet = false, verbose = false;
  int threads = 0;
  std::string kernel;  // "ref" is the reference backend, anything else a kernel or instruction set
  std::string state_type;
  bool no_map = false;
};
void add_common(CLI::App& command, Common& common);

struct SamplingFlags {
  SamplerOptions options;
  std::vector<std::string> bias;  // "ID=VALUE"
  int64_t max_tokens = -1;
  std::vector<std::string> stop;
  bool stats = false;
  int64_t context = 0, chunk = 512;
};
void add_sampling(CLI::App& command, SamplingFlags& flags);
Sampler make_sampler(const SamplingFlags& flags);
GenerateOptions generate_options(const SamplingFlags& flags);

std::unique_ptr<Runtime> make_runtime(const Common& common);
Model load_model(const Runtime& runtime, const std::string& path, const Common& common);

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

// Ctrl-C ends the running call of this session; false from the callback stops. Restored by the destructor.
class InterruptScope {
 public:
  explicit InterruptScope(Session* session);
  ~InterruptScope();
  static bool interrupted();
  static void clear();
};

std::string read_stdin();
void print_stats(const Session& session, const Model& model);
std::vector<TokenId> parse_ids(const std::string& text);  // "1,2,3", white space allowed

// Each command adds itself to the app; its function runs after parsing and returns an exit code.
using Command = std::function<int()>;
void add_run(CLI::App& app, std::vector<std::pair<CLI::App*, Command>>& commands);
void add_chat(CLI::App& app, std::vector<std::pair<CLI::App*, Command>>& commands);
void add_inspect(CLI::App& app, std::vector<std::pair<CLI::App*, Command>>& commands);
void add_tokenize(CLI::App& app, std::vector<std::pair<CLI::App*, Command>>& commands);
void add_logprobs(CLI::App& app, std::vector<std::pair<CLI::App*, Command>>& commands);
void add_quantize(CLI::App& app, std::vector<std::pair<CLI::App*, Command>>& commands);
void add_doctor(CLI::App& app, std::vector<std::pair<CLI::App*, Command>>& commands);

}  // namespace ingle::cli
