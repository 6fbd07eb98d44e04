// Bounds how many tokens a model reasons for: then its own marker of the end is written for it. Where a
// grammar holds for what follows, tells what is reasoning and what is not.
#pragma once
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"
#include "text/tools/dialect.h"

namespace ingle {

class ReasoningGate {
 public:
  // `opened`: what the prompt has begun already. `once`: what follows the reasoning is held to a grammar, in
  // whose texts a marker is no marker; reasoning that the prompt did not open can begin with the answer only.
  ReasoningGate(const text::Tokenizer& tokenizer, const text::ReasoningMarks& marks, int64_t budget,
                std::string_view opened, bool once)
      : tokenizer_(&tokenizer), marks_(&marks), left_(budget), once_(once) {
    see(opened);
    if (once_ && !inside_ && !closed_ && budget > 0)
      opening_ = tokenizer_->encode(marks_->begin, {true, false});
  }

  // The token that comes next whatever the model says; none while it is free.
  std::optional<text::TokenId> forced() {
    if (inside_ && left_ <= 0 && due_ == written_.size()) {
      written_ = tokenizer_->encode(marks_->end, {true, false});
      due_ = 0;
    }
    return due_ < written_.size() ? std::optional(written_[due_]) : std::nullopt;
  }

  bool inside() const { return inside_ || due_ < written_.size(); }
  // The token with which reasoning may begin here, although the grammar holds already.
  std::optional<text::TokenId> opener() const {
    return opening_.empty() ? std::nullopt : std::optional(opening_.front());
  }
  // It came, as what it is: the rest of the marker is written.
  void open() {
    written_ = std::move(opening_);
    due_ = 0;
    opening_.clear();
  }

  // The grammar holds from the start: nothing is reasoning.
  void close() {
    opening_.clear();
    closed_ = true;
  }

  void accept(text::TokenId id) {
    opening_.clear();
    if (due_ < written_.size() && written_[due_] == id)
      ++due_;
    else if (inside_)
      --left_;
    const bool control = tokenizer_->kind(id) == text::TokenKind::control;
    see(control ? std::string(tokenizer_->token_text(id)) : tokenizer_->piece(id));
  }
  // What the token that ended the reasoning wrote behind the marker; white space there is the template's.
  std::string_view rest() const {
    const std::string_view all = recent_;
    return all.substr(std::min(all.find_first_not_of(" \t\r\n"), all.size()));
  }

 private:
  void see(std::string_view piece) {
    if (closed_) return;
    recent_ += piece;
    for (;;) {
      const std::string_view mark = inside_ ? marks_->end : marks_->begin;
      const size_t found = recent_.find(mark);
      if (found == std::string::npos) {
        if (recent_.size() >= mark.size()) recent_.erase(0, recent_.size() - mark.size() + 1);
        return;
      }
      recent_.erase(0, found + mark.size());
      inside_ = !inside_;
      closed_ = once_ && !inside_;
      if (closed_) return;
    }
  }

  const text::Tokenizer* tokenizer_;
  const text::ReasoningMarks* marks_;
  int64_t left_;
  bool once_, inside_ = false, closed_ = false;
  std::string recent_;  // what a marker may have begun in; once it is closed, what came behind it
  std::vector<text::TokenId> opening_;
  std::vector<text::TokenId> written_;  // a marker, for the model
  size_t due_ = 0;                      // of `written_`
};

}  // namespace ingle
