// What the bench commands share: clocks, medians, and the bandwidth of memory.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "json_out.h"

namespace ingle::cli {

double seconds(const std::function<void()>& f);

struct Series {  // one figure of several runs
  std::vector<double> values;
  double median() const;
  Json spread() const;                    // [lowest, highest]
  std::string range(int decimals) const;  // the same for people
};

double peak_rss_mib();  // of this process so far

// Reads a buffer larger than any cache with all threads at once: what decoding can hope for.
class Bandwidth {
 public:
  explicit Bandwidth(int threads);
  double gb_per_second();  // one pass

 private:
  int threads_;
  std::vector<uint64_t> words_;
};

}  // namespace ingle::cli
