#include "api/constraint.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/error.h"

namespace ingle {

std::shared_ptr<const constrain::TokenTrie> answer_trie(const text::Tokenizer& tokenizer) {
  std::vector<std::string> pieces(static_cast<size_t>(tokenizer.size()));
  for (TokenId id = 0; id < tokenizer.size(); ++id) {
    const text::TokenKind kind = tokenizer.kind(id);
    if (kind != text::TokenKind::control && kind != text::TokenKind::unused &&
        kind != text::TokenKind::unknown)
      pieces[static_cast<size_t>(id)] = tokenizer.piece(id);
  }
  for (const TokenId id : tokenizer.special().end_of_generation) pieces[static_cast<size_t>(id)].clear();
  return std::make_shared<const constrain::TokenTrie>(pieces);
}

Constraint::Constraint(const constrain::Grammar& grammar, const text::Tokenizer& tokenizer,
                       std::shared_ptr<const constrain::TokenTrie> trie)
    : tokenizer_(&tokenizer),
      matcher_(grammar.matcher(constrain::Purpose::write)),
      masker_(std::move(trie)) {}

Constraint::Constraint(const Constraint& other)
    : tokenizer_(other.tokenizer_),
      matcher_(other.matcher_->clone()),
      masker_(other.masker_),
      mask_(other.mask_),
      at_start_(other.at_start_) {}

Constraint& Constraint::operator=(Constraint other) {
  std::swap(tokenizer_, other.tokenizer_);
  std::swap(matcher_, other.matcher_);
  std::swap(masker_, other.masker_);
  std::swap(mask_, other.mask_);
  std::swap(at_start_, other.at_start_);
  return *this;
}

const constrain::TokenMask& Constraint::mask() {
  if (!mask_) mask_ = masker_.mask(*matcher_);
  return *mask_;
}

bool Constraint::ended() { return whole() && mask().none(); }

std::span<const float> Constraint::masked(std::span<const float> logits) {
  const constrain::TokenMask& may = mask();
  row_.assign(logits.size(), -std::numeric_limits<float>::infinity());
  bool any = false;
  const auto keep = [&](TokenId id) {
    if (id < 0 || static_cast<size_t>(id) >= logits.size()) return;
    row_[static_cast<size_t>(id)] = logits[static_cast<size_t>(id)];
    any = true;
  };
  for (TokenId id = 0; id < tokenizer_->size(); ++id) {
    if (!may[id]) continue;
    // The decoder would drop this space, and the grammar would not see what it was told.
    if (at_start_ && tokenizer_->strips_leading_space() && tokenizer_->piece(id).starts_with(' ')) continue;
    keep(id);
  }
  if (whole())
    for (const TokenId id : tokenizer_->special().end_of_generation) keep(id);
  if (!any)
    fail(Code::unsupported, "grammar", "no token of the vocabulary can go on with the answer",
         "the vocabulary cannot spell what the grammar asks for");
  return row_;
}

void Constraint::accept(TokenId id) {
  const auto& ends = tokenizer_->special().end_of_generation;
  if (std::find(ends.begin(), ends.end(), id) != ends.end()) return;
  if (!matcher_->advance(tokenizer_->piece(id)))
    fail(Code::internal, "grammar", format("token {} was offered but does not fit", id));
  at_start_ = false;
  mask_.reset();
}

}  // namespace ingle
