// Matrix products by oneDNN: f32, and bf16 where the processor multiplies it (elsewhere oneDNN imitates that,
// slower than f32). Its OpenMP threads are held at one for each of Ingle's, which call it for rows of their
// own.
#include <omp.h>

#include <dnnl.hpp>
#include <map>
#include <mutex>
#include <tuple>
#include <vector>

#include "backends/plugin/author.h"

namespace {

using dnnl::memory;

bool has_bf16() {
  const auto isa = static_cast<int>(dnnl::get_effective_cpu_isa());
  const int bf16 = static_cast<int>(dnnl::cpu_isa::avx512_core_bf16);
  return (isa & bf16) == bf16;  // an instruction set's bits hold those of the ones below it
}

// Round to nearest even; NaN stays one.
uint16_t to_bf16(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  if ((bits & 0x7fffffff) > 0x7f800000) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

struct Library {
  static constexpr const char kName[] = "onednn";
  static constexpr uint32_t kTypes = 1u << INGLE_BACKEND_F32 | 1u << INGLE_BACKEND_BF16;
  static const char* about() {
    static const std::string text = [] {
      const dnnl_version_t* v = dnnl_version();
      return "oneDNN " + std::to_string(v->major) + "." + std::to_string(v->minor) + "." +
             std::to_string(v->patch) + ", f32" + (has_bf16() ? " and bf16" : "; bf16 as f32");
    }();
    return text.c_str();
  }
  struct Weight {
    int64_t cols;
    bool bf16;
    std::vector<float> values;
    std::vector<uint16_t> halves;
    const void* from(int64_t row) const {
      return bf16 ? static_cast<const void*>(halves.data() + row * cols) : values.data() + row * cols;
    }
  };

  explicit Library(const ingle_backend_host&) : engine(dnnl::engine::kind::cpu, 0), bf16(has_bf16()) {}

  std::unique_ptr<Weight> prepare(const ingle_backend_matrix& m, uint64_t& bytes) {
    auto w = std::make_unique<Weight>();
    w->cols = m.cols;
    w->bf16 = m.type == INGLE_BACKEND_BF16 && bf16;
    const auto n = static_cast<size_t>(m.rows * m.cols);
    if (w->bf16) {
      w->halves.resize(n);
      std::memcpy(w->halves.data(), m.data, n * 2);
    } else if (m.type == INGLE_BACKEND_BF16) {
      w->values.resize(n);
      const auto* from = static_cast<const uint16_t*>(m.data);
      for (size_t i = 0; i < n; ++i) {
        const uint32_t bits = uint32_t{from[i]} << 16;
        std::memcpy(&w->values[i], &bits, 4);
      }
    } else {
      w->values.resize(n);
      std::memcpy(w->values.data(), m.data, n * 4);
    }
    bytes = w->values.size() * 4 + w->halves.size() * 2;
    return w;
  }

  void multiply(const Weight& w, const ingle_backend_product& p) {
    omp_set_num_threads(1);  // of the calling thread alone
    const auto type = w.bf16 ? memory::data_type::bf16 : memory::data_type::f32;
    thread_local std::vector<uint16_t> rounded;
    const void* x = p.x;
    int64_t ldx = p.ldx;
    if (w.bf16) {
      rounded.resize(static_cast<size_t>(p.m * w.cols));
      for (int64_t t = 0; t < p.m; ++t)
        for (int64_t i = 0; i < w.cols; ++i)
          rounded[static_cast<size_t>(t * w.cols + i)] = to_bf16(p.x[t * p.ldx + i]);
      x = rounded.data();
      ldx = w.cols;
    }
    const memory::desc x_desc({p.m, w.cols}, type, memory::dims{ldx, 1});
    const memory::desc w_desc({w.cols, p.n_rows}, type, memory::dims{1, w.cols});
    const memory::desc y_desc({p.m, p.n_rows}, memory::data_type::f32, memory::dims{p.ldy, 1});
    const Made made_for =
        find({p.m, p.n_rows, w.cols, ldx, p.ldy, w.bf16, p.accumulate != 0}, x_desc, w_desc, y_desc);
    // Room of our own: what oneDNN lends belongs to the thread that made the product.
    thread_local std::vector<float> room;
    room.resize(made_for.room.get_size() / sizeof(float) + 1);
    dnnl::stream stream(engine);
    made_for.product.execute(
        stream, {{DNNL_ARG_SRC, memory(x_desc, engine, const_cast<void*>(x))},
                 {DNNL_ARG_WEIGHTS, memory(w_desc, engine, const_cast<void*>(w.from(p.first_row)))},
                 {DNNL_ARG_DST, memory(y_desc, engine, p.y + p.first_row)},
                 {DNNL_ARG_SCRATCHPAD, memory(made_for.room, engine, room.data())}});
    stream.wait();
  }

 private:
  using Key = std::tuple<int64_t, int64_t, int64_t, int64_t, int64_t, bool, bool>;
  static constexpr size_t kMostKept = 512;

  struct Made {
    dnnl::matmul product;
    memory::desc room;
  };

  // What was generated for a shape, by whichever thread met it first.
  Made find(const Key& key, const memory::desc& x, const memory::desc& w, const memory::desc& y) {
    const std::lock_guard lock(mutex);
    const auto found = made.find(key);
    if (found != made.end()) return found->second;
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    if (std::get<6>(key)) {
      dnnl::post_ops sum;
      sum.append_sum(1.0f);
      attr.set_post_ops(sum);
    }
    const dnnl::matmul::primitive_desc desc(dnnl::matmul::desc(x, w, y), attr, engine);
    if (made.size() >= kMostKept) made.clear();
    return made.emplace(key, Made{dnnl::matmul(desc), desc.scratchpad_desc()}).first->second;
  }

  dnnl::engine engine;
  bool bf16;
  std::mutex mutex;
  std::map<Key, Made> made;
};

}  // namespace

const ingle_backend* ingle_backend_entry(uint32_t version) { return ingle::plugins::table<Library>(version); }
