#include <utility>

#include "sampling/row.h"
#include "sampling/stages.h"

namespace ingle::sampling {
namespace {

class TopK final : public Stage {
 public:
  explicit TopK(int32_t k) : k_(static_cast<size_t>(k)) {}
  std::string_view name() const override { return "top_k"; }

  void apply(Candidates& c) override {
    if (k_ == 0 || c.list.size() <= k_) return;
    if (c.sorted) {
      c.list.resize(k_);
      return;
    }
    top_of_list(c.list, k_, scratch_);
    std::swap(c.list, scratch_);
    c.by_id = false;
  }
  bool apply_row(std::span<const float> row, Candidates& c) override {
    if (k_ == 0 || row.size() <= k_) return false;
    top_of_row(row, k_, c.list);
    c.sorted = c.by_id = false;
    return true;
  }
  StagePtr clone() const override { return std::make_unique<TopK>(static_cast<int32_t>(k_)); }

 private:
  size_t k_;
  std::vector<Candidate> scratch_;
};

}  // namespace

StagePtr make_top_k(int32_t k) { return std::make_unique<TopK>(k); }

}  // namespace ingle::sampling
