// bench: this machine's speed with a model, in the keys that the peers' measurements have.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <system_error>

#include "bench_measure.h"
#include "common.h"

namespace ingle::cli {
namespace {

constexpr int64_t kBatchPrompt = 128, kBatchGen = 16;  // as the peers' batches are measured

struct BenchFlags {
  Common common;
  std::string model;
  int64_t prompt = 512, gen = 64;
  int runs = 5;
  std::vector<int> batch;
};

TokenId token_at(const Model& model, int64_t i) {
  return static_cast<TokenId>((1000 + (i * 37) % 3000) % model.info().n_vocab);
}
std::vector<TokenId> tokens_from(const Model& model, int64_t first, int64_t n) {
  std::vector<TokenId> ids;
  for (int64_t i = first; i < first + n; ++i) ids.push_back(token_at(model, i));
  return ids;
}

// The model and what every command tells of it.
struct Subject {
  std::unique_ptr<Runtime> runtime;
  std::optional<Model> model;
  double load_s = 0;

  explicit Subject(const BenchFlags& flags) : runtime(make_runtime(flags.common)) {
    load_s = seconds([&] { model.emplace(load_model(*runtime, flags.model, flags.common)); });
  }
  Json json(const BenchFlags& flags) const {
    return {{"peer", "ingle"},
            {"model", flags.model.substr(flags.model.find_last_of('/') + 1)},
            {"threads", runtime->threads()},
            {"processor", runtime->processor()},
            {"kernels", model->info().kernels}};
  }
  void print() const {
    std::printf("%s\n%s, %d threads\n", model->info().kernels.c_str(), runtime->processor().c_str(),
                runtime->threads());
  }
};

// All sequences' tokens per second together, `n` of them decoding in common steps.
Series batch_rates(const Model& model, int n, int64_t prompt, int64_t gen, int runs) {
  std::vector<Session> sessions;
  std::vector<Session*> all;
  sessions.reserve(static_cast<size_t>(n));  // an interrupt may reach for one
  for (int s = 0; s < n; ++s) {
    sessions.emplace_back(model);
    const InterruptScope reading(&sessions.back());
    sessions.back().feed(tokens_from(model, s, prompt));
  }
  all.reserve(sessions.size());
  for (Session& s : sessions) all.push_back(&s);
  Series rates;
  std::vector<TokenId> next(static_cast<size_t>(n));
  for (int run = -1; run < runs; ++run) {  // the first one warms up
    InterruptScope::check();
    const double s = seconds([&] {
      for (int64_t i = 0; i < gen; ++i) {
        InterruptScope::check();
        for (int k = 0; k < n; ++k) next[static_cast<size_t>(k)] = token_at(model, prompt + i + k);
        for (const std::exception_ptr& error : Batch::feed(all, next))
          if (error) std::rethrow_exception(error);
      }
    });
    if (run >= 0) rates.values.push_back(static_cast<double>(n * gen) / s);
  }
  return rates;
}

int latency(const BenchFlags& flags) {
  InterruptScope scope;
  const Subject on(flags);
  const Model& model = *on.model;
  Series prefill, decode, bandwidth;
  std::optional<Bandwidth> memory;
  double peak = 0;
  for (int run = -1; run < flags.runs; ++run) {  // the first one warms up
    InterruptScope::check();
    Session reader(model);
    const double p = seconds([&] {
      const InterruptScope reading(&reader);
      reader.feed(tokens_from(model, 0, flags.prompt));
    });
    Session writer(model);
    const double g = seconds([&] {
      for (int64_t i = 0; i < flags.gen; ++i) {
        InterruptScope::check();
        const TokenId id = token_at(model, i);
        writer.feed({&id, 1});
      }
    });
    if (run < 0) {
      peak = peak_rss_mib();
      memory.emplace(on.runtime->threads());
      continue;
    }
    prefill.values.push_back(static_cast<double>(flags.prompt) / p);
    decode.values.push_back(static_cast<double>(flags.gen) / g);
    bandwidth.values.push_back(memory->gb_per_second());
  }
  std::vector<Series> batches;
  for (const int n : flags.batch)
    batches.push_back(batch_rates(model, n, std::min(flags.prompt, kBatchPrompt),
                                  std::min(flags.gen, kBatchGen), flags.runs));
  const double share =
      decode.median() * static_cast<double>(model.info().weight_bytes) * 1e-9 / bandwidth.median();
  if (flags.common.json) {
    Json out = on.json(flags);
    out.update({{"pp", prefill.median()},
                {"tg", decode.median()},
                {"pp_spread", prefill.spread()},
                {"tg_spread", decode.spread()},
                {"read_GBps", bandwidth.median()},
                {"roofline_share", share},
                {"load_s", on.load_s},
                {"peak_rss_MiB", peak}});
    for (size_t i = 0; i < batches.size(); ++i) {
      const std::string key = "tg" + std::to_string(flags.batch[i]);
      out[key] = batches[i].median();
      out[key + "_spread"] = batches[i].spread();
    }
    print_json(out);
    return kOk;
  }
  on.print();
  std::printf("load     %8.3f s, peak memory %.0f MiB\n", on.load_s, peak);
  const auto line = [](const std::string& name, const Series& rates) {
    std::printf("%-8s %8.1f tokens/s, %s\n", name.c_str(), rates.median(), rates.range(1).c_str());
  };
  line("prefill", prefill);
  line("decode", decode);
  for (size_t i = 0; i < batches.size(); ++i) line("batch " + std::to_string(flags.batch[i]), batches[i]);
  std::printf("memory   %8.1f GB/s read; decoding takes %.2f of it\n", bandwidth.median(), share);
  return kOk;
}

int throughput(const BenchFlags& flags) {
  InterruptScope scope;
  const Subject on(flags);
  Json out = on.json(flags);
  if (!flags.common.json) on.print();
  for (const int n : flags.batch) {
    const Series rates = batch_rates(*on.model, n, flags.prompt, flags.gen, flags.runs);
    const std::string key = "tg" + std::to_string(n);
    out[key] = rates.median();
    out[key + "_spread"] = rates.spread();
    if (!flags.common.json)
      std::printf("%3d sequences %8.1f tokens/s, %6.1f each, %s\n", n, rates.median(), rates.median() / n,
                  rates.range(1).c_str());
  }
  if (flags.common.json) print_json(out);
  return kOk;
}

// From nothing to the first token: a runtime, a model and a session are made anew in every run.
struct Starts {
  Series load, first;
  bool cached = true;  // each model's packed weights came from the cache
  Json about;

  Starts(const BenchFlags& flags, int runs) {
    for (int run = 0; run < runs; ++run) {
      InterruptScope::check();
      std::optional<Subject> on;
      const double s = seconds([&] {
        on.emplace(flags);
        Session session(*on->model);
        const InterruptScope reading(&session);
        session.feed(tokens_from(*on->model, 0, flags.prompt));
      });
      load.values.push_back(on->load_s);
      first.values.push_back(s);
      cached &= on->model->info().cached;
      about = on->json(flags);
    }
  }
  void add_to(Json& out, const std::string& prefix) const {
    out.update({{prefix + "load_s", load.median()},
                {prefix + "load_s_spread", load.spread()},
                {prefix + "first_token_s", first.median()},
                {prefix + "first_token_s_spread", first.spread()}});
  }
  void print(const char* name) const {
    std::printf("%-12s %8.3f s, %s; first token %8.3f s, %s\n", name, load.median(), load.range(3).c_str(),
                first.median(), first.range(3).c_str());
  }
};

// A cache of its own in the user's, so that nothing is there before the first load.
struct EmptyCache {
  std::string folder;
  explicit EmptyCache(const BenchFlags& flags) : folder(make_runtime(flags.common)->cache().folder) {
    if (!folder.empty()) folder += "/bench-" + std::to_string(getpid());
  }
  ~EmptyCache() {
    std::error_code ignored;
    if (!folder.empty()) std::filesystem::remove_all(folder, ignored);
  }
  EmptyCache(const EmptyCache&) = delete;
  EmptyCache& operator=(const EmptyCache&) = delete;
};

int startup(const BenchFlags& flags) {
  InterruptScope scope;
  BenchFlags without = flags, with = flags;
  without.common.no_cache = true;
  const Starts packed(without, flags.runs);
  const double peak = peak_rss_mib();
  const EmptyCache empty(flags);
  with.common.cache = empty.folder;
  std::optional<Starts> kept, cached;
  if (!empty.folder.empty()) {
    kept.emplace(with, 1);
    cached.emplace(with, flags.runs);
    if (!cached->cached) kept.reset(), cached.reset();  // too small for it, or it cannot be written
  }
  if (flags.common.json) {
    Json out = packed.about;
    packed.add_to(out, "");
    out["peak_rss_MiB"] = peak;
    if (cached) {
      out["keeping_load_s"] = kept->load.median();
      cached->add_to(out, "cached_");
    }
    print_json(out);
    return kOk;
  }
  std::printf("first token of a prompt of %lld\n", static_cast<long long>(flags.prompt));
  packed.print("packing");
  if (cached) {
    kept->print("and keeping");
    cached->print("from cache");
  } else {
    std::puts("packed weights are not kept");
  }
  return kOk;
}

void add_one(Command bench, Commands& commands, const std::string& name, const std::string& help,
             const BenchFlags& defaults, int (*run)(const BenchFlags&)) {
  auto flags = std::make_shared<BenchFlags>(defaults);
  Command c = bench.command(name, help);
  c.option("MODEL", flags->model, kModelHelp).required();
  c.option("-p,--prompt", flags->prompt, "Tokens of prefill").range(1, 1 << 20);
  if (run != startup) c.option("-n,--gen", flags->gen, "Tokens of decode").range(1, 1 << 20);
  if (run != startup)
    c.option("-b,--batch", flags->batch, "Sequences that decode together: 1,4,16")
        .separator(',')
        .range(1, 1024);
  c.option("-r,--runs", flags->runs, "Runs to take the median of").range(1, 1000);
  add_common(c, flags->common);
  add_loading(c, flags->common);
  add_json(c, flags->common.json);
  c.footer(bench.footer());
  commands.emplace_back(c, [flags, run] { return run(*flags); });
}

}  // namespace

void add_bench(Command app, Commands& commands) {
  Command bench = app.command("bench", "Measures this machine");
  bench.require_command();
  bench.footer(
      "Examples:\n  ingle bench latency model.gguf\n  ingle bench latency model.gguf -p 128 -n 32 -t 4 "
      "--json\n  ingle bench throughput model.gguf --batch 1,4,16\n  ingle bench serve model.gguf "
      "--workload shared-prefix --rate 2\n  ingle bench cancel model.gguf");
  BenchFlags one, many, start;
  many.prompt = kBatchPrompt;
  many.gen = kBatchGen;
  many.batch = {1, 2, 4, 8, 16, 32};
  start.prompt = 16;
  add_one(bench, commands, "latency", "Prefill and decode of one sequence, medians of several runs", one,
          latency);
  add_one(bench, commands, "throughput", "Many sequences that decode together", many, throughput);
  add_one(bench, commands, "startup", "From nothing to the first token, with packed weights kept and not",
          start, startup);
  add_bench_serve(bench, commands);
  add_bench_cancel(bench, commands);
}

}  // namespace ingle::cli
