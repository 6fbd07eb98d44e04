// An answer that is being given: what its tokens become, and when it ends. Sessions and engines share it.
#pragma once
#include <optional>
#include <span>

#include "api/constraint.h"
#include "api/impl.h"
#include "engine/stop.h"
#include "ingle/session.hpp"

namespace ingle {

// Throws Code::invalid_argument naming the option that is out of range.
void check(const GenerateOptions& options);

class Answer {
 public:
  Answer(const Model::Impl& model, const GenerateOptions& options);

  const GenerateOptions& options() const { return options_; }
  bool ended() const { return finish_ != Finish::none; }
  // All the tokens that it may have are there: the next event is Finish::length alone.
  bool full() const {
    return options_.max_tokens >= 0 && static_cast<int64_t>(ids_.size()) >= options_.max_tokens;
  }

  struct Step {
    TokenEvent event;
    bool kept = false;  // the id belongs to the sequence now; false for one that ended the answer
  };
  // The next token: chosen from `logits`, told with the log-probabilities of `own`, those of the model.
  // `room`: the context can take it.
  Step next(std::span<const float> own, std::span<const float> logits, Sampler& sampler, bool room);
  // Ends it: the event gains what was held back.
  TokenEvent finish(TokenEvent event, Finish how);

  // Both throw Code::out_of_memory (or bad_alloc) with nothing lost: called again, they give what they would
  // have given.

 private:
  struct Text {
    text::Detokenizer detokenizer;
    engine::StopFilter stops;
    std::optional<Constraint> constraint;  // none: any answer will do
    Text(const text::Tokenizer& tokenizer, const GenerateOptions& options)
        : detokenizer(tokenizer, true), stops(options.stop) {}
  };
  void mend();
  TokenEvent end(TokenEvent event, Finish how);
  Step tell(TokenEvent event, bool room);

  const text::Tokenizer* tokenizer_;
  GenerateOptions options_;
  std::shared_ptr<const constrain::TokenTrie> trie_;
  Text text_;
  std::vector<TokenId> ids_;         // told so far
  std::optional<TokenEvent> taken_;  // chosen, but not told yet
  bool torn_ = false;                // a token went through a part of text_ alone
  Finish finish_ = Finish::none;
};

}  // namespace ingle
