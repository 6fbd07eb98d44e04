#include "api/constraint.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "constrain/calls.h"
#include "core/error.h"

namespace ingle {

std::string answer_piece(const text::Tokenizer& tokenizer, TokenId id) {
  return tokenizer.kind(id) == text::TokenKind::control ? constrain::control_spelling(id)
                                                        : tokenizer.piece(id);
}

std::shared_ptr<const constrain::TokenTrie> answer_trie(const text::Tokenizer& tokenizer) {
  std::vector<std::string> pieces(static_cast<size_t>(tokenizer.size()));
  for (TokenId id = 0; id < tokenizer.size(); ++id) {
    const text::TokenKind kind = tokenizer.kind(id);
    std::string& piece = pieces[static_cast<size_t>(id)];
    if (kind == text::TokenKind::unused || kind == text::TokenKind::unknown) continue;
    piece = answer_piece(tokenizer, id);
    // No text has this byte: it is left to control tokens.
    if (kind != text::TokenKind::control &&
        piece.find(static_cast<char>(constrain::kControlByte)) != std::string::npos)
      piece.clear();
  }
  for (const TokenId id : tokenizer.special().end_of_generation) pieces[static_cast<size_t>(id)].clear();
  return std::make_shared<const constrain::TokenTrie>(pieces);
}

Constraint::Constraint(const constrain::Grammar& grammar, const text::Tokenizer& tokenizer,
                       const std::shared_ptr<const constrain::TokenTrie>& trie)
    : tokenizer_(&tokenizer),
      matcher_(grammar.matcher(constrain::Purpose::write)),
      masker_(grammar.masker(trie)) {}

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
  if (!mask_) mask_ = masker_->mask(*matcher_);
  return *mask_;
}

bool Constraint::ended() { return whole() && mask().none(); }

std::span<const float> Constraint::masked(std::span<const float> logits, std::optional<TokenId> besides) {
  const std::span<const uint64_t> words = mask().words();
  row_.assign(logits.size(), kGone);
  bool any = false;
  const auto keep = [&](TokenId id) {
    if (id < 0 || static_cast<size_t>(id) >= logits.size()) return;
    row_[static_cast<size_t>(id)] = logits[static_cast<size_t>(id)];
    any = true;
  };
  // The decoder would drop a first space, and the grammar would not see what it was told.
  const bool strips = at_start_ && tokenizer_->strips_leading_space();
  for (size_t w = 0; w < words.size(); ++w) {
    const size_t first = w * 64;
    if (words[w] == ~uint64_t{0} && !strips && first + 64 <= logits.size()) {
      std::copy_n(logits.begin() + static_cast<ptrdiff_t>(first), 64,
                  row_.begin() + static_cast<ptrdiff_t>(first));
      any = true;
      continue;
    }
    for (uint64_t bits = words[w]; bits != 0; bits &= bits - 1) {
      const auto id = static_cast<TokenId>(first + static_cast<size_t>(std::countr_zero(bits)));
      if (strips && tokenizer_->piece(id).starts_with(' ')) continue;
      keep(id);
    }
  }
  if (whole())
    for (const TokenId id : tokenizer_->special().end_of_generation) keep(id);
  if (besides) keep(*besides);
  if (!any)
    fail(Code::unsupported, "grammar", "no token of the vocabulary can go on with the answer",
         "the vocabulary cannot spell what the grammar asks for");
  return row_;
}

bool Constraint::allows(TokenId id) {
  const std::span<const uint64_t> words = mask().words();
  const auto at = static_cast<size_t>(id);
  return at / 64 < words.size() && (words[at / 64] >> (at % 64) & 1) != 0;
}

bool Constraint::begin_with(std::string_view text) {
  at_start_ = false;
  mask_.reset();
  return matcher_->advance(text);
}

std::string Constraint::forced() const {
  constexpr size_t kMostBytes = 256;
  std::string out = masker_->forced(*matcher_, kMostBytes);
  out.resize(std::min(out.size(), out.find(static_cast<char>(constrain::kControlByte))));
  return out;
}

void Constraint::accept(TokenId id) {
  if (tokenizer_->ends_generation(id)) return;
  if (!matcher_->advance(answer_piece(*tokenizer_, id)))
    fail(Code::internal, "grammar", format("token {} was offered but does not fit", id));
  at_start_ = false;
  mask_.reset();
}

}  // namespace ingle
