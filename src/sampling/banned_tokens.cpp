#include <algorithm>
#include <limits>

#include "sampling/edit.h"
#include "sampling/stages.h"

namespace ingle::sampling {
namespace {

class BannedTokens final : public EditStage {
 public:
  explicit BannedTokens(std::span<const int32_t> ids) : ids_(ids.begin(), ids.end()) {}
  std::string_view name() const override { return "banned_tokens"; }
  StagePtr clone() const override { return std::make_unique<BannedTokens>(*this); }

 private:
  std::span<const int32_t> ids() override { return ids_; }
  float edited(size_t, float) const override { return -std::numeric_limits<float>::infinity(); }

  std::vector<int32_t> ids_;
};

}  // namespace

StagePtr make_banned_tokens(std::span<const int32_t> ids) { return std::make_unique<BannedTokens>(ids); }

}  // namespace ingle::sampling
