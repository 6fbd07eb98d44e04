// A sequence as records, and back.
#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "engine/sequence.h"
#include "kv/state_io.h"

namespace ingle::engine {
namespace {

constexpr uint32_t kSequence = record_tag("SEQU"), kTokens = record_tag("TOKN"), kLogits = record_tag("LOGT");
constexpr int64_t kTokensOfRecord = 16384;  // so that what a length only claims is not allocated

}  // namespace

void Sequence::save(RecordWriter& out) const {
  FieldWriter head;
  head.add(length()).add(runner_->plan().n_vocab).add(int64_t{has_logits_});
  out.write(kSequence, head.bytes());
  for (int64_t at = 0; at < length(); at += kTokensOfRecord) {
    const int64_t n = std::min(kTokensOfRecord, length() - at);
    out.write(kTokens,
              std::as_bytes(std::span(tokens_).subspan(static_cast<size_t>(at), static_cast<size_t>(n))));
  }
  if (has_logits_) out.write(kLogits, std::as_bytes(std::span(logits_)));
  kv::write_state(state_, out);
}

Sequence Sequence::load(Runner& runner, const kv::StatePool& pool, RecordReader& in, int64_t n_most) {
  const auto n_vocab = static_cast<size_t>(runner.plan().n_vocab);
  int64_t head[3];  // length, n_vocab, has_logits
  in.read(kSequence, std::as_writable_bytes(std::span(head)));
  const int64_t length = head[0];
  if (head[1] != runner.plan().n_vocab)
    fail(Code::unsupported, in.name(),
         format("has a vocabulary of {}, and the model's has {}", head[1], n_vocab));
  if (length < 0 || (head[2] != 0 && head[2] != 1))
    in.refuse(kSequence, format("{} tokens, logits {}", length, head[2]));
  if (length > n_most)
    fail(Code::context_full, in.name(), format("holds {} tokens, and the context {}", length, n_most));

  Sequence s(runner, pool);
  for (int64_t at = 0; at < length; at += kTokensOfRecord) {
    s.tokens_.resize(static_cast<size_t>(std::min(length, at + kTokensOfRecord)));
    const auto fresh = std::span(s.tokens_).subspan(static_cast<size_t>(at));
    in.read(kTokens, std::as_writable_bytes(fresh));
    for (const int32_t id : fresh)
      if (id < 0 || static_cast<size_t>(id) >= n_vocab)
        in.refuse(kTokens, format("token id {} is not in [0, {})", id, n_vocab));
  }
  if (head[2] == 1) {
    s.logits_.resize(n_vocab);
    in.read(kLogits, std::as_writable_bytes(std::span(s.logits_)));
    s.has_logits_ = true;
    if (std::any_of(s.logits_.begin(), s.logits_.end(),
                    [](float x) { return std::isnan(x) || x == INFINITY; }))
      in.refuse(kLogits, "a logit is NaN or infinite");
  }
  s.state_ = kv::read_state(pool, in);
  const int64_t computed = s.state_.length();
  if (computed > length || (s.has_logits_ && (computed < length || length == 0)))
    in.refuse(kSequence, format("a state of {} tokens for {} of them, logits {}", computed, length, head[2]));
  return s;
}

}  // namespace ingle::engine
