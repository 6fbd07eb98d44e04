#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "api/session_impl.h"
#include "core/error.h"

namespace ingle {

void Session::Impl::compute_pending() {
  if (!pending) return;
  const TokenId id = *pending;
  cancellable([&] { sequence.feed({&id, 1}, feed_options()); });
  pending.reset();
}

void Session::Impl::feed(std::span<const TokenId> tokens, const Progress& progress) {
  drop_ahead();
  const auto n = static_cast<int64_t>(tokens.size());
  const auto held = static_cast<int64_t>(all.size());
  if (n > options.context - held)
    fail(Code::context_full, "feed",
         format("{} tokens do not fit: {} of {} are taken", n, held, options.context));
  if (n == 0) return;
  const auto start = std::chrono::steady_clock::now();
  make_room(tokens.size());
  compute_pending();
  engine::FeedOptions f = feed_options();
  f.progress = progress;
  cancellable([&] { sequence.feed(tokens, f); });
  all.insert(all.end(), tokens.begin(), tokens.end());
  answer.reset();
  stats.prompt_tokens += n;
  stats.prefill_ms +=
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

void Session::Impl::truncate(int64_t n) {
  drop_ahead();
  if (n < 0 || n > static_cast<int64_t>(all.size()))
    fail(Code::invalid_argument, "truncate", format("to {} tokens, expected 0 to {}", n, all.size()));
  if (n <= sequence.length()) {
    sequence.truncate(n);
    pending.reset();
  }
  all.resize(static_cast<size_t>(n));
  answer.reset();
}

SessionOptions checked(SessionOptions options, const backends::Plan& plan) {
  if (options.context == 0) options.context = plan.n_context;
  if (options.context < 1 || options.context > plan.n_context)
    fail(Code::invalid_argument, "option context",
         format("is {}, expected 1 to {}", options.context, plan.n_context));
  if (options.prefill_chunk < 1 || options.prefill_chunk > 8192)
    fail(Code::invalid_argument, "option prefill_chunk",
         format("is {}, expected 1 to 8192", options.prefill_chunk));
  return options;
}

Session::Session(const Model& model, const SessionOptions& wanted) {
  const backends::Plan& plan = model.impl()->runner->plan();
  const SessionOptions options = checked(wanted, plan);
  const uint64_t budget = options.state_bytes ? options.state_bytes : UINT64_MAX;
  auto pool = std::make_shared<kv::StatePool>(model.impl()->runtime->allocator, plan.parts, budget);
  engine::Sequence sequence(*model.impl()->runner, *pool);
  impl_ = std::make_unique<Impl>(model, options, std::move(pool), std::move(sequence));
}
Session::Session(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

void Session::feed(std::span<const TokenId> tokens, const Progress& progress) {
  impl_->feed(tokens, progress);
}

void Session::feed_text(std::string_view text, EncodeOptions options, const Progress& progress) {
  impl_->drop_ahead();
  options.add_special = options.add_special && impl_->all.empty();  // BOS belongs at the start alone
  impl_->feed(impl_->model.tokenizer().encode(text, options), progress);
}

void Session::feed_chat(std::span<const Message> messages, const Progress& progress) {
  impl_->feed_prompt(encode_chat(impl_->m(), messages), progress);
}

void Session::feed_chat_json(std::string_view conversation, const Progress& progress) {
  impl_->feed_prompt(encode_chat(impl_->m(), conversation), progress);
}

void Session::Impl::feed_prompt(const std::vector<TokenId>& ids, const Progress& progress) {
  if (ids.empty()) fail(Code::invalid_argument, "messages", "the rendered conversation is empty");
  if (static_cast<int64_t>(ids.size()) > options.context)
    fail(Code::context_full, "messages",
         format("{} tokens do not fit the context of {}", ids.size(), options.context));
  drop_ahead();
  // Keep what is common with what was computed; at least one token is fed, for its logits.
  const auto common = std::mismatch(ids.begin(), ids.end() - 1, all.begin(), all.end()).first - ids.begin();
  try {
    truncate(common);
    feed(std::span(ids).subspan(static_cast<size_t>(common)), progress);
  } catch (const Error& e) {
    if (e.code() != Code::invalid_argument || common == 0) throw;
    truncate(0);  // a sliding window has let go of what the common part would see: compute it all
    feed(ids, progress);
  }
}

void Session::begin(const GenerateOptions& options) {
  check(options);
  impl_->drop_ahead();
  impl_->ahead = {};
  impl_->ahead.phrases = engine::Phrases(options.banned_phrases);
  impl_->answer.emplace(impl_->m(), options, impl_->all);
}

TokenEvent Session::next(Sampler& sampler) { return impl_->next(sampler, {}); }
TokenEvent Session::next(Sampler& sampler, std::span<const float> logits) {
  return impl_->next(sampler, [&](std::span<const float>) { return logits; });
}

TokenEvent Session::next_guided(Sampler& sampler, Session& negative, float scale) {
  constexpr float kMostScale = 100;
  if (!(scale >= 0 && scale <= kMostScale))
    fail(Code::invalid_argument, "guidance scale", format("is {}, expected 0 to {}", scale, kMostScale));
  Impl& other = *negative.impl_;
  if (&other == impl_.get()) fail(Code::invalid_argument, "negative session", "is the same session");
  if (static_cast<int64_t>(other.all.size()) >= other.options.context)
    fail(Code::context_full, "negative session", format("all {} tokens are taken", other.options.context));
  other.drop_ahead();
  other.make_room(1);
  std::vector<float> mixed;
  const size_t n_before = impl_->all.size();
  TokenEvent event = impl_->next(sampler, [&](std::span<const float> own) {
    mixed = guided_logits(own, other.logits(), scale);
    return std::span<const float>(mixed);
  });
  if (impl_->all.size() > n_before) {  // it is computed with the next call, like the answer's own last token
    other.pending = event.id;
    other.all.push_back(event.id);
    other.answer.reset();
  }
  return event;
}

std::vector<float> guided_logits(std::span<const float> positive, std::span<const float> negative,
                                 float scale) {
  if (positive.size() != negative.size())
    fail(Code::invalid_argument, "guided logits",
         format("rows of {} and {} logits, expected the same vocabulary", positive.size(), negative.size()));
  constexpr double kMax = std::numeric_limits<float>::max();
  std::vector<float> out(positive.size(), kGone);
  for (size_t i = 0; i < out.size(); ++i) {
    if (positive[i] == kGone) continue;
    if (!std::isfinite(positive[i]) || !std::isfinite(negative[i]))
      fail(Code::numeric, "guided logits",
           format("id {} has {} and {}, expected finite numbers, or -inf in the first", i, positive[i],
                  negative[i]));
    const double mixed =
        negative[i] + static_cast<double>(scale) * (static_cast<double>(positive[i]) - negative[i]);
    out[i] = static_cast<float>(std::clamp(mixed, -kMax, kMax));
  }
  return out;
}

std::string Session::generate(Sampler& sampler, const GenerateOptions& options) {
  begin(options);
  std::string text;
  for (;;) {
    const TokenEvent event = next(sampler);
    text += event.text;
    if (event.finish != Finish::none) return text;
  }
}

std::span<const float> Session::Impl::logits() {
  drop_ahead();
  compute_pending();
  if (!sequence.has_logits())
    fail(Code::invalid_argument, "logits", "nothing was fed since the last truncate");
  return sequence.logits();
}
std::span<const float> Session::logits() const { return impl_->logits(); }

void Session::score(std::span<const TokenId> tokens,
                    const std::function<void(int64_t, std::span<const float>)>& row) {
  impl_->drop_ahead();
  const auto held = static_cast<int64_t>(impl_->all.size()), n = static_cast<int64_t>(tokens.size());
  if (n > impl_->options.context - held)
    fail(Code::context_full, "score",
         format("{} tokens do not fit: {} of {} are taken", n, held, impl_->options.context));
  impl_->make_room(tokens.size());
  impl_->compute_pending();
  engine::FeedOptions f = impl_->feed_options();
  f.chunk = std::min(f.chunk, Impl::kTappedChunk);
  f.row = row;
  impl_->cancellable([&] { impl_->sequence.feed(tokens, f); });
  impl_->all.insert(impl_->all.end(), tokens.begin(), tokens.end());
  impl_->answer.reset();
}

std::span<const TokenId> Session::tokens() const {
  return std::span<const TokenId>(impl_->all).first(impl_->n_told());
}
void Session::truncate(int64_t n) { impl_->truncate(n); }

Session Session::fork() const {
  auto copy = std::make_unique<Impl>(impl_->model, impl_->options, impl_->pool, impl_->sequence.fork());
  copy->pending = impl_->pending;
  copy->all = impl_->all;
  copy->answer = impl_->answer;
  copy->ahead = impl_->ahead;
  copy->stats = impl_->stats;
  return Session(std::move(copy));
}

void Session::cancel() noexcept { impl_->cancelled = true; }
const SessionStats& Session::stats() const { return impl_->stats; }
const Model& Session::model() const { return impl_->model; }

}  // namespace ingle
