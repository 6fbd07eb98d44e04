// Bounds how many tokens a model reasons for: then its own marker of the end is written for it.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"
#include "text/tools/dialect.h"

namespace ingle {

class ReasoningGate {
 public:
  // `opened`: what the prompt has begun already.
  ReasoningGate(const text::Tokenizer& tokenizer, const text::ReasoningMarks& marks, int64_t budget,
                std::string_view opened)
      : tokenizer_(&tokenizer), marks_(&marks), left_(budget) {
    see(opened);
  }

  // The token that comes next whatever the model says; none while it is free.
  std::optional<text::TokenId> forced() {
    if (inside_ && left_ <= 0 && due_ == ending_.size()) {
      ending_ = tokenizer_->encode(marks_->end, {true, false});
      due_ = 0;
    }
    return due_ < ending_.size() ? std::optional(ending_[due_]) : std::nullopt;
  }

  void accept(text::TokenId id) {
    if (due_ < ending_.size() && ending_[due_] == id)
      ++due_;
    else if (inside_)
      --left_;
    const bool control = tokenizer_->kind(id) == text::TokenKind::control;
    see(control ? std::string(tokenizer_->token_text(id)) : tokenizer_->piece(id));
  }

 private:
  void see(std::string_view piece) {
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
    }
  }

  const text::Tokenizer* tokenizer_;
  const text::ReasoningMarks* marks_;
  int64_t left_;
  bool inside_ = false;
  std::string recent_;  // what a marker may have begun in
  std::vector<text::TokenId> ending_;
  size_t due_ = 0;  // of `ending_`
};

}  // namespace ingle
