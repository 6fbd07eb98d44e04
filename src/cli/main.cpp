// ingle: run, chat with, inspect and rewrite language models.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <new>

#include "common.h"

int main(int argc, char** argv) {
  using namespace ingle;
  CLI::App app{
      "Runs language models.\n\nExamples:\n  ingle run model.gguf \"What is the capital of France?\"\n"
      "  ingle chat model.gguf\n  ingle inspect model.gguf --tensors\n",
      "ingle"};
  app.set_version_flag("--version", version());
  app.require_subcommand(1);
  app.get_formatter()->column_width(34);
  std::vector<std::pair<CLI::App*, cli::Command>> commands;
  try {
    cli::add_run(app, commands);
    cli::add_chat(app, commands);
    cli::add_inspect(app, commands);
    cli::add_tokenize(app, commands);
    cli::add_logprobs(app, commands);
    cli::add_quantize(app, commands);
    cli::add_doctor(app, commands);
    app.parse(argc, argv);
    for (const auto& [command, run] : commands)
      if (command->parsed()) return run();
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? cli::kOk : cli::kUsage;
  } catch (const Error& e) {
    std::fprintf(stderr, "ingle: %s\n", e.what());
    return cli::exit_code(e);
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "ingle: out of memory\n");
    return cli::kNoMemory;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "ingle: %s\n", e.what());
    return cli::kFailure;
  }
  return cli::kUsage;
}
