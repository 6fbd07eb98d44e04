// Rows with and without ties, from one id to more than the selection takes in one go.
#pragma once
#include "sampling/support.h"

namespace ingle::sampling {

inline std::vector<Row> varied_rows() {
  std::vector<Row> all;
  uint32_t seed = 0;
  for (const size_t n : {1u, 2u, 3u, 17u, 64u, 65u, 300u, 5000u})
    for (const int steps : {0, 1, 4}) all.push_back(random_row(++seed, n, steps));
  all.push_back(Row(1000, 2.5f));  // all the same
  Row masked = random_row(99, 2000, 2);
  for (size_t i = 0; i < masked.size(); i += 3) masked[i] = -3e38f;  // banned by someone who avoids infinity
  all.push_back(masked);
  return all;
}

// Softmax of a list, as the book says.
inline std::vector<double> softmax(const std::vector<Candidate>& list) {
  double max = kBan, sum = 0;
  for (const Candidate& c : list) max = std::max<double>(max, c.logit);
  std::vector<double> p;
  for (const Candidate& c : list) {
    p.push_back(std::exp(c.logit - max));
    sum += p.back();
  }
  for (double& x : p) x /= sum;
  return p;
}

inline double entropy(const std::vector<double>& p) {
  double h = 0;
  for (const double x : p)
    if (x > 0) h -= x * std::log(x);
  return h;
}

}  // namespace ingle::sampling
