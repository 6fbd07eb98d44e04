#include "common.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <limits>

namespace ingle::cli {
namespace {

int64_t now_ms() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(steady_clock::now().time_since_epoch()).count();
}

std::atomic<Session*> running_session{nullptr};
std::atomic<bool> was_interrupted{false};
struct sigaction previous_action;

void on_interrupt(int) {
  if (was_interrupted.exchange(true)) _exit(kInterrupted);  // the second time is meant
  if (Session* session = running_session.load()) session->cancel();
}

}  // namespace

int exit_code(const Error& error) {
  switch (error.code()) {
    case Code::not_found:
      return kNotFound;
    case Code::corrupt:
    case Code::unsupported:
      return kBadModel;
    case Code::out_of_memory:
      return kNoMemory;
    case Code::context_full:
      return kContextFull;
    case Code::cancelled:
      return kInterrupted;
    case Code::invalid_argument:
      return kUsage;
    default:
      return kFailure;
  }
}

void add_common(CLI::App& command, Common& common) {
  command.add_option("-t,--threads", common.threads, "Threads; 0: one per core")->envname("INGLE_THREADS");
  command.add_option("--kernel", common.kernel, "Force kernels: avx2, plain, …; ref: the float reference")
      ->envname("INGLE_KERNEL");
  command.add_option("--state-type", common.state_type, "Attention state: f32, f16 or bf16");
  command.add_flag("--no-map", common.no_map, "Read the file instead of mapping it");
  command.add_flag("--json", common.json, "One JSON object on stdout");
  command.add_flag("-q,--quiet", common.quiet, "No progress, no talk");
  command.add_flag("-v,--verbose", common.verbose, "Say what is done, on stderr");
}

void add_sampling(CLI::App& command, SamplingFlags& f) {
  // The names, ranges and help of the sampler's options come from the library's own table.
  for (const OptionInfo& o : Sampler::options()) {
    const std::string key(o.key);
    std::string flag = "--" + key;
    for (char& c : flag)
      if (c == '_') c = '-';
    if (key == "temperature") flag = "--temp,--temperature";
    if (key == "seed") {
      command.add_option(flag, f.options.seed, std::string(o.help));
      continue;
    }
    command.add_option_function<double>(
        flag, [&f, key](const double& v) { Sampler::set(f.options, key, v); }, std::string(o.help));
  }
  command.add_option("--logit-bias", f.bias, "ID=VALUE added to an id's logit; -inf bans it")->take_all();
  command.add_option("-n,--max-tokens", f.max_tokens, "Tokens at most; -1: until the model ends");
  command.add_option("--stop", f.stop, "Text that ends the answer, may be given again")->take_all();
  command.add_option("--ctx", f.context, "Tokens of context; 0: what the model was trained for")
      ->transform(CLI::AsSizeValue(false));
  command.add_option("--chunk", f.chunk, "Prompt tokens of one step; never changes results");
  command.add_flag("--stats", f.stats, "Timings on stderr at the end");
}

Sampler make_sampler(const SamplingFlags& flags) {
  SamplerOptions options = flags.options;
  for (const std::string& text : flags.bias) {
    const size_t eq = text.find('=');
    char* end = nullptr;
    const std::vector<TokenId> id = parse_ids(text.substr(0, eq));
    const float bias = eq == std::string::npos ? 0 : std::strtof(text.c_str() + eq + 1, &end);
    if (id.size() != 1 || !end || *end || end == text.c_str() + eq + 1)
      throw Error(Code::invalid_argument, "--logit-bias", "'" + text + "' is not of the form ID=VALUE");
    options.logit_bias.emplace_back(id.front(), bias);
  }
  return Sampler(options);
}

GenerateOptions generate_options(const SamplingFlags& flags) {
  GenerateOptions options;
  options.max_tokens = flags.max_tokens;
  options.stop = flags.stop;
  return options;
}

std::unique_ptr<Runtime> make_runtime(const Common& common) {
  RuntimeOptions options;
  options.threads = common.threads;
  if (common.kernel != "ref") options.kernel = common.kernel;
  if (common.verbose)
    options.log = [](LogLevel, std::string_view text) {
      std::fprintf(stderr, "%.*s\n", static_cast<int>(text.size()), text.data());
    };
  return std::make_unique<Runtime>(options);
}

Model load_model(const Runtime& runtime, const std::string& path, const Common& common) {
  ModelOptions options;
  if (common.kernel == "ref") options.backend = "ref";
  options.state_type = common.state_type;
  options.map = !common.no_map;
  Progress bar("loading", !common.quiet);
  options.progress = [&](float fraction) {
    bar.update(fraction);
    return !InterruptScope::interrupted();
  };
  Model model = Model::load(runtime, path, options);
  if (common.verbose) std::fprintf(stderr, "kernels: %s\n", model.info().kernels.c_str());
  return model;
}

Progress::Progress(std::string label, bool enabled)
    : label_(std::move(label)), enabled_(enabled && isatty(STDERR_FILENO)), start_ms_(now_ms()) {}

Progress::~Progress() {
  if (shown_) std::fprintf(stderr, "\r\033[K");
}

void Progress::update(float fraction) {
  constexpr int kWidth = 40;
  if (!enabled_ || now_ms() - start_ms_ < 1000) return;
  const int done = static_cast<int>(fraction * kWidth);
  if (done == last_) return;
  last_ = done;
  shown_ = true;
  std::fprintf(stderr, "\r%s [%-*s] %3d %%", label_.c_str(), kWidth,
               std::string(static_cast<size_t>(done), '#').c_str(), static_cast<int>(fraction * 100));
}

InterruptScope::InterruptScope(Session* session) {
  running_session = session;
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  sigaction(SIGINT, &action, &previous_action);
}
InterruptScope::~InterruptScope() {
  running_session = nullptr;
  sigaction(SIGINT, &previous_action, nullptr);
}
bool InterruptScope::interrupted() { return was_interrupted; }
void InterruptScope::clear() { was_interrupted = false; }

std::string read_stdin() {
  return {std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
}

void print_stats(const Session& session, const Model& model) {
  const SessionStats& s = session.stats();
  const auto rate = [](int64_t n, double ms) { return ms > 0 ? 1000.0 * static_cast<double>(n) / ms : 0.0; };
  std::fprintf(stderr, "prompt %lld tokens, %.1f/s; answer %lld tokens, %.1f/s; kernels: %s\n",
               static_cast<long long>(s.prompt_tokens), rate(s.prompt_tokens, s.prefill_ms),
               static_cast<long long>(s.generated_tokens), rate(s.generated_tokens, s.decode_ms),
               model.info().kernels.c_str());
}

std::vector<TokenId> parse_ids(const std::string& text) {
  std::vector<TokenId> ids;
  const char *at = text.data(), *end = at + text.size();
  const auto skip = [&] {
    while (at < end && (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r')) ++at;
  };
  for (skip(); at < end;) {
    TokenId id = 0;
    const auto [next, error] = std::from_chars(at, end, id);
    if (error != std::errc())
      throw Error(Code::invalid_argument, "ids",
                  "'" + std::string(at, end) + "' does not begin with a token id");
    ids.push_back(id);
    at = next;
    skip();
    if (at < end && *at == ',') ++at;
    skip();
  }
  return ids;
}

}  // namespace ingle::cli
