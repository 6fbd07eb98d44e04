// One sequence: its tokens, its state, and the logits after its last token.
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "core/records.h"
#include "engine/runner.h"
#include "engine/taps.h"

namespace ingle::engine {

struct FeedOptions {
  int64_t chunk = 512;                                                       // tokens of one step
  const std::atomic<bool>* cancel = nullptr;                                 // looked at within a step
  std::function<bool(int64_t done, int64_t total)> progress;                 // false cancels
  std::function<void(int64_t position, std::span<const float> logits)> row;  // each position's logits
  Taps* taps = nullptr;  // what else is told of each position
};

class Sequence {
 public:
  Sequence(Runner& runner, const kv::StatePool& pool) : runner_(&runner), state_(pool) {}

  // Appends tokens and computes them. On an error (Code::cancelled, numeric, out_of_memory) the sequence is
  // as before.
  void feed(std::span<const int32_t> tokens, const FeedOptions& options);
  // One token for each of several sequences of one runner, all in one step: the bits are those of feeding
  // each alone. `status` (one per sequence) says how it went; a sequence whose step is not `ok` is as before.
  // Throws with all of them as before (Code::out_of_memory, invalid_argument).
  static void feed_each(std::span<Sequence* const> sequences, std::span<const int32_t> tokens,
                        std::span<backends::StepStatus> status);
  // Logits are gone until the next feed. Where the state cannot be cut back to n tokens (recurrent models),
  // it goes back further, and the next feed first computes again what lies between.
  void truncate(int64_t n);
  Sequence fork() const;

  // As records: see docs/contracts/session-file.md. What `load` gives goes on as what was saved would have.
  void save(RecordWriter& out) const;
  // Throws Code::corrupt, unsupported (another model's) and out_of_memory; Code::context_full past n_most.
  static Sequence load(Runner& runner, const kv::StatePool& pool, RecordReader& in, int64_t n_most);

  std::span<const int32_t> tokens() const { return tokens_; }
  int64_t length() const { return static_cast<int64_t>(tokens_.size()); }
  bool has_logits() const { return has_logits_; }
  std::span<float> logits() { return logits_; }  // after the last token
  std::span<const float> logits() const { return logits_; }

 private:
  Sequence(const Sequence& other, kv::SequenceState state);
  void check_id(int32_t id) const;
  void begin_pass(int64_t n);
  void make_room(size_t n_tokens);
  void catch_up(const FeedOptions& options);
  void feed_chunks(std::span<const int32_t> tokens, const FeedOptions& options);
  void feed_chunk(std::span<const int32_t> tokens, const FeedOptions& options, bool last);
  Runner* runner_;
  kv::SequenceState state_;
  std::vector<int32_t> tokens_;  // those past the state's length wait for being computed again
  std::vector<float> logits_;    // [n_vocab]
  int64_t pass_end_ = 0;         // where the tokens of the feed that runs end
  std::vector<float> fresh_;     // [n_vocab], of the feed that runs: logits_ until it has succeeded
  std::vector<float> rows_;      // [chunk][n_vocab], when every row is wanted
  bool has_logits_ = false;
};

}  // namespace ingle::engine
