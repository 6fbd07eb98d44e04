// Mirostat and Adaptive-P against their published algorithms over a full sort.
#include "core/random.h"
#include "sampling/rows.h"

using namespace ingle;
using namespace ingle::sampling;

namespace {

// The first of a sorted list whose cumulative weight exceeds the point.
int32_t draw(const std::vector<Candidate>& list, uint64_t seed, uint64_t n) {
  const auto w = weights_of(list);
  uint64_t total = 0;
  for (const uint64_t x : w) total += x;
  auto point = static_cast<uint64_t>(static_cast<double>(uniform(seed, n)) * static_cast<double>(total));
  size_t i = 0;
  while (point >= w[i]) point -= w[i++];
  return list[i].id;
}

Row lively_row(uint32_t i) {
  return random_row(i, i % 4 == 0 ? 60 : 700, static_cast<int>(i % 3), 1.0f + static_cast<float>(i % 5));
}

double surprise_of(const std::vector<Candidate>& all, int32_t id) {
  const auto p = softmax(all);
  for (size_t i = 0; i < all.size(); ++i)
    if (all[i].id == id) return -std::log2(p[i]);
  return -1;
}

size_t mirostat_1(const std::vector<Candidate>& all, double mu) {
  double tb = 0, tt = 0;
  for (size_t i = 0; i + 1 < std::min<size_t>(100, all.size()); ++i) {
    const double t = std::log(static_cast<double>(i + 2) / static_cast<double>(i + 1));
    const auto p = softmax({all[i], all[i + 1]});
    tb += t * std::log(p[0] / p[1]);
    tt += t * t;
  }
  const double s = tb / tt, e = s - 1, n = static_cast<double>(all.size());
  const double k = std::pow(e * std::pow(2.0, mu) / (1 - std::pow(n, -e)), 1 / s);
  return static_cast<size_t>(std::clamp(std::floor(k), 1.0, n));
}

size_t mirostat_2(const std::vector<Candidate>& all, double mu) {
  size_t n = 0;
  for (const double p : softmax(all)) n += -std::log2(p) <= mu;
  return std::max<size_t>(n, 1);
}

template <class Cut>
void check_mirostat(StagePtr stage, float tau, float eta, Cut cut) {
  double mu = 2.0 * tau, sum = 0;
  stage->accept(3);  // a prompt changes nothing but the position
  for (uint32_t i = 0; i < 300; ++i) {
    const Row row = lively_row(i);
    const auto all = sorted_list(row);
    auto kept = all;
    kept.resize(cut(all, mu));
    const int32_t want = draw(kept, 9, i + 1);
    Candidates c;
    c.build(row);
    stage->apply(c);
    REQUIRE(c.chosen == want);
    stage->accept(want);
    sum += surprise_of(all, want);
    mu -= eta * (surprise_of(all, want) - tau);
  }
  CHECK(sum / 300 == Approx(tau).margin(0.4));  // what it is for
}

}  // namespace

TEST_CASE("mirostat 1 equals the paper", "[sampling]") {
  check_mirostat(make_mirostat_1(3, 0.1f, 9), 3, 0.1f, mirostat_1);
}

TEST_CASE("mirostat 2 equals the paper", "[sampling]") {
  check_mirostat(make_mirostat_2(3, 0.1f, 9), 3, 0.1f, mirostat_2);
}

TEST_CASE("adaptive-p equals its algorithm and comes to its target", "[sampling]") {
  const double target = 0.3f, decay = 0.9f;
  const StagePtr stage = make_adaptive_p(0.3f, 0.9f, 9);
  double weighted_sum = target / (1 - decay), total_weight = 1 / (1 - decay), drawn = 0;
  for (uint32_t i = 0; i < 300; ++i) {
    const Row row = random_row(i, 40, 0, 2.0f);
    const auto all = sorted_list(row);
    const auto p = softmax(all);
    const double aim = std::clamp(2 * target - weighted_sum / total_weight, 0.0, 1.0);
    auto changed = all;
    for (size_t k = 0; k < all.size(); ++k) {
      const double d = std::fabs((p[k] - aim) / 0.3);
      changed[k].logit = static_cast<float>(5 - 10 * d * d / (1 + d));
    }
    std::sort(changed.begin(), changed.end(),
              [](const Candidate& a, const Candidate& b) { return ranks_before(a, b); });
    const int32_t want = draw(changed, 9, i);
    Candidates c;
    c.build(row);
    stage->apply(c);
    REQUIRE(c.chosen == want);
    stage->accept(want);
    const double chosen = std::pow(2.0, -surprise_of(all, want));
    weighted_sum = chosen + decay * weighted_sum;
    total_weight = 1 + decay * total_weight;
    drawn += chosen / 300;
  }
  CHECK(drawn == Approx(target).margin(0.1));
}

TEST_CASE("what chooses by a memory rolls back, copies, and repeats itself", "[sampling]") {
  const auto run = [](const StagePtr& stage, uint32_t from, uint32_t to) {
    std::vector<int32_t> ids;
    for (uint32_t i = from; i < to; ++i) {
      Candidates c;
      c.build(lively_row(i));
      stage->apply(c);
      const int32_t id = c.chosen;
      c.build(lively_row(i));
      stage->apply(c);
      REQUIRE(c.chosen == id);
      REQUIRE(c.list.size() == 1);
      stage->accept(id);
      ids.push_back(id);
    }
    return ids;
  };
  StagePtr stages[] = {make_mirostat_1(4, 0.3f, 2), make_mirostat_2(4, 0.3f, 2),
                       make_adaptive_p(0.2f, 0.8f, 2)};
  for (const StagePtr& stage : stages) {
    CAPTURE(stage->name());
    const auto text = run(stage, 0, 80);
    const StagePtr copy = stage->clone();
    stage->rollback(50);
    CHECK(run(stage, 30, 80) == std::vector<int32_t>(text.begin() + 30, text.end()));
    CHECK(run(copy, 80, 120) == run(stage, 80, 120));
    stage->rollback(1 << 20);
    CHECK(run(stage, 0, 80) == text);
  }
}

TEST_CASE("mirostat and adaptive-p at their ends", "[sampling]") {
  const std::vector<Row> rows = {{5.0f},
                                 {1.0f, 1.0f},
                                 Row(1000, 2.0f),
                                 {3e38f, -3e38f},
                                 {-3e38f, -3e38f, -3e38f},
                                 {0.0f, 0.0f, 0.0f, -1e-45f},
                                 {9.0f, 2.0f, 2.0f, 2.0f}};
  for (const Row& row : rows)
    for (const float tau : {0.0f, 1.0f, 100.0f}) {
      StagePtr stages[] = {make_mirostat_1(tau, 1, 2), make_mirostat_2(tau, 1, 2),
                           make_adaptive_p(tau / 100, 0, 2), make_adaptive_p(tau / 100, 0.99f, 2)};
      for (const StagePtr& stage : stages)
        for (int i = 0; i < 50; ++i) {
          Candidates c;
          c.build(row);
          stage->apply(c);
          REQUIRE(c.chosen >= 0);
          REQUIRE(c.chosen < static_cast<int32_t>(row.size()));
          stage->accept(c.chosen);
        }
    }
  // A tau of 0 bits is greedy.
  Candidates c;
  c.build(Row{1.0f, 2.0f, 2.0f});
  make_mirostat_2(0, 0.1f, 1)->apply(c);
  CHECK(c.chosen == 1);
}
