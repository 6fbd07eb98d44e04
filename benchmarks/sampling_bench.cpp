// What choosing a token costs over a vocabulary of 151,936, on one thread, in microseconds: the median of the
// rows.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <random>
#include <string>
#include <vector>

#include "sampling/chain.h"

using namespace ingle;
using namespace ingle::sampling;

namespace {

constexpr size_t kVocab = 151936;

double seconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Like a model's: a bell of unlikely ids, and a few that stand out.
std::vector<float> row_of(uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 2.5f);
  std::vector<float> row(kVocab);
  for (float& x : row) x = normal(random);
  for (int i = 0; i < 50; ++i) row[random() % kVocab] = 8.0f + 0.2f * static_cast<float>(i);
  return row;
}

template <class F>
void measure(const std::string& name, const std::vector<std::vector<float>>& rows, F f) {
  std::vector<double> times;
  for (int round = 0; round < 8; ++round)
    for (const auto& row : rows) {
      const double start = seconds();
      f(row);
      times.push_back(1e6 * (seconds() - start));
    }
  std::sort(times.begin(), times.end());
  std::printf("%9.1f us  (%.1f to %.1f)  %s\n", times[times.size() / 2], times.front(),
              times[times.size() * 9 / 10], name.c_str());
}

}  // namespace

int main() {
  std::vector<std::vector<float>> rows;
  for (uint32_t i = 0; i < 8; ++i) rows.push_back(row_of(i));
  const auto chain = [&](const SamplerParams& p) {
    Chain s(p);
    measure(s.describe(), rows, [&](const auto& row) { s.accept(s.sample(row)); });
  };
  SamplerParams greedy, penalised, open, whole;
  greedy.temperature = 0;
  penalised.repeat_penalty = 1.1f;
  open.top_k = 0;
  open.top_p = 1;
  whole.top_k = 0;
  whole.min_p = 0;
  for (const SamplerParams& p : {greedy, SamplerParams{}, penalised, open, whole}) chain(p);
  float sink = 0;
  measure("log-probability of one id", rows, [&](const auto& row) { sink += log_softmax_at(row, 7); });
  measure("20 likeliest log-probabilities", rows,
          [&](const auto& row) { sink += log_softmax_top(row, 20)[0].logit; });
  return std::isnan(sink) ? 1 : 0;
}
