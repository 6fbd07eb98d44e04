// Attention over paged state, written once over the 16 lanes of the unit that includes this.
//
// Rows are taken in tiles whose accumulators fit the registers, so that each K and V value is loaded and
// widened once per tile. For each split of 256 positions: logits (lanes are keys, one ascending fma chain
// over dk), weights e^(s - max) and their 16-lane sum, then one ascending fma chain over the split's
// positions per output. A position that a row cannot see never enters the row's chain, not even with weight
// zero, so the row's bits are its own.
//
// What runs once for a tile and split stays out of line: inlined, each kind of state and each number of rows
// had a copy of it.
#pragma once
#include "kernels/attend_scratch.h"
#include "kernels/store_rows.h"

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
// A page of these becomes floats before it is used: kernels of their own, for so many numbers of rows, were
// too much code.
template <class C>
struct Codes {
  using Code = C;
};
using Bf16State = Codes<uint16_t>;
using Q8State = Codes<int8_t>;
using Q4State = Codes<uint8_t>;
template <class S>
constexpr bool kOpened = !(__is_same(S, F32State) || __is_same(S, F16State));

struct Range {  // of positions, begin <= t < end; empty when begin >= end
  int64_t begin, end;
};

// One tile of rows, and what is the same for all of them in one split.
struct Tile {
  const AttendArgs* a;
  int32_t rows;
  int64_t value_stride, chunk_stride;
  const float* query;  // of the tile's first row, as the next four
  float *max, *sum, *out, *part, *scores, *fine, *opened;
  const float* values;      // of the one page that is looked at, or null: of the state
  int64_t row0;             // number of its first row in the call
  int64_t split;            // first position of the split
  int64_t pages_end;        // first page that no row of the call sees
  Range row[kMaxTileRows];  // what each row sees of the split
  Range all, common;        // their union, and what every row that sees anything sees
};

// A page's keys, and what to ask memory for meanwhile: one cache line of each per key row.
template <class S>
struct KeyPage {
  const typename S::Value* k;  // [dk][32]
  const char *values, *next;   // this page's values, the next page's keys
};

// scores[r][key] = (scores[r][key] when `resume`, plus) q[r] . k[key], times `scale`, for the 32 keys of a
// page and the dk values [d0, d1), which lie in one chunk.
template <class S, int R>
__attribute__((noinline)) void score_page(const Tile& t, const KeyPage<S>& page, int64_t d0, int64_t d1,
                                          bool resume, float scale, float* scores) {
  constexpr int kStep = 16 * kScoreVecs;
  for (int part = 0; part < kPageTokens; part += kStep) {
    V acc[R][kScoreVecs];
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
      for (int j = 0; j < kScoreVecs; ++j) {
        acc[r][j] = resume ? load(scores + r * kRowStride + part + 16 * j) : zero();
      }
    }
    const float* q = t.query + d0 / kChunk * t.chunk_stride;
    const typename S::Value* key = page.k + d0 * kPageTokens + part;
    for (int64_t d = d0; d < d1; ++d, ++q, key += kPageTokens) {
      V x[kScoreVecs];
#pragma GCC unroll 4
      for (int j = 0; j < kScoreVecs; ++j) x[j] = S::get(key + 16 * j);
      if constexpr (R <= 8) {
        __builtin_prefetch(page.values + d * 64, 0, 2);
        __builtin_prefetch(page.next + d * 64, 0, 2);
      }
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) {
        const V f = set1(q[r * kRowStride]);
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
        store(scores + r * kRowStride + part + 16 * j, mul(acc[r][j], set1(scale)));
      }
    }
  }
}

// The logits of a page for all rows of the tile. `next`: the page that comes after it.
template <class S, int R>
__attribute__((noinline)) void score_keys(const Tile& t, const uint8_t* keys, const uint8_t* values,
                                          const uint8_t* next, float* scores) {
  const AttendArgs& a = *t.a;
  KeyPage<S> page{};
  page.k = reinterpret_cast<const typename S::Value*>(keys);
  page.values = reinterpret_cast<const char*>(values);
  page.next = reinterpret_cast<const char*>(next);
  for (int64_t d = 0; d < a.dk; d += kChunk) {
    const bool final = d + kChunk >= a.dk;
    score_page<S, R>(t, page, d, final ? a.dk : d + kChunk, d > 0, final ? a.scale : 1.0f, scores);
  }
}

INGLE_LANE void open_bf16(const uint16_t* x, int64_t n, float* to) {  // n: a multiple of 16
  for (int64_t i = 0; i < n; i += 16) store(to + i, load_bf16(x + i));
}
// A page's keys as [dk][32].
__attribute__((noinline)) void open_keys(const uint16_t* keys, int64_t dk, float* to) {
  open_bf16(keys, dk * kPageTokens, to);
}
__attribute__((noinline)) void open_keys(const int8_t* keys, int64_t dk, float* to) {
  const uint16_t* scales = scales_of(reinterpret_cast<const uint8_t*>(keys), dk);
  const V low = load_f16(scales), high = load_f16(scales + 16);
  for (int64_t d = 0; d < dk; ++d, keys += kPageTokens, to += kPageTokens) {
    store(to, mul(load_i8(keys), low));
    store(to + 16, mul(load_i8(keys + 16), high));
  }
}
__attribute__((noinline)) void open_keys(const uint8_t* keys, int64_t dk, float* to) {
  const uint16_t *step = reinterpret_cast<const uint16_t*>(keys + dk * (kPageTokens / 2)),
                 *middle = step + dk;
  float steps[16], middles[16];
  for (int64_t d = 0; d < dk; ++d, keys += kPageTokens / 2, to += kPageTokens) {
    if (d % 16 == 0) {
      store(steps, load_f16_n(step + d, smaller(16, dk - d)));
      store(middles, load_f16_n(middle + d, smaller(16, dk - d)));
    }
    const V s = set1(steps[d % 16]), m = set1(middles[d % 16]);
    store(to, fma(load_i4(keys), s, m));
    store(to + 16, fma(load_i4(keys + 8), s, m));
  }
}
// Its values, 4-bit ones still turned, as [32][dv]. The last row is written to the next multiple of 16.
INGLE_LANE void open_values(const uint16_t* values, int64_t dv, float* to) { open_keys(values, dv, to); }
__attribute__((noinline)) void open_values(const int8_t* values, int64_t dv, float* to) {
  float scales[kPageTokens];
  const uint16_t* halves = scales_of(reinterpret_cast<const uint8_t*>(values), dv);
  for (int t = 0; t < kPageTokens; t += 16) store(scales + t, load_f16(halves + t));
  for (int t = 0; t < kPageTokens; ++t, values += dv, to += dv)
    for (int64_t c = 0; c < dv; c += 16) store(to + c, mul(load_i8(values + c), set1(scales[t])));
}
__attribute__((noinline)) void open_values(const uint8_t* values, int64_t dv, float* to) {
  const int64_t row = up_to_16(dv) / 2;
  float scales[kPageTokens];
  for (int t = 0; t < kPageTokens; t += 16) store(scales + t, load_f16(scales_of(values, row) + t));
  for (int t = 0; t < kPageTokens; ++t, values += row, to += dv)
    for (int64_t c = 0; c < dv; c += 16) store(to + c, mul(load_i4(values + c / 2), set1(scales[t])));
}

// Which rows see a page: those that end in it, those that end later.
struct Seers {
  bool here[kMaxTileRows], any_here, any_later;
};
__attribute__((noinline)) Seers seers_of(const Tile& t, int64_t page) {
  Seers s{};
  for (int r = 0; r < t.rows; ++r) {
    if (larger(t.row[r].begin, page * kPageTokens) >= smaller(t.row[r].end, (page + 1) * kPageTokens))
      continue;
    s.here[r] = t.a->last[t.row0 + r] / kPageTokens == page;
    s.any_here |= s.here[r];
    s.any_later |= !s.here[r];
  }
  return s;
}

__attribute__((noinline)) void take_fine(const Tile& t, const Seers& seers, float* scores) {
  for (int r = 0; r < t.rows; ++r)
    for (int i = 0; i < kPageTokens && seers.here[r]; i += 16)
      store(scores + r * kRowStride + i, load(t.fine + r * kRowStride + i));
}

INGLE_LANE const uint8_t* page_after(const Tile& t, int64_t page) {
  return t.a->pages[page + 1 < t.pages_end && t.a->pages[page + 1] ? page + 1 : page];
}

// The logits of the pages that the tile sees.
template <class S, int R>
INGLE_LANE void score_split(const Tile& t) {
  const AttendArgs& a = *t.a;
  for (int64_t p = t.all.begin / kPageTokens; p * kPageTokens < t.all.end; ++p) {
    const uint8_t* page = a.pages[p];
    if (!page) continue;
    float* scores = t.scores + (p * kPageTokens - t.split);
    score_keys<S, R>(t, page + a.k_offset, page + a.v_offset, page_after(t, p) + a.k_offset, scores);
  }
}
// The same of codes.
template <class S, int R>
INGLE_LANE void score_opened(const Tile& t) {
  const AttendArgs& a = *t.a;
  for (int64_t p = t.all.begin / kPageTokens; p * kPageTokens < t.all.end; ++p) {
    const uint8_t* page = a.pages[p];
    if (!page) continue;
    const uint8_t *keys = page + a.k_offset, *values = page + a.v_offset,
                  *next = page_after(t, p) + a.k_offset;
    float* scores = t.scores + (p * kPageTokens - t.split);
    const Seers seers = a.type == kKvQ4 ? seers_of(t, p) : Seers{{}, false, true};
    if (seers.any_later) {
      open_keys(reinterpret_cast<const typename S::Code*>(keys), a.dk, t.opened);
      score_keys<F32State, R>(t, reinterpret_cast<const uint8_t*>(t.opened), values, next, scores);
    }
    if (!seers.any_here) continue;
    float* fine = seers.any_later ? t.fine : scores;
    score_keys<F16State, R>(t, a.fine_pages[p] + a.fine_offset, values, next, fine);
    if (seers.any_later) take_fine(t, seers, scores);
  }
}

template <class S>
INGLE_LANE const typename S::Value* values_at(const Tile& t, int64_t position) {
  const uint8_t* page = t.values ? reinterpret_cast<const uint8_t*>(t.values)
                                 : t.a->pages[position / kPageTokens] + t.a->v_offset;
  return reinterpret_cast<const typename S::Value*>(page) + position % kPageTokens * t.a->dv;
}

// part[r][column …] += sum of weight[r][p] * v[p] over the positions that every row sees, kVecs vectors at a
// time.
template <class S, int R, int kVecs, bool kTail>
__attribute__((noinline)) void add_values(const Tile& t, int row0, int64_t column, int64_t tail) {
  float* part = t.part + row0 * t.value_stride + column;
  V acc[R][kVecs];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
    for (int j = 0; j < kVecs; ++j) acc[r][j] = load(part + r * t.value_stride + 16 * j);
  }
  for (int64_t p = t.common.begin; p < t.common.end;) {
    const int64_t end = smaller(t.common.end, (p / kPageTokens + 1) * kPageTokens);
    const typename S::Value* v = values_at<S>(t, p) + column;
    const float* weight = t.scores + row0 * kRowStride + (p - t.split);
    for (; p < end; ++p, ++weight, v += t.a->dv) {
      V x[kVecs];
#pragma GCC unroll 8
      for (int j = 0; j < kVecs; ++j) x[j] = kTail ? S::get_n(v, tail) : S::get(v + 16 * j);
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) {
        const V f = set1(weight[r * kRowStride]);
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
    for (int j = 0; j < kVecs; ++j) store(part + r * t.value_stride + 16 * j, acc[r][j]);
  }
}

// All columns from `column` on, with kVecs vectors as long as they last, then fewer.
template <class S, int R, int kVecs>
void add_all_values(const Tile& t, int row0, int64_t column) {
  for (; column + 16 * kVecs <= t.a->dv; column += 16 * kVecs)
    add_values<S, R, kVecs, false>(t, row0, column, 0);
  if constexpr (kVecs > 1) {
    if (column < t.a->dv) add_all_values<S, R, kVecs / 2>(t, row0, column);
  } else {
    if (column < t.a->dv) add_values<S, R, 1, true>(t, row0, column, t.a->dv - column);
  }
}

// The same for positions that only some rows see: row by row, with the sums in memory.
template <class S>
void add_edge_values(const Tile& t, Range range) {
  const int64_t whole = t.a->dv / 16 * 16;
  for (int64_t p = range.begin; p < range.end; ++p) {
    for (int r = 0; r < t.rows; ++r) {
      if (p < t.row[r].begin || p >= t.row[r].end) continue;
      const typename S::Value* v = values_at<S>(t, p);
      const V weight = set1(t.scores[r * kRowStride + (p - t.split)]);
      float* part = t.part + r * t.value_stride;
      for (int64_t c = 0; c < whole; c += 16) store(part + c, fma(weight, S::get(v + c), load(part + c)));
      if (whole < t.a->dv) {
        store(part + whole, fma(weight, S::get_n(v + whole, t.a->dv - whole), load(part + whole)));
      }
    }
  }
}

// `x` where the row sees the position, else `other`; i is the position of lane 0.
INGLE_LANE V where_seen(V x, V other, int64_t i, Range seen) {
  if (__builtin_expect(i >= seen.begin && i + 16 <= seen.end, 1)) return x;
  return select(lanes_between(larger(seen.begin - i, 0), smaller(seen.end - 1 - i, 15)), x, other);
}

// The maximum of a row's logits; caps them in place on the way. Positions are counted from the split's first.
INGLE_LANE float cap_and_max(float* scores, Range seen, float cap) {
  const V lowest = set1(-__builtin_inff());
  V top = lowest;
  for (int64_t i = seen.begin / 16 * 16; i < seen.end; i += 16) {
    V s = load(scores + i);
    if (cap != 0.0f) {
      s = softcap_lanes(s, set1(cap));
      store(scores + i, s);
    }
    top = max_of(where_seen(s, lowest, i, seen), top);
  }
  return reduce_max(top);
}

// Turns a row's logits into weights e^(s - max), in place. Returns their sum.
INGLE_LANE float weigh(float* scores, Range seen, float maximum) {
  const V highest = set1(maximum);
  V sum = zero();
  for (int64_t i = seen.begin / 16 * 16; i < seen.end; i += 16) {
    const V p = where_seen(exp_bounded(sub(load(scores + i), highest)), zero(), i, seen);
    store(scores + i, p);
    sum = add(sum, p);
  }
  return reduce_add(sum);
}

// Adds slope * (position - last) to a row's logits; `distance` is that of the split's first position.
INGLE_LANE void add_distances(float* scores, Range seen, float slope, float distance) {
  static constexpr float kLanes[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  const V lanes = load(kLanes), s = set1(slope);
  for (int64_t i = seen.begin / 16 * 16; i < seen.end; i += 16)
    store(scores + i, fma(s, add(set1(distance + static_cast<float>(i)), lanes), load(scores + i)));
}

__attribute__((noinline)) void weigh_rows(const Tile& t, float* maximum, float* sum) {
  for (int r = 0; r < t.rows; ++r) {
    if (t.row[r].begin >= t.row[r].end) continue;
    const Range seen = {t.row[r].begin - t.split, t.row[r].end - t.split};
    if (t.a->slopes)
      add_distances(t.scores + r * kRowStride, seen, t.a->slopes[t.row0 + r],
                    static_cast<float>(t.split - t.a->last[t.row0 + r]));
    maximum[r] = cap_and_max(t.scores + r * kRowStride, seen, t.a->softcap);
    sum[r] = weigh(t.scores + r * kRowStride, seen, maximum[r]);
  }
}

// Joins one split's maxima, sums and outputs to the running ones of the rows that saw something of it.
__attribute__((noinline)) void merge_rows(const Tile& t, const float* maximum, const float* sum) {
  float keep[16], take[16];
  const V before = load_n(t.max, t.rows), now = load_n(maximum, t.rows);
  const V joint = max_of(before, now);
  const V keep_all = exp_lanes(sub(before, joint)), take_all = exp_lanes(sub(now, joint));
  store(keep, keep_all);
  store(take, take_all);
  float joint_max[16], joint_sum[16];
  store(joint_max, joint);
  store(joint_sum, fma(load_n(sum, t.rows), take_all, mul(load_n(t.sum, t.rows), keep_all)));
  for (int r = 0; r < t.rows; ++r) {
    if (t.row[r].begin >= t.row[r].end) continue;
    t.max[r] = joint_max[r];
    t.sum[r] = joint_sum[r];
    float* out = t.out + r * t.value_stride;
    const float* part = t.part + r * t.value_stride;
    const V k = set1(keep[r]), n = set1(take[r]);
    for (int64_t c = 0; c < t.value_stride; c += 16)
      store(out + c, fma(load(part + c), n, mul(load(out + c), k)));
  }
}

// Adds what the tile sees: from t.all, of which t.common is a part where it is not empty.
template <class S, int R>
INGLE_LANE void add_seen_values(const Tile& t) {
  if (t.common.begin < t.common.end) {
    add_edge_values<S>(t, {t.all.begin, t.common.begin});
    constexpr int kRows = value_rows(R);
    for (int row0 = 0; row0 < R; row0 += kRows) add_all_values<S, kRows, value_vecs(kRows)>(t, row0, 0);
    add_edge_values<S>(t, {t.common.end, t.all.end});
  } else {
    add_edge_values<S>(t, t.all);
  }
}
// Page by page, which makes the same chains.
template <class S, int R>
INGLE_LANE void add_opened_values(const Tile& t) {
  Tile one = t;
  one.values = t.opened;
  for (int64_t p = t.all.begin / kPageTokens; p * kPageTokens < t.all.end; ++p) {
    if (!t.a->pages[p]) continue;
    open_values(reinterpret_cast<const typename S::Code*>(t.a->pages[p] + t.a->v_offset), t.a->dv, t.opened);
    const Range page = {p * kPageTokens, (p + 1) * kPageTokens};
    one.all = {larger(t.all.begin, page.begin), smaller(t.all.end, page.end)};
    one.common = {larger(t.common.begin, page.begin), smaller(t.common.end, page.end)};
    add_seen_values<F32State, R>(one);
  }
}

template <class S, int R>
void attend_tile(const Tile& t) {
  if constexpr (kOpened<S>)
    score_opened<S, R>(t);
  else
    score_split<S, R>(t);
  float maximum[16] = {}, sum[16] = {};
  weigh_rows(t, maximum, sum);
  for (int64_t c = 0; c < R * t.value_stride; c += 16) store(t.part + c, zero());
  if constexpr (kOpened<S>)
    add_opened_values<S, R>(t);
  else
    add_seen_values<S, R>(t);
  merge_rows(t, maximum, sum);
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
__attribute__((noinline)) bool set_ranges(Tile& t, int64_t row0, int64_t split) {
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

// Copies the queries to where a tile's rows lie kRowStride apart.
__attribute__((noinline)) void gather_queries(const AttendArgs& a, const AttendScratch& s, float* query) {
  for (int64_t r = 0; r < a.n_rows; ++r) {
    for (int64_t d = 0; d < a.dk; d += 16) {
      float* to = query + d / kChunk * s.chunk_stride + r * kRowStride + d % kChunk;
      store(to, d + 16 <= a.dk ? load(a.q[r] + d) : load_n(a.q[r] + d, a.dk - d));
    }
    if (a.type != kKvQ8) continue;
    for (int64_t d = 0; d < a.dk; d += kChunk)
      turn(query + d / kChunk * s.chunk_stride + r * kRowStride, smaller(kChunk, a.dk - d),
           turned_together(a.dk));
  }
  const int64_t used = (a.dk < kChunk ? up_to_16(a.dk) : kChunk);
  for (int64_t r = a.n_rows; r < a.n_rows + kMaxTileRows; ++r) {  // rows that pad a tile
    for (int64_t d = 0; d < a.dk; d += kChunk) {
      float* to = query + d / kChunk * s.chunk_stride + r * kRowStride;
      for (int64_t c = 0; c < used; c += 16) store(to + c, zero());
    }
  }
}

// Adds the sink, divides by the sum and hands the row out. A row that sees nothing is zero.
__attribute__((noinline)) void finish_row(const AttendArgs& a, int64_t row, float maximum, float sum,
                                          float* out) {
  V keep = set1(1.0f);
  if (a.sink) {
    const float sink = a.sink[row];
    const float joint = maximum > sink ? maximum : sink;
    const float logits[16] = {maximum - joint, sink - joint};
    float factor[16];
    store(factor, exp_lanes(load(logits)));
    sum = sum * factor[0] + factor[1];
    keep = set1(factor[0]);
  }
  if (a.type == kKvQ4) turn(out, a.dv, turned_together(a.dv));
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
  gather_queries(a, s, scratch + s.query);
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
      t.row0 = row0;
      t.rows = static_cast<int32_t>(smaller(kTileRows, a.n_rows - row0));
      t.value_stride = s.value_stride;
      t.chunk_stride = s.chunk_stride;
      t.pages_end = (end + kPageTokens - 1) / kPageTokens;
      t.query = scratch + s.query + row0 * kRowStride;
      t.max = scratch + s.max + row0;
      t.sum = scratch + s.sum + row0;
      t.out = scratch + s.out + row0 * s.value_stride;
      t.part = scratch + s.part;
      t.scores = scratch + s.scores;
      t.fine = scratch + s.fine;
      t.opened = scratch + s.opened;
      t.values = nullptr;
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
    case kKvQ8:
      return attend_state<Q8State>(*a);
    case kKvQ4:
      return attend_state<Q4State>(*a);
    default:
      return attend_state<Bf16State>(*a);
  }
}

}  // namespace
}  // namespace ingle::kernels
