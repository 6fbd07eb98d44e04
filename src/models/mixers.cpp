#include "models/mixers.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace ingle::models {
namespace {

using graph::RowOrder;
using graph::TensorName;

constexpr float kAnyStep = std::numeric_limits<float>::infinity();

// A convolution's [channels, 1, taps] as [taps][channels], each channel times its scale.
Id conv_weight(Flow& f, const TensorName& name, int64_t channels, int64_t taps,
               const std::vector<float>& scale = {}) {
  const std::vector<float> stored = f.b.flat_values(with_suffix(name, ".weight"), channels * taps);
  std::vector<float> turned(stored.size());
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t j = 0; j < taps; ++j)
      turned[static_cast<size_t>(j * channels + c)] =
          stored[static_cast<size_t>(c * taps + j)] * (scale.empty() ? 1 : scale[static_cast<size_t>(c)]);
  return f.b.made_vector(std::move(turned));
}

void conv(Flow& f, Id in, Id out, Id weight, Id bias, int64_t channels, int32_t taps, bool silu) {
  if (taps < 2) fail(Code::unsupported, f.config.file().name(), format("a convolution over {} tokens", taps));
  const auto slot = f.b.recurrent_state(1, taps - 1, channels);
  f.b.emit(op::Conv{in, out, weight, bias, taps, silu, slot.part, slot.layer});
}

// -e^A_log; GGUF files hold it so.
Id rate_vector(Flow& f, const TensorName& name, int64_t n) {
  std::vector<float> rate = f.b.flat_values(name, n);
  if (!f.config.is_gguf())
    for (float& r : rate) r = -std::exp(r);
  return f.b.made_vector(std::move(rate));
}

// Config.json's "dt_bias" has no suffix.
Id step_bias(Flow& f, int64_t layer, int64_t n) {
  TensorName name = f.name(layer, "ssm_dt");
  name.gguf += ".bias";
  return f.b.made_vector(f.b.flat_values(name, n));
}

}  // namespace

std::vector<std::string> layer_kinds(const Config& config, Key key, const std::vector<std::string>& known) {
  const std::vector<std::string>* kinds = config.find_strings(key);
  if (!kinds) fail(Code::corrupt, config.file().name(), format("key '{}' is missing", config.spelled(key)));
  if (kinds->size() != static_cast<size_t>(config.n_layers))
    fail(Code::corrupt, config.file().name() + ", key " + config.spelled(key),
         format("has {} values, expected {}", kinds->size(), config.n_layers));
  for (const std::string& kind : *kinds)
    if (std::find(known.begin(), known.end(), kind) == known.end())
      config.refuse(key, format("a layer of kind '{}' has no place in this architecture", kind));
  return *kinds;
}

std::vector<std::string> layer_kinds(const Flow& flow, Key key, const std::vector<std::string>& known,
                                     const std::vector<ToldBy>& told_by) {
  if (!flow.config.is_gguf()) return layer_kinds(flow.config, key, known);
  std::vector<std::string> kinds;
  for (int64_t i = 0; i < flow.config.n_layers; ++i) {
    const auto has = [&](const ToldBy& t) { return flow.holds(i, t.role); };
    const auto told = std::find_if(told_by.begin(), told_by.end(), has);
    kinds.emplace_back(told == told_by.end() ? told_by.back().kind : told->kind);
  }
  return kinds;
}

void emit_short_conv(const Place& at, const ShortConv& spec) {
  Flow& f = at.flow;
  const int64_t width = f.config.hidden;
  const Presence bias = spec.bias ? Presence::yes : Presence::no;
  const TensorName in = f.name(at.layer, "shortconv.in_proj"), kernel = f.name(at.layer, "shortconv.conv");
  const Id xn = f.normed(at.x, at.norm, width);
  const auto part = [&](const char* role, int64_t index) {
    return f.linear(xn, f.weight(in, width, width, bias, {.first = index * width, .whole = 3 * width}), role,
                    width);
  };
  const Id b = part("conv_b", 0), c = part("conv_c", 1), v = part("conv_in", 2),
           y = f.temp("conv_out", width);
  f.multiply(v, b);
  conv(f, v, y, conv_weight(f, kernel, width, spec.taps),
       spec.bias ? f.b.vector(with_suffix(kernel, ".bias"), width) : kNone, width, spec.taps, false);
  f.multiply(y, c);
  f.project(y, at.target(), f.weight(f.name(at.layer, "shortconv.out_proj"), width, width, bias), at.post,
            at.residual);
}

namespace {

// The rows of the fused projections, in the order [q | k | v], z, beta, alpha.
struct FusedRows {
  std::vector<int64_t> qkv, z, beta, alpha;
};
FusedRows fused_rows(const GatedDelta& s) {
  FusedRows rows;
  const int64_t per = s.n_heads / s.n_groups, values = per * s.dv, block = 2 * s.dk + 2 * values;
  const auto take = [&](std::vector<int64_t>& out, int64_t first, int64_t n) {
    for (int64_t g = 0; g < s.n_groups; ++g)
      for (int64_t i = 0; i < n; ++i) out.push_back(g * block + first + i);
  };
  take(rows.qkv, 0, s.dk);
  take(rows.qkv, s.dk, s.dk);
  take(rows.qkv, 2 * s.dk, values);
  take(rows.z, 2 * s.dk + values, values);
  for (int64_t h = 0; h < s.n_heads; ++h) {
    rows.beta.push_back(h / per * 2 * per + h % per);
    rows.alpha.push_back(h / per * 2 * per + per + h % per);
  }
  return rows;
}

}  // namespace

void emit_gated_delta(const Place& at, const GatedDelta& s) {
  Flow& f = at.flow;
  const int64_t hidden = f.config.hidden, keys = int64_t{s.n_groups} * s.dk,
                values = int64_t{s.n_heads} * s.dv, width = 2 * keys + values, heads = s.n_heads;
  const auto name = [&](std::string_view role) { return f.name(at.layer, role); };
  LinearSpec qkv, z, beta, alpha;
  const TensorName fused = with_suffix(name("ssm_in"), ".weight"),
                   gates = with_suffix(name("ssm_ba"), ".weight");
  const bool fused_gates = f.b.has(gates);
  if (f.b.has(fused) || fused_gates) {
    FusedRows rows = fused_rows(s);
    const auto part = [&](const TensorName& whole, std::vector<int64_t> from, int64_t all) {
      const auto n = static_cast<int64_t>(from.size());
      return LinearSpec{f.b.part(whole, {all, hidden}, n, hidden, {.source_rows = std::move(from)}), kNone};
    };
    if (f.b.has(fused)) {
      qkv = part(fused, std::move(rows.qkv), width + values);
      z = part(fused, std::move(rows.z), width + values);
    } else {
      qkv = f.weight(name("attn_qkv"), width, hidden);
      z = f.weight(name("attn_gate"), values, hidden);
    }
    beta = part(gates, std::move(rows.beta), 2 * heads);
    alpha = part(gates, std::move(rows.alpha), 2 * heads);
  } else {
    qkv = f.weight(name("attn_qkv"), width, hidden);
    z = f.weight(name("attn_gate"), values, hidden);
    beta = f.weight(name("ssm_beta"), heads, hidden);
    alpha = f.weight(name("ssm_alpha"), heads, hidden);
  }
  const Id xn = f.normed(at.x, at.norm, hidden);
  const Id in = f.linear(xn, qkv, "scan_in", width), gate = f.linear(xn, z, "scan_gate", values);
  op::Scan scan{};
  scan.in = f.temp("scan_mixed", width);
  scan.beta = f.linear(xn, beta, "scan_beta", heads);
  scan.decay = f.linear(xn, alpha, "scan_decay", heads);
  conv(f, in, scan.in, conv_weight(f, name("ssm_conv1d"), width, s.taps), kNone, width, s.taps, true);
  scan.q_at = 0, scan.k_at = static_cast<int32_t>(keys), scan.v_at = static_cast<int32_t>(2 * keys);
  scan.out = f.temp("scan_out", values);
  scan.rate = rate_vector(f, name("ssm_a"), heads);
  scan.dt_bias = step_bias(f, at.layer, heads);
  scan.skip = kNone;
  scan.dt_low = 0, scan.dt_high = kAnyStep, scan.beta_scale = 1;
  scan.n_heads = s.n_heads, scan.n_groups = s.n_groups, scan.dk = s.dk, scan.dv = s.dv;
  // The converter of models with their gates apart also puts the first heads of all groups first.
  scan.tiled = f.config.is_gguf() && !fused_gates, scan.delta = true;
  const auto slot = f.b.recurrent_state(s.n_heads, s.dk, s.dv);
  scan.part = slot.part, scan.layer = slot.layer;
  f.b.emit(scan);
  f.norm(scan.out, scan.out, f.rms(name("ssm_norm"), s.dv, 0), s.dv);
  f.multiply(scan.out, gate, Activation::silu);
  f.project(scan.out, at.target(), f.weight(name("ssm_out"), hidden, values), at.post, at.residual);
}

namespace {

// B and C are as wide as the groups times the states.
void mamba_gate(Flow& f, const Mamba2& s, Id y, Id z, int64_t layer, int64_t inner) {
  NormSpec norm;
  if (s.norm != Mamba2::none) {
    norm = {NormKind::rms,
            f.b.made_vector(f.b.flat_values(with_suffix(f.name(layer, "ssm_norm"), ".weight"), inner)), kNone,
            s.norm_eps};
  }
  if (s.norm == Mamba2::before_gate) f.norm(y, y, norm, inner / s.n_groups);
  f.multiply(y, z, Activation::silu);
  if (s.norm == Mamba2::after_gate) f.norm(y, y, norm, inner / s.n_groups);
}

}  // namespace

void emit_mamba2(const Place& at, const Mamba2& s) {
  Flow& f = at.flow;
  const int64_t hidden = f.config.hidden, inner = int64_t{s.n_heads} * s.head_width,
                states = int64_t{s.n_groups} * s.n_states, width = inner + 2 * states, heads = s.n_heads;
  const auto name = [&](std::string_view role) { return f.name(at.layer, role); };
  const Id xn = f.normed(at.x, at.norm, hidden);
  if (s.in_scale != 1.0f) f.b.emit(op::Scale{xn, xn, s.in_scale});
  const auto part = [&](const char* role, int64_t first, int64_t n) {
    return f.linear(
        xn, f.weight(name("ssm_in"), n, hidden, s.in_bias, {.first = first, .whole = inner + width + heads}),
        role, n);
  };
  const Id z = part("scan_gate", 0, inner), in = part("scan_in", inner, width);
  op::Scan scan{};
  scan.decay = part("scan_decay", inner + width, heads);
  if (s.z_scale != 1.0f) f.b.emit(op::Scale{z, z, s.z_scale});
  if (s.dt_scale != 1.0f) f.b.emit(op::Scale{scan.decay, scan.decay, s.dt_scale});
  std::vector<float> scale(static_cast<size_t>(width), s.x_scale);
  for (int64_t i = 0; i < 2 * states; ++i)
    scale[static_cast<size_t>(inner + i)] = i < states ? s.b_scale : s.c_scale;
  scan.in = f.temp("scan_mixed", width);
  conv(f, in, scan.in, conv_weight(f, name("ssm_conv1d"), width, s.taps, scale),
       s.conv_bias ? f.b.vector(with_suffix(name("ssm_conv1d"), ".bias"), width) : kNone, width, s.taps,
       true);
  scan.v_at = 0, scan.k_at = static_cast<int32_t>(inner), scan.q_at = static_cast<int32_t>(inner + states);
  scan.beta = f.temp("scan_beta", heads);
  scan.out = f.temp("scan_out", inner);
  scan.rate = rate_vector(f, name("ssm_a"), heads);
  scan.dt_bias = step_bias(f, at.layer, heads);
  scan.skip = f.b.made_vector(f.b.flat_values(name("ssm_d"), heads));
  scan.dt_low = s.dt_low, scan.dt_high = s.dt_high, scan.beta_scale = 1;
  scan.n_heads = s.n_heads, scan.n_groups = s.n_groups, scan.dk = s.n_states, scan.dv = s.head_width;
  scan.tiled = false, scan.delta = false;
  const auto slot = f.b.recurrent_state(s.n_heads, s.n_states, s.head_width);
  scan.part = slot.part, scan.layer = slot.layer;
  f.b.emit(scan);
  mamba_gate(f, s, scan.out, z, at.layer, inner);
  f.project(scan.out, at.target(), f.weight(name("ssm_out"), hidden, inner, s.out_bias), at.post,
            at.residual);
}

void emit_mamba(const Place& at, const Mamba& s) {
  Flow& f = at.flow;
  const int64_t hidden = f.config.hidden, inner = s.inner, n = s.n_states;
  const auto name = [&](std::string_view role) { return f.name(at.layer, role); };
  const Id xn = f.normed(at.x, at.norm, hidden);
  const auto half = [&](const char* role, int64_t first) {
    return f.linear(xn, f.weight(name("ssm_in"), inner, hidden, s.bias, {.first = first, .whole = 2 * inner}),
                    role, inner);
  };
  const Id in = half("scan_in", 0), z = half("scan_gate", inner), x = f.temp("scan_mixed", inner);
  conv(f, in, x, conv_weight(f, name("ssm_conv1d"), inner, s.taps),
       s.conv_bias ? f.b.vector(with_suffix(name("ssm_conv1d"), ".bias"), inner) : kNone, inner, s.taps,
       true);
  const auto part = [&](const char* role, std::string_view norm, int64_t first, int64_t width) {
    const Id out = f.linear(
        x, f.weight(name("ssm_x"), width, inner, Presence::no, {.first = first, .whole = s.rank + 2 * n}),
        role, width);
    if (s.norms == Mamba::none) return out;
    NormSpec spec = s.norms == Mamba::bare ? f.bare_rms() : f.rms(name(norm), width);
    spec.eps = s.norm_eps;
    f.norm(out, out, spec, width);
    return out;
  };
  const Id step = part("scan_step", "ssm_dt_norm", 0, s.rank);
  op::Selective scan{};
  scan.x = x;
  scan.b = part("scan_b", "ssm_b_norm", s.rank, n);
  scan.c = part("scan_c", "ssm_c_norm", s.rank + n, n);
  scan.dt = f.linear(step, f.weight(name("ssm_dt"), inner, s.rank, Presence::yes), "scan_dt", inner);
  scan.out = f.temp("scan_out", inner);
  const std::vector<float> stored = f.b.flat_values(name("ssm_a"), inner * n);
  std::vector<float> rate(stored.size());
  for (int64_t c = 0; c < inner; ++c)
    for (int64_t i = 0; i < n; ++i)
      rate[static_cast<size_t>(i * inner + c)] = f.config.is_gguf()
                                                     ? stored[static_cast<size_t>(c * n + i)]
                                                     : -std::exp(stored[static_cast<size_t>(c * n + i)]);
  scan.rate = f.b.made_vector(std::move(rate));
  scan.skip = f.b.made_vector(f.b.flat_values(name("ssm_d"), inner));
  scan.n_states = static_cast<int32_t>(n);
  const auto slot = f.b.recurrent_state(1, n, inner);
  scan.part = slot.part, scan.layer = slot.layer;
  f.b.emit(scan);
  f.multiply(scan.out, z, Activation::silu);
  f.project(scan.out, at.target(), f.weight(name("ssm_out"), hidden, inner, s.bias), at.post, at.residual);
}

Mamba2 read_mamba2(const Config& config, float norm_eps, const Mamba2Keys& keys) {
  const auto number = [&](Key key, int64_t low) {
    return static_cast<int32_t>(config.need_int(key, low, 1 << 16));
  };
  const bool gguf = config.is_gguf();
  Mamba2 m;
  m.n_heads = number(gguf ? Key("ssm.time_step_rank") : keys.heads, 1);
  if (gguf) {
    const int32_t inner = number("ssm.inner_size", 1);
    if (inner % m.n_heads != 0)
      fail(Code::corrupt, config.file().name() + ", key " + config.spelled("ssm.inner_size"),
           format("is {}, expected a multiple of {} heads", inner, m.n_heads));
    m.head_width = inner / m.n_heads;
  } else {
    m.head_width = number(keys.head_width, 1);
  }
  m.n_groups = number(gguf ? Key("ssm.group_count") : keys.groups, 1);
  m.n_states = number(gguf ? Key("ssm.state_size") : keys.states, 1);
  m.taps = number(gguf ? Key("ssm.conv_kernel") : keys.taps, 2);
  m.conv_bias = gguf || config.find_bool(keys.conv_bias).value_or(true);
  m.in_bias = m.out_bias = gguf                                          ? Presence::optional
                           : config.find_bool(keys.bias).value_or(false) ? Presence::yes
                                                                         : Presence::no;
  m.norm_eps = norm_eps;
  if (m.n_heads % m.n_groups != 0)
    fail(Code::corrupt, config.file().name() + ", key " + config.spelled(keys.heads),
         format("is {}, expected a multiple of {} groups", m.n_heads, m.n_groups));
  // An infinite bound may be written as anything that is no number.
  if (const auto both = config.find_floats({"", "time_step_limit"}); both && both->size() == 2) {
    m.dt_low = static_cast<float>((*both)[0]), m.dt_high = static_cast<float>((*both)[1]);
  } else {
    m.dt_low = static_cast<float>(config.find_float({"", "time_step_limit.0"}).value_or(0));
    if (const auto high = config.find_float({"", "time_step_limit.1"})) m.dt_high = static_cast<float>(*high);
  }
  return m;
}

backends::PlanRotation rotation_of_layers(const Config& config, const std::string& kind, int64_t head_width) {
  const std::string own = "rope_parameters." + kind + ".";
  const auto key = [&](const char* name) { return own + name; };
  const std::string* scaling = config.file().find_string(key("rope_type"));
  if (!scaling || *scaling != "proportional") return rotation_of(read_rope(config, kind));
  const std::string theta_key = key("rope_theta"), part_key = key("partial_rotary_factor");
  const double theta = config.need_positive(Key("", theta_key.c_str()));
  const double part = config.positive_or(Key("", part_key.c_str()), 1);
  const auto turned = static_cast<int64_t>(part * static_cast<double>(head_width) / 2);
  backends::PlanRotation rotation;
  for (int64_t i = 0; i < head_width / 2; ++i)
    rotation.inverse_frequency.push_back(
        i < turned ? std::pow(theta, -2.0 * static_cast<double>(i) / static_cast<double>(head_width)) : 0.0);
  return rotation;
}

GatedAttention usual_gated_attention(const Config& config) {
  GatedAttention a;
  a.heads = {static_cast<int32_t>(config.n_heads), static_cast<int32_t>(config.n_kv_heads),
             static_cast<int32_t>(config.dk), static_cast<int32_t>(config.dv)};
  a.scale = static_cast<float>(1 / std::sqrt(static_cast<double>(config.dk)));
  return a;
}

void emit_attention(const Place& at, const GatedAttention& a) {
  Flow& f = at.flow;
  const HeadShape& h = a.heads;
  const int64_t hidden = f.config.hidden, q_width = int64_t{h.n_heads} * h.dk,
                out_width = int64_t{h.n_heads} * h.dv;
  const auto name = [&](std::string_view role) { return f.name(at.layer, role); };
  RowOrder query, gate;
  if (a.gated) {
    query = {.whole = 2 * q_width, .run = h.dk, .stride = 2 * h.dk};
    gate = query;
    gate.first = h.dk;
  }
  RowOrder key;
  if (a.pairs == Pairs::adjacent || (a.pairs == Pairs::adjacent_in_gguf && f.config.is_gguf()))
    query.head_width = key.head_width = h.dk, query.rotated = key.rotated = f.config.n_rotated;
  Id gated = kNone, x = at.x;
  NormSpec norm = at.norm;
  if (a.in_scale != 1.0f) {
    x = f.normed(at.x, at.norm, hidden);
    f.b.emit(op::Scale{x, x, a.in_scale});
    norm = {};
  }
  if (a.gated)
    gated = f.linear(f.normed(at.x, at.norm, hidden), f.weight(name("attn_q"), q_width, hidden, a.bias, gate),
                     "attn_gate", q_width);
  if (a.head_gates)
    gated = f.linear(f.normed(at.x, at.norm, hidden), f.weight(name("attn_gate"), h.n_heads, hidden),
                     "attn_gate", h.n_heads);
  op::AttentionInput in{};
  in.x = x;
  in.q = f.temp("attn_q", q_width);
  in.norm = norm;
  in.wq = f.weight(name("attn_q"), q_width, hidden, a.bias, query);
  in.wk = f.weight(name("attn_k"), int64_t{h.n_kv_heads} * h.dk, hidden, a.bias, key);
  in.wv = f.weight(name("attn_v"), int64_t{h.n_kv_heads} * h.dv, hidden, a.bias);
  in.q_norm = a.q_norm;
  in.k_norm = a.k_norm;
  in.rotation = a.rotation;
  const auto slot = f.b.state(a.window ? kv::PartKind::window : kv::PartKind::pages, h, a.window);
  in.part = slot.part, in.layer = slot.layer, in.heads = h;
  f.b.emit(in);
  const Id out = f.temp("attended", out_width);
  op::Attend attend{};
  attend.q = in.q, attend.out = out, attend.part = slot.part, attend.layer = slot.layer, attend.heads = h;
  attend.scale = a.scale;
  f.b.emit(attend);
  if (a.gated) f.multiply(out, gated, Activation::sigmoid);
  if (a.head_gates) f.b.emit(op::Gate{out, gated, Activation::sigmoid, h.dv});
  f.project(out, at.target(), f.weight(name("attn_output"), hidden, out_width, a.output_bias), at.post,
            at.residual);
}

}  // namespace ingle::models
