// One conversation: feed text, messages or tokens, then pull tokens one by one.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ingle/grammar.hpp"
#include "ingle/model.hpp"
#include "ingle/sampler.hpp"

namespace ingle {

struct SessionOptions {
  int64_t context = 0;  // tokens that the session may hold; 0: what the model was trained for
  int64_t prefill_chunk =
      512;                   // tokens a step takes of a long prompt, 1 to 8192; changes speed, never results
  uint64_t state_bytes = 0;  // bound on the attention state; 0: what `context` needs
};

enum class Finish : int32_t {
  none = 0,       // go on
  end = 1,        // the model ended its answer
  stop = 2,       // a stop string, pattern or token
  length = 3,     // max_tokens
  cancelled = 4,  // cancel()
  context = 5,    // the session's context is full
  deadline = 6,   // the request's deadline has passed (an engine's alone)
  error = 7,      // it failed (an engine's alone: elsewhere failures are thrown)
};

struct GenerateOptions {
  int64_t max_tokens = -1;        // -1: until the model ends or the context is full
  std::vector<std::string> stop;  // at most 16, 1 to 256 bytes each
  // Regular expressions as Grammar::regex() takes them, at most 16 of 1 to 256 bytes. The answer ends where
  // one has first matched. What may be the beginning of a match is held back.
  std::vector<std::string> stop_patterns;
  // At most 256 ids that end the answer as the vocabulary's own ends do: told, but no part of what the
  // session holds. Throws Code::invalid_argument for one that is not in the vocabulary.
  std::vector<TokenId> stop_tokens;
  // The stop is the end of the text, whole; off, no byte of it is. Of a stop token: what it writes, which of
  // a control token is nothing without control_text.
  bool include_stop = false;
  // At most 256, 1 to 256 bytes each: none of them ever stands in the answer's text. Where one has come up,
  // the answer goes back to the token in which it began and chooses another one there; events are held back
  // until they are certain. Deterministic. Not for next() with logits of one's own, nor for next_guided().
  std::vector<std::string> banned_phrases;
  int32_t top_logprobs = 0;  // 0 to 64
  bool ignore_end = false;   // go on past end-of-generation ids
  // Tokens that the model may reason for, in the form of its chat template; then the marker that ends the
  // reasoning is written for it. -1: as many as it likes. A grammar then holds for what comes behind the
  // reasoning, which the prompt has opened or the answer may begin with; not where the template's answers
  // have marks of their own there (Code::unsupported).
  int64_t reasoning_budget = -1;
  // The text holds control tokens as their vocabulary spells them, which AnswerParser needs.
  bool control_text = false;
  // The answer must be a whole text of it, unless it is cut (max_tokens, a stop string, the context, a
  // cancel). Ids that end the answer come when it is whole; when nothing else can follow, it ends by itself.
  std::optional<Grammar> grammar;
  // Where the grammar leaves one text alone, its tokens are taken without sampling, and computed in one step:
  // those that the tokenizer makes of it, as long as what was given so far stands as the tokenizer would have
  // it. The last of them, which what follows could change, is sampled. Off, each token is.
  bool jump_ahead = false;
};

struct TokenEvent {
  TokenId id = -1;    // -1: no new token, text that was held back or the finish alone
  float logprob = 0;  // of `id` under the model, before sampling
  std::string text;   // whole UTF-8 characters that became certain; may be empty
  Finish finish = Finish::none;
  std::vector<TokenLogprob> top;  // GenerateOptions::top_logprobs most likely
  double time_ms = 0;             // this token's own time
};

// Where a tap looks: the residual stream behind a layer, by its number from 0 on, or one of these.
constexpr int32_t kTapEmbedding = -1;  // what the first layer reads
constexpr int32_t kTapFinalNorm = -2;  // what the logits are made of
constexpr int32_t kTapLogits = -3;

struct TapRow {
  int32_t point = 0;
  TokenId token = -1;  // the one that was fed at `position`
  int64_t position = 0;
  std::span<const float> values;  // valid during the call
};

struct SessionStats {
  int64_t prompt_tokens = 0, generated_tokens = 0;
  double prefill_ms = 0, decode_ms = 0;
};

// negative + scale * (positive - negative), id by id. An id that is banned (-inf) in the first stays so;
// another infinity or a NaN is Code::numeric.
std::vector<float> guided_logits(std::span<const float> positive, std::span<const float> negative,
                                 float scale);

struct Beam;         // ingle/beams.hpp
struct BeamOptions;  // the same

// Not thread-safe, except for cancel(). Sessions of one model may run on different threads.
class Session {
 public:
  explicit Session(const Model& model, const SessionOptions& options = {});
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  // Each adds to the context and computes it, in chunks; `progress` hears of each chunk and may return false
  // to cancel. Throws Code::context_full, with nothing added, when it does not fit; Code::cancelled after a
  // cancel, with the context as it was before the call.
  using Progress = std::function<bool(int64_t done, int64_t total)>;
  void feed(std::span<const TokenId> tokens, const Progress& progress = {});
  // Text: control tokens in it stay text unless the options say so; BOS is added by the options too.
  void feed_text(std::string_view text, EncodeOptions options = {false, true}, const Progress& progress = {});
  // Messages through the model's own template, added to an empty session or, when what is held is a prefix of
  // the rendered conversation, as the rest of it; what is held beyond the common part is dropped, also when
  // the call then fails. What users wrote never becomes a control token.
  void feed_chat(std::span<const Message> messages, const Progress& progress = {});
  // The same of a conversation in JSON: {"messages": […], "tools": […], "documents": […], …} or the array of
  // messages alone. docs/templates.md tells the members. Throws Code::invalid_argument naming the place of
  // what is no conversation, Code::unsupported for content that the model cannot take (images).
  void feed_chat_json(std::string_view conversation, const Progress& progress = {});

  // Starts an answer; next() then gives its tokens. Without begin() the defaults hold.
  void begin(const GenerateOptions& options);
  // Samples the next token, computes it, and says what became certain. After an event with a finish:
  // Code::invalid_argument until something is fed or begin() is called.
  TokenEvent next(Sampler& sampler);
  // The same, choosing from these logits [n_vocab] instead of the model's own: mixtures, ensembles, guidance.
  // The event's log-probabilities stay the model's own.
  TokenEvent next(Sampler& sampler, std::span<const float> logits);
  // Classifier-free guidance (Sanchez et al. 2023): chooses from negative + scale * (own - negative) and adds
  // the token to both sessions. `negative` holds another prompt over the same vocabulary; `scale` is in [0,
  // 100], 1 changes nothing. Code::context_full when the negative session has no room left.
  TokenEvent next_guided(Sampler& sampler, Session& negative, float scale);
  std::string generate(Sampler& sampler, const GenerateOptions& options = {});  // next() until the finish

  // Logits of the last position [n_vocab]. Throws when nothing was fed.
  std::span<const float> logits() const;
  // Feeds tokens and hands over every position's logits, in order.
  void score(std::span<const TokenId> tokens,
             const std::function<void(int64_t position, std::span<const float> logits)>& row);

  // Tells the values at these points (in any order) of every token that this session computes from here on,
  // on the thread of the call that computes it: by position, then layer by layer, the logits last. false
  // cancels that call, as cancel() would. Bits do not change; a long prompt's steps become shorter. A token
  // is computed when the next one is asked for, and again after a truncate(). No points: no more taps. Forks,
  // saved sessions and beams have none. Throws Code::invalid_argument for a layer that is not there,
  // Code::unsupported for points but the logits where the model is scripted or its backend gives none.
  using Tap = std::function<bool(const TapRow& row)>;
  void tap(std::span<const int32_t> points, const Tap& hear);

  std::span<const TokenId> tokens() const;  // all that the context holds
  void truncate(int64_t n);                 // back to the first n tokens
  void clear() { truncate(0); }
  Session fork() const;    // shares what was computed; cheap
  void cancel() noexcept;  // from any thread, also in the middle of a prefill: the running call ends soon
  const SessionStats& stats() const;

  // Writes what the session holds: its tokens, what was computed of them, and the last logits. The file
  // appears under its name when it is complete; after an error (Code::io: a full disk, ...) an older one
  // stands as it was. An answer that is being given is not part of it, nor are samplers and statistics.
  void save(const std::string& path) const;
  // The same bytes to wherever they go; false ends it (Code::io).
  using Sink = std::function<bool(std::span<const std::byte> bytes)>;
  void save(const Sink& sink) const;
  // A session that goes on just as the saved one would: same tokens, same bits. Throws Code::corrupt for a
  // file that is damaged or none of these, Code::unsupported for one of another model, backend or state type
  // or of a newer version, Code::context_full when it holds more than the options' context.
  static Session load(const Model& model, const std::string& path, const SessionOptions& options = {});
  // `source` fills the whole span, or is false at the end.
  using Source = std::function<bool(std::span<std::byte> bytes)>;
  static Session load(const Model& model, const Source& source, const SessionOptions& options = {});
  const Model& model() const;

  struct Impl;

 private:
  friend std::vector<Beam> beam_search(Session& session, const BeamOptions& options);
  friend class Batch;
  explicit Session(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace ingle
