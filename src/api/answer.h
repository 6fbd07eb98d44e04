// An answer that is being given: what its tokens become, and when it ends. Sessions and engines share it.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "api/constraint.h"
#include "api/impl.h"
#include "api/reasoning_gate.h"
#include "engine/stop.h"
#include "ingle/session.hpp"

namespace ingle {

// Throws Code::invalid_argument naming the option that is out of range.
void check(const GenerateOptions& options);
// Code::unsupported for options that look ahead, which only a session's own answers can.
void refuse_looking_ahead(const GenerateOptions& options, const char* where);

class Answer {
 public:
  // `prompt`: what it answers, since that may have begun reasoning.
  Answer(const Model::Impl& model, const GenerateOptions& options, std::span<const TokenId> prompt);

  const GenerateOptions& options() const { return options_; }
  bool ended() const { return finish_ != Finish::none; }
  // All the tokens that it may have are there: the next event is Finish::length alone.
  bool full(int64_t n_more = 0) const {  // with so many more
    return options_.max_tokens >= 0 && tokens_left() <= n_more;
  }

  struct Step {
    TokenEvent event;
    bool kept = false;  // the id belongs to the sequence now; false for one that ended the answer
  };
  // A token that was taken, but not told.
  struct Taken {
    TokenEvent event;
    std::string text;  // whole characters, before stops are looked for
    std::string rest;  // what the detokenizer still held, where the answer ends here
    Finish finish = Finish::none;
    bool kept = false;
  };
  // The next token: chosen from `logits`, told with the log-probabilities of `own`, those of the model.
  // `room`: the context can take it.
  Step next(std::span<const float> own, std::span<const float> logits, Sampler& sampler, bool room);
  // Ends it: the event gains what was held back.
  TokenEvent finish(TokenEvent event, Finish how);

  // Both throw Code::out_of_memory (or bad_alloc) with nothing lost: called again, they give what they would
  // have given.

  // The steps of next() for who looks ahead: what is chosen, what it becomes, what is told of it. None: all
  // that could be chosen has minus infinity; where one is `needed` the sampler's error says so.
  std::optional<TokenId> choose(std::span<const float> logits, Sampler& sampler, bool needed);
  Taken take(TokenId id, std::span<const float> own, bool room);
  TokenEvent tell(Taken taken);
  // A grammar holds for the next token; `certainly`: it cannot begin reasoning instead.
  bool constrained(bool certainly = true) const {
    return text_.constrained() && !(certainly && text_.gate && text_.gate->opener());
  }
  // Those that the tokenizer makes of what the grammar forces, when it makes of the answer so far what was
  // given (`before`: under the grammar). The last one is left out, for what follows may change it. At most
  // `most`, and as many as the answer may still have.
  std::vector<TokenId> forced_tokens(std::span<const TokenId> before, int64_t most) const;
  int64_t tokens_left() const {  // -1: no bound
    return options_.max_tokens < 0 ? -1 : options_.max_tokens - static_cast<int64_t>(ids_.size());
  }
  // How things stood before a token was taken; what was told since is not taken back.
  struct Standing {
    text::Detokenizer detokenizer;
    std::optional<Constraint> constraint;
    std::optional<ReasoningGate> gate;
    size_t n_tokens;
  };
  Standing standing() const { return {text_.detokenizer, text_.constraint, text_.gate, ids_.size()}; }
  void go_back(Standing to);

 private:
  struct Text {
    text::Detokenizer detokenizer;
    engine::StopFilter stops;
    std::optional<Constraint> constraint;  // none: any answer will do
    std::optional<ReasoningGate> gate;
    Text(const text::Tokenizer& tokenizer, const GenerateOptions& options);
    bool constrained() const { return constraint && !(gate && gate->inside()); }
    void accept(TokenId id);
  };
  void mend();
  bool fits(TokenId id) const;
  bool stops_at(TokenId id) const;
  TokenEvent end(TokenEvent event, Finish how);
  Step tell(TokenEvent event, bool room);

  const text::Tokenizer* tokenizer_;
  GenerateOptions options_;
  std::shared_ptr<const constrain::TokenTrie> trie_;
  std::optional<ReasoningGate> gate_;  // as it was at first; none: no budget
  Text text_;
  std::vector<TokenId> ids_;         // told so far
  std::optional<TokenEvent> taken_;  // chosen, but not told yet
  bool torn_ = false;                // a token went through a part of text_ alone
  Finish finish_ = Finish::none;
};

}  // namespace ingle
