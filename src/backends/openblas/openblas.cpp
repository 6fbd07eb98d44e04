// Matrix products by OpenBLAS's sgemm. Its own threads are switched off, which is a setting of that library
// for the whole process: Ingle's threads call it, each for rows of its own.
#include <cblas.h>

#include <climits>
#include <vector>

#include "backends/plugin/author.h"

namespace {

struct Library {
  static constexpr const char kName[] = "openblas";
  static constexpr uint32_t kTypes = 1u << INGLE_BACKEND_F32;
  static const char* about() {
    static const std::string text =
        std::string(openblas_get_config()) + ", f32, for " + openblas_get_corename();
    return text.c_str();
  }
  struct Weight {
    int64_t cols;
    std::vector<float> values;
  };

  explicit Library(const ingle_backend_host&) { openblas_set_num_threads(1); }
  std::unique_ptr<Weight> prepare(const ingle_backend_matrix& m, uint64_t& bytes) {
    if (m.rows > INT_MAX || m.cols > INT_MAX)
      throw ingle::plugins::Refused("OpenBLAS counts rows and columns in 32 bits");
    const auto* from = static_cast<const float*>(m.data);
    auto w = std::make_unique<Weight>(Weight{m.cols, {from, from + m.rows * m.cols}});
    bytes = w->values.size() * sizeof(float);
    return w;
  }
  void multiply(const Weight& w, const ingle_backend_product& p) {
    if (p.m > INT_MAX || p.ldx > INT_MAX || p.ldy > INT_MAX)
      throw ingle::plugins::Refused("OpenBLAS counts rows and strides in 32 bits");
    const float* rows = w.values.data() + p.first_row * w.cols;
    const auto n = static_cast<int>(p.n_rows), k = static_cast<int>(w.cols);
    const float beta = p.accumulate ? 1.0f : 0.0f;
    float* y = p.y + p.first_row;
    if (p.m == 1)
      cblas_sgemv(CblasRowMajor, CblasNoTrans, n, k, 1, rows, k, p.x, 1, beta, y, 1);
    else
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, static_cast<int>(p.m), n, k, 1, p.x,
                  static_cast<int>(p.ldx), rows, k, beta, y, static_cast<int>(p.ldy));
  }
};

}  // namespace

const ingle_backend* ingle_backend_entry(uint32_t version) { return ingle::plugins::table<Library>(version); }
