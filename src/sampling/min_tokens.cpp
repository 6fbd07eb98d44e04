#include <algorithm>
#include <limits>

#include "sampling/edit.h"
#include "sampling/stages.h"

namespace ingle::sampling {
namespace {

class MinTokens final : public EditStage {
 public:
  MinTokens(int32_t n, std::span<const int32_t> ends) : n_(n), ends_(ends.begin(), ends.end()) {}
  std::string_view name() const override { return "min_tokens"; }
  void accept(int32_t) override { ++n_accepted_; }
  void rollback(int32_t n) override { n_accepted_ -= std::min<int64_t>(n_accepted_, std::max(n, 0)); }
  StagePtr clone() const override { return std::make_unique<MinTokens>(*this); }

 private:
  std::span<const int32_t> ids() override {
    return n_accepted_ < n_ ? std::span<const int32_t>(ends_) : std::span<const int32_t>();
  }
  float edited(size_t, float) const override { return -std::numeric_limits<float>::infinity(); }

  int64_t n_, n_accepted_ = 0;
  std::vector<int32_t> ends_;
};

}  // namespace

StagePtr make_min_tokens(int32_t n, std::span<const int32_t> ends) {
  return std::make_unique<MinTokens>(n, ends);
}

}  // namespace ingle::sampling
