// Matrix products by Eigen: a second reference, written by others and of another shape than our kernels.
#define EIGEN_DONT_PARALLELIZE
#define EIGEN_MPL2_ONLY
#include <Eigen/Core>
#include <vector>

#include "backends/plugin/author.h"

namespace {

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Rows = Eigen::Map<Matrix, Eigen::Unaligned, Eigen::OuterStride<>>;
using ConstRows = Eigen::Map<const Matrix, Eigen::Unaligned, Eigen::OuterStride<>>;

#define INGLE_TEXT_OF(x) #x
#define INGLE_TEXT(x) INGLE_TEXT_OF(x)

struct Library {
  static constexpr const char kName[] = "eigen";
  static constexpr uint32_t kTypes = 1u << INGLE_BACKEND_F32;
  static const char* about() {
    return "Eigen " INGLE_TEXT(EIGEN_WORLD_VERSION) "." INGLE_TEXT(EIGEN_MAJOR_VERSION) "." INGLE_TEXT(
        EIGEN_MINOR_VERSION) ", f32, for the processor's baseline";
  }
  struct Weight {
    int64_t cols;
    std::vector<float> values;
  };

  explicit Library(const ingle_backend_host&) {}
  std::unique_ptr<Weight> prepare(const ingle_backend_matrix& m, uint64_t& bytes) {
    const auto* from = static_cast<const float*>(m.data);
    auto w = std::make_unique<Weight>(Weight{m.cols, {from, from + m.rows * m.cols}});
    bytes = w->values.size() * sizeof(float);
    return w;
  }
  void multiply(const Weight& w, const ingle_backend_product& p) {
    const ConstRows x(p.x, p.m, w.cols, Eigen::OuterStride<>(p.ldx));
    const ConstRows rows(w.values.data() + p.first_row * w.cols, p.n_rows, w.cols,
                         Eigen::OuterStride<>(w.cols));
    Rows y(p.y + p.first_row, p.m, p.n_rows, Eigen::OuterStride<>(p.ldy));
    if (p.accumulate)
      y.noalias() += x * rows.transpose();
    else
      y.noalias() = x * rows.transpose();
  }
};

}  // namespace

const ingle_backend* ingle_backend_entry(uint32_t version) { return ingle::plugins::table<Library>(version); }
