// What a Session holds.
#pragma once
#include <algorithm>
#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "api/answer.h"
#include "api/impl.h"
#include "engine/phrases.h"
#include "engine/sequence.h"
#include "ingle/session.hpp"

namespace ingle {

// A place where a token is chosen, perhaps not for the first time.
struct Fork {
  std::vector<float> logits;     // the model's own
  std::vector<TokenId> refused;  // ids that were withdrawn here
  bool tried = false;            // all of them were, once: now phrases are cut off later
};

// A token that was taken but not told, and how things stood before.
struct Ahead {
  Answer::Taken taken;
  size_t begin = 0;  // of its text in Lookahead::untold
  Answer::Standing before;
  std::optional<Sampler> sampler;  // this and the next: only where it may be chosen anew
  Fork fork;
};

struct Lookahead {
  engine::Phrases phrases{{}};  // that must not come up
  std::deque<Ahead> tokens;
  std::string untold;        // their text
  std::string told_end;      // the end of the text before, where phrases are banned
  std::vector<TokenId> ids;  // of the answer so far, where jump_ahead needs them
};

struct Session::Impl {
  Model model;
  SessionOptions options;
  std::shared_ptr<kv::StatePool> pool;
  engine::Sequence sequence;
  std::optional<TokenId> pending;  // sampled, but not yet computed: the last of `all`
  std::vector<TokenId> all;        // the sequence's tokens and the pending one
  std::optional<Answer> answer;
  Lookahead ahead;  // of the answer
  std::unique_ptr<engine::Taps> taps;
  SessionStats stats;
  std::atomic<bool> cancelled{false};

  Impl(const Model& m, const SessionOptions& o, std::shared_ptr<kv::StatePool> p, engine::Sequence s)
      : model(m), options(o), pool(std::move(p)), sequence(std::move(s)) {}

  static constexpr int64_t kTappedChunk = 64;  // each row is held until it is told

  const Model::Impl& m() const { return *model.impl(); }

  engine::FeedOptions feed_options() const {
    engine::FeedOptions f;
    f.chunk = options.prefill_chunk;
    f.cancel = &cancelled;
    f.taps = taps.get();
    if (taps) f.chunk = std::min(f.chunk, kTappedChunk);
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
  size_t n_told() const;   // of `all`
  void drop_ahead();       // what was not told
  void go_back(size_t n);  // to the first n of `all`; their logits may be gone
  // The token that next() would compute before it samples, and others may with it; none when it would not,
  // or is tapped, which steps of many sequences do not know.
  std::optional<TokenId> next_to_compute() const;
  std::span<const float> logits();  // of the last position
  void feed(std::span<const TokenId> tokens, const Progress& progress);
  void feed_prompt(const std::vector<TokenId>& ids, const Progress& progress);  // what is held may be a part
  void truncate(int64_t n);
  // What the sampler chooses from may be something else than the model's own logits.
  using Mix = std::function<std::span<const float>(std::span<const float> own)>;
  TokenEvent next(Sampler& sampler, const Mix& mix);
  TokenEvent advance(Sampler& sampler, const Mix& mix);
  // Looking ahead: banned phrases, and tokens about which there is no choice.
  bool has_room() const { return static_cast<int64_t>(all.size()) < options.context; }
  Answer::Taken take(TokenId id, std::span<const float> own);
  void choose_certain(Sampler& sampler);  // until the first token ahead is certain
  bool first_is_certain() const;
  Fork withdraw(Sampler& sampler, size_t at);
  size_t culprit(size_t found) const;
  bool jump(Sampler& sampler);
  TokenEvent tell_first();
};

}  // namespace ingle
