// Speed of attention on one thread: prefill of 512 tokens in MAC per cycle, decode over 2048 positions in
// GB/s of state. Cycles are of the time-stamp counter; where the core runs at another clock, scale by it.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

#include "core/cpu.h"
#include "core/memory.h"
#include "kernels/vec.h"

using namespace ingle;
using namespace ingle::kernels;

namespace {

struct Shape {
  int64_t heads, kv_heads, d;
};

double seconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// The core's clock: a chain of dependent additions takes one cycle each.
double cycles_per_second() {
  double best = 1e30;
  for (int k = 0; k < 20; ++k) {
    uint64_t x = 1;
    const double t = seconds();
    for (int i = 0; i < 1000000; ++i) asm volatile("add $1, %0" : "+r"(x));
    best = std::min(best, seconds() - t);
  }
  return 1e6 / best;
}

class Bench {
 public:
  Bench(const VecRow& row, Shape shape, int64_t context, int32_t type)
      : row_(row), shape_(shape), context_(context), type_(type) {
    const int64_t n_pages = (context + 31) / 32;
    tile_bytes_ = 32 * shape.d * (type == kKvF32 ? 4 : 2);
    page_bytes_ = 2 * tile_bytes_ * shape.kv_heads * kLayers;
    memory_ = Buffer(static_cast<size_t>(page_bytes_ * n_pages));
    std::vector<float> x(static_cast<size_t>(shape.d), 0.01f);
    for (int64_t t = 0; t < n_pages * 32; ++t) {
      uint8_t* page = memory_.as<uint8_t>() + t / 32 * page_bytes_;
      for (int64_t h = 0; h < shape.kv_heads * kLayers; ++h) {
        uint8_t* tile = page + h * 2 * tile_bytes_;
        const KvStoreArgs args{type, shape.d, shape.d, t % 32, x.data(), x.data(), tile, tile + tile_bytes_};
        row.kv_store(&args);
      }
    }
    for (int64_t p = 0; p < n_pages; ++p) pages_.push_back(memory_.as<uint8_t>() + p * page_bytes_);
    q_.assign(static_cast<size_t>(context * shape.heads * shape.d), 0.1f);
    out_.resize(q_.size());
    scratch_ = Buffer(static_cast<size_t>(attend_scratch_bytes(kTile + 16, shape.d, shape.d)));
  }

  // All kv heads of one layer for the last n_tokens, in calls of about kTile rows.
  void layer(int64_t index, int64_t n_tokens) {
    const int64_t group = shape_.heads / shape_.kv_heads,
                  tokens_per_call = std::max<int64_t>(1, kTile / group);
    for (int64_t h = 0; h < shape_.kv_heads; ++h) {
      for (int64_t t0 = 0; t0 < n_tokens; t0 += tokens_per_call) {
        call(index, h, t0, std::min(n_tokens, t0 + tokens_per_call), n_tokens, group);
      }
    }
  }
  double decode_bytes() const {
    return 2.0 * static_cast<double>(tile_bytes_ * shape_.kv_heads) * (context_ / 32.0);
  }
  static constexpr int64_t kLayers = 8, kTile = 96;

 private:
  void call(int64_t index, int64_t head, int64_t t0, int64_t t1, int64_t n_tokens, int64_t group) {
    q_rows_.clear(), out_rows_.clear(), first_.clear(), last_.clear();
    for (int64_t t = t0; t < t1; ++t) {
      for (int64_t g = 0; g < group; ++g) {
        const int64_t at = (t * shape_.heads + head * group + g) * shape_.d;
        q_rows_.push_back(q_.data() + at);
        out_rows_.push_back(out_.data() + at);
        first_.push_back(0);
        last_.push_back(context_ - n_tokens + t);
      }
    }
    AttendArgs a{};
    a.type = type_, a.dk = a.dv = shape_.d, a.n_rows = static_cast<int64_t>(first_.size());
    a.q = q_rows_.data(), a.out = out_rows_.data(), a.first = first_.data(), a.last = last_.data();
    a.scale = 0.125f, a.pages = pages_.data();
    a.k_offset = (index * shape_.kv_heads + head) * 2 * tile_bytes_, a.v_offset = a.k_offset + tile_bytes_;
    a.scratch = scratch_.as<uint8_t>();
    row_.attend(&a);
  }

  const VecRow& row_;
  Shape shape_;
  int64_t context_;
  int32_t type_;
  int64_t tile_bytes_ = 0, page_bytes_ = 0;
  Buffer memory_, scratch_;
  std::vector<const uint8_t*> pages_;
  std::vector<float> q_, out_;
  std::vector<const float*> q_rows_;
  std::vector<float*> out_rows_;
  std::vector<int64_t> first_, last_;
};

template <class F>
double best_seconds(int runs, F f) {
  double best = 1e30;
  for (int k = 0; k < runs; ++k) {
    const double t = seconds();
    f(k);
    best = std::min(best, seconds() - t);
  }
  return best;
}

void measure(const VecRow& row, Shape shape) {
  const double clock = cycles_per_second();
  double cycles = 0.0;
  {
    Bench bench(row, shape, 512, kKvF16);
    cycles = clock * best_seconds(15, [&](int k) { bench.layer(k % Bench::kLayers, 512); });
  }
  const double macs = 512.0 * 513.0 / 2.0 * static_cast<double>(shape.heads * shape.d * 2);
  std::printf("%-10s %ld/%ld d=%ld  prefill 512: %.1f MAC/cycle", row.isa, shape.heads, shape.kv_heads,
              shape.d, macs / cycles);
  Bench bench(row, shape, 2048, kKvF16);
  const double decode = best_seconds(50, [&](int k) { bench.layer(k % Bench::kLayers, 1); });
  std::printf("   decode at 2048: %.1f GB/s, %.1f us a layer, %.2f GHz\n",
              bench.decode_bytes() / decode * 1e-9, decode * 1e6, clock * 1e-9);
}

}  // namespace

int main() {
  const CpuFeatures cpu = detect_cpu();
  for (const char* isa : {"avx512vnni", "avx2"}) {
    const VecRow* row = nullptr;
    for (const VecRow* r : all_vec_rows()) {
      if (std::string(r->isa) == isa && (isa[3] == '2' ? cpu.avx2 : cpu.avx512)) row = r;
    }
    if (!row) continue;
    for (const Shape s : {Shape{9, 3, 64}, Shape{12, 2, 128}, Shape{4, 1, 256}}) measure(*row, s);
  }
  return 0;
}
