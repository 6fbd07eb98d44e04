#include "api/engine_core.h"

#include <algorithm>
#include <chrono>

#include "core/error.h"
#include "kv/block_tier.h"
#include "kv/state.h"

namespace ingle {
namespace {

using engine::kNoSlot;
using engine::SliceOutcome;
using engine::Slot;

constexpr int64_t kUnbounded = int64_t{1} << 40;
constexpr int kMostDenials = 4;  // of memory to a request that is alone, before it fails

template <class T>
void check_range(const char* name, T value, T low, T high) {
  if (!(value >= low && value <= high))
    fail(Code::invalid_argument, std::string("option ") + name,
         format("is {}, expected {} to {}", value, low, high));
}

EngineOptions checked(EngineOptions o, const backends::Plan& plan) {
  check_range("max_running", o.max_running, 1, 4096);
  check_range("max_queued", o.max_queued, 1, 1 << 20);
  check_range("max_queued_tokens", o.max_queued_tokens, int64_t{0}, kUnbounded);
  check_range("max_wait_s", o.max_wait_s, 0.0, 1e9);
  check_range("target_ms", o.target_ms, 0.001, 3.6e6);
  check_range("prefill_chunk", o.prefill_chunk, int64_t{1}, int64_t{8192});
  check_range("least_chunk", o.least_chunk, int64_t{1}, o.prefill_chunk);
  check_range("prefills", o.prefills, 1, 64);
  check_range("band_share", o.band_share, 0.0, 0.3);
  // Where positions end, answers do.
  const int64_t most = plan.n_positions > 0 ? std::min(plan.n_context, plan.n_positions) : plan.n_context;
  if (o.context == 0) o.context = most;
  check_range("context", o.context, int64_t{1}, most);
  if (o.state_bytes == 0) o.state_bytes = available_memory() / 5 * 4;
  return o;
}

engine::StateCost cost_of(const backends::Plan& plan, int64_t chunk) {
  engine::StateCost cost;
  for (const kv::PartSpec& p : plan.parts) {
    const auto bytes = static_cast<uint64_t>(p.page_bytes());
    const auto pages = [](int64_t tokens) { return tokens / kv::kPageTokens + 2; };
    if (p.kind == kv::PartKind::pages) {
      cost.parts.push_back({bytes, kv::kPageTokens, 0});
    } else if (p.kind == kv::PartKind::window || p.kind == kv::PartKind::tail) {
      const int64_t seen = p.kind == kv::PartKind::tail ? kv::kPageTokens : p.window;
      cost.parts.push_back({bytes, kv::kPageTokens, pages(seen) + pages(chunk)});
    } else {
      // What a step reads and what it writes, and the snapshots that are kept on the way.
      cost.parts.push_back({bytes, 1, 2});
      cost.parts.push_back({bytes, 256, 9});
    }
  }
  return cost;
}

engine::SchedulerOptions schedule_of(const EngineOptions& o, const backends::Plan& plan) {
  engine::SchedulerOptions s;
  s.max_running = o.max_running;
  s.max_queued = o.max_queued + o.max_running;  // the bound itself is kept where requests come in
  s.target = o.target_ms / 1000;
  s.chunk = o.prefill_chunk;
  s.min_chunk = o.least_chunk;
  s.prefills = o.prefills;
  s.band_share = o.band_share;
  s.no_evict = o.no_evict;
  s.budget_bytes = o.state_bytes;
  s.cost = cost_of(plan, o.prefill_chunk);
  s.seed = o.schedule_seed;
  return s;
}

double machine_clock() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

int64_t common_prefix(std::span<const TokenId> a, std::span<const TokenId> b) {
  return std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin();
}

}  // namespace

EngineCore::Live::Live(PreparedRequest&& r)
    : id(r.id),
      tokens(std::move(r.tokens)),
      n_prompt(static_cast<int64_t>(tokens.size())),
      answer(std::move(r.answer)),
      sampler(std::move(r.sampler)),
      salt(std::move(r.salt)),
      submitted(r.submitted),
      keep(r.keep),
      calls_host(r.calls_host) {}

EngineCore::EngineCore(const Model& model, const EngineOptions& options, EngineHooks hooks)
    : model_(model),
      options_(checked(options, model.impl()->runner->plan())),
      hooks_(std::move(hooks)),
      plan_(&model.impl()->runner->plan()),
      runner_(model.impl()->runner.get()),
      pool_(std::make_shared<kv::StatePool>(model.impl()->runtime->allocator, plan_->parts,
                                            options_.state_bytes)),
      schedule_(schedule_of(options_, *plan_)),
      scheduler_(schedule_),
      most_tokens_(kUnbounded) {
  if (!hooks_.clock) hooks_.clock = machine_clock;
  for (const backends::PlanRotation& r : plan_->rotations) turns_by_length_ |= r.trained > 0;
  if (options_.share_prefixes && !turns_by_length_) open_index();
  live_.resize(static_cast<size_t>(schedule_.max_running) + static_cast<size_t>(schedule_.max_queued));
  const int64_t most = options_.max_running;
  runner_->make_room(most + std::min<int64_t>(options_.prefill_chunk, 64), most, most);
}

void EngineCore::open_index() {
  // What a disk of no special kind reads; what it takes less time to compute is not read.
  constexpr double kBytesPerSecond = 300e6;
  kv::PrefixOptions o;
  if (!options_.prefix_folder.empty()) {
    kv::DiskTierOptions tier;
    tier.folder = options_.prefix_folder;
    tier.max_bytes = options_.prefix_folder_bytes;
    tier.fingerprint = model_.impl()->fingerprint();
    o.tier = std::make_shared<kv::DiskTier>(std::move(tier));
    o.cheaper_to_load = [this](int64_t start, int64_t n, uint64_t bytes) {
      if (!scheduler_.cost_model().ready()) return true;
      engine::StepLoad load;
      load.add(start, n);
      const double computing = scheduler_.cost_model().predict(load) - scheduler_.cost_model().base();
      return static_cast<double>(bytes) / kBytesPerSecond < computing;
    };
  }
  index_ = std::make_unique<kv::PrefixIndex>(*pool_, std::move(o));
}

void EngineCore::check_fits(int64_t prompt, int64_t max_tokens) const {
  const int64_t tokens = prompt + (options_.no_evict ? max_tokens : 1);
  if (const uint64_t needed = schedule_.cost.bytes(tokens); needed > options_.state_bytes)
    fail(Code::out_of_memory, "request",
         format("the state of {} tokens takes {} bytes, and the budget has {}", tokens, needed,
                options_.state_bytes),
         "raise state_bytes, or ask for less");
}

void EngineCore::submit(PreparedRequest request) {
  const double deadline = request.deadline;
  engine::NewRequest n;
  n.id = request.id;
  n.tenant = request.tenant;
  n.band = request.band;
  n.prompt = static_cast<int64_t>(request.tokens.size());
  const int64_t room = options_.context - n.prompt + 1;
  const int64_t wanted = request.answer->options().max_tokens;
  n.max_tokens = std::max<int64_t>(1, wanted < 0 ? room : std::min(wanted, room));
  if (deadline > 0) n.deadline = deadline;
  auto live = std::make_unique<Live>(std::move(request));
  if (live->answer->full()) {  // it asked for no token at all
    emit(*live, live->answer->finish({}, Finish::length));
    return;
  }
  if (index_) {
    n.cached = index_->peek(live->tokens, key_of(*live), n.prompt - 1);
    follow(n, *live);
  }
  // The scheduler comes last: what it has taken must be known here.
  const auto known = slots_.emplace(live->id, kNoSlot).first;
  const engine::Submitted put = scheduler_.submit(n);
  if (put.slot == kNoSlot) {
    slots_.erase(known);
    refuse(live->id, Error(put.refusal == engine::Refusal::memory ? Code::out_of_memory : Code::busy,
                           "engine", "the request does not fit"));
    return;
  }
  known->second = live->slot = put.slot;
  live_[static_cast<size_t>(put.slot)] = std::move(live);
}

void EngineCore::expect(size_t n_requests) {
  const size_t most = events_.size() + 2 * (slots_.size() + n_requests);
  if (most > events_.capacity()) events_.reserve(std::max(most, 2 * events_.capacity()));
}

// Somebody who computes the beginning of this prompt, and is not done with it.
void EngineCore::follow(engine::NewRequest& n, const Live& live) const {
  int64_t best = std::max<int64_t>(kv::kPageTokens, n.cached + 1);  // more than is there already
  for (const auto& [id, slot] : slots_) {
    const Live& other = *live_[static_cast<size_t>(slot)];
    if (other.salt != live.salt || other.tokens[0] != live.tokens[0]) continue;
    const auto mine = std::span(live.tokens).first(live.tokens.size() - 1);
    const int64_t common =
        common_prefix(mine, std::span(other.tokens).first(static_cast<size_t>(other.n_prompt)));
    if (other.computed() >= common) continue;
    if (common < best || (common == best && n.follows != kNoSlot && n.follows_id < id)) continue;
    best = common;
    n.follows = slot;
    n.follows_id = id;
    n.follow_tokens = common;
  }
}

std::shared_ptr<const Error> EngineCore::shared(const Error& error) const noexcept {
  try {
    return std::make_shared<const Error>(error);
  } catch (const std::exception&) {
    return no_memory_;
  }
}

void EngineCore::refuse(RequestId id, const Error& error) {
  EngineEvent e{id, {}, shared(error)};
  e.event.finish = Finish::error;
  ++metrics_.finished[static_cast<size_t>(Finish::error)];
  events_.push_back(std::move(e));
}

void EngineCore::cancel(RequestId id) {
  const auto found = slots_.find(id);
  if (found == slots_.end()) return;
  const Slot slot = found->second;
  scheduler_.remove(slot);
  end(slot, Finish::cancelled);
}

void EngineCore::begin(Live& live) {
  const bool first = live.admitted < 0;  // else it was preempted, and finds what was its own
  if (first) {
    live.admitted = now();
    metrics_.queue.add(live.admitted - live.submitted);
    metrics_.prompt_length.add(static_cast<double>(live.n_prompt));
    metrics_.prompt_tokens += live.n_prompt;
  }
  try {
    if (index_ && reuse(live)) {
      if (first) metrics_.cached_tokens += live.computed();
      live.computed_once = std::max(live.computed_once, live.computed());
    } else {
      live.state.emplace(*pool_);
    }
  } catch (const std::exception&) {
    live.state.reset();  // take_part() will say so
  }
  scheduler_.admitted_with(live.slot, live.computed());
}

// What others have computed of it: those that run, whose state is shared up to where the two part (pages are
// copied when one of them writes), or what the index has kept of earlier ones.
bool EngineCore::reuse(Live& live) {
  const Live* best = nullptr;
  const auto mine = std::span<const TokenId>(live.tokens).first(live.tokens.size() - 1);
  int64_t most = std::max(kv::kPageTokens - 1, index_->peek(mine, key_of(live)));
  for (const Slot slot : scheduler_.running()) {
    const Live* other = at(slot);
    if (!other || !other->state || other->salt != live.salt) continue;
    const int64_t common =
        common_prefix(mine, std::span(other->tokens).first(static_cast<size_t>(other->computed())));
    if (common > most) most = common, best = other;
  }
  if (best) {
    try {
      // Where a window has let go of what would be seen it refuses; recurrent state goes back further.
      kv::SequenceState state = best->state->fork();
      if (state.truncate(most) >= kv::kPageTokens) {
        live.state.emplace(std::move(state));
        return true;
      }
    } catch (const Error&) {
    }
  }
  kv::PrefixMatch match = index_->match(mine, key_of(live));
  if (match.n_matched == 0) return false;
  live.state.emplace(std::move(match.state));
  return true;
}

// What it has computed may be found again. The index is a cache: what it cannot keep it does not.
void EngineCore::keep(Live& live, double seconds) noexcept {
  if (!index_ || live.computed() < kv::kPageTokens) return;
  kv::Retention retention;
  if (seconds > 0) {
    const auto now_us = std::chrono::duration_cast<std::chrono::microseconds>(
        std::chrono::steady_clock::now().time_since_epoch());
    retention.keep_until_us = now_us.count() + static_cast<int64_t>(seconds * 1e6);
  }
  try {
    live.state->commit(0);  // what a failed step had reserved
    index_->store(live.tokens, key_of(live), *live.state, retention);
  } catch (const std::exception&) {
  }
}

// A slice ends where a pass does: positions may turn by the length of the pass that computes them, and each
// generated token was a pass of its own.
int64_t EngineCore::slice_length(const Live& live, int64_t planned) const {
  const int64_t start = live.computed();
  int64_t n = std::min(planned, live.known() - start);
  if (turns_by_length_) n = start < live.n_prompt ? std::min(n, live.n_prompt - start) : 1;
  return n;
}

void EngineCore::denied(Live& live, engine::SliceResult& result, const Error& error) {
  const bool alone = scheduler_.n_running() <= 1;
  if (alone && index_ && live.denied + 2 == kMostDenials)
    index_->clear();  // what was to be kept is in the way
  if (alone && ++live.denied >= kMostDenials) {
    result.outcome = SliceOutcome::ended;
    fail_with(live.slot, error);
    return;
  }
  result.outcome = SliceOutcome::preempted;
  live.state.reset();
}

void EngineCore::take_part(const engine::PlannedSlice& slice, size_t index) {
  Live& live = *at(slice.slot);
  try {
    if (!live.state) live.state.emplace(*pool_);
    const int64_t n = slice_length(live, slice.n_tokens);
    live.state->reserve(n);
    if (live.tokens.size() == live.tokens.capacity()) live.tokens.reserve(2 * live.tokens.size());
    parts_.push_back({index, &live, n, live.computed() + n == live.known()});
  } catch (const Error& e) {
    denied(live, results_[index], e);
  } catch (const std::exception&) {
    denied(live, results_[index], *no_memory_);
  }
}

// Runs what is in parts_; false: nothing was computed, for want of memory.
bool EngineCore::run() {
  slices_.clear();
  int64_t n_wanted = 0;
  for (const Part& p : parts_) {
    Live& live = *p.live;
    const int64_t start = live.computed();
    backends::Slice s;
    s.state = &*live.state;
    s.start = start;
    s.tokens =
        std::span<const TokenId>(live.tokens).subspan(static_cast<size_t>(start), static_cast<size_t>(p.n));
    s.n_wanted = p.samples ? 1 : 0;
    s.pass_end = start < live.n_prompt ? live.n_prompt : start + p.n;
    slices_.push_back(s);
    n_wanted += s.n_wanted;
  }
  const auto need = static_cast<size_t>(n_wanted * plan_->n_vocab);
  const double start = now();
  try {
    if (logits_.size() < need) logits_.resize(need);
    status_.assign(parts_.size(), backends::StepStatus::failed);
    runner_->step({slices_, status_, logits_.data(), &stopping_});
  } catch (const std::exception&) {
    return false;
  }
  if (hooks_.after_step) hooks_.after_step(slices_, status_);
  model_seconds_ = now() - start;
  return true;
}

void EngineCore::fail_all(const Error& error) noexcept {
  for (size_t i = 0; i < live_.size(); ++i) {
    const auto slot = static_cast<Slot>(i);
    scheduler_.remove(slot);  // also what has ended in a step that it was not told of
    if (!live_[i]) continue;
    try {
      fail_with(slot, error);
    } catch (const std::exception&) {
      forget(slot);  // not even its last event could be made
    }
  }
}

// Before anything is begun: a plan changes nothing, so that the same step can be tried again. Not for ever.
bool EngineCore::make_room(const engine::Plan& plan) {
  try {
    expect(0);
    results_.assign(plan.slices.size(), {});
    parts_.clear();
    parts_.reserve(plan.slices.size());
    choices_.clear();
    choices_.reserve(plan.slices.size());
    slices_.reserve(plan.slices.size());
    no_room_ = 0;
    return true;
  } catch (const std::exception&) {
    if (++no_room_ >= kMostDenials) throw;
    return false;
  }
}

void EngineCore::step(double target) {
  const double begin_time = now();
  const engine::Plan& plan = scheduler_.plan(begin_time, target);
  if (!make_room(plan)) return;
  for (const Slot s : plan.expired) end(s, Finish::deadline);
  for (const Slot s : plan.hopeless)
    fail_with(s, Error(Code::out_of_memory, "engine",
                       format("the budget of {} bytes cannot hold the request's state", options_.state_bytes),
                       "raise state_bytes"));
  for (const Slot s : plan.preempted) {
    keep(*at(s));  // what memory allows of it is not computed again
    at(s)->state.reset();
  }
  for (const Slot s : plan.admitted) begin(*at(s));

  model_seconds_ = 0;
  int64_t tokens = 0;
  for (size_t i = 0; i < plan.slices.size(); ++i) {
    if (!parts_.empty() && tokens + plan.slices[i].n_tokens > most_tokens_) continue;  // its turn comes
    engine::PlannedSlice slice = plan.slices[i];
    slice.n_tokens = std::min(slice.n_tokens, most_tokens_);
    take_part(slice, i);
    tokens += slice.n_tokens;
  }
  if (!parts_.empty()) {
    if (run()) {
      out_of_memory_ = 0;
      most_tokens_ = std::min(kUnbounded, 2 * most_tokens_);
      settle_all();
    } else {
      // A smaller step may fit. One of a single token that does not, several times, is the end of its
      // request.
      for (const Part& p : parts_) p.live->state->commit(0);
      most_tokens_ = std::max<int64_t>(1, tokens / 2);
      if (tokens == 1 && ++out_of_memory_ >= kMostDenials) {
        results_[parts_[0].result].outcome = SliceOutcome::ended;
        fail_with(parts_[0].live->slot, *no_memory_);
        out_of_memory_ = 0;
      }
    }
  }
  const double seconds = now() - begin_time;
  if (!plan.slices.empty()) {
    ++metrics_.steps;
    metrics_.step.add(seconds);
    metrics_.host.add(seconds - model_seconds_);
    metrics_.step_tokens.add(static_cast<double>(tokens));
  }
  scheduler_.applied(results_, seconds);
}

// What came of a slice: its tokens count, and the last one's logits give a token, or its request fails.
void EngineCore::settle(const Part& part, backends::StepStatus status, std::span<const float> logits) {
  Live& live = *part.live;
  engine::SliceResult& result = results_[part.result];
  if (status == backends::StepStatus::cancelled) {  // the engine stops
    live.state->commit(0);
    return;
  }
  if (status != backends::StepStatus::ok) {
    const int64_t last = live.computed() + part.n - 1;
    result.outcome = SliceOutcome::ended;
    fail_with(live.slot,
              status == backends::StepStatus::numeric
                  ? Error(Code::numeric, "engine",
                          format("the model gave NaN or infinite logits after position {}", last))
                  : Error(Code::io, "engine", format("the backend failed in the step at position {}", last),
                          "its log says why"));
    return;
  }
  live.state->commit(part.n);
  live.denied = 0;
  result.computed = part.n;
  metrics_.recomputed_tokens +=
      std::max<int64_t>(0, std::min(live.computed_once, live.computed()) - (live.computed() - part.n));
  live.computed_once = std::max(live.computed_once, live.computed());
  if (live.computed() == live.n_prompt) keep(live, live.keep);  // for those who come while it answers
  if (part.samples) choices_.push_back({&part, logits, {}, nullptr});
}

void EngineCore::settle_all() {
  const auto width = static_cast<size_t>(plan_->n_vocab);
  size_t row = 0;
  for (size_t i = 0; i < parts_.size(); ++i) {
    const Part& part = parts_[i];
    const size_t at = row * width;
    if (part.samples) ++row;
    settle(part, status_[i], std::span<const float>(logits_).subspan(at, part.samples ? width : 0));
  }
  choose_all();
  for (Choice& c : choices_) deliver(c);
}

void EngineCore::deliver(Choice& c) {
  Live& live = *c.part->live;
  engine::SliceResult& result = results_[c.part->result];
  if (c.error) {
    result.outcome = SliceOutcome::ended;
    try {
      std::rethrow_exception(c.error);
    } catch (const Error& e) {
      fail_with(live.slot, e);
    } catch (const std::exception&) {
      fail_with(live.slot, *no_memory_);
    } catch (...) {
      fail_with(live.slot, Error(Code::internal, "engine", "an exception of unknown kind"));
    }
    return;
  }
  Answer::Step& step = c.step;
  const double time = now();
  if (live.first_token < 0) {
    live.first_token = time;
    metrics_.first_token.add(time - live.submitted);
    metrics_.prefill.add(time - live.admitted);
    step.event.time_ms = 1000 * (time - live.admitted);
  } else {
    metrics_.between_tokens.add(time - live.last_token);
    step.event.time_ms = 1000 * (time - live.last_token);
  }
  live.last_token = time;
  ++metrics_.generated_tokens;
  const bool ends = step.event.finish != Finish::none;
  if (!ends) live.tokens.push_back(step.event.id);
  result.generated = ends ? 0 : 1;
  if (ends) result.outcome = SliceOutcome::ended;
  emit(live, std::move(step.event));
  if (ends) forget(live.slot);
}

void EngineCore::emit(Live& live, TokenEvent event) {
  if (event.finish != Finish::none) {
    const double time = now();
    ++metrics_.finished[static_cast<size_t>(event.finish)];
    metrics_.end_to_end.add(time - live.submitted);
    metrics_.generated_length.add(
        static_cast<double>(live.known() - live.n_prompt + (event.id >= 0 ? 1 : 0)));
    if (live.first_token >= 0) metrics_.decode.add(time - live.first_token);
  }
  events_.push_back({live.id, std::move(event), nullptr});
}

// A request's end is told even where there is no memory for the text that was held back.
TokenEvent EngineCore::last_event(Live& live, Finish how) noexcept {
  try {
    return live.answer->finish({}, how);
  } catch (const std::exception&) {
    TokenEvent event;
    event.finish = how;
    return event;
  }
}

void EngineCore::end(Slot slot, Finish how) {
  Live& live = *at(slot);
  emit(live, last_event(live, how));
  forget(slot);
}

void EngineCore::fail_with(Slot slot, const Error& error) {
  Live& live = *at(slot);
  emit(live, last_event(live, Finish::error));
  events_.back().error = shared(error);
  forget(slot);
}

// Its pages go back at once.
void EngineCore::forget(Slot slot) noexcept {
  if (!at(slot)) return;
  keep(*at(slot));
  slots_.erase(at(slot)->id);
  live_[static_cast<size_t>(slot)].reset();
}

}  // namespace ingle
