// The recurrent rows: the same bits on every instruction set and however a sequence is cut, close to double
// precision.
#include "kernels/scan.h"
#include "kernels/vec_support.h"

using namespace ingle::kernels;
using vec_test::same_bits;
using vec_test::Source;

namespace {

// A selective scan in pieces of `piece` tokens; the state goes over from one to the next.
std::vector<float> selective(const ScanRow& row, int64_t n, int64_t width, int64_t states, int64_t piece) {
  Source s(3);
  const auto x = s.many(n * width, -1, 1), dt = s.many(n * width, 0, 1), b = s.many(n * states, -1, 1),
             c = s.many(n * states, -1, 1), a = s.many(states * width, -2, 0), skip = s.many(width, -1, 1);
  std::vector<float> out(static_cast<size_t>(n * width)), held(static_cast<size_t>(states * width)),
      next(held.size());
  for (int64_t t = 0; t < n; t += piece) {
    const SelectiveArgs args{std::min(piece, n - t),
                             width,
                             states,
                             width,
                             x.data() + t * width,
                             dt.data() + t * width,
                             width,
                             width,
                             b.data() + t * states,
                             c.data() + t * states,
                             states,
                             a.data(),
                             skip.data(),
                             out.data() + t * width,
                             width,
                             t ? held.data() : nullptr,
                             next.data()};
    row.selective(&args);
    std::swap(held, next);
  }
  return out;
}

}  // namespace

TEST_CASE("a selective scan has the same bits on every instruction set and in any pieces",
          "[kernels][scan]") {
  const auto expected = selective(scan_row_of(*vec_test::rows().front()), 40, 37, 5, 40);
  for (const VecRow* vec : vec_test::rows())
    for (const int64_t piece : {1, 7, 40}) {
      CAPTURE(vec->isa, piece);
      CHECK(same_bits(selective(scan_row_of(*vec), 40, 37, 5, piece), expected));
    }
}

TEST_CASE("a selective scan agrees with double precision", "[kernels][scan]") {
  const int64_t n = 40, width = 37, states = 5;
  const auto found = selective(scan_row_of(*vec_test::rows().back()), n, width, states, n);
  Source s(3);
  const auto x = s.many(n * width, -1, 1), dt = s.many(n * width, 0, 1), b = s.many(n * states, -1, 1),
             c = s.many(n * states, -1, 1), a = s.many(states * width, -2, 0), skip = s.many(width, -1, 1);
  for (int64_t ch = 0; ch < width; ++ch) {
    std::vector<double> held(static_cast<size_t>(states));
    for (int64_t t = 0; t < n; ++t) {
      const double d = dt[static_cast<size_t>(t * width + ch)], v = x[static_cast<size_t>(t * width + ch)];
      double y = skip[static_cast<size_t>(ch)] * v;
      for (int64_t i = 0; i < states; ++i) {
        double& cell = held[static_cast<size_t>(i)];
        cell = std::exp(d * a[static_cast<size_t>(i * width + ch)]) * cell +
               d * v * b[static_cast<size_t>(t * states + i)];
        y += cell * c[static_cast<size_t>(t * states + i)];
      }
      CHECK(found[static_cast<size_t>(t * width + ch)] == Approx(y).margin(1e-5));
    }
  }
}

TEST_CASE("softplus, unit length, products and sums agree with double precision", "[kernels][scan]") {
  for (const VecRow* vec : vec_test::rows()) {
    const ScanRow& row = scan_row_of(*vec);
    CAPTURE(row.isa);
    Source s(5);
    const int64_t n = 53;
    const auto x = s.many(n, -30, 30), bias = s.many(n, -1, 1);
    std::vector<float> y(x.size());
    row.softplus(x.data(), bias.data(), y.data(), n);
    for (size_t i = 0; i < x.size(); ++i) {
      const double v = double{x[i]} + double{bias[i]};
      CHECK(y[i] ==
            Approx(std::max(v, 0.0) + std::log1p(std::exp(-std::abs(v)))).epsilon(2e-6).margin(1e-12));
    }
    row.mul(x.data(), bias.data(), y.data(), n);
    for (size_t i = 0; i < x.size(); ++i) CHECK(y[i] == x[i] * bias[i]);
    y = x;
    row.add_scaled(bias.data(), 0.5f, y.data(), n);
    for (size_t i = 0; i < x.size(); ++i) CHECK(y[i] == x[i] + 0.5f * bias[i]);
    y = x;
    row.unit(y.data(), n, 0, 2);
    double length = 0;
    for (const float v : y) length += double{v} * v;
    CHECK(length == Approx(4).epsilon(1e-6));
  }
}
