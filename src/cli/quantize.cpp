
#include "common.h"

namespace ingle::cli {
namespace {

struct QuantizeFlags {
  Common common;
  std::string from, to, type;
};

int rewrite(const QuantizeFlags& flags) {
  const auto runtime = make_runtime(flags.common);
  const InterruptScope scope;
  Progress bar("quantising", !flags.common.quiet);
  quantize(*runtime, flags.from, flags.to, flags.type, [&](float fraction) {
    bar.update(fraction);
    return !InterruptScope::interrupted();
  });
  return kOk;
}

}  // namespace

void add_quantize(Command app, Commands& commands) {
  auto flags = std::make_shared<QuantizeFlags>();
  Command c = app.command("quantize", "Write a GGUF file with its matrices in another type");
  c.option("FROM", flags->from, "A GGUF file; never touched").required();
  c.option("TO", flags->to, "The file to write; it appears when it is whole").required();
  c.option("TYPE", flags->type, "f16, bf16, q8_0, q4_0, q4_1, q5_0, q5_1, q4_k, q5_k, q6_k, …").required();
  add_threads(c, flags->common);
  c.flag("-q,--quiet", flags->common.quiet, "No progress");
  c.footer(
      "Examples:\n  ingle quantize model-f16.gguf model-q4_k.gguf q4_k\n"
      "  ingle quantize model-f32.gguf model-q8_0.gguf q8_0 --threads 4");
  commands.emplace_back(c, [flags] { return rewrite(*flags); });
}

}  // namespace ingle::cli
