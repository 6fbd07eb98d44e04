// An engine's requests give the bytes that each gives alone, whatever the schedule, the chunks, the memory
// and the failures of others.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include "api/engine_impl.h"
#include "core/random.h"
#include "support.h"
#include "support/temp.h"

using namespace ingle;
using namespace ingle::tests;

namespace {

struct Token {
  TokenId id;
  float logprob;
  bool operator==(const Token&) const = default;
};
struct Got {
  std::vector<Token> tokens;
  std::string text;
  Finish finish = Finish::none;
  void take(const TokenEvent& e) {
    if (e.id >= 0) tokens.push_back({e.id, e.logprob});
    text += e.text;
    finish = e.finish;
  }
  bool operator==(const Got&) const = default;
};

// Greedy and seeded, short and long, some with a common beginning, some with stops, some to be cancelled.
Request request_of(uint64_t i, const Model& model) {
  const int64_t n_vocab = model.info().n_vocab;
  // All fit into 380 tokens, or into what the model has.
  const double scale = std::min(1.0, static_cast<double>(model.info().n_context) / 380);
  const auto scaled = [&](int64_t n) { return static_cast<int64_t>(scale * static_cast<double>(n)); };
  Request r;
  const auto pick = [&](uint64_t n, int64_t below) {
    return static_cast<int64_t>(static_cast<double>(uniform(1000 + i, n)) * static_cast<double>(below));
  };
  const int64_t length = 1 + scaled(i % 8 == 0 ? 150 + pick(0, 150) : pick(0, 40));
  std::vector<TokenId> ids;
  for (int64_t k = 0; k < length; ++k) {
    // Every other one begins as the others do.
    const uint64_t seed = i % 2 == 0 && k < scaled(120) ? 7 : i + 100;
    ids.push_back(static_cast<TokenId>(static_cast<double>(uniform(seed, static_cast<uint64_t>(k))) *
                                       static_cast<double>(n_vocab)));
  }
  r.prompt = std::move(ids);
  if (i % 3 == 0) {
    r.sampler.temperature = 0;
  } else {
    r.sampler.temperature = 0.9f;
    r.sampler.top_k = 0;
    r.sampler.repeat_penalty = 1.1f;
    r.sampler.seed = i;
  }
  r.generate.max_tokens = 1 + scaled(i % 5 == 0 ? 60 : pick(1, 20));
  r.generate.ignore_end = true;
  r.band = static_cast<int32_t>(i % 3);
  r.tenant = std::to_string(i % 4);
  return r;
}

Got alone(const Model& model, const Request& r) {
  Session session(model);
  session.feed(std::get<std::vector<TokenId>>(r.prompt));
  session.begin(r.generate);
  Sampler sampler(r.sampler);
  Got got;
  while (got.finish == Finish::none) got.take(session.next(sampler));
  return got;
}

// Some requests stop at what stands in the middle of the answer that they would give.
std::vector<Request> requests_for(const Model& model, uint64_t n) {
  std::vector<Request> out;
  for (uint64_t i = 0; i < n; ++i) {
    Request& r = out.emplace_back(request_of(i, model));
    if (i % 7 != 3) continue;
    const std::string text = alone(model, r).text;
    for (size_t at = text.size() / 2; at + 1 < text.size(); ++at)
      if (static_cast<signed char>(text[at]) > 0 && static_cast<signed char>(text[at + 1]) > 0) {
        r.generate.stop = {text.substr(at, 2), "never"};
        break;
      }
  }
  return out;
}

std::vector<Got> all_alone(const Model& model, const std::vector<Request>& requests) {
  std::vector<Got> out;
  for (const Request& r : requests) out.push_back(alone(model, r));
  return out;
}

bool cancelled_by_test(uint64_t i) { return i % 11 == 5; }

void check_against(const Got& got, const Got& expected, bool may_be_cut) {
  if (may_be_cut && (got.finish == Finish::cancelled || got.finish == Finish::error)) {
    REQUIRE(got.tokens.size() <= expected.tokens.size());
    CHECK(std::equal(got.tokens.begin(), got.tokens.end(), expected.tokens.begin()));
    return;
  }
  CHECK(got.tokens == expected.tokens);
  CHECK(got.text == expected.text);
  CHECK(got.finish == expected.finish);
}

// Of the largest request, times `factor`.
uint64_t budget_for(const Model& model, double factor) {
  const int64_t tokens = std::min<int64_t>(380, model.info().n_context);
  uint64_t bytes = 0;
  for (const kv::PartSpec& p : model.impl()->runner->plan().parts) {
    const auto page = static_cast<uint64_t>(p.page_bytes());
    bytes += p.kind == kv::PartKind::recurrent ? 11 * page : page * static_cast<uint64_t>(tokens / 32 + 2);
  }
  return static_cast<uint64_t>(static_cast<double>(bytes) * factor);
}

struct Trial {
  uint64_t seed = 0;
  int64_t chunk = 512;
  double memory = 0;  // in largest requests; 0: plenty
  bool share = true;
};

// All that is in a folder of blocks.
void damage(const std::string& folder) {
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".block") continue;
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-9, std::ios::end);
    file.put('#');
  }
}

EngineStats try_out(const Model& model, const std::vector<Request>& requests,
                    const std::vector<Got>& expected, const Trial& trial) {
  EngineOptions o;
  o.own_thread = false;
  o.max_running = 24;
  o.prefill_chunk = trial.chunk;
  o.least_chunk = std::min<int64_t>(o.least_chunk, trial.chunk);
  o.schedule_seed = trial.seed;
  o.share_prefixes = trial.share;
  o.state_bytes = trial.memory > 0 ? budget_for(model, trial.memory) : uint64_t{1} << 30;
  Engine engine(model, o);
  std::map<RequestId, uint64_t> index;
  std::map<RequestId, Got> got;
  const auto pull = [&] {
    while (const auto e = engine.next()) {
      got[e->request].take(e->event);
      if (cancelled_by_test(index[e->request]) && got[e->request].tokens.size() == 3)
        engine.cancel(e->request);
    }
  };
  for (uint64_t i = 0; i < expected.size(); ++i) {
    index[engine.submit(requests[i])] = i;
    if (i % 9 == 8) engine.step();  // some come later
    pull();
  }
  bool more = true;
  while (more) {
    more = engine.step();
    pull();
  }
  REQUIRE(got.size() == expected.size());
  for (const auto& [id, i] : index) {
    CAPTURE(i, trial.seed, trial.chunk, trial.memory, trial.share);
    check_against(got[id], expected[i], cancelled_by_test(i));
  }
  const EngineStats stats = engine.stats();
  CHECK(bytes_of_requests(stats) == 0);
  return stats;
}

}  // namespace

TEST_CASE("64 mixed requests give what each gives alone", "[api]") {
  const Runtime runtime = one_thread();
  const Model model = Model::load(runtime, tiny_model());
  const std::vector<Request> requests = requests_for(model, 64);
  const std::vector<Got> expected = all_alone(model, requests);
  int64_t stopped = 0;
  for (const Got& g : expected) stopped += g.finish == Finish::stop;
  CHECK(stopped > 0);
  int64_t preemptions = 0, cached = 0;
  for (const uint64_t seed : {0u, 1u, 2u, 3u, 4u})
    for (const int64_t chunk : {512, 48, 5}) {
      const Trial trial{seed, chunk, seed == 0 ? 0 : 2.0, seed != 4};
      const EngineStats s = try_out(model, requests, expected, trial);
      if (trial.memory > 0) preemptions += s.preemptions;
      cached += s.cached_tokens;
      if (!trial.share) CHECK(s.cached_tokens == 0);
    }
  CHECK(preemptions > 8);
  CHECK(cached > 1000);
}

TEST_CASE("windows, recurrent state and rotations that turn by length keep the bytes", "[api]") {
  const Runtime runtime = one_thread();
  for (const std::string name : {"gemma3_bf16", "qwen3_5_text", "llama_rope_dynamic", "lfm2", "mamba2",
                                 "phi3_longrope_long", "minicpm3", "gemma3_bf16 q4", "lfm2 q4"}) {
    CAPTURE(name);
    ModelOptions in;
    const size_t blank = name.find(' ');
    if (blank != std::string::npos) in.state_type = name.substr(blank + 1);
    const Model model = Model::load(runtime, data_path("golden/arch/" + name.substr(0, blank)), in);
    const std::vector<Request> requests = requests_for(model, 20);
    const std::vector<Got> expected = all_alone(model, requests);
    int64_t preemptions = 0;
    for (const Trial& trial : {Trial{0, 512, 0}, Trial{0, 48, 1.6}, Trial{3, 7, 1.6}})
      preemptions += try_out(model, requests, expected, trial).preemptions;
    CHECK(preemptions > 0);
  }
}

TEST_CASE("what a preempted request had computed comes back from a folder, or is computed again", "[api]") {
  const Runtime runtime = one_thread();
  const Model model = Model::load(runtime, tiny_model());
  const auto request = [&](uint64_t seed, int64_t n, int64_t answer, int32_t band) {
    Request r = request_of(seed, model);
    std::vector<TokenId> ids;
    for (int64_t i = 0; i < n; ++i)
      ids.push_back(static_cast<TokenId>(uniform(seed, static_cast<uint64_t>(i)) *
                                         static_cast<double>(model.info().n_vocab)));
    r.prompt = std::move(ids);
    r.generate.max_tokens = answer;
    r.band = band;
    return r;
  };
  const Request late = request(1, 70, 40, 2), urgent = request(2, 100, 8, 0);
  const Got late_alone = alone(model, late), urgent_alone = alone(model, urgent);
  uint64_t page = 0;
  for (const kv::PartSpec& p : model.impl()->runner->plan().parts)
    page += static_cast<uint64_t>(p.page_bytes());
  enum class Folder : uint8_t { none, good, damaged, slow };
  for (const Folder kind : {Folder::none, Folder::good, Folder::damaged, Folder::slow}) {
    CAPTURE(static_cast<int>(kind));
    const TempDir dir;
    EngineOptions o;
    o.own_thread = false;
    o.max_running = 1;
    o.state_bytes = 4 * page;
    if (kind != Folder::none) o.prefix_folder = dir.path();
    // Modelled time, in which computing a token takes much longer than reading it, or hardly any.
    double now = 1;
    EngineHooks hooks;
    hooks.clock = [&] { return now; };
    hooks.after_step = [&](std::span<const backends::Slice> slices, std::span<backends::StepStatus>) {
      now += 1e-4;
      for (const backends::Slice& slice : slices)
        now += static_cast<double>(slice.tokens.size()) * (kind == Folder::slow ? 1e-12 : 1e-3);
    };
    Engine::Impl engine(model, o, hooks);
    std::map<RequestId, Got> got;
    const auto steps = [&](int most) {
      bool more = true;
      while (more && most-- > 0) {
        more = engine.step(0);
        while (const auto e = engine.next(0)) got[e->request].take(e->event);
        if (kind == Folder::damaged) damage(dir.path());
      }
    };
    const RequestId first = engine.submit(late);
    steps(30);
    REQUIRE(got[first].tokens.size() > 5);
    REQUIRE(got[first].finish == Finish::none);
    const RequestId second = engine.submit(urgent);
    steps(1000);
    CHECK(got[first] == late_alone);
    CHECK(got[second] == urgent_alone);
    const EngineStats s = engine.stats();
    CHECK(s.preemptions > 0);
    CHECK((s.prefix_spilled > 0) == (kind != Folder::none));
    CHECK((s.prefix_loaded > 0) == (kind == Folder::good));
    CHECK((s.recomputed_tokens >= 64) == (kind != Folder::good));
  }
}

TEST_CASE("what a grammar forces comes from an engine as from a session", "[api]") {
  const Runtime runtime = one_thread();
  const Model model = Model::load(runtime, tiny_model());
  std::vector<Request> requests;
  for (const int64_t most : {-1, 3, 12})
    for (const float temperature : {0.0f, 0.9f}) {
      Request& r = requests.emplace_back(request_of(3, model));
      r.sampler.temperature = temperature;
      r.generate.ignore_end = false;
      r.generate.max_tokens = most;
      r.generate.jump_ahead = true;
      r.generate.grammar = Grammar::gbnf(
          R"(root ::= "{\"the name\": \"the quick brown " ("fox" | "dog") "\", \"n\": " [0-9] "}")");
    }
  requests.push_back(request_of(4, model));
  const std::vector<Got> expected = all_alone(model, requests);
  CHECK(expected[0].text.substr(0, 30) == "{\"the name\": \"the quick brown ");
  Request free = requests[0];
  free.generate.jump_ahead = false;
  CHECK(alone(model, free).tokens != expected[0].tokens);  // sampled, the model spells it otherwise
  for (const Trial& trial : {Trial{0, 512, 0}, Trial{1, 7, 1.6}}) try_out(model, requests, expected, trial);
  Request banned = requests.back();
  banned.generate.banned_phrases = {"x"};
  Engine engine(model);
  CHECK(code_of([&] { engine.submit(banned); }) == Code::unsupported);
}

TEST_CASE("500 cancels at random moments leave the others alone", "[api]") {
  const Runtime runtime = one_thread();
  const Model model = Model::load(runtime, tiny_model());
  const std::vector<Request> requests = requests_for(model, 40);
  const std::vector<Got> expected = all_alone(model, requests);
  EngineOptions o;
  o.own_thread = false;
  o.max_running = 24;
  o.state_bytes = budget_for(model, 3);
  Engine engine(model, o);
  std::map<RequestId, uint64_t> index;
  std::map<RequestId, Got> got;
  std::vector<RequestId> victims;
  uint64_t draws = 0;
  int cancels = 0;
  const auto chance = [&] { return uniform(5, draws++); };
  const auto pull = [&] {
    while (const auto e = engine.next()) got[e->request].take(e->event);
  };
  for (uint64_t i = 0; cancels < 500; ++i) {
    const uint64_t kind = i % 40;
    const RequestId id = engine.submit(requests[kind]);
    index[id] = kind;
    if (i % 13 != 0) victims.push_back(id);
    if (chance() < 0.6f) engine.step();
    while (!victims.empty() && chance() < 0.55f) {
      const auto at = static_cast<size_t>(chance() * static_cast<float>(victims.size()));
      cancels += engine.cancel(victims[at]);
      victims.erase(victims.begin() + static_cast<ptrdiff_t>(at));
    }
    pull();
  }
  bool more = true;
  while (more) more = engine.step();
  pull();
  REQUIRE(got.size() == index.size());
  int64_t whole = 0;
  for (const auto& [id, kind] : index) {
    CAPTURE(kind);
    check_against(got[id], expected[kind], true);
    whole += got[id].finish != Finish::cancelled;
  }
  CHECK(whole > 30);
  CHECK(bytes_of_requests(engine.stats()) == 0);
}

TEST_CASE("failed steps and failed allocations end or delay single requests alone", "[api]") {
  struct Memory {
    std::atomic<uint64_t> calls{0};
    std::atomic<int> failing{0};  // in a thousand
    std::atomic<int64_t> failed{0};
  } memory;
  RuntimeOptions ro;
  ro.threads = 1;
  ro.allocator_user = &memory;
  ro.allocate = [](size_t bytes, size_t alignment, void* user) -> void* {
    auto& m = *static_cast<Memory*>(user);
    if (uniform(3, m.calls++) * 1000 < static_cast<float>(m.failing)) {
      ++m.failed;
      return nullptr;
    }
    return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  };
  ro.release = [](void* p, size_t, void*) { std::free(p); };
  const Runtime runtime(ro);
  const Model model = Model::load(runtime, tiny_model());
  const std::vector<Request> requests = requests_for(model, 40);
  const std::vector<Got> expected = all_alone(model, requests);

  EngineOptions o;
  o.own_thread = false;
  o.max_running = 16;
  o.state_bytes = budget_for(model, 4);
  uint64_t draws = 0;
  int64_t injected = 0;
  EngineHooks hooks;
  hooks.after_step = [&](std::span<const backends::Slice>, std::span<backends::StepStatus> status) {
    for (backends::StepStatus& s : status)
      if (uniform(9, draws++) < 0.01f) s = backends::StepStatus::failed, ++injected;
  };
  Engine::Impl engine(model, o, hooks);
  memory.failing = 30;
  std::map<RequestId, uint64_t> index;
  std::map<RequestId, Got> got;
  for (uint64_t i = 0; injected + memory.failed < 1000 || i < 200; ++i) {
    REQUIRE(i < 20000);
    index[engine.submit(requests[i % 40])] = i % 40;
    for (int k = 0; k < 3; ++k) engine.step(0);
    while (const auto e = engine.next(0)) {
      got[e->request].take(e->event);
      if (e->event.finish == Finish::error) CHECK(e->error);
    }
  }
  while (engine.step(0)) {
  }
  while (const auto e = engine.next(0)) got[e->request].take(e->event);
  memory.failing = 0;
  REQUIRE(got.size() == index.size());
  int64_t whole = 0;
  for (const auto& [id, kind] : index) {
    CAPTURE(kind);
    check_against(got[id], expected[kind], true);
    whole += got[id].finish != Finish::error;
  }
  CHECK(whole > 20);
  CHECK(bytes_of_requests(engine.stats()) == 0);
}

TEST_CASE("an engine with threads gives the same bytes", "[api][concurrent]") {
  RuntimeOptions ro;
  ro.threads = 2;
  const Runtime runtime(ro);
  const Model model = Model::load(runtime, tiny_model());
  const std::vector<Request> requests = requests_for(model, 24);
  const std::vector<Got> expected = all_alone(model, requests);
  EngineOptions o;
  o.state_bytes = budget_for(model, 3);
  Engine engine(model, o);
  std::map<RequestId, uint64_t> index;
  std::map<RequestId, Got> got;
  for (uint64_t i = 0; i < expected.size(); ++i) index[engine.submit(requests[i])] = i;
  while (const auto e = engine.next()) {
    got[e->request].take(e->event);
    if (cancelled_by_test(index[e->request]) && got[e->request].tokens.size() == 3) engine.cancel(e->request);
  }
  REQUIRE(got.size() == expected.size());
  for (const auto& [id, i] : index) {
    CAPTURE(i);
    check_against(got[id], expected[i], cancelled_by_test(i));
  }
}
