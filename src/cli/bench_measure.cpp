#include "bench_measure.h"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>

namespace ingle::cli {
namespace {

constexpr size_t kBytes = size_t{256} << 20;

uint64_t sum_of(const uint64_t* words, size_t n) {
  uint64_t sums[8] = {};  // enough chains to keep loads in flight
  for (size_t i = 0; i + 8 <= n; i += 8)
    for (size_t j = 0; j < 8; ++j) sums[j] += words[i + j];
  uint64_t total = 0;
  for (const uint64_t s : sums) total += s;
  return total;
}

}  // namespace

double seconds(const std::function<void()>& f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double Series::median() const {
  if (values.empty()) return 0;
  std::vector<double> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  const size_t n = sorted.size();
  return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}
Json Series::spread() const {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return Json::array({*low, *high});
}

std::string Series::range(int decimals) const {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  char text[64];
  std::snprintf(text, sizeof text, "%.*f to %.*f", decimals, *low, decimals, *high);
  return text;
}

double peak_rss_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

Bandwidth::Bandwidth(int threads) : threads_(threads), words_(kBytes / sizeof(uint64_t), 1) {}

double Bandwidth::gb_per_second() {
  const size_t share = words_.size() / static_cast<size_t>(threads_);
  std::atomic<uint64_t> total{0};
  const double s = seconds([&] {
    std::vector<std::thread> others;
    const auto part = [&](size_t i) { total += sum_of(words_.data() + i * share, share); };
    for (int i = 1; i < threads_; ++i) others.emplace_back(part, static_cast<size_t>(i));
    part(0);
    for (std::thread& t : others) t.join();
  });
  words_[0] = total & 1;  // the sum is used, so the reading stays
  return static_cast<double>(kBytes) / s * 1e-9;
}

}  // namespace ingle::cli
