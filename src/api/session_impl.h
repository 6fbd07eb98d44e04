// What a Session holds.
#pragma once
#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "api/answer.h"
#include "api/impl.h"
#include "engine/sequence.h"
#include "ingle/session.hpp"

namespace ingle {

struct Session::Impl {
  Model model;
  SessionOptions options;
  std::shared_ptr<kv::StatePool> pool;
  engine::Sequence sequence;
  std::optional<TokenId> pending;  // sampled, but not yet computed: the last of `all`
  std::vector<TokenId> all;        // the sequence's tokens and the pending one
  std::optional<Answer> answer;
  SessionStats stats;
  std::atomic<bool> cancelled{false};

  Impl(const Model& m, const SessionOptions& o, std::shared_ptr<kv::StatePool> p, engine::Sequence s)
      : model(m), options(o), pool(std::move(p)), sequence(std::move(s)) {}

  const Model::Impl& m() const { return *model.impl(); }

  engine::FeedOptions feed_options() const {
    engine::FeedOptions f;
    f.chunk = options.prefill_chunk;
    f.cancel = &cancelled;
    return f;
  }
  // A cancel that came before the call counts for it; it is used up by being answered.
  template <class F>
  void cancellable(F f) {
    try {
      f();
    } catch (const Error& e) {
      if (e.code() == Code::cancelled) cancelled = false;
      throw;
    }
  }

  // Before n tokens are computed, so that noting them afterwards cannot fail and leave them out of `all`.
  void make_room(size_t n) {
    if (const size_t need = all.size() + n; need > all.capacity())
      all.reserve(std::max(need, 2 * all.capacity()));
  }

  void compute_pending();
  // The token that next() would compute before it samples; none when it would not.
  std::optional<TokenId> next_to_compute() const;
  std::span<const float> logits();  // of the last position
  void feed(std::span<const TokenId> tokens, const Progress& progress);
  void truncate(int64_t n);
  // What the sampler chooses from may be something else than the model's own logits.
  using Mix = std::function<std::span<const float>(std::span<const float> own)>;
  TokenEvent next(Sampler& sampler, const Mix& mix);
};

}  // namespace ingle
