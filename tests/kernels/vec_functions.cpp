// exp, tanh and the activations against double precision, and the same bits on every instruction set.
#include "vec_support.h"

using namespace ingle::kernels;
using namespace vec_test;

namespace {

double exact(int32_t kind, double x) {
  switch (kind) {
    case kGluSilu:
      return x / (1.0 + std::exp(-x));
    case kGluGeluTanh:
      return 0.5 * x * (1.0 + std::tanh(std::sqrt(2.0 / M_PI) * (x + 0.044715 * x * x * x)));
    case kGluGeluErf:
      return 0.5 * x * std::erfc(-x / std::sqrt(2.0));
    case kGluRelu:
      return std::max(x, 0.0);
    default:
      return std::max(x, 0.0) * std::max(x, 0.0);
  }
}

std::vector<float> interesting(int64_t n) {
  Source source(5);
  std::vector<float> x = source.many(n, -12.0f, 12.0f);
  const float special[] = {0.0f,    -0.0f,  1e-30f, -1e-30f, 1e-41f, 88.0f,    -88.0f,    100.0f,
                           -100.0f, 0.624f, 0.626f, 1e30f,   -1e30f, INFINITY, -INFINITY, NAN};
  for (size_t i = 0; i < std::size(special) && i < x.size(); ++i) x[i] = special[i];
  return x;
}

constexpr int32_t kKinds[] = {kGluSilu, kGluGeluTanh, kGluGeluErf, kGluRelu, kGluRelu2};

}  // namespace

TEST_CASE("activations are within 1e-6 of double precision", "[vec]") {
  std::vector<float> x;
  for (float v = -20.0f; v < 20.0f; v += 0.00137f) x.push_back(v);
  for (const int32_t kind : kKinds) {
    std::vector<double> want;
    for (const float v : x) want.push_back(exact(kind, v));
    for (const VecRow* row : rows()) {
      std::vector<float> got(x.size());
      row->activate(kind, x.data(), got.data(), static_cast<int64_t>(x.size()));
      INFO(row->isa << " kind " << kind);
      CHECK(worst_error(got, want) < 1e-6);
    }
  }
}

TEST_CASE("activations and glu give the same bits everywhere", "[vec]") {
  for (const int64_t n : kSizes) {
    const std::vector<float> x = interesting(n), up = Source(6).many(n, -2.0f, 2.0f);
    for (const int32_t kind : kKinds) {
      std::vector<float> first(static_cast<size_t>(n)), first_glu(first);
      rows()[0]->activate(kind, x.data(), first.data(), n);
      rows()[0]->glu(kind, x.data(), up.data(), first_glu.data(), n);
      for (size_t i = 0; i < first.size(); ++i) {
        const float product = first[i] * up[i];
        CHECK((std::isnan(product) ? std::isnan(first_glu[i]) : first_glu[i] == product));
      }
      for (const VecRow* row : rows()) {
        std::vector<float> y(static_cast<size_t>(n));
        INFO(row->isa << " kind " << kind << " n " << n);
        row->activate(kind, x.data(), y.data(), n);
        CHECK(same_bits(first, y));
        row->glu(kind, x.data(), up.data(), y.data(), n);
        CHECK(same_bits(first_glu, y));
      }
    }
  }
}

TEST_CASE("activations keep NaN and large values", "[vec]") {
  const std::vector<float> x = {NAN, INFINITY, 1e30f};
  for (const VecRow* row : rows()) {
    for (const int32_t kind : kKinds) {
      std::vector<float> y(3);
      row->activate(kind, x.data(), y.data(), 3);
      INFO(row->isa << " kind " << kind);
      CHECK(std::isnan(y[0]));
      CHECK(std::isinf(y[1]));
      CHECK((kind == kGluRelu2 ? std::isinf(y[2]) : y[2] == 1e30f));
    }
  }
}

TEST_CASE("softcap is cap tanh(x / cap)", "[vec]") {
  std::vector<float> x;
  for (float v = -300.0f; v < 300.0f; v += 0.0311f) x.push_back(v);
  x.push_back(1e-6f);
  const auto n = static_cast<int64_t>(x.size());
  for (const float cap : {30.0f, 50.0f, 1.5f}) {
    std::vector<float> first(x.size());
    rows()[0]->softcap(x.data(), cap, first.data(), n);
    double worst = 0.0;
    for (size_t i = 0; i < x.size(); ++i) {
      const double want = cap * std::tanh(static_cast<double>(x[i]) / cap);
      worst = std::max(worst, std::abs(first[i] - want) / std::max(1e-12, std::abs(want)));
    }
    CHECK(worst < 5e-7);
    for (const VecRow* row : rows()) {
      std::vector<float> y(x.size());
      row->softcap(x.data(), cap, y.data(), n);
      INFO(row->isa);
      CHECK(same_bits(first, y));
    }
  }
}
