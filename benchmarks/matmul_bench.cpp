// Speed of the matmul rows on one thread: MAC per core cycle for several numbers of tokens, GB/s of weights
// from memory for one token, and MB/s of packing. Best of many short windows in thread CPU time, so a busy
// machine gives lower bounds. Usage: bench_matmul [part of a row's name]...
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <string>
#include <string_view>
#include <vector>

#include "core/cpu.h"
#include "core/memory.h"
#include "kernels/matmul.h"

using namespace ingle;
using namespace ingle::kernels;

namespace {

constexpr uint64_t kColdBytes = uint64_t{160} << 20;  // beyond any third-level cache that one core fills

double seconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// The core's clock: a chain of dependent additions takes one cycle each. Long enough that the loop around it
// is free.
double cycles_per_second() {
  double best = 1e30;
  for (int repeat = 0; repeat < 40; ++repeat) {
    uint64_t x = 1;
    const double start = seconds();
    for (int i = 0; i < 10000; ++i) asm volatile(".rept 100\nadd $1, %0\n.endr" : "+r"(x));
    best = std::min(best, seconds() - start);
  }
  return 1e6 / best;
}

template <class Work>
double best_seconds(Work work, double budget) {
  double best = 1e30;
  const double begin = seconds();
  for (int repeat = 0; repeat < 3 || seconds() - begin < budget; ++repeat) {
    const double start = seconds();
    work();
    best = std::min(best, seconds() - start);
  }
  return best;
}

struct Tokens {
  std::vector<float> f, d, y;
  std::vector<int8_t> q;
  std::vector<int32_t> sum;
  Activations x;
  Tokens(int64_t m, int64_t n, int64_t k)
      : f(static_cast<size_t>(m * (k + 16)), 0.5f),
        d(static_cast<size_t>(m * (k / 32)), 0.01f),
        y(static_cast<size_t>(m * n)),
        q(static_cast<size_t>(m * (k + 64)), 7),
        sum(static_cast<size_t>(m * (k / 16)), 112),
        x{m, k, f.data(), k + 16, q.data(), k + 64, d.data(), sum.data(), k / 32} {}
};

class Bench {
 public:
  Bench(const MatmulRow& row, const quant::QuantFormat& format, int64_t n, int64_t k, double clock)
      : row_(row), n_(n), k_(k), clock_(clock), bytes_(packed_bytes(row, format, n, k)) {
    copies_ = static_cast<int64_t>(kColdBytes / bytes_) + 1;
    data_ = Buffer(bytes_ * static_cast<uint64_t>(copies_));
    std::memset(data_.data(), 0x33, data_.size());
  }
  void print() {
    std::printf("%-32s %5ld x %-5ld", row_.name, static_cast<long>(n_), static_cast<long>(k_));
    for (const int64_t m : {1, 4, 16, 512}) std::printf(" %6.2f", mac_per_cycle(m));
    std::printf("   %6.2f GB/s\n", cold_gb_per_second());
    std::fflush(stdout);
  }

 private:
  void run(Tokens& tokens, int64_t copy, Buffer& scratch) {
    const MatmulArgs args = {data_.as<uint8_t>() + static_cast<uint64_t>(copy) * bytes_,
                             n_,
                             k_,
                             tokens.x,
                             nullptr,
                             tokens.y.data(),
                             n_,
                             0,
                             0,
                             (n_ + kGroupRows - 1) / kGroupRows,
                             scratch.as<uint8_t>()};
    row_.run(&args);
  }
  double mac_per_cycle(int64_t m) {
    Tokens tokens(m, n_, k_);
    Buffer scratch(static_cast<size_t>(row_.scratch_bytes(m, k_)) + 64);
    const double time = best_seconds([&] { run(tokens, 0, scratch); }, 0.15);
    return static_cast<double>(m * n_ * k_) / (time * clock_);
  }
  // Windows of about 8 MB, each over weights that were last touched a whole pass before.
  double cold_gb_per_second() {
    Tokens tokens(1, n_, k_);
    Buffer scratch(static_cast<size_t>(row_.scratch_bytes(1, k_)) + 64);
    const auto window = std::max(int64_t{1}, static_cast<int64_t>((uint64_t{8} << 20) / bytes_));
    int64_t next = 0;
    const double time = best_seconds(
        [&] {
          for (int64_t i = 0; i < window; ++i, next = (next + 1) % copies_) run(tokens, next, scratch);
        },
        0.4);
    return static_cast<double>(bytes_) * static_cast<double>(window) / time * 1e-9;
  }

  const MatmulRow& row_;
  int64_t n_, k_;
  double clock_;
  uint64_t bytes_;
  int64_t copies_;
  Buffer data_;
};

void print_packing(const MatmulRow& row, const quant::QuantFormat& format) {
  const int64_t n = 896, k = 4864;
  quant::QuantWeight w;
  w.format = &format;
  w.shape = Shape{n, k};
  const int64_t bytes = n * k / format.dtype.block_elems * format.dtype.block_bytes;
  std::vector<std::byte> file(static_cast<size_t>(bytes), std::byte{0x33});
  w.parts[0] = {format.dtype.type, w.shape, file.data(), file.size()};
  PackedWeight packed{&row, &format, n, k, Buffer(packed_bytes(row, format, n, k))};
  const double time = best_seconds([&] { pack_groups(w, nullptr, 0, n / kGroupRows, packed); }, 0.1);
  std::printf("%-32s packs %.0f MB/s of the file\n", row.name, static_cast<double>(bytes) / time * 1e-6);
}

}  // namespace

int main(int argc, char** argv) {
  const CpuFeatures cpu = detect_cpu();
  const double clock = cycles_per_second();
  std::printf("%s at %.2f GHz\n%-32s %13s %6s %6s %6s %6s MAC/cycle   one token from memory\n",
              cpu.name.c_str(), clock * 1e-9, "row", "n x k", "m=1", "4", "16", "512");
  for (const MatmulRow* row : all_matmul_rows()) {
    bool wanted = argc == 1 && row->layout != 0;
    for (int i = 1; i < argc; ++i)
      wanted = wanted || std::string_view(row->name).find(argv[i]) != std::string_view::npos;
    if (!wanted || !can_run(*row, cpu)) continue;
    const quant::QuantFormat& format = *quant::find_format(row->format);
    for (const auto& [n, k] : {std::pair<int64_t, int64_t>{576, 576}, {1536, 8960}, {896, 4864}})
      if (k % format.dtype.block_elems == 0) Bench(*row, format, n, k, clock).print();
    print_packing(*row, format);
  }
  return 0;
}
