// Which of a plan's points a session's taps stand for.
#include <algorithm>

#include "api/session_impl.h"
#include "core/error.h"

namespace ingle {
namespace {

// A plan has the stream before each layer, then behind the last, then the final norm.
struct Points {
  const backends::Program& program;

  int64_t n_layers() const { return static_cast<int64_t>(program.plan().points.size()) - 2; }
  size_t index(int32_t point) const {
    if (!program.gives_points() || n_layers() < 0)
      fail(Code::unsupported, "tap", "this model's backend gives logits alone",
           "\"cpu\" and \"ref\" give more");
    if (point == kTapEmbedding) return 0;
    if (point == kTapFinalNorm) return program.plan().points.size() - 1;
    if (point < 0 || point >= n_layers())
      fail(Code::invalid_argument, "tap",
           format("point {}, expected a layer from 0 to {}", point, n_layers() - 1),
           "-1: the embedding; -2: the final norm; -3: logits");
    return static_cast<size_t>(point) + 1;
  }
  int32_t public_name(int32_t index) const {
    if (index == engine::Taps::kLogits) return kTapLogits;
    if (index == 0) return kTapEmbedding;
    return index > n_layers() ? kTapFinalNorm : index - 1;
  }
};

}  // namespace

void Session::tap(std::span<const int32_t> points, const Tap& hear) {
  if (points.empty()) {
    impl_->taps.reset();
    return;
  }
  if (!hear) fail(Code::invalid_argument, "tap", "there is nobody to hear");
  const Points of{impl_->m().runner->program()};
  std::vector<size_t> wanted;
  bool logits = false;
  for (const int32_t p : points) {
    if (p == kTapLogits)
      logits = true;
    else
      wanted.push_back(of.index(p));
  }
  std::sort(wanted.begin(), wanted.end());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  impl_->taps = std::make_unique<engine::Taps>(
      std::move(wanted), logits,
      [of, hear](int32_t point, int64_t position, int32_t token, std::span<const float> values) {
        return hear({of.public_name(point), token, position, values});
      });
}

}  // namespace ingle
