// bench latency: prefill and decode apart, in the keys that the peers' measurements have.
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>

#include "common.h"
#include "json_out.h"

namespace ingle::cli {
namespace {

struct BenchFlags {
  Common common;
  std::string model;
  int64_t prompt = 512, gen = 64;
  int runs = 5;
};

double seconds(const std::function<void()>& f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

struct Rates {  // of several runs, tokens per second
  std::vector<double> values;
  double median() const {
    std::vector<double> sorted = values;
    std::sort(sorted.begin(), sorted.end());
    const size_t n = sorted.size();
    return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
  }
  Json json() const {
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    return Json::array({*low, *high});
  }
};

int latency(const BenchFlags& flags) {
  const auto runtime = make_runtime(flags.common);
  InterruptScope scope;
  std::unique_ptr<Model> model;
  const double load_s =
      seconds([&] { model = std::make_unique<Model>(load_model(*runtime, flags.model, flags.common)); });
  std::vector<TokenId> ids;
  for (int64_t i = 0; i < std::max(flags.prompt, flags.gen); ++i)
    ids.push_back(static_cast<TokenId>((1000 + (i * 37) % 3000) % model->info().n_vocab));
  Rates prefill, decode;
  for (int run = -1; run < flags.runs; ++run) {  // the first one warms up
    InterruptScope::check();
    Session reader(*model);
    const double p = seconds([&] { reader.feed(std::span(ids).first(static_cast<size_t>(flags.prompt))); });
    Session writer(*model);
    const double g = seconds([&] {
      for (int64_t i = 0; i < flags.gen; ++i) writer.feed(std::span(ids).subspan(static_cast<size_t>(i), 1));
    });
    if (run < 0) continue;
    prefill.values.push_back(static_cast<double>(flags.prompt) / p);
    decode.values.push_back(static_cast<double>(flags.gen) / g);
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const double peak_mib = static_cast<double>(usage.ru_maxrss) / 1024;
  if (flags.common.json) {
    const Json out{{"peer", "ingle"},
                   {"model", flags.model.substr(flags.model.find_last_of('/') + 1)},
                   {"threads", runtime->threads()},
                   {"pp", prefill.median()},
                   {"tg", decode.median()},
                   {"pp_spread", prefill.json()},
                   {"tg_spread", decode.json()},
                   {"load_s", load_s},
                   {"peak_rss_MiB", peak_mib},
                   {"processor", runtime->processor()},
                   {"kernels", model->info().kernels}};
    print_json(out);
    return kOk;
  }
  std::printf("%s\n%s, %d threads\nload     %8.3f s, peak memory %.0f MiB\n", model->info().kernels.c_str(),
              runtime->processor().c_str(), runtime->threads(), load_s, peak_mib);
  for (const auto& [name, rates] : {std::pair{"prefill", &prefill}, std::pair{"decode", &decode}})
    std::printf("%-8s %8.1f tokens/s, %s\n", name, rates->median(), rates->json().dump().c_str());
  return kOk;
}

}  // namespace

void add_bench(CLI::App& app, Commands& commands) {
  auto flags = std::make_shared<BenchFlags>();
  CLI::App* bench = app.add_subcommand("bench", "Measures this machine");
  bench->require_subcommand(1);
  CLI::App* c =
      bench->add_subcommand("latency", "Prefill and decode of one sequence, medians of several runs");
  c->add_option("MODEL", flags->model, "A GGUF file")->required();
  c->add_option("-p,--prompt", flags->prompt, "Tokens of prefill")->check(CLI::Range(1, 1 << 20));
  c->add_option("-n,--gen", flags->gen, "Tokens of decode")->check(CLI::Range(1, 1 << 20));
  c->add_option("-r,--runs", flags->runs, "Runs to take the median of")->check(CLI::Range(1, 1000));
  add_common(*c, flags->common);
  add_loading(*c, flags->common);
  add_json(*c, flags->common.json);
  bench->footer(
      "Examples:\n  ingle bench latency model.gguf\n  ingle bench latency model.gguf -p 128 -n 32 -t 4 "
      "--json");
  c->footer(bench->get_footer());
  commands.emplace_back(c, [flags] { return latency(*flags); });
}

}  // namespace ingle::cli
