#include "models/blocks.h"

#include <cmath>

#include "core/error.h"

namespace ingle::models {

Attention plain_attention(const Config& config) {
  Attention a;
  a.heads = {static_cast<int32_t>(config.n_heads), static_cast<int32_t>(config.n_kv_heads),
             static_cast<int32_t>(config.dk), static_cast<int32_t>(config.dv)};
  a.window = config.window.value_or(0);
  a.scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(config.dk)));
  a.rotary = false;
  return a;
}

Attention usual_attention(const Config& config, const std::string& layers, double otherwise) {
  Attention a = plain_attention(config);
  a.rotary = true;
  a.rope = read_rope(config, layers, nullptr, otherwise);
  return a;
}

Mlp usual_mlp(const Config& config) {
  Mlp mlp;
  mlp.width = config.n_ffn;
  return mlp;
}

bool rotates(const Config& config, int64_t layer) {
  constexpr Key kRotary{"", "no_rope_layers"};  // 1: the layer has RoPE
  if (const auto rotary = config.find_ints(kRotary); rotary && !rotary->empty()) {
    if (rotary->size() != static_cast<size_t>(config.n_layers))
      config.refuse(kRotary, "expected one number for each layer");
    return (*rotary)[static_cast<size_t>(layer)] != 0;
  }
  const int64_t every = config.find_int({"", "no_rope_layer_interval"}).value_or(4);
  return every < 1 || (layer + 1) % every != 0;
}

Activation read_activation(const Config& config, Activation otherwise) {
  struct Named {
    std::string_view name;
    Activation act;
  };
  static constexpr Named kNames[] = {
      {"silu", Activation::silu},           {"swish", Activation::silu},
      {"gelu", Activation::gelu_erf},       {"gelu_new", Activation::gelu_tanh},
      {"relu", Activation::relu},           {"gelu_pytorch_tanh", Activation::gelu_tanh},
      {"gelu_fast", Activation::gelu_tanh}, {"relu2", Activation::relu2},
  };
  constexpr Key kAct{"", "hidden_act|hidden_activation|activation_function|activation"};
  const std::string* name = config.find_string(kAct);
  if (config.is_gguf() || !name) return otherwise;
  for (const Named& n : kNames)
    if (n.name == *name) return n.act;
  config.refuse(kAct, format("the activation '{}' is not understood", *name));
}

Presence presence_of(const Config& config, Key key, bool otherwise) {
  if (config.is_gguf()) return Presence::optional;
  return config.find_bool(key).value_or(otherwise) ? Presence::yes : Presence::no;
}

}  // namespace ingle::models
