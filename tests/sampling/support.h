// Rows of logits, and the published formulas written out plainly over a full sort, which the stages must
// equal.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "core/error.h"
#include "sampling/chain.h"
#include "sampling/math.h"
#include "sampling/stages.h"
#include "support/catch.h"

namespace ingle::sampling {

constexpr float kBan = -std::numeric_limits<float>::infinity();
using Row = std::vector<float>;

// `steps` > 0 rounds the logits to multiples of 1 / steps, which makes ties; some ids are banned.
inline Row random_row(uint32_t seed, size_t n, int steps, float spread = 3.0f) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, spread);
  Row row(n);
  for (float& x : row) {
    x = normal(random);
    if (steps > 0) x = std::round(x * static_cast<float>(steps)) / static_cast<float>(steps);
    if (random() % 10 == 0) x = kBan;
  }
  row[n / 2] = 0;
  return row;
}

inline std::vector<Candidate> sorted_list(const Row& row) {
  std::vector<Candidate> list;
  for (size_t id = 0; id < row.size(); ++id)
    if (row[id] != kBan) list.push_back({static_cast<int32_t>(id), row[id]});
  std::sort(list.begin(), list.end(), [](const Candidate& a, const Candidate& b) {
    return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
  });
  return list;
}

inline std::vector<uint64_t> weights_of(const std::vector<Candidate>& list) {
  double max = kBan;
  for (const Candidate& c : list) max = std::max<double>(max, c.logit);
  std::vector<uint64_t> w;
  for (const Candidate& c : list) w.push_back(weight(c.logit - max));
  return w;
}

// What a stage leaves of a row, best first; as the first of a chain, which may take the row itself, and after
// build().
inline std::vector<Candidate> left_by(Stage& stage, const Row& row) {
  Candidates built;
  built.build(row);
  stage.apply(built);
  built.sort();
  Candidates direct;
  if (stage.apply_row(row, direct)) {
    REQUIRE(direct.chosen == built.chosen);
    direct.sort();
    REQUIRE(direct.list.size() == built.list.size());
    for (size_t i = 0; i < built.list.size(); ++i) {
      REQUIRE(direct.list[i].id == built.list[i].id);
      REQUIRE(direct.list[i].logit == built.list[i].logit);
    }
  }
  return built.list;
}
inline std::vector<Candidate> left_by(const StagePtr& stage, const Row& row) { return left_by(*stage, row); }

inline std::vector<int32_t> ids_of(const std::vector<Candidate>& list) {
  std::vector<int32_t> ids;
  for (const Candidate& c : list) ids.push_back(c.id);
  return ids;
}

template <class F>
Error error_of(F f) {
  try {
    f();
  } catch (const Error& e) {
    return e;
  }
  FAIL("expected an error");
  return Error(Code::ok, "", "");
}

}  // namespace ingle::sampling
