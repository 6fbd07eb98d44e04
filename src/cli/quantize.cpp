#include <CLI/CLI.hpp>
#include <cstdio>

#include "common.h"

namespace ingle::cli {
namespace {

struct QuantizeFlags {
  Common common;
  std::string from, to, type;
};

}  // namespace

void add_quantize(CLI::App& app, std::vector<std::pair<CLI::App*, Command>>& commands) {
  auto flags = std::make_shared<QuantizeFlags>();
  CLI::App* c = app.add_subcommand("quantize", "Write a GGUF file with its matrices in another type");
  c->add_option("FROM", flags->from, "A GGUF file; never touched")->required();
  c->add_option("TO", flags->to, "The file to write")->required();
  c->add_option("TYPE", flags->type, "f16, bf16, q8_0, q4_0, q4_1, q5_0, q5_1, q4_k, q5_k or q6_k")
      ->required();
  c->add_option("-t,--threads", flags->common.threads, "Threads; 0: one per core");
  c->add_flag("-q,--quiet", flags->common.quiet, "No progress");
  commands.emplace_back(c, [flags] {
    const auto runtime = make_runtime(flags->common);
    Progress bar("quantising", !flags->common.quiet);
    InterruptScope scope(nullptr);
    quantize(*runtime, flags->from, flags->to, flags->type, [&](float fraction) {
      bar.update(fraction);
      return !InterruptScope::interrupted();
    });
    return static_cast<int>(kOk);
  });
}

}  // namespace ingle::cli
