// Each stage against its published formula over a full sort.
#include "sampling/support.h"

using namespace ingle;
using namespace ingle::sampling;

namespace {

// The shortest prefix whose probabilities reach p.
std::vector<Candidate> prefix_of(const std::vector<Candidate>& list, double p) {
  const auto w = weights_of(list);
  double total = 0, sum = 0;
  for (const uint64_t x : w) total += static_cast<double>(x);
  size_t n = 0;
  do sum += static_cast<double>(w[n++]);
  while (n < list.size() && sum < p * total);
  return {list.begin(), list.begin() + static_cast<std::ptrdiff_t>(n)};
}

// Rows with and without ties, from one id to more than the selection takes in one go.
std::vector<Row> rows() {
  std::vector<Row> all;
  uint32_t seed = 0;
  for (const size_t n : {1u, 2u, 17u, 64u, 65u, 300u, 5000u})
    for (const int steps : {0, 1, 4}) all.push_back(random_row(++seed, n, steps));
  all.push_back(Row(1000, 2.5f));  // all the same
  Row masked = random_row(99, 2000, 2);
  for (size_t i = 0; i < masked.size(); i += 3) masked[i] = -3e38f;  // banned by someone who avoids infinity
  masked[5] = 3e38f * (masked[5] < -1e38f);
  all.push_back(masked);
  return all;
}

}  // namespace

TEST_CASE("top-k equals a full sort, ties to the lowest id", "[sampling]") {
  for (const Row& row : rows()) {
    const auto all = ids_of(sorted_list(row));
    for (const int32_t k : {1, 2, 5, 40, 1000, 2147483647}) {
      auto want = all;
      want.resize(std::min(all.size(), static_cast<size_t>(k)));
      REQUIRE(ids_of(left_by(make_top_k(k), row)) == want);
    }
    REQUIRE(ids_of(left_by(make_top_k(0), row)) == all);
  }
}

TEST_CASE("top-k of a rising row, where every id displaces another", "[sampling]") {
  Row row(3000);
  for (size_t i = 0; i < row.size(); ++i) row[i] = static_cast<float>(i / 3);
  auto want = ids_of(sorted_list(row));
  want.resize(50);
  CHECK(ids_of(left_by(make_top_k(50), row)) == want);
}

TEST_CASE("top-p equals the shortest prefix of a full sort", "[sampling]") {
  for (const Row& row : rows()) {
    const auto all = sorted_list(row);
    for (const float p : {0.0f, 1e-6f, 0.1f, 0.5f, 0.9f, 0.95f, 0.999f, 0.9999999f})
      REQUIRE(ids_of(left_by(make_top_p(p), row)) == ids_of(prefix_of(all, p)));
    REQUIRE(left_by(make_top_p(1.0f), row).size() == all.size());
  }
}

TEST_CASE("top-p cuts exactly where the sum is reached", "[sampling]") {
  const Row row(8, 1.0f);  // eight times 1/8
  CHECK(ids_of(left_by(make_top_p(0.5f), row)) == std::vector<int32_t>{0, 1, 2, 3});
  CHECK(ids_of(left_by(make_top_p(std::nextafter(0.5f, 1.0f)), row)) == std::vector<int32_t>{0, 1, 2, 3, 4});
  CHECK(ids_of(left_by(make_top_p(0.0f), row)) == std::vector<int32_t>{0});
}

TEST_CASE("min-p keeps what has the share of the highest probability", "[sampling]") {
  for (const Row& row : rows()) {
    const auto all = sorted_list(row);
    for (const float p : {1e-40f, 0.01f, 0.05f, 0.3f, 1.0f}) {
      std::vector<int32_t> want;
      const double bound = all[0].logit + std::log(static_cast<double>(p));
      for (const Candidate& c : all)
        if (c.logit >= bound) want.push_back(c.id);
      REQUIRE(ids_of(left_by(make_min_p(p), row)) == want);
    }
    REQUIRE(left_by(make_min_p(0.0f), row).size() == all.size());
  }
}

TEST_CASE("min-p compares exactly at its bound", "[sampling]") {
  for (uint32_t i = 0; i < 200; ++i) {
    const float p = 0.001f + 0.004f * static_cast<float>(i),
                max = random_row(i, 1, 0)[0] + 0.1f * static_cast<float>(i);
    const double bound = max + log_positive(p);
    Row row = {max, static_cast<float>(bound)};
    row.push_back(std::nextafter(row[1], 1e9f));
    row.push_back(std::nextafter(row[1], -1e9f));
    std::vector<int32_t> want;
    for (const Candidate& c : sorted_list(row))
      if (c.logit >= bound) want.push_back(c.id);
    REQUIRE(ids_of(left_by(make_min_p(p), row)) == want);
  }
}

TEST_CASE("locally typical sampling equals its formula", "[sampling]") {
  for (const Row& row : rows()) {
    const auto all = sorted_list(row);
    double total = 0, entropy = 0;
    for (const Candidate& c : all) total += std::exp(static_cast<double>(c.logit) - all[0].logit);
    const auto surprise = [&](const Candidate& c) {
      return std::log(total) - (static_cast<double>(c.logit) - all[0].logit);
    };
    for (const Candidate& c : all)
      if (const double p = std::exp(-surprise(c)); p > 0) entropy += p * surprise(c);
    for (const float p : {0.0f, 0.2f, 0.5f, 0.9f}) {
      // The kept set: nothing left out may be nearer to the entropy than something kept, and no kept one is
      // spare.
      const auto kept = left_by(make_typical(p), row);
      REQUIRE(!kept.empty());
      std::vector<bool> is_kept(row.size());
      double farthest_kept = 0, nearest_out = 1e300, sum = 0, least = 1e300;
      for (const Candidate& c : kept) {
        is_kept[static_cast<size_t>(c.id)] = true;
        farthest_kept = std::max(farthest_kept, std::fabs(surprise(c) - entropy));
        sum += std::exp(-surprise(c));
      }
      for (const Candidate& c : kept)
        if (std::fabs(surprise(c) - entropy) > farthest_kept - 1e-9)
          least = std::min(least, std::exp(-surprise(c)));
      for (const Candidate& c : all)
        if (!is_kept[static_cast<size_t>(c.id)])
          nearest_out = std::min(nearest_out, std::fabs(surprise(c) - entropy));
      REQUIRE(farthest_kept <= nearest_out + 1e-9);
      REQUIRE(sum >= p - 1e-9);
      if (kept.size() > 1) REQUIRE(sum - least < p + 1e-9);
    }
    REQUIRE(left_by(make_typical(1.0f), row).size() == all.size());
  }
}

TEST_CASE("typical sampling may leave out the likeliest", "[sampling]") {
  Row row(100, 0.0f);
  row[7] = 1.0f;  // nearly uniform: the entropy is that of the crowd
  CHECK(ids_of(left_by(make_typical(0.05f), row)) == std::vector<int32_t>{0, 1, 2, 3, 4, 5});
}

TEST_CASE("temperature divides, relative to the highest", "[sampling]") {
  const auto left = left_by(make_temperature(0.5f), {1.0f, 3.0f, kBan, 2.0f});
  REQUIRE(ids_of(left) == std::vector<int32_t>{1, 3, 0});
  CHECK(left[1].logit - left[0].logit == -2.0f);
  CHECK(left[2].logit - left[0].logit == -4.0f);
  for (const Candidate& c : left_by(make_temperature(1e-40f), {1e30f, -1e30f, 5.0f}))
    CHECK(std::isfinite(c.logit));
  for (const float bad : {0.0f, -1.0f, std::nanf("")})
    CHECK(error_of([&] { make_temperature(bad); }).code() == Code::invalid_argument);
}

TEST_CASE("greedy takes the highest logit and the lowest id", "[sampling]") {
  for (const Row& row : rows()) {
    const auto left = left_by(make_greedy(), row);
    REQUIRE(left.size() == 1);
    REQUIRE(left[0].id == sorted_list(row)[0].id);
  }
  CHECK(left_by(make_greedy(), {-0.0f, 0.0f}).at(0).id == 0);
}

TEST_CASE("a bias is added, bans, and does not overflow", "[sampling]") {
  const Candidate bias[] = {{1, 2.5f}, {3, kBan}, {4, -3e38f}, {9, 1.0f}, {2, 5.0f}};
  const Row row = {1.0f, 1.0f, kBan, 7.0f, -3e38f};
  const auto left = left_by(make_logit_bias(bias), row);
  REQUIRE(ids_of(left) == std::vector<int32_t>{1, 0, 4});  // 2 stays banned
  CHECK(left[0].logit == 3.5f);
  CHECK(left[1].logit == 1.0f);
  CHECK(left[2].logit == -std::numeric_limits<float>::max());

  Candidates shuffled;
  shuffled.build(row);
  shuffled.sort();
  make_logit_bias(bias)->apply(shuffled);
  shuffled.sort();
  CHECK(ids_of(shuffled.list) == ids_of(left));
}

TEST_CASE("penalties follow their formula over the window", "[sampling]") {
  std::mt19937 random(3);
  const Penalties p{1.3f, 0.25f, 0.5f, 7};
  const StagePtr stage = make_penalties(p);
  std::vector<int32_t> history;
  const Row row = random_row(5, 12, 0);
  for (int step = 0; step < 2000; ++step) {
    if (random() % 4 == 0) {
      const auto n = random() % 12;
      stage->rollback(static_cast<int32_t>(n));
      history.resize(history.size() - std::min<size_t>(n, history.size()));
    } else {
      history.push_back(static_cast<int32_t>(random() % 14));  // some are outside the row
      stage->accept(history.back());
    }
    for (const Candidate& c : left_by(stage, row)) {
      const auto from = history.end() - static_cast<std::ptrdiff_t>(std::min<size_t>(7, history.size()));
      const auto count = std::count(from, history.end(), c.id);
      double want = row[static_cast<size_t>(c.id)];
      if (count > 0) {
        want = want > 0 ? want / p.repeat : want * p.repeat;
        want -= static_cast<double>(p.frequency) * static_cast<double>(count) + p.presence;
      }
      REQUIRE(c.logit == static_cast<float>(want));
    }
  }
}

TEST_CASE("penalties of extreme logits stay finite", "[sampling]") {
  const StagePtr stage = make_penalties({0.01f, 100.0f, 100.0f, 4});
  stage->accept(0);
  stage->accept(1);
  for (const Candidate& c : left_by(stage, {3e38f, -3e38f, 1.0f})) CHECK(std::isfinite(c.logit));
}

TEST_CASE("a stage that changes logits gives up the order", "[sampling]") {
  Row row(2000);  // neighbouring floats, the higher the later: dividing makes some of them equal
  row[0] = 0.0f;
  for (size_t i = 1; i < row.size(); ++i) row[i] = i == 1 ? -1000.0f : std::nextafter(row[i - 1], 0.0f);
  StagePtr stages[] = {make_temperature(3.0f), make_penalties({2.0f, 0, 0, 4}),
                       make_logit_bias(std::vector<Candidate>{{7, -9}})};
  for (const StagePtr& stage : stages) {
    stage->accept(1999);
    Candidates c;
    c.build(row);
    c.sort();
    stage->apply(c);
    c.sort();
    CAPTURE(stage->name());
    CHECK(std::is_sorted(c.list.begin(), c.list.end(),
                         [](const Candidate& a, const Candidate& b) { return ranks_before(a, b); }));
  }
}

TEST_CASE("candidates are found by id before and after a reordering", "[sampling]") {
  const Row row = random_row(8, 3000, 4);
  const auto check = [&](Candidates& c) {
    std::vector<bool> standing(row.size());
    for (const Candidate& x : c.list) standing[static_cast<size_t>(x.id)] = true;
    for (int32_t id = 0; id < 3000; ++id) {
      const Candidate* found = c.find(id);
      REQUIRE((found != nullptr) == standing[static_cast<size_t>(id)]);
      if (found) REQUIRE(found->id == id);
    }
  };
  Candidates c;
  c.build(row);
  CHECK(c.by_id);
  check(c);
  make_min_p(0.001f)->apply(c);
  check(c);
  make_top_k(200)->apply(c);
  check(c);
  c.sort();
  check(c);
  make_top_k(100)->apply(c);
  CHECK(c.list.size() == 100);
  c.build(row);
  check(c);
  c.sort();
  CHECK(ids_of(c.list) == ids_of(sorted_list(row)));
}
