#include "engine/sequence.h"

#include <algorithm>

#include "core/error.h"

namespace ingle::engine {
namespace {

void check_ran(backends::StepStatus status) {
  if (status == backends::StepStatus::cancelled) fail(Code::cancelled, "feed", "cancelled");
  if (status == backends::StepStatus::failed)
    fail(Code::io, "feed", "the backend failed in a step", "its log says why");
}

}  // namespace

Sequence::Sequence(const Sequence& other, kv::SequenceState state)
    : runner_(other.runner_),
      state_(std::move(state)),
      tokens_(other.tokens_),
      logits_(other.logits_),
      has_logits_(other.has_logits_) {}

Sequence Sequence::fork() const { return Sequence(*this, state_.fork()); }

void Sequence::truncate(int64_t n) {
  if (n == length()) return;
  if (n < 0 || n > length())
    fail(Code::invalid_argument, "sequence", format("cannot truncate {} tokens to {}", length(), n));
  if (n < state_.length()) state_.truncate(n);
  tokens_.resize(static_cast<size_t>(n));
  has_logits_ = false;
}

void Sequence::check_id(int32_t id) const {
  const int64_t n_vocab = runner_->plan().n_vocab;
  if (id < 0 || id >= n_vocab)
    fail(Code::invalid_argument, "feed", format("token id {} is not in [0, {})", id, n_vocab));
}

// The positions that the next n tokens take are there.
void Sequence::begin_pass(int64_t n) {
  if (const int64_t end = runner_->plan().n_positions; end > 0 && n > end - length())
    fail(Code::invalid_argument, "feed",
         format("position {} does not exist: the model has {} of them", length() + n - 1, end));
  pass_end_ = length() + n;
  fresh_.resize(static_cast<size_t>(runner_->plan().n_vocab));
}

// Tokens that are inserted after a step must not fail for want of memory.
void Sequence::make_room(size_t n_tokens) {
  if (const size_t need = tokens_.size() + n_tokens; need > tokens_.capacity())
    tokens_.reserve(std::max(need, 2 * tokens_.capacity()));
}

void Sequence::feed(std::span<const int32_t> tokens, const FeedOptions& options) {
  if (tokens.empty()) return;
  const auto total = static_cast<int64_t>(tokens.size());
  for (const int32_t id : tokens) check_id(id);
  begin_pass(total);
  catch_up(options);
  if (total == 1 && !options.progress) {  // a single step: its reservation is all there is to undo
    try {
      feed_chunk(tokens, options, true);
    } catch (...) {
      state_.commit(0);
      throw;
    }
  } else {
    feed_chunks(tokens, options);
  }
  if (total > 1) state_.mark();
  std::swap(logits_, fresh_);
  has_logits_ = true;
}

// Tokens that a truncate left without state. When it fails, the rest still waits.
void Sequence::catch_up(const FeedOptions& options) {
  while (state_.length() < length()) {
    const auto rest = std::span<const int32_t>(tokens_).subspan(static_cast<size_t>(state_.length()));
    const auto chunk =
        rest.first(static_cast<size_t>(std::min(options.chunk, static_cast<int64_t>(rest.size()))));
    const auto n = static_cast<int64_t>(chunk.size());
    state_.reserve(n);
    backends::Slice slice{&state_, state_.length(), chunk, 0, length()};
    backends::StepStatus status{};
    runner_->step({{&slice, 1}, {&status, 1}, nullptr, options.cancel});
    check_ran(status);
    if (status != backends::StepStatus::ok) fail(Code::numeric, "feed", "a step failed");
    state_.commit(n);
  }
}

void Sequence::feed_chunks(std::span<const int32_t> tokens, const FeedOptions& options) {
  const auto total = static_cast<int64_t>(tokens.size());
  kv::SequenceState before = state_.fork();
  const size_t n_before = tokens_.size();
  try {
    for (int64_t done = 0; done < total;) {
      const int64_t n = std::min(options.chunk, total - done);
      feed_chunk(tokens.subspan(static_cast<size_t>(done), static_cast<size_t>(n)), options,
                 done + n == total);
      done += n;
      if (options.progress && !options.progress(done, total))
        fail(Code::cancelled, "feed", "cancelled by the progress callback");
    }
  } catch (...) {
    state_ = std::move(before);
    tokens_.resize(n_before);
    throw;
  }
}

void Sequence::feed_chunk(std::span<const int32_t> tokens, const FeedOptions& options, bool last) {
  if (options.cancel && options.cancel->load(std::memory_order_relaxed))
    fail(Code::cancelled, "feed", "cancelled");  // short steps do not look
  const auto n = static_cast<int64_t>(tokens.size());
  const int64_t start = length();
  make_room(tokens.size());
  state_.reserve(n);
  const bool every = options.row || (options.taps && options.taps->logits());
  backends::Slice slice{&state_, start, tokens, every ? n : (last ? 1 : 0), pass_end_};
  if (every) rows_.resize(static_cast<size_t>(n) * fresh_.size());
  backends::StepStatus status{};
  backends::Batch batch{{&slice, 1}, {&status, 1}, every ? rows_.data() : fresh_.data(), options.cancel};
  if (options.taps) batch.points = options.taps->ask(runner_->plan(), n);
  runner_->step(batch);
  check_ran(status);
  if (status != backends::StepStatus::ok)
    fail(Code::numeric, "feed",
         format("the model gave NaN or infinite logits after position {}", start + n - 1));
  if (options.taps) options.taps->tell(runner_->plan(), start, tokens, rows_);
  for (int64_t i = 0; options.row && i < n; ++i)
    options.row(start + i,
                std::span<const float>(rows_).subspan(static_cast<size_t>(i) * fresh_.size(), fresh_.size()));
  if (every && last)
    std::copy(rows_.end() - static_cast<int64_t>(fresh_.size()), rows_.end(), fresh_.begin());
  state_.commit(n);
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
}

}  // namespace ingle::engine
