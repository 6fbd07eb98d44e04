// How a session's answer is given, and how it looks ahead: tokens may be withdrawn before they are told
// (banned phrases), and taken without sampling where there is no choice (jump_ahead).
#include <algorithm>
#include <chrono>

#include "api/session_impl.h"
#include "core/error.h"

namespace ingle {
namespace {

using Clock = std::chrono::steady_clock;
double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

}  // namespace

size_t Session::Impl::n_told() const {
  size_t n = all.size();
  for (const Ahead& a : ahead.tokens) n -= a.taken.kept;
  return n;
}

void Session::Impl::go_back(size_t n) {
  all.resize(n);
  pending.reset();
  if (sequence.length() <= static_cast<int64_t>(n)) return;
  try {
    sequence.truncate(static_cast<int64_t>(n));
  } catch (const Error& e) {
    if (e.code() != Code::invalid_argument) throw;
    sequence.truncate(0);  // a sliding window has let go of what the rest would see: compute it all
    if (n > 0) sequence.feed(all, feed_options());
  }
}

void Session::Impl::drop_ahead() {
  if (ahead.tokens.empty()) return;
  const size_t n = n_told();
  ahead.ids.resize(ahead.ids.size() - std::min(ahead.ids.size(), all.size() - n));
  stats.generated_tokens -= static_cast<int64_t>(ahead.tokens.size());
  if (answer) answer->go_back(std::move(ahead.tokens.front().before));
  ahead.tokens.clear();
  ahead.untold.clear();
  if (sequence.length() > static_cast<int64_t>(n) && n > 0) {  // the last one told again, for its logits
    const TokenId last = all[n - 1];
    go_back(n - 1);
    all.push_back(last);
    pending = last;
  } else {
    all.resize(n);
    pending.reset();
  }
}

std::optional<TokenId> Session::Impl::next_to_compute() const {
  if (!pending || cancelled || taps || !ahead.tokens.empty()) return std::nullopt;
  if (answer && (answer->ended() || answer->full())) return std::nullopt;
  return pending;
}

// The answer gets this token; it is not told yet.
Answer::Taken Session::Impl::take(TokenId id, std::span<const float> own) {
  const bool constrained = answer->constrained();
  Answer::Taken out = answer->take(id, own, has_room());
  ++stats.generated_tokens;
  if (out.kept) {
    pending = id;
    all.push_back(id);
    if (answer->options().jump_ahead && constrained) ahead.ids.push_back(id);
  }
  return out;
}

TokenEvent Session::Impl::tell_first() {
  Ahead first = std::move(ahead.tokens.front());
  ahead.tokens.pop_front();
  const size_t n = ahead.tokens.empty() ? ahead.untold.size() : ahead.tokens.front().begin;
  // What was told may turn out to be the beginning of a phrase when what followed it was withdrawn.
  constexpr size_t kLongestPhrase = 256;
  if (!ahead.phrases.none()) ahead.told_end += ahead.untold.substr(0, n);
  if (ahead.told_end.size() > kLongestPhrase) ahead.told_end.erase(0, ahead.told_end.size() - kLongestPhrase);
  ahead.untold.erase(0, n);
  for (Ahead& rest : ahead.tokens) rest.begin -= n;
  TokenEvent event = answer->tell(std::move(first.taken));
  if (event.finish != Finish::none) drop_ahead();
  return event;
}

// ---- Phrases that must not come up ----

// Where the token `at` was chosen another one shall be; it and those after it go.
Fork Session::Impl::withdraw(Sampler& sampler, size_t at) {
  Ahead& from = ahead.tokens[at];
  Fork fork = std::move(from.fork);
  fork.refused.push_back(from.taken.event.id);
  size_t n_kept = 0;
  for (size_t i = at; i < ahead.tokens.size(); ++i) n_kept += ahead.tokens[i].taken.kept;
  stats.generated_tokens -= static_cast<int64_t>(ahead.tokens.size() - at);
  go_back(all.size() - n_kept);
  sampler = *from.sampler;
  answer->go_back(std::move(from.before));
  ahead.untold.resize(from.begin);
  ahead.tokens.erase(ahead.tokens.begin() + static_cast<ptrdiff_t>(at), ahead.tokens.end());
  return fork;
}

// The token to withdraw when a phrase has come up: that in whose text it begins, or where that was told
// already, the first that was not; then, where all its alternatives were tried, those that follow.
size_t Session::Impl::culprit(size_t found) const {
  const size_t begin = found - std::min(found, ahead.told_end.size()), last = ahead.tokens.size() - 1;
  size_t at = last;
  while (ahead.tokens[at].begin > begin) --at;
  while (at < last && ahead.tokens[at].fork.tried) ++at;
  return at;
}

void Session::Impl::choose_certain(Sampler& sampler) {
  constexpr int kMostTurns = 10'000;
  const auto hopeless = [](const std::string& why) { fail(Code::unsupported, "option banned_phrases", why); };
  Fork fork;  // of the place where a token is chosen
  for (int turns = 0; turns < kMostTurns;) {
    if (fork.logits.empty()) {
      if (first_is_certain()) return;
      make_room(1);
      compute_pending();
      fork.logits.assign(sequence.logits().begin(), sequence.logits().end());
    }
    std::vector<float> from = fork.logits;
    for (const TokenId id : fork.refused) from[static_cast<size_t>(id)] = kGone;
    Ahead next{{}, ahead.untold.size(), answer->standing(), sampler, {}};
    const std::optional<TokenId> id = answer->choose(from, sampler, false);
    const auto& refused = fork.refused;  // may come all the same, where it must
    if (!id || std::find(refused.begin(), refused.end(), *id) != refused.end()) {
      ++turns;
      sampler = *next.sampler;
      if (fork.refused.empty() || (fork.tried && ahead.tokens.empty()))
        hopeless("every token that may come leads to a banned phrase");
      if (fork.tried) {
        fork = withdraw(sampler, ahead.tokens.size() - 1);
      } else {  // some of them did lead on, just not to the phrase alone
        fork.refused.clear();
        fork.tried = true;
      }
      continue;
    }
    sampler.accept(*id);
    next.taken = take(*id, fork.logits);
    next.fork = std::exchange(fork, {});
    ahead.untold += next.taken.text + next.taken.rest;
    ahead.tokens.push_back(std::move(next));
    if (const auto found = ahead.phrases.find(ahead.told_end + ahead.untold)) {
      ++turns;
      fork = withdraw(sampler, culprit(*found));
    }
  }
  hopeless(format("{} times another token was chosen for one", kMostTurns));
}

bool Session::Impl::first_is_certain() const {
  if (ahead.tokens.empty()) return false;
  if (ahead.tokens.back().taken.finish != Finish::none) return true;
  const size_t end = ahead.tokens.size() > 1 ? ahead.tokens[1].begin : ahead.untold.size();
  return end + ahead.phrases.started(ahead.told_end + ahead.untold) <= ahead.untold.size();
}

// ---- Tokens about which there is no choice ----

// True: some were taken.
bool Session::Impl::jump(Sampler& sampler) {
  const int64_t room = options.context - static_cast<int64_t>(all.size());
  const std::vector<TokenId> ids = answer->forced_tokens(ahead.ids, room);
  if (ids.empty()) return false;
  // One pass over the token that waits and all but the last of these gives the logits before each of them.
  std::vector<std::vector<float>> rows;
  std::vector<TokenId> fed;
  if (pending)
    fed.push_back(*pending);
  else
    rows.emplace_back(sequence.logits().begin(), sequence.logits().end());
  fed.insert(fed.end(), ids.begin(), ids.end() - 1);
  make_room(ids.size());
  if (!fed.empty()) {
    engine::FeedOptions f = feed_options();
    f.row = [&](int64_t, std::span<const float> row) { rows.emplace_back(row.begin(), row.end()); };
    cancellable([&] { sequence.feed(fed, f); });
    pending.reset();
  }
  for (size_t i = 0; i < ids.size(); ++i) {
    Ahead next{{}, ahead.untold.size(), answer->standing(), std::nullopt, {}};
    sampler.accept(ids[i]);
    next.taken = take(ids[i], rows[i]);
    ahead.untold += next.taken.text + next.taken.rest;
    ahead.tokens.push_back(std::move(next));
    if (ahead.tokens.back().taken.finish != Finish::none) break;
  }
  return true;
}

// ---- One event ----

// A cancel while tokens are computed ends the answer like one that came before.
TokenEvent Session::Impl::next(Sampler& sampler, const Mix& mix) {
  try {
    return advance(sampler, mix);
  } catch (const Error& e) {
    if (e.code() != Code::cancelled || !answer || answer->ended()) throw;
    drop_ahead();
    return answer->finish({}, Finish::cancelled);
  }
}

TokenEvent Session::Impl::advance(Sampler& sampler, const Mix& mix) {
  const Clock::time_point start = Clock::now();
  if (!answer) {
    ahead = {};
    answer.emplace(m(), GenerateOptions{}, all);
  }
  Answer& a = *answer;
  if (a.ended())
    fail(Code::invalid_argument, "next", "the answer has ended", "feed something, or begin() another answer");
  if (all.empty()) fail(Code::invalid_argument, "next", "nothing was fed yet");
  if (cancelled.exchange(false)) {
    drop_ahead();
    return a.finish({}, Finish::cancelled);
  }
  if (mix) refuse_looking_ahead(a.options(), "next");
  const auto done = [&](TokenEvent event) {
    event.time_ms = ms_since(start);
    stats.decode_ms += event.time_ms;
    return event;
  };
  const bool jumping = a.constrained() && a.options().jump_ahead;
  if (jumping && !ahead.tokens.empty()) return done(tell_first());
  if (ahead.tokens.empty() && a.full()) return a.finish({}, Finish::length);
  if (!pending && !sequence.has_logits() && ahead.tokens.empty())
    fail(Code::invalid_argument, "next", "the last position's logits are gone after a truncate",
         "feed a token");
  if (jumping && jump(sampler)) return done(tell_first());
  if (!ahead.phrases.none()) {
    choose_certain(sampler);
    return done(tell_first());
  }
  make_room(1);
  compute_pending();
  const std::span<const float> own = sequence.logits();
  const std::span<const float> logits = mix ? mix(own) : own;
  if (logits.size() != own.size())
    fail(Code::invalid_argument, "next", format("{} logits, expected {}", logits.size(), own.size()));
  if (jumping) {
    const TokenId id = *a.choose(logits, sampler, true);
    sampler.accept(id);
    return done(a.tell(take(id, own)));
  }
  const bool in_grammar = a.options().jump_ahead && a.constrained(false);
  Answer::Step step = a.next(own, logits, sampler, has_room());
  if (step.kept) {
    if (in_grammar && a.constrained(false)) ahead.ids.push_back(step.event.id);
    pending = step.event.id;
    all.push_back(step.event.id);
  }
  ++stats.generated_tokens;
  return done(std::move(step.event));
}

}  // namespace ingle
