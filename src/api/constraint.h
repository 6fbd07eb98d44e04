// An answer held to a grammar: which ids may come, and what each of them writes.
#pragma once
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "constrain/grammar.h"
#include "ingle/tokenizer.hpp"
#include "text/tokenizer.h"

namespace ingle {

// The logit of a token that cannot come.
constexpr float kGone = -std::numeric_limits<float>::infinity();

// What an id is in the texts of grammars: its bytes; of a control token, its spelling there.
std::string answer_piece(const text::Tokenizer& tokenizer, TokenId id);
// The ids that may stand in an answer, as a tree.
std::shared_ptr<const constrain::TokenTrie> answer_trie(const text::Tokenizer& tokenizer);

class Constraint {
 public:
  Constraint(const constrain::Grammar& grammar, const text::Tokenizer& tokenizer,
             const std::shared_ptr<const constrain::TokenTrie>& trie);
  Constraint(const Constraint& other);
  Constraint& operator=(Constraint other);
  // `logits` with those of ids that cannot come at minus infinity; ids that end the answer may come when it
  // is whole, and `besides` may in any case. Throws Code::unsupported when nothing may come.
  std::span<const float> masked(std::span<const float> logits, std::optional<TokenId> besides = std::nullopt);
  bool allows(TokenId id);  // one that ends no answer
  // The answer begins with this, behind something that is not of the grammar; false: it cannot.
  bool begin_with(std::string_view text);
  void accept(TokenId id);  // one that masked() left
  // The bytes that must come next, when there is no choice; "" otherwise.
  std::string forced() const;
  bool whole() const { return matcher_->accepting(); }
  // The answer is whole, and nothing can follow.
  bool ended();

 private:
  const constrain::TokenMask& mask();
  const text::Tokenizer* tokenizer_;
  std::unique_ptr<constrain::Matcher> matcher_;
  std::shared_ptr<constrain::Masker> masker_;
  constrain::TokenMaskPtr mask_;  // of where the matcher stands; null: not made yet
  std::vector<float> row_;
  bool at_start_ = true;
};

}  // namespace ingle
