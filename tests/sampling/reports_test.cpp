// Inputs on which other engines went wrong.
#include <set>

#include "sampling/support.h"

using namespace ingle;
using namespace ingle::sampling;

TEST_CASE("top_k 0 is off, not one candidate", "[sampling]") {
  SamplerParams p;
  p.top_k = 0;
  p.temperature = 1;
  p.top_p = 1;
  p.min_p = 0;
  Chain s(p);
  std::set<int32_t> seen;
  const Row row(100, 0.0f);
  for (int i = 0; i < 10000; ++i) {
    seen.insert(s.sample(row));
    s.accept(0);
  }
  CHECK(seen.size() == 100);
  p.top_k = -1;
  CHECK(error_of([&] { Chain refused(p); }).where() == "top_k");
}

TEST_CASE("temperature 0 is the lowest id of the likeliest, and tiny ones do not overflow", "[sampling]") {
  const Row row = {-4.0f, 7.5f, 3.0f, 7.5f, 7.5f};
  for (const float t : {0.0f, -0.0f}) {
    SamplerParams p;
    p.temperature = t;
    Chain s(p);
    CHECK(s.describe() == "greedy");
    for (int i = 0; i < 20; ++i) {
      CHECK(s.sample(row) == 1);
      s.accept(1);
    }
  }
  for (const float t : {1e-9f, 1e-45f}) {
    SamplerParams p;
    p.temperature = t;
    Chain s(p);
    std::set<int32_t> seen;
    for (int i = 0; i < 200; ++i) {
      seen.insert(s.sample(row));
      s.accept(1);
    }
    CHECK(seen == std::set<int32_t>{1, 3, 4});  // those that tie, and no other
  }
  SamplerParams p;
  p.temperature = -1;
  CHECK(error_of([&] { Chain refused(p); }).where() == "temperature");
}

TEST_CASE("a tiny top_p keeps one", "[sampling]") {
  for (const float top_p : {0.0f, 1e-9f, 1e-45f}) {
    SamplerParams p;
    p.top_p = top_p;
    Chain s(p);
    for (int i = 0; i < 50; ++i) {
      CHECK(s.sample(Row{1.0f, 2.0f, 2.0f, 2.0f}) == 1);
      s.accept(1);
    }
  }
}
