#include "models/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/error.h"

namespace ingle::models {
namespace {

// The keys of one RoPE: config.json of transformers 5 has them under rope_parameters, those before beside the
// other keys and under rope_scaling.
class RopeKeys {
 public:
  RopeKeys(const Config& config, const std::string& layers) : config_(config) {
    const std::string own = "rope_parameters." + layers;
    if (!layers.empty() &&
        (config.file().meta(own + ".rope_theta") || config.file().meta(own + ".rope_type")))
      prefix_ = own + ".";
    else
      prefix_ = "rope_parameters.";
  }
  // "factor" as `gguf` or in one of the spellings of config.json.
  std::string name(const char* gguf, const std::string& key) const {
    if (config_.is_gguf()) return config_.architecture() + "." + gguf;
    if (config_.file().meta(prefix_ + key)) return prefix_ + key;
    return "rope_scaling." + key;
  }
  std::optional<double> find(const char* gguf, const std::string& key) const {
    return config_.file().find_float(name(gguf, key));
  }
  double positive(const char* gguf, const std::string& key, std::optional<double> fallback = {}) const {
    const std::string full = name(gguf, key);
    const auto found = config_.file().find_float(full);
    if (!found && !fallback) fail(Code::corrupt, config_.file().name(), format("key '{}' is missing", full));
    const double value = found ? *found : *fallback;
    if (!(value > 0) || !std::isfinite(value))
      fail(Code::corrupt, config_.file().name() + ", key " + full,
           format("is {}, expected a positive number", value));
    return value;
  }
  std::string kind_name() const {
    const std::string current = name("rope.scaling.type", "rope_type");
    if (config_.is_gguf() || config_.file().meta(current)) return current;
    return "rope_scaling.type";  // before "rope_type" there was "type"
  }

 private:
  const Config& config_;
  std::string prefix_;
};

double usual_frequency(const Rope& rope, int64_t i) {
  return std::pow(rope.theta, -2.0 * static_cast<double>(i) / static_cast<double>(rope.n_rotated));
}

// "The Llama 3 Herd of Models", arXiv:2407.21783: slow pairs are divided by the factor, fast ones kept, and
// those between mixed.
void scale_as_llama3(const RopeKeys& keys, Rope& rope) {
  const double factor = keys.positive("", "factor"), low = keys.positive("", "low_freq_factor"),
               high = keys.positive("", "high_freq_factor"),
               trained = keys.positive("", "original_max_position_embeddings");
  for (int64_t i = 0; i < rope.n_rotated / 2; ++i) {
    const double f = usual_frequency(rope, i), turns = trained * f / (2 * std::numbers::pi);
    const double kept = std::clamp((turns - low) / (high - low), 0.0, 1.0);
    rope.inverse_frequency.push_back((1 - kept) * f / factor + kept * f);
  }
}

// Peng et al., "YaRN", arXiv:2309.00071.
void scale_as_yarn(const Config& config, const RopeKeys& keys, Rope& rope, bool whole) {
  const double factor = keys.positive("rope.scaling.factor", "factor");
  const double trained =
      keys.positive("rope.scaling.original_context_length", "original_max_position_embeddings",
                    static_cast<double>(config.n_context));
  const double fast = keys.positive("rope.scaling.yarn_beta_fast", "beta_fast", 32);
  const double slow = keys.positive("rope.scaling.yarn_beta_slow", "beta_slow", 1);
  const auto n = static_cast<double>(rope.n_rotated);
  // The pair that turns `rotations` times over the trained length.
  const auto pair_at = [&](double rotations) {
    return n * std::log(trained / (rotations * 2 * std::numbers::pi)) / (2 * std::log(rope.theta));
  };
  double first = pair_at(fast), last = pair_at(slow);
  if (config.is_gguf() ? whole : config.file().find_bool(keys.name("", "truncate")).value_or(true))
    first = std::floor(first), last = std::ceil(last);
  first = std::max(first, 0.0);
  last = std::min(last, n - 1);
  if (first == last) last += 0.001;
  for (int64_t i = 0; i < rope.n_rotated / 2; ++i) {
    const double f = usual_frequency(rope, i);
    const double kept = 1 - std::clamp((static_cast<double>(i) - first) / (last - first), 0.0, 1.0);
    rope.inverse_frequency.push_back(f / factor * (1 - kept) + f * kept);
  }
  const auto magnitude = [&](double m) { return factor <= 1 ? 1.0 : 0.1 * m * std::log(factor) + 1; };
  const auto m = keys.find("", "mscale"), all = keys.find("", "mscale_all_dim");
  rope.magnitude = magnitude(1);
  if (m && all && *m != 0 && *all != 0) rope.magnitude = magnitude(*m) / magnitude(*all);
  if (const auto log = config.is_gguf() ? keys.find("rope.scaling.yarn_log_multiplier", "") : std::nullopt)
    rope.magnitude = magnitude(1) / magnitude(*log);
  if (const auto given = keys.find("rope.scaling.yarn_attn_factor", "attention_factor"))
    rope.magnitude = *given;
  if (config.is_gguf()) rope.magnitude *= keys.positive("rope.scaling.attn_factor", "", 1);
}

// Ding et al., "LongRoPE", arXiv:2402.13753: factors per pair, others past the trained length.
void scale_as_longrope(graph::GraphBuilder* b, const Config& config, const RopeKeys& keys, Rope& rope) {
  const double fallback = config.positive_or({"", "original_max_position_embeddings"}, 0);
  const double trained =
      keys.positive("rope.scaling.original_context_length", "original_max_position_embeddings",
                    fallback > 0 ? std::optional(fallback) : std::nullopt);
  rope.trained = static_cast<int64_t>(trained);
  const auto frequencies = [&](const char* which, const char* tensor) {
    std::vector<double> factors;
    if (config.is_gguf()) {
      const std::vector<float> f = b->values({tensor, ""}, rope.n_rotated / 2);
      factors.assign(f.begin(), f.end());
    } else {
      const std::string key = keys.name("", which);
      const auto list = config.file().find_floats(key);
      if (!list || list->size() != static_cast<size_t>(rope.n_rotated / 2))
        fail(Code::corrupt, config.file().name() + ", key " + key,
             format("expected {} numbers, one for each rotated pair", rope.n_rotated / 2));
      factors = *list;
    }
    for (size_t i = 0; i < factors.size(); ++i) {
      if (!(factors[i] > 0) || !std::isfinite(factors[i]))
        fail(Code::corrupt, config.file().name() + ", " + which,
             format("a factor is {}, expected a positive number", factors[i]));
      factors[i] = usual_frequency(rope, static_cast<int64_t>(i)) / factors[i];
    }
    return factors;
  };
  rope.inverse_frequency = frequencies("short_factor", "rope_factors_short.weight");
  rope.when_long = frequencies("long_factor", "rope_factors_long.weight");
  const double factor = keys.positive("", "factor", static_cast<double>(config.n_context) / trained);
  rope.magnitude = factor <= 1 ? 1 : std::sqrt(1 + std::log(factor) / std::log(trained));
  if (const auto given = keys.find("rope.scaling.attn_factor", "attention_factor")) rope.magnitude = *given;
}

double read_theta(const Config& config, const RopeKeys& keys, const std::string& layers, double otherwise) {
  if (config.is_gguf()) {
    constexpr Key kBase{"rope.freq_base"}, kSliding{"rope.freq_base_swa"};
    if (layers == "sliding_attention" && config.has(kSliding)) return config.need_positive(kSliding);
    return otherwise > 0 ? config.positive_or(kBase, otherwise) : config.need_positive(kBase);
  }
  const std::string current = keys.name("", "rope_theta");
  if (config.file().meta(current)) return keys.positive("", "rope_theta");
  constexpr Key kLocal{"", "rope_local_base_freq"};  // the older spelling of sliding layers' base
  if (layers == "sliding_attention" && config.has(kLocal)) return config.need_positive(kLocal);
  return config.need_positive({"", "rope_theta|rotary_emb_base|attn_config.rope_theta"});
}

}  // namespace

Rope read_rope(const Config& config, const std::string& layers, graph::GraphBuilder* b, double otherwise,
               bool whole_pairs) {
  const RopeKeys keys(config, layers);
  Rope rope;
  rope.theta = read_theta(config, keys, layers, otherwise);
  rope.n_rotated = config.n_rotated;
  if (const auto part =
          layers.empty() || config.is_gguf() ? std::nullopt : keys.find("", "partial_rotary_factor"))
    rope.n_rotated = config.rotated_part(*part, keys.name("", "partial_rotary_factor"));
  const std::string where = config.file().name();
  const std::string name = keys.kind_name();
  const std::string* kind = config.file().find_string(name);
  // GGUF's scaling is that of full layers.
  if (config.is_gguf() && layers == "sliding_attention") {
    constexpr Key kRotated{"rope.dimension_count_swa"};
    if (config.has(kRotated)) rope.n_rotated = config.need_int(kRotated, 2, config.dk) / 2 * 2;
    return rope;
  }
  // The older spelling scales full layers only where sliding ones have a base of their own.
  if (!config.is_gguf() && layers == "sliding_attention" && config.has({"", "rope_local_base_freq"}))
    return rope;
  if (config.is_gguf() && config.find_float("rope.scale_linear") && !kind)
    fail(Code::unsupported, where + ", key " + config.spelled("rope.scale_linear"),
         "the old spelling of linear RoPE scaling", "convert the file with a current converter");
  if (b && config.is_gguf() && b->has({"rope_factors_long.weight", ""})) {
    scale_as_longrope(b, config, keys, rope);  // converters leave the kind out
  } else if (!kind) {
    // A factor without a type is linear, as llama.cpp has it.
    if (keys.find("rope.scaling.factor", "factor"))
      rope.linear_factor = keys.positive("rope.scaling.factor", "factor");
  } else if (*kind == "linear") {
    rope.linear_factor = keys.positive("rope.scaling.factor", "factor");
  } else if (*kind == "yarn") {
    scale_as_yarn(config, keys, rope, whole_pairs);
  } else if (*kind == "dynamic" && !config.is_gguf()) {
    rope.ntk_factor = keys.positive("", "factor");
    rope.trained = config.n_context;
  } else if ((*kind == "longrope" || *kind == "su") && (b || !config.is_gguf())) {
    scale_as_longrope(b, config, keys, rope);
  } else if (*kind == "llama3" && !config.is_gguf()) {
    scale_as_llama3(keys, rope);
  } else if (*kind != "none" && *kind != "default" && *kind != "mrope") {  // of text alone, "mrope" is usual
    fail(Code::unsupported, where + ", key " + name,
         format(
             "RoPE scaling '{}' is not understood; expected none, linear, dynamic, llama3, longrope or yarn",
             *kind));
  }
  return rope;
}

Temperature llama4_temperature(const Config& config) {
  constexpr Key kBeta{"attention.temperature_scale",
                      "rope_parameters.llama_4_scaling_beta|rope_scaling.llama_4_scaling_beta"};
  constexpr Key kSpan{
      "rope.scaling.original_context_length",
      "rope_parameters.original_max_position_embeddings|rope_scaling.original_max_position_embeddings"};
  if (!config.has(kBeta)) return {};
  return {config.find_float(kBeta).value_or(0), config.need_int(kSpan, 1, int64_t{1} << 31), 0};
}

void read_gguf_factors(graph::GraphBuilder& b, const Config& config, Rope& rope) {
  const graph::TensorName factors{"rope_freqs.weight", ""};
  if (!b.has(factors)) return;
  rope.frequency_factors = b.values(factors, config.n_rotated / 2);
  for (const float factor : rope.frequency_factors)
    if (!(factor > 0) || !std::isfinite(factor))
      fail(Code::corrupt, config.file().name() + ", tensor " + factors.gguf,
           format("a factor is {}, expected a positive number", factor));
}

int64_t longest_context(const Config& config) {
  const RopeKeys keys(config, {});
  const std::string* kind = config.is_gguf() ? nullptr : config.file().find_string(keys.kind_name());
  if (!kind || *kind != "dynamic") return config.n_context;
  const double most = static_cast<double>(config.n_context) * keys.positive("", "factor");
  return most < 1e12 ? static_cast<int64_t>(most) : config.n_context;
}

backends::PlanRotation rotation_of(const Rope& rope) {
  backends::PlanRotation r;
  r.magnitude = rope.magnitude;
  r.trained = rope.trained;
  r.when_long = rope.when_long;
  if (rope.ntk_factor > 0) r.theta = rope.theta, r.ntk_factor = rope.ntk_factor;
  r.inverse_frequency = rope.inverse_frequency;
  if (!r.inverse_frequency.empty()) return r;
  const double way = rope.backwards ? -1 : 1;
  for (int64_t i = 0; i < rope.n_rotated / 2; ++i) {
    double f = usual_frequency(rope, i) / rope.linear_factor;
    if (!rope.frequency_factors.empty())
      f /= static_cast<double>(rope.frequency_factors[static_cast<size_t>(i)]);
    r.inverse_frequency.push_back(way * f);
  }
  return r;
}

}  // namespace ingle::models
