// Stages that change single ids: bans, n-grams, DRY; and that they do the same on a row as on a list.
#include <map>
#include <set>

#include "sampling/edit.h"
#include "sampling/rows.h"

using namespace ingle;
using namespace ingle::sampling;

namespace {

// On a list, in a shuffled list, and on a row.
std::vector<Candidate> edited(const StagePtr& stage, const Row& row) {
  const auto left = left_by(stage, row);
  Row copy = row;
  auto* edit = dynamic_cast<EditStage*>(stage.get());
  REQUIRE(edit);
  const auto banned_before = std::count(row.begin(), row.end(), kBan);
  const size_t n = edit->edit_row(copy);
  REQUIRE(std::count(copy.begin(), copy.end(), kBan) == banned_before + static_cast<std::ptrdiff_t>(n));
  const auto from_row = sorted_list(copy);
  Candidates shuffled;
  shuffled.build(row);
  shuffled.sort();
  stage->apply(shuffled);
  shuffled.sort();
  REQUIRE(from_row.size() == left.size());
  REQUIRE(shuffled.list.size() == left.size());
  for (size_t i = 0; i < left.size(); ++i) {
    REQUIRE(left[i].id == from_row[i].id);
    REQUIRE(left[i].logit == from_row[i].logit);
    REQUIRE(left[i].id == shuffled.list[i].id);
    REQUIRE(left[i].logit == shuffled.list[i].logit);
  }
  return left;
}

std::set<int32_t> missing(const StagePtr& stage, size_t n_vocab) {
  std::set<int32_t> out;
  for (size_t id = 0; id < n_vocab; ++id) out.insert(static_cast<int32_t>(id));
  for (const Candidate& c : edited(stage, Row(n_vocab, 1.0f))) out.erase(c.id);
  return out;
}

// A history that grows and shrinks at random, the same for the stage and for the test.
template <class Check>
void walk(const StagePtr& stage, uint32_t seed, int32_t n_ids, Check check) {
  std::mt19937 random(seed);
  std::vector<int32_t> history;
  for (int step = 0; step < 600; ++step) {
    if (random() % 8 == 0) {
      const auto n = std::min<size_t>(random() % 30, history.size());
      stage->rollback(static_cast<int32_t>(n));
      history.resize(history.size() - n);
    } else {
      // Now and then a piece of the past again, so that there is something to find.
      const size_t length = random() % 4 == 0 ? random() % 12 : 1,
                   from = history.empty() ? 0 : random() % history.size();
      for (size_t i = 0; i < length; ++i) {
        const bool again = length > 1 && from + i < history.size();
        history.push_back(again ? history[from + i]
                                : static_cast<int32_t>(random() % static_cast<uint32_t>(n_ids)));
        stage->accept(history.back());
      }
    }
    check(history);
  }
}

}  // namespace

TEST_CASE("banned tokens are gone", "[sampling]") {
  const std::vector<int32_t> ids = {3, 0, 2000000};
  CHECK(missing(make_banned_tokens(ids), 6) == std::set<int32_t>{0, 3});
  CHECK(missing(make_banned_tokens({}), 6).empty());
}

TEST_CASE("no end before the least number of tokens", "[sampling]") {
  const std::vector<int32_t> ends = {1, 4};
  const StagePtr stage = make_min_tokens(2, ends);
  CHECK(missing(stage, 6) == std::set<int32_t>{1, 4});
  stage->accept(0);
  const StagePtr copy = stage->clone();
  CHECK(missing(copy, 6) == std::set<int32_t>{1, 4});
  stage->accept(0);
  CHECK(missing(stage, 6).empty());
  stage->rollback(1);
  CHECK(missing(stage, 6) == std::set<int32_t>{1, 4});
  CHECK(missing(make_min_tokens(0, ends), 6).empty());
}

TEST_CASE("no n-gram comes twice", "[sampling]") {
  for (const int32_t n : {0, 1, 2, 3, 5}) {
    const StagePtr stage = make_no_repeat_ngram(n);
    walk(stage, 5 + static_cast<uint32_t>(n), 6, [&](const std::vector<int32_t>& history) {
      std::set<std::vector<int32_t>> seen;
      const auto length = static_cast<size_t>(n);
      for (size_t i = 0; n > 0 && i + length <= history.size(); ++i)
        seen.insert({history.begin() + static_cast<std::ptrdiff_t>(i),
                     history.begin() + static_cast<std::ptrdiff_t>(i + length)});
      std::set<int32_t> want;
      for (int32_t id = 0; n > 0 && id < 9; ++id) {
        if (history.size() + 1 < length) break;
        std::vector<int32_t> gram(history.end() - static_cast<std::ptrdiff_t>(length - 1), history.end());
        gram.push_back(id);
        if (seen.count(gram)) want.insert(id);
      }
      REQUIRE(missing(stage, 9) == want);
    });
  }
}

TEST_CASE("DRY takes off multiplier * base^(length - allowed)", "[sampling]") {
  const std::vector<int32_t> breakers = {4, 5};
  for (const int32_t last_n : {-1, 0, 1, 20, 200})
    for (const int32_t allowed : {0, 1, 2, 4}) {
      const Dry dry{0.8f, 1.75f, allowed, last_n};
      const StagePtr stage = make_dry(dry, breakers);
      const Row row = random_row(3, 8, 0);
      walk(stage, 77 + static_cast<uint32_t>(last_n + allowed), 7, [&](const std::vector<int32_t>& all) {
        const auto n = static_cast<std::ptrdiff_t>(all.size());
        const std::ptrdiff_t from = last_n < 0 ? 0 : std::max<std::ptrdiff_t>(0, n - last_n);
        const std::vector<int32_t> h(all.begin() + from, all.end());
        const auto breaks = [&](int32_t id) { return std::count(breakers.begin(), breakers.end(), id) > 0; };
        std::map<int32_t, int> longest;
        const int size = static_cast<int>(h.size());
        const auto at = [&](int i) { return h[static_cast<size_t>(i)]; };
        for (int i = 0; i + 1 < size && !breaks(h.back()); ++i) {
          if (at(i) != h.back() || breaks(at(i + 1))) continue;
          int length = 1;
          while (i - length >= 0 && at(i - length) == at(size - 1 - length) && !breaks(at(size - 1 - length)))
            ++length;
          longest[at(i + 1)] = std::max(longest[at(i + 1)], length);
        }
        for (const Candidate& c : edited(stage, row)) {
          double want = row[static_cast<size_t>(c.id)];
          if (const auto found = longest.find(c.id); found != longest.end() && found->second >= allowed)
            want -= static_cast<double>(dry.multiplier) *
                    std::pow(static_cast<double>(dry.base), found->second - allowed);
          want = std::max(want, -3.4028234663852886e38);
          REQUIRE(std::fabs(c.logit - want) <= 1e-5 * std::max(1.0, std::fabs(want)));
        }
      });
    }
}

TEST_CASE("DRY of a very long repetition stays finite and quick", "[sampling]") {
  const StagePtr stage = make_dry({100.0f, 100.0f, 0, -1}, {});
  for (int i = 0; i < 100000; ++i) stage->accept(1);
  const auto left = edited(stage, {1.0f, 2.0f, 3.0f});
  REQUIRE(left.size() == 3);
  CHECK(left[2].id == 1);
  CHECK(left[2].logit == -std::numeric_limits<float>::max());
}

TEST_CASE("bias and penalties are the same on a row", "[sampling]") {
  const Row row = random_row(12, 300, 2);
  edited(make_logit_bias(std::vector<Candidate>{{7, -9}, {8, kBan}, {299, 3e38f}, {300, 1}}), row);
  const StagePtr stage = make_penalties({1.3f, 0.25f, 0.5f, 50});
  for (int32_t i = 0; i < 70; ++i) stage->accept(i * 7 % 320);
  edited(stage, row);
}
