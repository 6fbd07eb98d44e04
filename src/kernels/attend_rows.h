// Attention over paged state and the storing of it, written once over the 16 lanes of the unit that includes
// this.
//
// Rows are taken in tiles whose accumulators fit the registers, so that each K and V value is loaded and
// widened once per tile. For each split of 256 positions: logits (lanes are keys, one ascending fma chain
// over dk), weights e^(s - max) and their 16-lane sum, then one ascending fma chain over the split's
// positions per output. A position that a row cannot see never enters the row's chain, not even with weight
// zero, so the row's bits are its own.
#pragma once
#include "kernels/attend_scratch.h"
#include "kernels/isa.h"
#include "kernels/vec_functions.h"

namespace ingle::kernels {
namespace {

struct F32State {
  using Value = float;
  static INGLE_LANE V get(const float* p) { return load(p); }
  static INGLE_LANE V get_n(const float* p, int64_t n) { return load_n(p, n); }
};
struct F16State {
  using Value = uint16_t;
  static INGLE_LANE V get(const uint16_t* p) { return load_f16(p); }
  static INGLE_LANE V get_n(const uint16_t* p, int64_t n) { return load_f16_n(p, n); }
};
struct Bf16State {
  using Value = uint16_t;
  static INGLE_LANE V get(const uint16_t* p) { return load_bf16(p); }
  static INGLE_LANE V get_n(const uint16_t* p, int64_t n) { return load_bf16_n(p, n); }
};

struct Range {  // of positions, begin <= t < end; empty when begin >= end
  int64_t begin, end;
};
INGLE_LANE int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }
INGLE_LANE int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

// One tile of rows, and what is the same for all of them in one split.
struct Tile {
  const AttendArgs* a;
  int32_t rows;
  int64_t value_stride;
  const float* query;                      // [dk][rows, padded to the kernel's]
  float *max, *sum, *out, *part, *scores;  // of the tile's first row
  int64_t split;                           // first position of the split
  Range row[kMaxTileRows];                 // what each row sees of the split
  Range all, common;                       // their union, and what every row that sees anything sees
};

// scores[r][key] = scale * q[r] . k[key] for the 32 keys of a page.
template <class S, int R>
INGLE_LANE void score_page(const Tile& t, const typename S::Value* k, float* scores, const char* ahead) {
  const V scale = set1(t.a->scale);
  constexpr int kStep = 16 * kScoreVecs;
  for (int part = 0; part < kPageTokens; part += kStep) {
    V acc[R][kScoreVecs];
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
      for (int j = 0; j < kScoreVecs; ++j) acc[r][j] = zero();
    }
    const float* q = t.query;
    const typename S::Value* key = k + part;
    for (int64_t d = 0; d < t.a->dk; ++d, q += R, key += kPageTokens) {
      V x[kScoreVecs];
#pragma GCC unroll 4
      for (int j = 0; j < kScoreVecs; ++j) x[j] = S::get(key + 16 * j);
      if constexpr (R <= 4) __builtin_prefetch(ahead + (key - k) * static_cast<int64_t>(sizeof(*k)), 0, 2);
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) {
        const V f = set1(q[r]);
#pragma GCC unroll 4
        for (int j = 0; j < kScoreVecs; ++j) {
          acc[r][j] = fma(f, x[j], acc[r][j]);
          pin(acc[r][j]);
        }
      }
    }
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
      for (int j = 0; j < kScoreVecs; ++j) {
        store(scores + r * kScoreStride + part + 16 * j, mul(acc[r][j], scale));
      }
    }
  }
}

template <class S>
INGLE_LANE const typename S::Value* values_at(const Tile& t, int64_t position) {
  const uint8_t* page = t.a->pages[position / kPageTokens] + t.a->v_offset;
  return reinterpret_cast<const typename S::Value*>(page) + position % kPageTokens * t.a->dv;
}

// part[r][column …] += sum of weight[r][p] * v[p] over the positions that every row sees, kVecs vectors at a
// time.
template <class S, int R, int kVecs, bool kTail>
INGLE_LANE void add_values(const Tile& t, int64_t column, int64_t tail) {
  V acc[R][kVecs];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
    for (int j = 0; j < kVecs; ++j) acc[r][j] = load(t.part + r * t.value_stride + column + 16 * j);
  }
  for (int64_t p = t.common.begin; p < t.common.end;) {
    const int64_t end = smaller(t.common.end, (p / kPageTokens + 1) * kPageTokens);
    const typename S::Value* v = values_at<S>(t, p) + column;
    const float* weight = t.scores + (p - t.split);
    for (; p < end; ++p, ++weight, v += t.a->dv) {
      V x[kVecs];
#pragma GCC unroll 8
      for (int j = 0; j < kVecs; ++j) x[j] = kTail ? S::get_n(v, tail) : S::get(v + 16 * j);
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) {
        const V f = set1(weight[r * kScoreStride]);
#pragma GCC unroll 8
        for (int j = 0; j < kVecs; ++j) {
          acc[r][j] = fma(f, x[j], acc[r][j]);
          pin(acc[r][j]);
        }
      }
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
    for (int j = 0; j < kVecs; ++j) store(t.part + r * t.value_stride + column + 16 * j, acc[r][j]);
  }
}

// All columns from `column` on, with kVecs vectors as long as they last, then fewer.
template <class S, int R, int kVecs>
void add_all_values(const Tile& t, int64_t column) {
  for (; column + 16 * kVecs <= t.a->dv; column += 16 * kVecs) add_values<S, R, kVecs, false>(t, column, 0);
  if constexpr (kVecs > 1) {
    if (column < t.a->dv) add_all_values<S, R, kVecs / 2>(t, column);
  } else {
    if (column < t.a->dv) add_values<S, R, 1, true>(t, column, t.a->dv - column);
  }
}

// The same for positions that only some rows see: the rows one by one, with the sums in memory.
template <class S>
void add_edge_values(const Tile& t, Range range) {
  for (int64_t p = range.begin; p < range.end; ++p) {
    const typename S::Value* v = nullptr;
    for (int64_t column = 0; column < t.a->dv; column += 16) {
      V x = zero();
      bool loaded = false;
      for (int r = 0; r < t.rows; ++r) {
        if (p < t.row[r].begin || p >= t.row[r].end) continue;
        if (!loaded) {  // a page that nobody sees may be absent
          v = values_at<S>(t, p);
          x = column + 16 <= t.a->dv ? S::get(v + column) : S::get_n(v + column, t.a->dv - column);
          loaded = true;
        }
        float* part = t.part + r * t.value_stride + column;
        store(part, fma(set1(t.scores[r * kScoreStride + (p - t.split)]), x, load(part)));
      }
      if (!loaded) break;
    }
  }
}

// Turns a row's logits into weights e^(s - max), in place. Gives the maximum, returns the sum.
float weigh(float* scores, Range seen, float cap, float* maximum) {
  const V lowest = set1(-__builtin_inff());
  const int64_t begin = seen.begin / 16 * 16, last = seen.end - 1;
  V top = lowest;
  for (int64_t i = begin; i <= last; i += 16) {
    V s = load(scores + i);
    if (cap != 0.0f) {
      s = softcap_lanes(s, set1(cap));
      store(scores + i, s);
    }
    if (i < seen.begin || i + 15 > last) {
      s = select(lanes_between(larger(seen.begin - i, 0), smaller(last - i, 15)), s, lowest);
    }
    top = max_of(s, top);
  }
  *maximum = reduce_max(top);
  const V highest = set1(*maximum);
  V sum = zero();
  for (int64_t i = begin; i <= last; i += 16) {
    V p = exp_lanes(sub(load(scores + i), highest));
    if (i < seen.begin || i + 15 > last) {
      p = select(lanes_between(larger(seen.begin - i, 0), smaller(last - i, 15)), p, zero());
    }
    store(scores + i, p);
    sum = add(sum, p);
  }
  return reduce_add(sum);
}

struct Pair {
  float a, b;
};
INGLE_LANE Pair exp_pair(float a, float b) {
  float x[16] = {a, b};
  store(x, exp_lanes(load(x)));
  return {x[0], x[1]};
}

// Joins one split's (maximum, sum, part) to the row's running ones.
INGLE_LANE void merge_row(const Tile& t, int r, float maximum, float sum) {
  const float joint = t.max[r] > maximum ? t.max[r] : maximum;
  const Pair factor = exp_pair(t.max[r] - joint, maximum - joint);
  t.max[r] = joint;
  t.sum[r] = t.sum[r] * factor.a + sum * factor.b;
  float* out = t.out + r * t.value_stride;
  const float* part = t.part + r * t.value_stride;
  const V keep = set1(factor.a), take = set1(factor.b);
  for (int64_t c = 0; c < t.value_stride; c += 16) {
    store(out + c, fma(load(part + c), take, mul(load(out + c), keep)));
  }
}

template <class S, int R>
void attend_tile(const Tile& t) {
  using Value = typename S::Value;
  const int64_t last_page = (t.all.end - 1) / kPageTokens;
  for (int64_t p = t.all.begin / kPageTokens; p <= last_page; ++p) {
    const uint8_t* page = t.a->pages[p];
    if (!page) continue;
    const uint8_t* next = p < last_page && t.a->pages[p + 1] ? t.a->pages[p + 1] : page;
    score_page<S, R>(t, reinterpret_cast<const Value*>(page + t.a->k_offset),
                     t.scores + (p * kPageTokens - t.split),
                     reinterpret_cast<const char*>(next + t.a->k_offset));
  }
  float maximum[kMaxTileRows], sum[kMaxTileRows];
  for (int r = 0; r < t.rows; ++r) {
    if (t.row[r].begin >= t.row[r].end) continue;
    const Range seen = {t.row[r].begin - t.split, t.row[r].end - t.split};
    sum[r] = weigh(t.scores + r * kScoreStride, seen, t.a->softcap, &maximum[r]);
  }
  for (int64_t c = 0; c < R * t.value_stride; c += 16) store(t.part + c, zero());
  if (t.common.begin < t.common.end) {
    add_edge_values<S>(t, {t.all.begin, t.common.begin});
    add_all_values<S, R, value_vecs(R)>(t, 0);
    add_edge_values<S>(t, {t.common.end, t.all.end});
  } else {
    add_edge_values<S>(t, t.all);
  }
  for (int r = 0; r < t.rows; ++r) {
    if (t.row[r].begin < t.row[r].end) merge_row(t, r, maximum[r], sum[r]);
  }
}

// The smallest kernel that holds `rows` rows.
INGLE_LANE int kernel_rows(int64_t rows) {
  if (rows <= 4) return static_cast<int>(rows);
  return rows <= 6 ? 6 : rows <= 8 ? 8 : 12;
}
template <class S>
INGLE_LANE void run_tile(const Tile& t) {
  const int rows = kernel_rows(t.rows);
  if (rows == 1) return attend_tile<S, 1>(t);
  if (rows == 2) return attend_tile<S, 2>(t);
  if constexpr (kTileRows > 2) {
    if (rows == 3) return attend_tile<S, 3>(t);
    if (rows == 4) return attend_tile<S, 4>(t);
    if (rows == 6) return attend_tile<S, 6>(t);
  }
  if constexpr (kTileRows > 6) {
    if (rows == 8) return attend_tile<S, 8>(t);
    return attend_tile<S, 12>(t);
  }
}

// Sets what the rows of the tile see of the split; false when it is nothing.
INGLE_LANE bool set_ranges(Tile& t, int64_t row0, int64_t split) {
  t.split = split;
  t.all = {INT64_MAX, 0};
  t.common = {0, INT64_MAX};
  for (int r = 0; r < t.rows; ++r) {
    Range& seen = t.row[r];
    seen.begin = larger(t.a->first[row0 + r], split);
    seen.end = smaller(t.a->last[row0 + r] + 1, split + kSplitTokens);
    if (seen.begin >= seen.end) continue;
    t.all = {smaller(t.all.begin, seen.begin), larger(t.all.end, seen.end)};
    t.common = {larger(t.common.begin, seen.begin), smaller(t.common.end, seen.end)};
  }
  return t.all.begin < t.all.end;
}

// Copies the queries of one tile to [dk][rows of the kernel]; rows that are not there become zeros.
INGLE_LANE void gather_queries(const AttendArgs& a, int64_t row0, int64_t rows, float* to) {
  const int width = kernel_rows(rows);
  for (int r = 0; r < width; ++r) {
    for (int64_t d = 0; d < a.dk; ++d) to[d * width + r] = r < rows ? a.q[row0 + r][d] : 0.0f;
  }
}

// Adds the sink, divides by the sum and hands the row out. A row that sees nothing is zero.
INGLE_LANE void finish_row(const AttendArgs& a, int64_t row, float maximum, float sum, float* out) {
  V keep = set1(1.0f);
  if (a.sink) {
    const float joint = maximum > a.sink[row] ? maximum : a.sink[row];
    const Pair factor = exp_pair(maximum - joint, a.sink[row] - joint);
    sum = sum * factor.a + factor.b;
    keep = set1(factor.a);
  }
  const V total = set1(sum == 0.0f ? 1.0f : sum);
  for (int64_t c = 0; c < a.dv; c += 16) {
    const V o = div(mul(load(out + c), keep), total);
    if (c + 16 <= a.dv) {
      store(a.out[row] + c, o);
    } else {
      store_n(a.out[row] + c, o, a.dv - c);
    }
  }
}

template <class S>
void attend_state(const AttendArgs& a) {
  const AttendScratch s = attend_scratch(a.n_rows, a.dk, a.dv);
  float* scratch = reinterpret_cast<float*>(a.scratch);
  int64_t begin = INT64_MAX, end = 0;
  for (int64_t row0 = 0; row0 < a.n_rows; row0 += kTileRows) {
    gather_queries(a, row0, smaller(kTileRows, a.n_rows - row0), scratch + s.query + row0 * a.dk);
  }
  for (int64_t r = 0; r < a.n_rows; ++r) {
    scratch[s.max + r] = -__builtin_inff();
    scratch[s.sum + r] = 0.0f;
    if (a.first[r] > a.last[r]) continue;
    begin = smaller(begin, a.first[r]);
    end = larger(end, a.last[r] + 1);
  }
  for (int64_t c = 0; c < a.n_rows * s.value_stride; c += 16) store(scratch + s.out + c, zero());
  for (int64_t split = begin / kSplitTokens * kSplitTokens; split < end; split += kSplitTokens) {
    for (int64_t row0 = 0; row0 < a.n_rows; row0 += kTileRows) {
      Tile t;
      t.a = &a;
      t.rows = static_cast<int32_t>(smaller(kTileRows, a.n_rows - row0));
      t.value_stride = s.value_stride;
      t.query = scratch + s.query + row0 * a.dk;
      t.max = scratch + s.max + row0;
      t.sum = scratch + s.sum + row0;
      t.out = scratch + s.out + row0 * s.value_stride;
      t.part = scratch + s.part;
      t.scores = scratch + s.scores;
      if (set_ranges(t, row0, split)) run_tile<S>(t);
    }
  }
  for (int64_t r = 0; r < a.n_rows; ++r) {
    finish_row(a, r, scratch[s.max + r], scratch[s.sum + r], scratch + s.out + r * s.value_stride);
  }
}

void attend(const AttendArgs* a) {
  switch (a->type) {
    case kKvF32:
      return attend_state<F32State>(*a);
    case kKvF16:
      return attend_state<F16State>(*a);
    default:
      return attend_state<Bf16State>(*a);
  }
}

// 16 values as 16-bit state.
INGLE_LANE void narrow(int32_t type, V x, uint16_t* to) {
  if (type == kKvF16) {
    store_f16(to, x);
  } else {
    store_low16(to, bf16_of(x));
  }
}

void kv_store(const KvStoreArgs* a) {
  const int64_t slot = a->slot;
  if (a->type == kKvF32) {
    float* k = reinterpret_cast<float*>(a->k_tile) + slot;
    for (int64_t d = 0; d < a->dk; ++d) k[d * kPageTokens] = a->k[d];
    float* v = reinterpret_cast<float*>(a->v_tile) + slot * a->dv;
    for (int64_t d = 0; d < a->dv; ++d) v[d] = a->v[d];
    return;
  }
  uint16_t* k = reinterpret_cast<uint16_t*>(a->k_tile) + slot;
  uint16_t* v = reinterpret_cast<uint16_t*>(a->v_tile) + slot * a->dv;
  uint16_t block[16];
  for (int64_t d = 0; d < a->dk; d += 16) {
    const int64_t count = smaller(16, a->dk - d);
    narrow(a->type, load_n(a->k + d, count), block);
    for (int64_t i = 0; i < count; ++i) k[(d + i) * kPageTokens] = block[i];
  }
  for (int64_t d = 0; d < a->dv; d += 16) {
    const int64_t count = smaller(16, a->dv - d);
    narrow(a->type, load_n(a->v + d, count), block);
    for (int64_t i = 0; i < count; ++i) v[d + i] = block[i];
  }
}

}  // namespace
}  // namespace ingle::kernels
