// ingle: run, chat with, inspect and rewrite language models.
#include <cstdio>
#include <new>

#include "common.h"

namespace ingle::cli {
namespace {

void flush_stdout() {
  if (std::fflush(stdout) != 0) throw Error(Code::io, "stdout", "cannot be written");
  check_stdout();
}

int run_parsed(const Commands& commands) {
  for (const auto& [command, run] : commands)
    if (command.parsed()) {
      const int code = run();
      flush_stdout();
      return code;
    }
  return kUsage;
}

// `ingle help run` is `ingle run --help`.
std::vector<const char*> arguments(int argc, char** argv) {
  std::vector<const char*> out(argv, argv + argc);
  if (argc >= 2 && std::string(argv[1]) == "help") {
    out.erase(out.begin() + 1);
    out.push_back("--help");
  }
  return out;
}

int run_command_line(int argc, char** argv) {
  CommandLine line("ingle", "Runs language models on this machine.", std::string("ingle ") + version());
  const Command app = line.top();
  app.footer(
      "Examples:\n  ingle run model.gguf \"What is the capital of France?\"\n  ingle chat model.gguf\n"
      "  ingle inspect model.gguf --tensors\n\n"
      "`ingle COMMAND --help` says more. Exit codes: 0 ok, 1 failure, 2 usage, 3 a file is not there,\n"
      "4 unsupported or corrupt model, 5 out of memory, 6 context full, 7 check failed, 130 interrupted, 143 "
      "terminated.");
  app.require_command();
  Commands commands;
  add_run(app, commands);
  add_chat(app, commands);
  add_inspect(app, commands);
  add_tokenize(app, commands);
  add_template(app, commands);
  add_constrain(app, commands);
  add_logprobs(app, commands);
  add_quantize(app, commands);
  add_doctor(app, commands);
  add_perplexity(app, commands);
  add_bench(app, commands);
  add_completion(app, commands);
  add_man(app, commands);
  const std::vector<const char*> args = arguments(argc, argv);
  const int n = static_cast<int>(args.size());
  const Parsed parsed = line.parse(n, args.data());
  if (parsed.kind == Parsed::Kind::wrong) return report_usage(app, parsed, n, args.data());
  if (parsed.kind == Parsed::Kind::command) return run_parsed(commands);
  std::fputs(parsed.text.c_str(), stdout);
  flush_stdout();
  return kOk;
}

}  // namespace
}  // namespace ingle::cli

int main(int argc, char** argv) {
  using namespace ingle;
  cli::open_missing_descriptors();
  cli::catch_interrupts();
  try {
    return cli::run_command_line(argc, argv);
  } catch (const Error& e) {
    return cli::report(e);
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "ingle: out of memory\n");
    return cli::kNoMemory;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "ingle: %s\n", e.what());
    return cli::kFailure;
  }
}
