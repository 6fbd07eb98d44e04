// The scheduler under load, on modelled time: fairness, waiting, faults. Every plan is checked by the
// simulator.
#include "engine/simulator.h"

#include <cmath>

#include "core/random.h"
#include "support/catch.h"

using namespace ingle;
using namespace ingle::engine;

namespace {

// A stream of random numbers.
struct Dice {
  uint64_t seed, n = 0;
  double roll() { return static_cast<double>(uniform(seed, n++)); }
  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(roll() * static_cast<double>(high - low + 1));
  }
  double wait(double mean) { return -mean * std::log(1 - roll()); }
};

SimulatorOptions usual(uint64_t seed) {
  SimulatorOptions o;
  o.seed = seed;
  o.scheduler.max_running = 256;
  o.scheduler.max_queued = 4096;
  o.scheduler.cost = {{{4096, 32, 0}, {1024, 32, 8}, {512, 1, 2}}};
  o.scheduler.budget_bytes = 4096 * 1500;
  o.scheduler.target = 0.05;
  return o;
}

// 100 tenants who ask for as much, one of them in prompts of thousands of tokens; faults and cancels by seed.
SimulatorReport adversarial(int64_t n_requests, uint64_t seed, SimulatorOptions o) {
  Dice dice{seed};
  int64_t made = 0;
  double now = 0;
  return simulate(o, [&](SimulatedRequest& r) {
    if (made++ == n_requests) return false;
    now += dice.wait(0.03);
    r = {};
    r.arrival = now;
    r.tenant = static_cast<uint64_t>(dice.between(0, 99));
    r.band = static_cast<int32_t>(dice.between(0, 3));
    const double kind = dice.roll();
    r.prompt = kind < 0.02 ? dice.between(2000, 12000) : dice.between(1, 200);
    r.output = dice.between(1, 24);
    r.max_tokens = kind > 0.5 ? r.output : r.output * 8;
    if (dice.roll() < 0.02) r.cancel_at = now + dice.wait(0.5);
    if (dice.roll() < 0.01) r.deadline = now + dice.wait(2);
    return true;
  });
}

void check_sound(const SimulatorReport& r, const SimulatorOptions& o) {
  CHECK(r.broken.empty());
  CHECK(r.ended + r.failed + r.cancelled + r.expired + r.refused == r.submitted);
  CHECK(r.longest_gap <= o.scheduler.starve_steps + o.scheduler.max_running);
  CHECK(r.overtaken_late == 0);
  CHECK(r.late_steps <= r.steps / 100);
}

}  // namespace

TEST_CASE("twenty thousand requests with faults leave nothing behind", "[engine]") {
  SimulatorOptions o = usual(3);
  o.failing_slices = 0.002;
  o.failing_steps = 0.01;
  o.failing_memory = 0.002;
  const SimulatorReport r = adversarial(20000, 5, o);
  INFO(r.broken);
  check_sound(r, o);
  CHECK(r.submitted == 20000);
  CHECK(r.ended > 15000);
  CHECK(r.cancelled > 100);
  CHECK(r.expired > 0);
  CHECK(r.failed > 0);
}

TEST_CASE("a seed replays a run, another one does not", "[engine]") {
  const SimulatorReport a = adversarial(3000, 5, usual(3)), b = adversarial(3000, 5, usual(3)),
                        c = adversarial(3000, 6, usual(3));
  CHECK(a.digest == b.digest);
  CHECK(a.steps == b.steps);
  CHECK(a.seconds == b.seconds);
  CHECK(a.digest != c.digest);
  SimulatorOptions seeded = usual(3);
  seeded.scheduler.seed = 11;
  const SimulatorReport d = adversarial(3000, 5, seeded);
  CHECK(d.broken.empty());
  CHECK(d.digest != a.digest);
  CHECK(d.ended > 2800);
}

TEST_CASE("tenants with equal demand get equal shares under overload", "[engine]") {
  for (const uint64_t seed : {1u, 2u, 3u}) {
    SimulatorOptions o = usual(seed);
    o.scheduler.max_queued = 20000;
    o.end = 60;
    Dice dice{seed};
    double now = 0;
    // Everybody asks for as many tokens, but in other shapes, and for more than can be served.
    const SimulatorReport r = simulate(o, [&](SimulatedRequest& q) {
      now += 0.002;
      q = {};
      q.arrival = now;
      q.tenant = static_cast<uint64_t>(dice.between(0, 99));
      const bool is_long = q.tenant % 2 == 0;
      q.prompt = is_long ? dice.between(600, 1400) : dice.between(60, 140);
      q.output = q.max_tokens = is_long ? dice.between(4, 16) : dice.between(50, 150);
      return now < 60;
    });
    REQUIRE(r.broken.empty());
    std::vector<double> shares;
    for (const TenantReport& t : r.tenants) shares.push_back(t.service);
    REQUIRE(shares.size() == 100);
    CAPTURE(seed, jain(shares));
    CHECK(jain(shares) >= 0.95);
  }
}

TEST_CASE("a flood of one tenant does not slow another one down", "[engine]") {
  const auto first_token = [](bool flooded) {
    SimulatorOptions o = usual(1);
    o.scheduler.budget_bytes = UINT64_MAX;
    o.scheduler.max_queued = 20000;
    o.end = 40;
    Dice dice{9};
    double quiet = 0, flood = flooded ? 0 : 1e9;
    double sum = 0;
    // The quiet tenant is alone in its own run, so that the times are its own.
    const SimulatorReport r = simulate(o, [&](SimulatedRequest& q) {
      q = {};
      const bool is_quiet = quiet <= flood;
      double& at = is_quiet ? quiet : flood;
      q.arrival = at;
      q.tenant = is_quiet ? 1 : 2;
      q.prompt = is_quiet ? 50 : dice.between(500, 4000);
      q.output = q.max_tokens = 20;
      at += is_quiet ? 1 : 0.02;
      return q.arrival < 40;
    });
    REQUIRE(r.broken.empty());
    for (const TenantReport& t : r.tenants)
      if (t.tenant == 1) sum = static_cast<double>(t.ended);
    return sum;
  };
  const double alone = first_token(false), beside = first_token(true);
  CHECK(alone >= 39);
  CHECK(beside >= alone - 2);
}

TEST_CASE("Jain's index", "[engine]") {
  CHECK(jain({1, 1, 1, 1}) == Approx(1));
  CHECK(jain({1, 0, 0, 0}) == Approx(0.25));
  CHECK(jain({}) == 1);
}

TEST_CASE("a million requests", "[engine][long]") {
  SimulatorOptions o = usual(17);
  o.failing_slices = 0.001;
  o.failing_memory = 0.001;
  const SimulatorReport r = adversarial(1000000, 23, o);
  INFO(r.broken);
  check_sound(r, o);
  CHECK(r.submitted == 1000000);
  CHECK(r.ended > 500000);
}
