// Paged states and calls for the tests of attention.
#pragma once
#include "vec_support.h"

namespace attend_test {

using namespace vec_test;
using namespace ingle::kernels;

inline int64_t q4_row(int64_t n) { return (n + 15) / 16 * 8; }
inline size_t value_bytes(int32_t type) { return type == kKvF32 ? 4 : type == kKvQ8 ? 1 : 2; }
inline int64_t scale_bytes(int32_t type) {
  return type == kKvQ8 ? 64 : 0;
}  // of keys, or of values, of a page
inline size_t idx(int64_t i) { return static_cast<size_t>(i); }

// n keys and values of one kv head in pages of 32, each page of its own size and place. What is past n is
// NaN.
struct State {
  int32_t type;
  int64_t n, dk, dv;
  std::vector<float> k, v;  // [n][dk], [n][dv], as stored (rounded to the type)
  std::vector<std::vector<uint8_t>> pages;
  std::vector<const uint8_t*> table;
  int64_t k_offset = 48, v_offset;
  // 4-bit state: the keys as the queries of other pages see them are in k, and these are their f16 ones.
  std::vector<float> fine_k;
  std::vector<std::vector<uint8_t>> fine;
  std::vector<const uint8_t*> fine_table;

  State(const VecRow& row, int32_t state_type, int64_t count, int64_t key, int64_t value, uint64_t seed)
      : type(state_type), n(count), dk(key), dv(value) {
    Source source(seed);
    k = source.many(n * dk, -2.0f, 2.0f);
    v = source.many(n * dv, -1.0f, 1.0f);
    if (type == kKvQ4) {
      make_q4(row);
      return;
    }
    v_offset = k_offset + dk * 32 * static_cast<int64_t>(value_bytes(type)) + scale_bytes(type);
    const size_t bytes = idx(v_offset + scale_bytes(type)) + idx(dv) * 32 * value_bytes(type);
    pages.assign(idx((n + 31) / 32), std::vector<uint8_t>(bytes, 0xFF));
    for (const auto& page : pages) table.push_back(page.data());
    for (int64_t t = 0; t < n; ++t) put(row, t);
  }
  void make_q4(const VecRow& row) {
    v_offset = k_offset + dk * 20;
    fine_k = k;
    pages.assign(idx((n + 31) / 32), std::vector<uint8_t>(idx(v_offset + 32 * (q4_row(dv) + 2)), 0xFF));
    fine.assign(pages.size(), std::vector<uint8_t>(idx(64 * dk), 0xFF));
    for (size_t p = 0; p < pages.size(); ++p)
      table.push_back(pages[p].data()), fine_table.push_back(fine[p].data());
    for (int64_t t = 0; t < n; ++t) put(row, t);
  }
  // The last token of a page closes it.
  void put_q4(const VecRow& row, int64_t t) {
    uint8_t *page = pages[idx(t / 32)].data(), *keys = fine[idx(t / 32)].data();
    const KvStoreArgs args{type, dk, dv, t % 32, &k[idx(t * dk)], &v[idx(t * dv)], keys, page + v_offset};
    row.kv_store(&args);
    for (int64_t d = 0; d < dk; ++d)
      k[idx(t * dk + d)] = fine_k[idx(t * dk + d)] = half(keys, d * 32 + t % 32);
    const float scale = half(page + v_offset + 32 * q4_row(dv), t % 32);
    for (int64_t d = 0; d < dv; ++d)
      v[idx(t * dv + d)] = scale * static_cast<float>(code(page + v_offset + t % 32 * q4_row(dv), d));
    turn(&v[idx(t * dv)], dv);
    if (t % 32 < 31) return;
    const KvCloseArgs close{dk, keys, page + k_offset};
    row.kv_close(&close);
    const uint8_t* steps = page + k_offset + 16 * dk;
    for (int64_t slot = 0; slot < 32; ++slot)
      for (int64_t d = 0; d < dk; ++d)
        k[idx((t - 31 + slot) * dk + d)] = std::fma(static_cast<float>(code(page + k_offset + 16 * d, slot)),
                                                    half(steps, d), half(steps, dk + d));
  }
  static float half(const uint8_t* from, int64_t i) {
    uint16_t h;
    std::memcpy(&h, from + 2 * i, 2);
    return half_to_float(h);
  }
  static int code(const uint8_t* row, int64_t i) {
    const uint8_t both = row[i / 16 * 8 + i % 8];
    return (i % 16 < 8 ? both & 15 : both >> 4) - 8;
  }
  // As a query sees it that ends at position `last`.
  float key(int64_t t, int64_t d, int64_t last) const {
    return type == kKvQ4 && t / 32 == last / 32 ? fine_k[idx(t * dk + d)] : k[idx(t * dk + d)];
  }
  void put(const VecRow& row, int64_t t) {
    if (type == kKvQ4) return put_q4(row, t);
    uint8_t* page = pages[idx(t / 32)].data();
    const KvStoreArgs args{type,           dk, dv, t % 32, &k[idx(t * dk)], &v[idx(t * dv)], page + k_offset,
                           page + v_offset};
    row.kv_store(&args);
    for (int64_t d = 0; d < dk; ++d) k[idx(t * dk + d)] = read(page + k_offset, d * 32 + t % 32, dk, t % 32);
    if (type == kKvQ8) turn(&k[idx(t * dk)], dk);
    for (int64_t d = 0; d < dv; ++d) v[idx(t * dv + d)] = read(page + v_offset, t % 32 * dv + d, dv, t % 32);
  }
  // Keys are stored turned; turning twice gives them back.
  static void turn(float* x, int64_t width) {
    const int64_t b = std::min<int64_t>(width & -width, 256);
    for (int64_t run = 0; run < width; run += b) {
      std::vector<double> y(idx(b));
      for (int64_t i = 0; i < b; ++i)
        for (int64_t j = 0; j < b; ++j)
          y[idx(i)] += (__builtin_popcountll(static_cast<uint64_t>(i & j)) % 2 ? -1.0 : 1.0) * x[run + j];
      for (int64_t i = 0; i < b; ++i)
        x[run + i] = static_cast<float>(y[idx(i)] / std::sqrt(static_cast<double>(b)));
    }
  }
  float read(const uint8_t* from, int64_t i, int64_t width, int64_t slot) const {
    if (type == kKvQ8) {
      uint16_t scale;
      std::memcpy(&scale, from + 32 * width + 2 * slot, 2);
      return static_cast<float>(static_cast<int8_t>(from[i])) * half_to_float(scale);
    }
    if (type == kKvF32) {
      float f;
      std::memcpy(&f, from + 4 * i, 4);
      return f;
    }
    uint16_t h;
    std::memcpy(&h, from + 2 * i, 2);
    if (type == kKvF16) return half_to_float(h);
    const uint32_t u = static_cast<uint32_t>(h) << 16;
    float f;
    std::memcpy(&f, &u, 4);
    return f;
  }
};

struct Query {
  std::vector<float> q;  // [rows][dk]
  std::vector<int64_t> first, last;
  std::vector<float> sink, slopes;
  float scale = 0.25f, softcap = 0.0f;
  int64_t rows() const { return static_cast<int64_t>(first.size()); }
};

// n_tokens x heads rows over the end of a state: causal, the last `window` positions when it is not 0.
inline Query causal(const State& s, int64_t n_tokens, int64_t heads, int64_t window, uint64_t seed) {
  Query query;
  query.q = Source(seed).many(n_tokens * heads * s.dk, -1.5f, 1.5f);
  query.scale = 1.0f / std::sqrt(static_cast<float>(s.dk));
  for (int64_t t = s.n - n_tokens; t < s.n; ++t) {
    for (int64_t h = 0; h < heads; ++h) {
      query.last.push_back(t);
      query.first.push_back(window > 0 ? std::max<int64_t>(0, t - window + 1) : 0);
    }
  }
  return query;
}

// Runs rows [begin, end) in one call. [end - begin][dv]
inline std::vector<float> run(const VecRow& row, const State& s, const Query& query, int64_t begin,
                              int64_t end) {
  const int64_t n = end - begin;
  std::vector<float> out(idx(n * s.dv), -9.0f);
  std::vector<const float*> q;
  std::vector<float*> o;
  for (int64_t r = 0; r < n; ++r) {
    q.push_back(&query.q[idx((begin + r) * s.dk)]);
    o.push_back(&out[idx(r * s.dv)]);
  }
  const auto bytes = idx(attend_scratch_bytes(n, s.dk, s.dv));
  std::vector<uint8_t> scratch(bytes + 64, 0xFF);  // NaN, so that nothing may count on zeros
  uint8_t* aligned = scratch.data() + (64 - reinterpret_cast<uintptr_t>(scratch.data()) % 64) % 64;
  AttendArgs a{};
  a.type = s.type, a.dk = s.dk, a.dv = s.dv, a.n_rows = n;
  a.q = q.data(), a.out = o.data();
  a.first = query.first.data() + begin, a.last = query.last.data() + begin;
  a.scale = query.scale, a.softcap = query.softcap;
  a.sink = query.sink.empty() ? nullptr : query.sink.data() + begin;
  a.slopes = query.slopes.empty() ? nullptr : query.slopes.data() + begin;
  a.pages = s.table.data(), a.k_offset = s.k_offset, a.v_offset = s.v_offset;
  a.fine_pages = s.fine_table.data();
  a.scratch = aligned;
  row.attend(&a);
  return out;
}
inline std::vector<float> run(const VecRow& row, const State& s, const Query& query) {
  return run(row, s, query, 0, query.rows());
}

inline std::vector<double> oracle(const State& s, const Query& query) {
  std::vector<double> out;
  for (int64_t r = 0; r < query.rows(); ++r) {
    std::vector<double> o(idx(s.dv), 0.0);
    double total = query.sink.empty() ? 0.0 : std::exp(static_cast<double>(query.sink[idx(r)]));
    for (int64_t t = query.first[idx(r)]; t <= query.last[idx(r)]; ++t) {
      double logit = 0.0;
      for (int64_t d = 0; d < s.dk; ++d) {
        logit += static_cast<double>(query.q[idx(r * s.dk + d)]) * s.key(t, d, query.last[idx(r)]);
      }
      logit *= query.scale;
      if (!query.slopes.empty()) logit += query.slopes[idx(r)] * static_cast<double>(t - query.last[idx(r)]);
      if (query.softcap > 0) logit = query.softcap * std::tanh(logit / query.softcap);
      const double p = std::exp(logit);
      total += p;
      for (int64_t d = 0; d < s.dv; ++d) o[idx(d)] += p * s.v[idx(t * s.dv + d)];
    }
    for (double x : o) out.push_back(total == 0.0 ? 0.0 : x / total);
  }
  return out;
}

}  // namespace attend_test
