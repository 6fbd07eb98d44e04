// The last rows of the list: weights stay as the file's blocks, 16 rows at a time are decoded to f32 and the
// f32 tiles of some ISA do the rest. So a format that only knows how to decode runs at once.
#include <array>
#include <cstring>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "kernels/layout.h"
#include "kernels/ref/ref.h"
#include "kernels/units.h"
#include "quant/codes.h"

namespace ingle::kernels {
namespace {

constexpr size_t kMaxFormats = 64;
// The units with f32 tiles, best first.
#if defined(__x86_64__)
constexpr const MatmulUnit* kFloatUnits[] = {&ingle_matmul_avx512, &ingle_matmul_avx2_float,
                                             &ingle_matmul_plain};
#elif defined(__aarch64__)
constexpr const MatmulUnit* kFloatUnits[] = {&ingle_matmul_neon, &ingle_matmul_plain};
#else
constexpr const MatmulUnit* kFloatUnits[] = {&ingle_matmul_plain};
#endif
constexpr size_t kTiles = std::size(kFloatUnits);

const MatmulRow& f32_row(size_t tile) {
  const MatmulUnit& unit = *kFloatUnits[tile];
  for (int32_t i = 0; i < unit.n_rows; ++i)
    if (unit.rows[i].layout == kLayoutF32) return unit.rows[i];
  return ingle_matmul_plain
      .rows[0];  // not reached: each unit has an f32 row (tests/kernels/matmul_select.cpp)
}

quant::QuantWeight view_of(const MatmulArgs& a, const quant::QuantFormat& format) {
  quant::QuantWeight w;
  w.format = &format;
  w.shape = Shape{a.n, a.k};
  const auto elements = static_cast<uint64_t>(a.n) * static_cast<uint64_t>(a.k);
  w.parts[0] = {format.dtype.type, w.shape, reinterpret_cast<const std::byte*>(a.w),
                elements / format.dtype.block_elems * format.dtype.block_bytes};
  return w;
}

template <size_t kTile>
int64_t decode_scratch(int64_t m, int64_t k) {
  return 2 * k * kRows * 4 + f32_row(kTile).scratch_bytes(m, k);
}

void decode_rows(size_t which_format, size_t which_tile, const MatmulArgs* a) {
  const quant::QuantFormat& format = *quant::all_formats()[which_format];
  const MatmulRow& f32 = f32_row(which_tile);
  const quant::QuantWeight w = view_of(*a, format);
  const int64_t k = a->k;
  auto* decoded = reinterpret_cast<float*>(a->scratch);
  float* tile = decoded + k * kRows;
  MatmulArgs inner = *a;
  inner.w = reinterpret_cast<const uint8_t*>(tile);
  inner.scratch = reinterpret_cast<uint8_t*>(tile + k * kRows);
  std::memset(inner.scratch, 0, 64);  // strips are kept from group to group of this call
  inner.x.stamp = 1;
  inner.group0 = 0;
  inner.group1 = 1;
  for (int64_t g = a->group0; g < a->group1; ++g) {
    const int64_t row = g * kRows, rows = a->n - row < kRows ? a->n - row : kRows;
    format.decode_rows(w, row, rows, decoded);
    std::memset(tile, 0, static_cast<size_t>(k * kRows) * sizeof(float));
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t i = 0; i < k; ++i) tile[i * kRows + r] = decoded[r * k + i];
    inner.n = rows;
    inner.bias = a->bias ? a->bias + row : nullptr;
    inner.y = a->y + row;
    f32.run(&inner);
  }
  std::memset(a->scratch, 0, 64);  // where other rows look for strips
}

// The oracle as a row, so that a whole model can run on it. Slow: it decodes again for every call.
void ref_q_rows(size_t which_format, const MatmulArgs* a) {
  const quant::QuantFormat& row_format = *quant::all_formats()[which_format];
  const quant::QuantWeight w = view_of(*a, row_format);
  const int64_t row0 = a->group0 * kRows;
  const int64_t row1 = a->group1 * kRows < a->n ? a->group1 * kRows : a->n;
  const bool both = a->x.passes == kPassBoth;
  auto* y = reinterpret_cast<float*>(a->scratch);  // [m] of one row
  float* y_rest = y + a->x.m;
  for (int64_t row = row0; row < row1; ++row) {
    quant::QuantWeight one = w;
    const uint64_t bytes = w.parts[0].bytes / static_cast<uint64_t>(a->n);
    one.shape = Shape{1, a->k};
    one.parts[0] = {w.parts[0].type, one.shape, w.parts[0].data + static_cast<uint64_t>(row) * bytes, bytes};
    Activations x = a->x;
    if (both) x.passes = kPassFirst;
    ref_q_matmul(one, x, y, 1);
    if (both) {
      x.passes = kPassRest;
      if (row_format.dtype.type != DType::bf16) x.q = x.rest_q, x.d = x.rest_d, x.sum = x.rest_sum;
      ref_q_matmul(one, x, y_rest, 1);
    }
    for (int64_t t = 0; t < a->x.m; ++t) {
      float value = y[t];
      float& out = a->y[t * a->ldy + row];
      if (a->bias) value += a->bias[row];
      if (a->accumulate) value += out;
      if (both) value += y_rest[t];
      out = value;
    }
  }
  std::memset(a->scratch, 0, 64);
}

// A row is a plain function, so each format has its own; but no more than the call is written out for each.
template <size_t kFormat, size_t kTile>
void run_decode(const MatmulArgs* a) {
  decode_rows(kFormat, kTile, a);
}
template <size_t kFormat>
void run_ref_q(const MatmulArgs* a) {
  ref_q_rows(kFormat, a);
}
int64_t ref_q_scratch(int64_t m, int64_t) { return (m * 4 + 63) / 64 * 64; }

using Run = void (*)(const MatmulArgs*);
struct Runs {
  std::array<Run, kTiles> decode[kMaxFormats];
  Run ref_q[kMaxFormats];
};
using Scratch = int64_t (*)(int64_t m, int64_t k);
template <size_t... kTile>
constexpr std::array<Scratch, kTiles> tile_scratches(std::index_sequence<kTile...>) {
  return {decode_scratch<kTile>...};
}
template <size_t kFormat, size_t... kTile>
constexpr std::array<Run, kTiles> tile_runs(std::index_sequence<kTile...>) {
  return {run_decode<kFormat, kTile>...};
}
template <size_t... kFormat>
constexpr Runs make_runs(std::index_sequence<kFormat...>) {
  return {{tile_runs<kFormat>(std::make_index_sequence<kTiles>())...}, {run_ref_q<kFormat>...}};
}

int32_t ref_activation(const quant::QuantFormat& format) {
  if (quant::find_codes(format)) return kActQ8;
  return format.dtype.type == DType::bf16 ? kActBf16 : kActF32;
}

// A row's name and format are C strings that live as long as the table.
struct BlockRows {
  std::vector<std::string> names;
  std::vector<MatmulRow> rows;
  BlockRows() {
    static constexpr Runs runs = make_runs(std::make_index_sequence<kMaxFormats>());
    const auto formats = quant::all_formats();
    const size_t n = formats.size() < kMaxFormats ? formats.size() : kMaxFormats;
    names.reserve(n * (kTiles + 2));
    for (size_t tile = 0; tile < kTiles; ++tile)
      for (size_t f = 0; f < n; ++f) {
        const std::string isa = f32_row(tile).isa;
        static constexpr std::array<Scratch, kTiles> scratch =
            tile_scratches(std::make_index_sequence<kTiles>());
        add(std::string(formats[f]->name) + "_f32_gemm_decode_" + isa, f32_row(tile).isa, *formats[f],
            kActF32, runs.decode[f][tile], scratch[tile]);
      }
    for (size_t f = 0; f < n; ++f)
      add(std::string(formats[f]->name) + "_ref_q", "ref_q", *formats[f], ref_activation(*formats[f]),
          runs.ref_q[f], ref_q_scratch);
  }
  void add(std::string name, const char* isa, const quant::QuantFormat& format, int32_t activation, Run run,
           Scratch scratch) {
    names.push_back(std::move(name));
    // The catalog's names are string literals, so their data ends with a null.
    rows.push_back({names.back().c_str(), isa, format.name.data(), kLayoutBlocks, activation, run, scratch});
  }
};

}  // namespace

std::span<const MatmulRow> block_rows() {
  static const BlockRows table;
  return table.rows;
}

}  // namespace ingle::kernels
