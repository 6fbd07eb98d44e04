// The recurrent ops: heads, or runs of channels, of each sequence are dealt out to the workers, and each goes
// through its tokens in order. The chunk is (slice, head): it depends on nothing else in the batch.
#include <cmath>

#include "backends/cpu/step.h"

namespace ingle::backends {
namespace {

constexpr int64_t kChannels = 256;  // of a convolution, for one chunk
constexpr float kUnitEps = 1e-6f;

}  // namespace

// Calls f(first row, count, from, to) for each run of tokens of the slice that ends in a snapshot.
template <class F>
void CpuStep::each_piece(Id part_id, int32_t layer, int64_t head, const Slice& slice, int64_t row0,
                         F f) const {
  const kv::PartSpec& part = p.plan().parts[static_cast<size_t>(part_id)];
  const kv::RecurrentStep step = slice.state->recurrent(static_cast<size_t>(part_id));
  const int64_t offset = part.tile_offset(layer, head);
  const std::byte* from = step.from ? step.from + offset : nullptr;
  int64_t done = 0;
  for (const kv::Snapshot& to : step.to) {
    const int64_t count = to.position - slice.start - done;
    f(row0 + done, count, reinterpret_cast<const float*>(from), reinterpret_cast<float*>(to.data + offset));
    from = to.data + offset;
    done += count;
  }
}

void CpuStep::operator()(const op::Conv& o) {
  const int64_t channels = width(o.in), runs = ceil_div(channels, kChannels);
  parallel(static_cast<int64_t>(batch.slices.size()) * runs, [&](int64_t c) {
    const auto slice = static_cast<size_t>(c / runs);
    const int64_t first = c % runs * kChannels;
    int64_t row0 = 0;
    for (size_t s = 0; s < slice; ++s) row0 += static_cast<int64_t>(batch.slices[s].tokens.size());
    each_piece(o.part, o.layer, 0, batch.slices[slice], row0,
               [&](int64_t r, int64_t count, const float* from, float* to) {
                 const kernels::ConvArgs args{count,
                                              std::min(kChannels, channels - first),
                                              o.taps,
                                              channels,
                                              row(o.in, r) + first,
                                              channels,
                                              p.vector(o.weight) + first,
                                              o.bias == kNone ? nullptr : p.vector(o.bias) + first,
                                              o.silu ? 1 : 0,
                                              row(o.out, r) + first,
                                              width(o.out),
                                              from ? from + first : nullptr,
                                              to + first};
                 p.scan().conv(&args);
               });
  });
}

// Lengths, steps and gates of a row, which all heads' chunks then read.
void CpuStep::scan_gates(const op::Scan& o, int64_t r) const {
  float *x = row(o.in, r), *decay = row(o.decay, r), *beta = row(o.beta, r);
  const float* rate = p.vector(o.rate);
  if (o.delta) {
    const float scale = 1 / std::sqrt(static_cast<float>(o.dk));
    for (int64_t i = 0; i < o.n_groups; ++i) {
      p.scan().unit(x + o.q_at + i * o.dk, o.dk, kUnitEps, scale);
      p.scan().unit(x + o.k_at + i * o.dk, o.dk, kUnitEps, 1);
    }
  }
  p.scan().softplus(decay, p.vector(o.dt_bias), decay, o.n_heads);
  for (int64_t h = 0; h < o.n_heads; ++h) {
    const float dt = std::min(std::max(decay[h], o.dt_low), o.dt_high);
    beta[h] = o.delta ? static_cast<float>(o.beta_scale / (1 + kernels::exp_double(-double{beta[h]}))) : dt;
    decay[h] = static_cast<float>(kernels::exp_double(double{dt} * rate[h]));
  }
}

void CpuStep::operator()(const op::Scan& o) {
  each_row(n, [&](int64_t r) { scan_gates(o, r); });
  parallel(static_cast<int64_t>(batch.slices.size()) * o.n_heads, [&](int64_t c) {
    const auto slice = static_cast<size_t>(c / o.n_heads);
    const int64_t h = c % o.n_heads, group = o.tiled ? h % o.n_groups : h / (o.n_heads / o.n_groups);
    int64_t row0 = 0;
    for (size_t s = 0; s < slice; ++s) row0 += static_cast<int64_t>(batch.slices[s].tokens.size());
    each_piece(o.part, o.layer, h, batch.slices[slice], row0,
               [&](int64_t r, int64_t count, const float* from, float* to) {
                 const float* x = row(o.in, r);
                 const kernels::ScanArgs args{count,
                                              o.dk,
                                              o.dv,
                                              x + o.q_at + group * o.dk,
                                              x + o.k_at + group * o.dk,
                                              x + o.v_at + h * o.dv,
                                              width(o.in),
                                              row(o.decay, r) + h,
                                              row(o.beta, r) + h,
                                              width(o.decay),
                                              row(o.out, r) + h * o.dv,
                                              width(o.out),
                                              o.skip == kNone ? 0 : p.vector(o.skip)[h],
                                              o.delta ? 1 : 0,
                                              from,
                                              to};
                 p.scan().scan(&args);
               });
  });
}

void CpuStep::operator()(const op::Selective& o) {
  const int64_t channels = width(o.x), runs = ceil_div(channels, kChannels);
  each_row(n, [&](int64_t r) { p.scan().softplus(row(o.dt, r), nullptr, row(o.dt, r), channels); });
  parallel(static_cast<int64_t>(batch.slices.size()) * runs, [&](int64_t chunk) {
    const auto slice = static_cast<size_t>(chunk / runs);
    const int64_t first = chunk % runs * kChannels;
    int64_t row0 = 0;
    for (size_t s = 0; s < slice; ++s) row0 += static_cast<int64_t>(batch.slices[s].tokens.size());
    each_piece(o.part, o.layer, 0, batch.slices[slice], row0,
               [&](int64_t r, int64_t count, const float* from, float* to) {
                 const kernels::SelectiveArgs args{count,
                                                   std::min(kChannels, channels - first),
                                                   o.n_states,
                                                   channels,
                                                   row(o.x, r) + first,
                                                   row(o.dt, r) + first,
                                                   channels,
                                                   channels,
                                                   row(o.b, r),
                                                   row(o.c, r),
                                                   o.n_states,
                                                   p.vector(o.rate) + first,
                                                   p.vector(o.skip) + first,
                                                   row(o.out, r) + first,
                                                   channels,
                                                   from ? from + first : nullptr,
                                                   to + first};
                 p.scan().selective(&args);
               });
  });
}

}  // namespace ingle::backends
