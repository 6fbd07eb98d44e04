// bench cancel: how soon a load, the reading of a prompt and an answer end when somebody says so.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <optional>
#include <thread>

#include "bench_measure.h"
#include "common.h"

namespace ingle::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct CancelFlags {
  Common common;
  std::string model;
  int64_t prompt = 512;
  int runs = 9;
};

// Cancels `work` a share of its usual time after it began; milliseconds from there until it has ended.
// Nothing where it had ended by itself.
std::optional<double> end_after(double delay_s, const std::function<bool()>& work,
                                const std::function<void()>& cancel) {
  std::atomic<bool> cancelled{false};
  Clock::time_point ended;
  std::thread worker([&] {
    cancelled = work();
    ended = Clock::now();
  });
  std::this_thread::sleep_for(std::chrono::duration<double>(delay_s));
  const Clock::time_point said = Clock::now();
  cancel();
  worker.join();
  if (!cancelled) return std::nullopt;
  return std::max(0.0, std::chrono::duration<double, std::milli>(ended - said).count());
}

// True where f ended by a cancel.
template <class F>
bool is_cancelled(F f) {
  try {
    return f();
  } catch (const Error& e) {
    if (e.code() != Code::cancelled) throw;
    return true;
  }
}

// The moments of a run: spread evenly over the time that the work takes.
double share(int run, int runs) { return (run + 0.5) / runs; }

void add(Series& series, const std::optional<double>& ms) {
  if (ms) series.values.push_back(*ms);
}

Series of_load(const Runtime& runtime, const CancelFlags& flags, double load_s) {
  Series out;
  for (int run = 0; run < flags.runs; ++run) {
    InterruptScope::check();
    std::atomic<bool> stop{false};
    ModelOptions options = model_options(flags.common);
    options.progress = [&](float) { return !stop; };
    add(out, end_after(
                 load_s * share(run, flags.runs),
                 [&] {
                   return is_cancelled([&] {
                     (void)Model::load(runtime, flags.model, options);
                     return false;
                   });
                 },
                 [&] { stop = true; }));
  }
  return out;
}

std::vector<TokenId> prompt_of(const Model& model, int64_t n) {
  std::vector<TokenId> ids;
  for (int64_t i = 0; i < n; ++i)
    ids.push_back(static_cast<TokenId>((1000 + i * 37 % 3000) % model.info().n_vocab));
  return ids;
}

Series of_prefill(const Model& model, const CancelFlags& flags) {
  const std::vector<TokenId> ids = prompt_of(model, flags.prompt);
  const double usual = seconds([&] { Session(model).feed(ids); });
  Series out;
  for (int run = 0; run < flags.runs; ++run) {
    InterruptScope::check();
    Session session(model);
    add(out, end_after(
                 usual * share(run, flags.runs),
                 [&] {
                   return is_cancelled([&] {
                     session.feed(ids);
                     return false;
                   });
                 },
                 [&] { session.cancel(); }));
  }
  return out;
}

// An answer that has no end: where the context is full, it begins again.
bool answer_until_cancelled(Session& session) {
  Sampler greedy = Sampler::greedy();
  const GenerateOptions options{.ignore_end = true};
  session.begin(options);
  for (;;) {
    const Finish finish = session.next(greedy).finish;
    if (finish == Finish::cancelled) return true;
    if (finish == Finish::none) continue;
    session.clear();
    session.feed(prompt_of(session.model(), 16));
    session.begin(options);
  }
}

Series of_decode(const Model& model, const CancelFlags& flags) {
  Series out;
  for (int run = 0; run < flags.runs; ++run) {
    InterruptScope::check();
    Session session(model);
    session.feed(prompt_of(model, 16));
    add(out, end_after(
                 0.1 + 0.01 * share(run, flags.runs),
                 [&] { return is_cancelled([&] { return answer_until_cancelled(session); }); },
                 [&] { session.cancel(); }));
  }
  return out;
}

int cancel(const CancelFlags& flags) {
  InterruptScope scope;
  const std::unique_ptr<Runtime> runtime = make_runtime(flags.common);
  std::optional<Model> model;
  const double load_s = seconds([&] { model.emplace(load_model(*runtime, flags.model, flags.common)); });
  const std::pair<const char*, Series> all[] = {{"load", of_load(*runtime, flags, load_s)},
                                                {"prefill", of_prefill(*model, flags)},
                                                {"decode", of_decode(*model, flags)}};
  Json out{{"peer", "ingle"},
           {"model", flags.model.substr(flags.model.find_last_of('/') + 1)},
           {"threads", runtime->threads()},
           {"processor", runtime->processor()}};
  for (const auto& [name, series] : all) {
    const std::string key = std::string(name) + "_cancel";
    out[key + "s"] = series.values.size();
    if (series.values.empty()) continue;
    out[key + "_ms"] = series.median();
    out[key + "_ms_spread"] = series.spread();
  }
  if (flags.common.json) {
    print_json(out);
    return kOk;
  }
  for (const auto& [name, series] : all)
    if (series.values.empty())
      std::printf("%-8s had ended by itself each time\n", name);
    else
      std::printf("%-8s ends %6.1f ms after a cancel, %s in %zu runs\n", name, series.median(),
                  series.range(2).c_str(), series.values.size());
  return kOk;
}

}  // namespace

void add_bench_cancel(Command bench, Commands& commands) {
  auto f = std::make_shared<CancelFlags>();
  Command c =
      bench.command("cancel", "How soon a load, the reading of a prompt and an answer end after a cancel");
  c.option("MODEL", f->model, kModelHelp).required();
  c.option("-p,--prompt", f->prompt, "Tokens of the prompt").range(1, 1 << 20);
  c.option("-r,--runs", f->runs, "Cancels of each, spread over the time that it takes").range(1, 1000);
  add_common(c, f->common);
  add_loading(c, f->common);
  add_json(c, f->common.json);
  c.footer(bench.footer());
  commands.emplace_back(c, [f] { return cancel(*f); });
}

}  // namespace ingle::cli
