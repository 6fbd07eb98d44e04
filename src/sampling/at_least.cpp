#include <algorithm>
#include <utility>

#include "sampling/row.h"
#include "sampling/stages.h"

namespace ingle::sampling {
namespace {

// What such a cut keeps are the first by logit, so that where they are too few, more of the first are they.
class AtLeast final : public Stage {
 public:
  AtLeast(StagePtr cut, size_t n) : cut_(std::move(cut)), n_(n) {}
  std::string_view name() const override { return cut_->name(); }
  void apply(Candidates& c) override {
    if (c.list.size() <= n_) return;
    top_of_list(c.list, n_, first_);
    cut_->apply(c);
    if (c.list.size() >= n_) return;
    std::swap(c.list, first_);
    c.sorted = c.by_id = false;
  }
  bool apply_row(std::span<const float> row, Candidates& c) override {
    if (row.size() <= n_ || !cut_->apply_row(row, c)) return false;
    if (c.list.size() >= n_) return true;
    top_of_row(row, n_, c.list);
    c.sorted = c.by_id = false;
    return true;
  }
  void accept(int32_t id) override { cut_->accept(id); }
  void rollback(int32_t n) override { cut_->rollback(n); }
  StagePtr clone() const override { return std::make_unique<AtLeast>(cut_->clone(), n_); }

 private:
  StagePtr cut_;
  size_t n_;
  std::vector<Candidate> first_;
};

}  // namespace

StagePtr make_at_least(StagePtr cut, int32_t n) {
  return std::make_unique<AtLeast>(std::move(cut), static_cast<size_t>(n));
}

}  // namespace ingle::sampling
