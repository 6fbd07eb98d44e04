#include <algorithm>
#include <limits>

#include "sampling/edit.h"
#include "sampling/stages.h"

namespace ingle::sampling {
namespace {

// Bans each id that would end an n-gram of accepted ids a second time.
class NoRepeatNgram final : public EditStage {
 public:
  explicit NoRepeatNgram(int32_t n) : n_(static_cast<size_t>(n)) {}
  std::string_view name() const override { return "no_repeat_ngram"; }
  void accept(int32_t id) override { history_.push_back(id); }
  void rollback(int32_t n) override {
    history_.resize(history_.size() - std::min(history_.size(), static_cast<size_t>(std::max(n, 0))));
  }
  StagePtr clone() const override { return std::make_unique<NoRepeatNgram>(*this); }

 private:
  std::span<const int32_t> ids() override {
    banned_.clear();
    if (n_ == 0 || history_.size() < n_) return banned_;
    const int32_t* last = history_.data() + history_.size() - (n_ - 1);  // the n-gram that is begun
    for (size_t i = 0; i + n_ <= history_.size(); ++i)
      if (std::equal(last, last + (n_ - 1), history_.data() + i)) banned_.push_back(history_[i + n_ - 1]);
    std::sort(banned_.begin(), banned_.end());
    banned_.erase(std::unique(banned_.begin(), banned_.end()), banned_.end());
    return banned_;
  }
  float edited(size_t, float) const override { return -std::numeric_limits<float>::infinity(); }

  size_t n_;
  std::vector<int32_t> history_, banned_;
};

}  // namespace

StagePtr make_no_repeat_ngram(int32_t n) { return std::make_unique<NoRepeatNgram>(n); }

}  // namespace ingle::sampling
