// bench serve: an engine under the load of many users, in this process.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>
#include <optional>
#include <random>

#include "bench_measure.h"
#include "common.h"

namespace ingle::cli {
namespace {

using Clock = std::chrono::steady_clock;

const std::vector<std::string> kWorkloads = {"random", "shared-prefix", "multi-turn", "long-with-short",
                                             "tenants"};

struct ServeFlags {
  Common common;
  std::string model, workload = "random";
  int64_t requests = 64, concurrency = 8, prompt = 128, gen = 32, turns = 4, tenants = 4, seed = 1;
  int64_t max_running = 32, chunk = 512, state_bytes = 0, burst = 1;
  double rate = 0, target_ms = 100, price = 0, first_token_ms = 1000, per_token_ms = 200;
  bool no_share = false;
};

// What one request is, before it is sent.
struct Order {
  std::vector<TokenId> prompt;
  int64_t gen = 0;
  int32_t tenant = 0;
  int64_t turns_left = 0;
  double due = 0;  // seconds from the start, in an open loop
};

// What became of it.
struct Record {
  Order order;
  double sent = 0, first = -1, last = 0;
  int64_t tokens = 0;
  std::vector<TokenId> answer;
  bool ended = false;
};

class Workload {
 public:
  Workload(const ServeFlags& flags, const Model& model)
      : f_(flags),
        n_vocab_(model.info().n_vocab),
        n_context_(model.info().n_context),
        random_(static_cast<uint64_t>(flags.seed)) {}

  std::vector<Order> orders() {
    std::vector<Order> out;
    const std::vector<TokenId> common = tokens(f_.prompt);
    double due = 0;
    for (int64_t i = 0; i < f_.requests; ++i) {
      Order o;
      o.gen = f_.gen;
      o.tenant = static_cast<int32_t>(i % f_.tenants);
      if (f_.workload == "random") {
        o.prompt = tokens(spread(f_.prompt));
        o.gen = spread(f_.gen);
      } else if (f_.workload == "shared-prefix") {
        o.prompt = common;
        append(o.prompt, tokens(std::max<int64_t>(1, f_.prompt / 16)));
      } else if (f_.workload == "multi-turn") {
        o.prompt = tokens(f_.prompt);
        o.turns_left = f_.turns - 1;
      } else if (f_.workload == "long-with-short") {
        o.prompt = tokens(fitting(i % 8 == 7 ? 16 * f_.prompt : f_.prompt));
      } else {  // tenants ask for as many tokens, in other shapes
        const bool reads = o.tenant % 2 == 0;
        o.prompt = tokens(reads ? f_.prompt : std::max<int64_t>(1, f_.prompt / 8));
        o.gen = reads ? std::max<int64_t>(1, f_.gen / 4) : f_.gen;
      }
      if (f_.rate > 0 && i % f_.burst == 0)
        due += std::exponential_distribution<double>(f_.rate / static_cast<double>(f_.burst))(random_);
      o.due = due;
      out.push_back(std::move(o));
    }
    return out;
  }

  // The next turn of a conversation: what was said, and something new.
  Order next_turn(const Record& r) {
    Order o = r.order;
    append(o.prompt, r.answer);
    append(o.prompt, tokens(std::max<int64_t>(1, f_.prompt / 8)));
    o.turns_left = static_cast<int64_t>(o.prompt.size()) + f_.gen > n_context_ ? -1 : o.turns_left - 1;
    return o;
  }

 private:
  static void append(std::vector<TokenId>& to, const std::vector<TokenId>& more) {
    to.insert(to.end(), more.begin(), more.end());
  }
  int64_t spread(int64_t mean) {  // from half to one and a half
    return std::max<int64_t>(1, std::uniform_int_distribution<int64_t>(mean / 2, mean + mean / 2)(random_));
  }
  int64_t fitting(int64_t n) const { return std::min(n, std::max<int64_t>(1, n_context_ - f_.gen - 1)); }
  std::vector<TokenId> tokens(int64_t n) {
    std::vector<TokenId> out;
    for (int64_t i = 0; i < n; ++i)
      out.push_back(static_cast<TokenId>(std::uniform_int_distribution<int64_t>(
          std::min<int64_t>(1000, n_vocab_ / 2), n_vocab_ - 1)(random_)));
    return out;
  }

  const ServeFlags& f_;
  int64_t n_vocab_, n_context_;
  std::mt19937_64 random_;
};

// Sends the orders, open or closed loop, and keeps what came.
class Load {
 public:
  Load(Engine& engine, Workload& workload, std::vector<Order> orders, const ServeFlags& flags)
      : engine_(engine), workload_(workload), orders_(std::move(orders)), f_(flags) {}

  void run() {
    start_ = Clock::now();
    while (next_ < orders_.size() || !live_.empty()) {
      InterruptScope::check();
      send_due();
      const std::optional<EngineEvent> event = engine_.next(wait());
      if (event) take(*event);
    }
    seconds_ = now();
  }
  const std::vector<Record>& records() const { return done_; }
  const std::vector<float>& gaps() const { return gaps_; }
  double seconds() const { return seconds_; }

 private:
  double now() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  double wait() const {
    constexpr double kLook = 0.2;  // how often Ctrl-C is looked for
    if (f_.rate > 0 && next_ < orders_.size()) return std::clamp(orders_[next_].due - now(), 0.0, kLook);
    return kLook;
  }
  void send_due() {
    while (next_ < orders_.size() &&
           (f_.rate > 0 ? orders_[next_].due <= now() : live_.size() < static_cast<size_t>(f_.concurrency)))
      send(std::move(orders_[next_++]));
  }
  void send(Order order) {
    Request r;
    r.prompt = order.prompt;
    r.sampler.temperature = 0;
    r.generate.max_tokens = order.gen;
    r.generate.ignore_end = true;
    r.tenant = std::to_string(order.tenant);
    Record record;
    // In an open loop a request counts from when it was due: who comes late to a full queue has waited.
    record.sent = f_.rate > 0 ? order.due : now();
    record.order = std::move(order);
    const RequestId id = engine_.submit(r);
    live_.emplace(id, std::move(record));
  }
  void take(const EngineEvent& e) {
    Record& r = live_[e.request];
    const double time = now();
    if (e.error) throw Error(*e.error);
    if (e.event.id >= 0) {
      if (r.first < 0)
        r.first = time;
      else
        gaps_.push_back(static_cast<float>(time - r.last));
      r.last = time;
      ++r.tokens;
      r.answer.push_back(e.event.id);
    }
    if (e.event.finish == Finish::none) return;
    r.ended = true;
    r.last = time;
    Record record = std::move(r);
    live_.erase(e.request);
    if (record.order.turns_left > 0) {
      Order next = workload_.next_turn(record);
      next.due = time;
      if (next.turns_left >= 0) send(std::move(next));
    }
    done_.push_back(std::move(record));
  }

  Engine& engine_;
  Workload& workload_;
  std::vector<Order> orders_;
  const ServeFlags& f_;
  size_t next_ = 0;
  Clock::time_point start_;
  double seconds_ = 0;
  std::map<RequestId, Record> live_;
  std::vector<Record> done_;
  std::vector<float> gaps_;
};

// The value that so large a share of the values does not exceed.
double percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const auto rank = static_cast<size_t>(std::ceil(share * static_cast<double>(values.size())));
  return values[std::max<size_t>(rank, 1) - 1];
}
Json percentiles(const std::vector<double>& values) {
  return {
      {"p50", percentile(values, 0.5)}, {"p95", percentile(values, 0.95)}, {"p99", percentile(values, 0.99)}};
}

Json report(const Load& load, const Engine& engine, const ServeFlags& f) {
  std::vector<double> first, per_token, whole, between(load.gaps().begin(), load.gaps().end());
  for (double& gap : between) gap *= 1000;
  int64_t prompt = 0, generated = 0, good = 0;
  std::map<int32_t, std::pair<double, double>>
      tenants;  // weighted tokens; seconds that it had something to do
  for (const Record& r : load.records()) {
    first.push_back(1000 * (r.first - r.sent));
    whole.push_back(1000 * (r.last - r.sent));
    const double each = r.tokens > 1 ? 1000 * (r.last - r.first) / static_cast<double>(r.tokens - 1) : 0;
    if (r.tokens > 1) per_token.push_back(each);
    prompt += static_cast<int64_t>(r.order.prompt.size());
    generated += r.tokens;
    good += first.back() <= f.first_token_ms && each <= f.per_token_ms;
    auto& [tokens, until] = tenants[r.order.tenant];
    tokens += static_cast<double>(r.order.prompt.size()) + 2 * static_cast<double>(r.tokens);
    until = std::max(until, r.last);
  }
  std::vector<double> shares;
  shares.reserve(tenants.size());
  for (const auto& [tenant, s] : tenants) shares.push_back(s.first / std::max(s.second, 1e-9));
  double sum = 0, squares = 0;
  for (const double s : shares) sum += s, squares += s * s;
  const EngineStats stats = engine.stats();
  const double seconds = load.seconds(), n = static_cast<double>(load.records().size());
  Json out = {{"workload", f.workload},
              {"loop", f.rate > 0 ? "open" : "closed"},
              {f.rate > 0 ? "rate" : "concurrency", f.rate > 0 ? Json(f.rate) : Json(f.concurrency)},
              {"requests", load.records().size()},
              {"seconds", seconds},
              {"first_token_ms", percentiles(first)},
              {"per_token_ms", percentiles(per_token)},
              {"between_tokens_ms", percentiles(between)},
              {"end_to_end_ms", percentiles(whole)},
              {"requests_per_s", n / seconds},
              {"prompt_tokens_per_s", static_cast<double>(prompt) / seconds},
              {"generated_tokens_per_s", static_cast<double>(generated) / seconds},
              {"goodput_per_s", static_cast<double>(good) / seconds},
              {"goodput_limits_ms", {{"first_token", f.first_token_ms}, {"per_token", f.per_token_ms}}},
              {"cached_share", static_cast<double>(stats.cached_tokens) /
                                   static_cast<double>(std::max<int64_t>(stats.prompt_tokens, 1))},
              {"preemptions", stats.preemptions},
              {"steps", stats.steps},
              {"host_share", stats.step.sum > 0 ? stats.host.sum / stats.step.sum : 0},
              {"fairness",
               {{"jain", squares > 0 ? sum * sum / (static_cast<double>(shares.size()) * squares) : 1},
                {"max_over_min", shares.empty() ? 1
                                                : *std::max_element(shares.begin(), shares.end()) /
                                                      *std::min_element(shares.begin(), shares.end())}}},
              {"peak_rss_MiB", peak_rss_mib()}};
  if (f.price > 0)
    out["price_per_million_tokens"] =
        f.price * seconds / 3600 / static_cast<double>(std::max<int64_t>(generated, 1)) * 1e6;
  return out;
}

void print(const Json& r) {
  std::printf("%s, %s loop: %lld requests in %.1f s\n", r["workload"].get<std::string>().c_str(),
              r["loop"].get<std::string>().c_str(), static_cast<long long>(r["requests"].get<int64_t>()),
              r["seconds"].get<double>());
  std::printf("%-18s %10s %10s %10s\n", "milliseconds", "p50", "p95", "p99");
  for (const auto& [key, name] : {std::pair{"first_token_ms", "first token"},
                                  {"per_token_ms", "per token"},
                                  {"between_tokens_ms", "between tokens"},
                                  {"end_to_end_ms", "end to end"}})
    std::printf("%-18s %10.1f %10.1f %10.1f\n", name, r[key]["p50"].get<double>(),
                r[key]["p95"].get<double>(), r[key]["p99"].get<double>());
  const auto figure = [&](const char* name, const char* key) {
    std::printf("%-18s %10.2f\n", name, r[key].get<double>());
  };
  figure("requests/s", "requests_per_s");
  figure("goodput/s", "goodput_per_s");
  figure("prompt tokens/s", "prompt_tokens_per_s");
  figure("tokens/s", "generated_tokens_per_s");
  figure("cached share", "cached_share");
  figure("host share", "host_share");
  std::printf("%-18s %10.3f (Jain), %.2f (most over least)\n", "fairness",
              r["fairness"]["jain"].get<double>(), r["fairness"]["max_over_min"].get<double>());
  std::printf("%-18s %10lld in %lld steps\n", "preemptions",
              static_cast<long long>(r["preemptions"].get<int64_t>()),
              static_cast<long long>(r["steps"].get<int64_t>()));
  if (r.contains("price_per_million_tokens")) figure("per million tokens", "price_per_million_tokens");
}

int serve(const ServeFlags& f) {
  InterruptScope scope;
  const std::unique_ptr<Runtime> runtime = make_runtime(f.common);
  const Model model = load_model(*runtime, f.model, f.common);
  EngineOptions o;
  o.max_running = static_cast<int32_t>(f.max_running);
  o.max_queued = 1 << 20;
  o.target_ms = f.target_ms;
  o.prefill_chunk = f.chunk;
  o.least_chunk = std::min<int64_t>(o.least_chunk, f.chunk);
  o.share_prefixes = !f.no_share;
  o.state_bytes = static_cast<uint64_t>(f.state_bytes);
  {  // warms up: pages of the file are read, memory grows
    Session session(model);
    Workload w(f, model);
    session.feed(w.orders().front().prompt);
  }
  Engine engine(model, o);
  Workload workload(f, model);
  Load load(engine, workload, workload.orders(), f);
  load.run();
  Json out = {{"peer", "ingle"},
              {"model", f.model.substr(f.model.find_last_of('/') + 1)},
              {"threads", runtime->threads()},
              {"processor", runtime->processor()},
              {"kernels", model.info().kernels},
              {"max_running", f.max_running},
              {"target_ms", f.target_ms}};
  const Json measured = report(load, engine, f);
  if (f.common.json) {
    out.update(measured);
    print_json(out);
    return kOk;
  }
  std::printf("%s\n%s, %d threads\n", model.info().kernels.c_str(), runtime->processor().c_str(),
              runtime->threads());
  print(measured);
  return kOk;
}

}  // namespace

void add_bench_serve(Command bench, Commands& commands) {
  auto f = std::make_shared<ServeFlags>();
  Command c = bench.command("serve", "An engine under the load of many users, in this process");
  c.option("MODEL", f->model, "A GGUF file").required();
  c.option("-w,--workload", f->workload,
           "random, shared-prefix, multi-turn, long-with-short (every eighth prompt is 16 times as long) or "
           "tenants (who ask for as much in other shapes)")
      .one_of(kWorkloads);
  c.option("--requests", f->requests, "Requests, or conversations").range(1, 1 << 20);
  c.option("-c,--concurrency", f->concurrency, "Closed loop: so many requests are always there")
      .range(1, 4096);
  c.option("--rate", f->rate, "Open loop instead: so many requests come per second, at random (Poisson)")
      .not_negative();
  c.option("--burst", f->burst, "Open loop: so many come at once").range(1, 1 << 20);
  c.option("-p,--prompt", f->prompt, "Prompt tokens").range(1, 1 << 20);
  c.option("-n,--gen", f->gen, "Tokens of an answer").range(1, 1 << 20);
  c.option("--turns", f->turns, "Turns of a conversation").range(1, 1000);
  c.option("--tenants", f->tenants, "Tenants").range(1, 1000);
  c.option("--seed", f->seed, "Of the prompts and of when they come").not_negative();
  c.option("--max-running", f->max_running, "Requests that are computed at once").range(1, 4096);
  c.option("--target-ms", f->target_ms, "What a step may take while somebody waits for his next token")
      .not_negative();
  c.option("--chunk", f->chunk, "Prompt tokens of a step, at most").range(1, 8192);
  add_count(c, "--state-bytes", f->state_bytes, "Bound on the state of all requests", 0);
  c.flag("--no-share", f->no_share, "Common beginnings of prompts are computed for each");
  c.option("--limit-first-ms", f->first_token_ms, "Goodput: the first token comes within").not_negative();
  c.option("--limit-token-ms", f->per_token_ms, "Goodput: each further token takes at most").not_negative();
  c.option("--price-per-hour", f->price, "Of the machine, for the price of a million tokens").not_negative();
  add_common(c, f->common);
  add_loading(c, f->common);
  add_json(c, f->common.json);
  c.footer(bench.footer());
  commands.emplace_back(c, [f] { return serve(*f); });
}

}  // namespace ingle::cli
