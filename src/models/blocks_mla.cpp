#include "models/blocks_mla.h"

#include <cmath>

#include "core/error.h"

namespace ingle::models {
namespace {

using graph::GraphBuilder;
using graph::TensorName;

constexpr int64_t kMost = 1 << 20;
constexpr Key kQRank{"attention.q_lora_rank", "q_lora_rank"};
constexpr Key kRank{"attention.kv_lora_rank", "kv_lora_rank"};
constexpr Key kRotated{"rope.dimension_count", "qk_rope_head_dim"};
constexpr Key kNope{"", "qk_nope_head_dim"};
constexpr Key kDk{"attention.key_length_mla|attention.key_length", ""};
constexpr Key kDv{"attention.value_length_mla|attention.value_length", "v_head_dim"};
constexpr Key kFactor{"rope.scaling.factor", "rope_parameters.factor|rope_scaling.factor"};
constexpr Key kAllScale{"", "rope_parameters.mscale_all_dim|rope_scaling.mscale_all_dim"};
constexpr Key kLogScale{"rope.scaling.yarn_log_multiplier", ""};  // 0.1 times the former
constexpr Key kInterleave{"", "rope_interleave"};
constexpr double kUsualEps = 1e-6;  // config.json has no key for these norms

struct Claim {
  GraphBuilder& b;
  const Names& names;
  const Mla& m;
  int64_t layer, hidden;

  TensorName name(const char* role) const { return names.of_layer(layer, role); }
  TensorName weight(const char* role) const { return with_suffix(name(role), ".weight"); }

  // Where value j of a rotated run lies in the file.
  int64_t unpaired(int64_t j) const {
    if (m.rope.pairs == Pairs::halves) return j;
    return j < m.n_rotated / 2 ? 2 * j : 2 * (j - m.n_rotated / 2) + 1;
  }
  // Rows `at` + (0 … run) of each of n runs that are `stride` apart; turned ones are put in order.
  struct Rows {
    int64_t n, stride, at, run;
    bool turned;
  };
  std::vector<int64_t> list(const Rows& rows) const {
    std::vector<int64_t> out;
    for (int64_t h = 0; h < rows.n; ++h)
      for (int64_t j = 0; j < rows.run; ++j)
        out.push_back(h * rows.stride + rows.at + (rows.turned ? unpaired(j) : j));
    return out;
  }
  LinearSpec linear(const char* role, int64_t whole, int64_t cols, const Rows& rows, bool bias) const {
    // A tensor of another shape is told before a list is made of numbers that only the configuration knows.
    if (b.rows_of(weight(role)) != whole) b.part(weight(role), {whole, cols}, 1, cols, {});
    std::vector<int64_t> picked = list(rows);
    LinearSpec w;
    const auto n = static_cast<int64_t>(picked.size());
    if (bias) {
      const std::vector<float> all = b.values(with_suffix(name(role), ".bias"), whole);
      std::vector<float> values;
      for (const int64_t r : picked) values.push_back(all[static_cast<size_t>(r)]);
      w.bias = b.made_vector(std::move(values));
    }
    w.weight = b.part(weight(role), {whole, cols}, n, cols, {.source_rows = std::move(picked)});
    return w;
  }
  NormSpec norm(const char* role, int64_t width) const {
    return {NormKind::rms, b.vector(weight(role), width), kNone, m.norm_eps};
  }

  void query(op::Mla& o) const {
    const int64_t dk = m.nope + m.n_rotated;
    const char* role = "attn_q";
    int64_t cols = hidden;
    if (m.q_rank) {
      o.q_a.weight = b.matrix(weight("attn_q_a"), m.q_rank, hidden);
      if (m.bias) o.q_a.bias = b.vector(with_suffix(name("attn_q_a"), ".bias"), m.q_rank);
      o.q_norm = norm("attn_q_a_norm", m.q_rank);
      role = "attn_q_b";
      cols = m.q_rank;
    }
    o.q_nope = linear(role, m.n_heads * dk, cols, {m.n_heads, dk, 0, m.nope, false}, false);
    o.q_rope = linear(role, m.n_heads * dk, cols, {m.n_heads, dk, m.nope, m.n_rotated, true}, false);
  }

  void latent(op::Mla& o) const {
    const int64_t whole = m.rank + m.n_rotated;
    o.latent = linear("attn_kv_a_mqa", whole, hidden, {1, 0, 0, m.rank, false}, m.bias);
    o.k_rope = linear("attn_kv_a_mqa", whole, hidden, {1, 0, m.rank, m.n_rotated, true}, m.bias);
    o.latent_norm = norm("attn_kv_a_norm", m.rank);
  }

  void up(op::Mla& o) const {
    const auto heads = static_cast<int32_t>(m.n_heads);
    o.k_up.count = o.v_up.count = heads;
    const auto keep = [](BankSpec& bank, int32_t h, Id id) {
      if (h == 0) bank.weight = id;
    };
    // Newer GGUF files have them apart, and those of the keys turned.
    if (b.has(weight("attn_k_b"))) {
      for (int32_t h = 0; h < heads; ++h)
        keep(o.k_up, h,
             b.part(weight("attn_k_b"), {m.n_heads, m.rank, m.nope}, m.rank, m.nope,
                    {.first_row = h * m.rank, .slice_rows = m.rank}));
      for (int32_t h = 0; h < heads; ++h)
        keep(o.v_up, h,
             b.part(weight("attn_v_b"), {m.n_heads, m.dv, m.rank}, m.dv, m.rank,
                    {.first_row = h * m.dv, .slice_rows = m.dv}));
      return;
    }
    const TensorName both = weight("attn_kv_b");
    const int64_t stride = m.nope + m.dv;
    const Shape whole{m.n_heads * stride, m.rank};
    if (b.turns(both)) {
      for (int32_t h = 0; h < heads; ++h)
        keep(o.k_up, h,
             b.part(both, whole, m.rank, m.nope,
                    {.first_row = h * stride, .slice_rows = m.nope, .transposed = true}));
      for (int32_t h = 0; h < heads; ++h)
        keep(o.v_up, h,
             b.part(both, whole, m.dv, m.rank, {.first_row = h * stride + m.nope, .slice_rows = m.dv}));
      return;
    }
    o.k_up = o.v_up = {};
    o.k_all = linear("attn_kv_b", whole[0], m.rank, {m.n_heads, stride, 0, m.nope, false}, false);
    o.v_all = linear("attn_kv_b", whole[0], m.rank, {m.n_heads, stride, m.nope, m.dv, false}, false);
  }
};

}  // namespace

Mla usual_mla(const Config& config, double otherwise) {
  Mla m;
  m.n_heads = config.n_heads;
  if (config.has(kQRank)) m.q_rank = config.need_int(kQRank, 0, kMost);
  m.rank = config.need_int(kRank, 1, kMost);
  m.n_rotated = config.need_int(kRotated, 2, kMost);
  m.dv = config.is_gguf() && !config.has(kDv) ? config.dv : config.need_int(kDv, 1, kMost);
  if (m.n_rotated % 2 != 0) config.refuse(kRotated, format("is {}, expected an even number", m.n_rotated));
  m.nope = config.is_gguf() ? config.need_int(kDk, m.n_rotated + 1, kMost) - m.n_rotated
                            : config.need_int(kNope, 1, kMost);
  Config turned = config;
  turned.n_rotated = m.n_rotated;
  m.rope = read_rope(turned, {}, nullptr, otherwise);
  m.rope.pairs = config.find_bool(kInterleave).value_or(true) ? Pairs::adjacent : Pairs::halves;
  double logits = 1;
  const double log_factor = std::log(std::max(1.0, config.find_float(kFactor).value_or(1)));
  if (config.is_gguf()) {
    m.rope.magnitude = 1;  // what YaRN does to the rotated values is in the scale of the logits
    logits += config.find_float(kLogScale).value_or(0) * log_factor;
  } else {
    logits += 0.1 * config.find_float(kAllScale).value_or(0) * log_factor;
  }
  m.scale = static_cast<float>(logits * logits / std::sqrt(static_cast<double>(m.nope + m.n_rotated)));
  m.norm_eps = kUsualEps;
  m.bias = config.find_bool({"", "attention_bias"}).value_or(false);
  return m;
}

void emit_mla(GraphBuilder& b, const Config& config, const Names& names, int64_t i, const Mla& m, Id x,
              const NormSpec& norm, const NormSpec& post, float residual) {
  op::Mla o{};
  const Claim claim{b, names, m, i, config.hidden};
  o.x = x;
  o.norm = norm;
  claim.query(o);
  claim.latent(o);
  claim.up(o);
  o.out.weight = b.matrix(claim.weight("attn_output"), config.hidden, m.n_heads * m.dv);
  if (m.bias) o.out.bias = b.vector(with_suffix(claim.name("attn_output"), ".bias"), config.hidden);
  o.post = post;
  o.residual = residual;
  o.rotation = b.rotation(rotation_of(m.rope));
  o.n_heads = static_cast<int32_t>(m.n_heads);
  o.rope = static_cast<int32_t>(m.n_rotated);
  o.nope = static_cast<int32_t>(m.nope);
  o.rank = static_cast<int32_t>(m.rank);
  o.dv = static_cast<int32_t>(m.dv);
  o.scale = m.scale;
  o.beta = static_cast<float>(m.temperature.beta);
  o.span = static_cast<int32_t>(m.temperature.span);
  o.offset = static_cast<int32_t>(m.temperature.offset);
  const bool absorbed = o.k_up.weight != kNone;
  const HeadShape heads = absorbed ? HeadShape{o.n_heads, 1, o.rope + o.rank, o.rank}
                                   : HeadShape{o.n_heads, o.n_heads, o.rope + o.nope, o.dv};
  const auto slot = b.state(kv::PartKind::pages, heads, 0);
  o.part = slot.part;
  o.layer = slot.layer;
  b.emit(o);
}

}  // namespace ingle::models
