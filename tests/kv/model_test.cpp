// Thousands of random operations against a plain model of what each sequence has written.
#include <algorithm>
#include <optional>
#include <random>
#include <vector>

#include "kv/support.h"

using namespace ingle;
using namespace ingle::kv;

namespace {

struct Shadow {
  SequenceState state;
  std::vector<uint32_t> values;  // [position]
};

class Simulation {
 public:
  Simulation(uint32_t seed, uint64_t budget)
      : random_(seed),
        parts_{full_part(StateType::bf16), window_part(45), window_part(7, StateType::q8),
               full_part(StateType::q4), tail_part()},
        pool_(memory_.get(), parts_, budget) {}

  void step() {
    if (sequences_.empty() || pick(20) == 0) sequences_.push_back({SequenceState(pool_), {}});
    Shadow& s = sequences_[pick(sequences_.size())];
    switch (pick(8)) {
      case 0:
        fork(s);
        break;
      case 1:
        truncate(s);
        break;
      case 2:
        if (sequences_.size() > 6) std::swap(s, sequences_.back()), sequences_.pop_back();
        break;
      default:
        extend_some(s);
    }
  }

  void check_all() const {
    for (const Shadow& s : sequences_) check(s);
  }

  void finish() {
    sequences_.clear();
    CHECK(pool_.bytes_in_use() == 0);
    CHECK(static_cast<uint64_t>(memory_.live_bytes) <= pool_.budget_bytes());
    CHECK(refused_ > 0);
    CHECK(truncated_ > 0);
  }

 private:
  size_t pick(size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random_); }

  void fork(const Shadow& s) {
    Shadow copy{s.state.fork(), s.values};
    check(copy);
    sequences_.push_back(std::move(copy));
  }

  void extend_some(Shadow& s) {
    const auto n = static_cast<int64_t>(pick(4) ? 1 + pick(3) : pick(90));
    const uint64_t used = pool_.bytes_in_use();
    try {
      s.state.reserve(n);
    } catch (const Error& e) {
      REQUIRE(e.code() == Code::out_of_memory);
      REQUIRE(pool_.bytes_in_use() == used);
      ++refused_;
      check(s);
      sequences_.erase(sequences_.begin() + static_cast<std::ptrdiff_t>(pick(sequences_.size())));
      return;
    }
    const int64_t keep = pick(3) ? n : static_cast<int64_t>(pick(static_cast<size_t>(n) + 1));
    for (int64_t p = s.state.length(); p < s.state.length() + n; ++p) {
      const uint32_t value = next_value_++;
      for (size_t i = 0; i < parts_.size(); ++i) write_position(s.state, i, parts_[i], p, value);
      s.values.push_back(value);
    }
    s.state.commit(keep);
    s.values.resize(static_cast<size_t>(s.state.length()));
  }

  void truncate(Shadow& s) {
    const int64_t wanted =
        s.state.length() - static_cast<int64_t>(pick(std::min<size_t>(s.values.size(), 40) + 1));
    int64_t n = wanted;
    for (size_t i = 0; i < parts_.size(); ++i)
      if (parts_[i].kind == PartKind::tail && n % kPageTokens != 0 &&
          !s.state.pages(i)[static_cast<size_t>(n / kPageTokens)])
        n -= n % kPageTokens;
    bool refused = false;
    for (size_t i = 0; i < parts_.size(); ++i) {
      if (parts_[i].kind != PartKind::window) continue;
      for (int64_t p = std::max<int64_t>(0, n - parts_[i].window + 1); p < n; ++p)
        refused |= s.state.pages(i)[static_cast<size_t>(p / kPageTokens)] == nullptr;
    }
    try {
      const int64_t got = s.state.truncate(wanted);
      REQUIRE(got == n);
      REQUIRE_FALSE(refused);
      s.values.resize(static_cast<size_t>(n));
      ++truncated_;
    } catch (const Error&) {
      REQUIRE(refused);
    }
    check(s);
  }

  void check(const Shadow& s) const {
    const int64_t length = s.state.length();
    REQUIRE(length == static_cast<int64_t>(s.values.size()));
    for (size_t i = 0; i < parts_.size(); ++i) {
      const PartSpec& part = parts_[i];
      for (int64_t p = seen_from(part, length); p < length; ++p)
        if (!holds(s.state, i, part, p, s.values[static_cast<size_t>(p)]))
          FAIL("part " << i << " position " << p);
    }
  }

  std::mt19937 random_;
  std::vector<PartSpec> parts_;
  TestAllocator memory_;
  StatePool pool_;
  std::vector<Shadow> sequences_;
  uint32_t next_value_ = 1;
  int refused_ = 0, truncated_ = 0;
};

}  // namespace

TEST_CASE("every sequence reads back what it wrote, whatever the others do", "[kv]") {
  const auto seed = static_cast<uint32_t>(GENERATE(range(0, 8)));
  Simulation simulation(seed, 40 * static_cast<uint64_t>(full_part().page_bytes()));
  for (int step = 0; step < 2000; ++step) {
    simulation.step();
    if (step % 50 == 0) simulation.check_all();
  }
  simulation.check_all();
  simulation.finish();
}
