// The goldens' families (goldens/arch): which there are, how noisy they are, and which have to be right.
#pragma once
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "formats/json_flat.h"
#include "golden/support.h"

namespace ingle::tests {

struct FamilyRecord {
  std::string name;
  double noise = 0;         // of transformers' float32 against its float64
  bool steps_alike = true;  // is decoding token by token, in transformers, the same as one pass?
};

// Those that a regress would take away. One name a line; ".gguf": from its GGUF file.
inline const std::vector<std::string>& must_be_right() {
  static const std::vector<std::string> kNames = {
      // recurrent state and layers that share
      "bamba",
      "falcon_h1",
      "falcon_mamba",
      "gemma3n_text",
      "gemma4_text",
      "gemma4_text_moe",
      "granitemoehybrid",
      "jamba",
      "lfm2",
      "lfm2_moe",
      "lfm3",
      "mamba",
      "mamba2",
      "nemotron_h",
      "qwen3_5_moe_text",
      "qwen3_5_text",
      "qwen3_next",
      "apertus",
      "arcee",
      "biogpt",
      "bitnet",
      "bloom",
      "codegen",
      "cohere",
      "cohere2",
      "ernie4_5",
      "exaone",
      "exaone4",
      "falcon_11b",
      "falcon_40b",
      "falcon_7b",
      "falcon_rw",
      "gemma",
      "gemma.gguf",
      "gemma2",
      "gemma2.gguf",
      "gemma3_bf16",
      "gemma3_text",
      "gemma3_text.gguf",
      "glm",
      "glm4",
      "gpt2",
      "gpt2.gguf",
      "gpt2_f16",
      "gpt_bigcode",
      "gpt_neo",
      "gpt_neox",
      "gpt_neox_seq",
      "gptj",
      "granite",
      "granite_swa",
      "helium",
      "hunyuan_v1_dense",
      "internlm3",
      "jais2",
      "llama2",
      "llama2.gguf",
      "llama3",
      "llama3.gguf",
      "llama3_bf16",
      "llama_bias",
      "llama_rope_dynamic",
      "llama_rope_linear",
      "llama_rope_yarn",
      "llama_sharded",
      "ministral",
      "ministral3",
      "mistral",
      "mistral.gguf",
      "mistral_sw",
      "mpt",
      "nanochat",
      "nemotron",
      "olmo",
      "olmo2",
      "olmo3",
      "opt",
      "opt_350m",
      "persimmon",
      "phi",
      "phi3",
      "phi3.gguf",
      "phi3_longrope_long",
      "phi3_longrope_short",
      "phi3_sw",
      "phi4_mini",
      "phi_qkln",
      "qwen2",
      "qwen2.gguf",
      "qwen2_sw",
      "qwen3",
      "qwen3.gguf",
      "qwen3_bf16",
      "seed_oss",
      "smollm3",
      "smollm3.gguf",
      "stablelm",
      "stablelm2_12b",
      "starcoder2",
      "vaultgemma",
      "xglm",
      // Mixtures of experts, and latent attention.
      "mixtral",
      "mixtral.gguf",
      "mixtral_bf16",
      "qwen2_moe",
      "qwen3_moe",
      "qwen3_moe.gguf",
      "phimoe",
      "dbrx",
      "cohere2_moe",
      "jetmoe",
      "olmoe",
      "flex_olmo",
      "granitemoe",
      "granitemoeshared",
      "deepseek_v2_lite",
      "deepseek_v2",
      "deepseek_v3",
      "kimi_k2",
      "moonlight",
      "glm4_moe",
      "glm4_moe_lite",
      "youtu",
      "mistral4",
      "gpt_oss",
      "minimax_m2",
      "ernie4_5_moe",
      "hunyuan_v1_moe",
      "hy_v3",
      "dots1",
      "exaone_moe",
      "llama4_text",
      "afmoe",
      "laguna",
      "mimo_v2_flash",
      "solar_open",
      "minicpm3",
      "granite4_dense",
      "mellum",
      // From GGUF files made here.
      "afmoe.gguf",
      "apertus.gguf",
      "arcee.gguf",
      "bloom.gguf",
      "cohere.gguf",
      "cohere2.gguf",
      "cohere2_moe.gguf",
      "dbrx.gguf",
      "deepseek_v2.gguf",
      "deepseek_v2_lite.gguf",
      "deepseek_v3.gguf",
      "dots1.gguf",
      "ernie4_5.gguf",
      "ernie4_5_moe.gguf",
      "exaone.gguf",
      "exaone4.gguf",
      "exaone_moe.gguf",
      "falcon_11b.gguf",
      "falcon_40b.gguf",
      "falcon_mamba.gguf",
      "gemma3_bf16.gguf",
      "gemma3n_text.gguf",
      "gemma4_text.gguf",
      "gemma4_text_moe.gguf",
      "glm.gguf",
      "glm4.gguf",
      "glm4_moe.gguf",
      "glm4_moe_lite.gguf",
      "gpt_bigcode.gguf",
      "gpt_oss.gguf",
      "granite.gguf",
      "granite4_dense.gguf",
      "granitemoe.gguf",
      "granitemoehybrid.gguf",
      "granitemoeshared.gguf",
      "hunyuan_v1_dense.gguf",
      "hunyuan_v1_moe.gguf",
      "hy_v3.gguf",
      "internlm3.gguf",
      "jais2.gguf",
      "jamba.gguf",
      "kimi_k2.gguf",
      "laguna.gguf",
      "lfm2_moe.gguf",
      "llama3_bf16.gguf",
      "llama4_text.gguf",
      "llama_bias.gguf",
      "llama_rope_linear.gguf",
      "llama_rope_yarn.gguf",
      "llama_sharded.gguf",
      "mamba.gguf",
      "mamba2.gguf",
      "mellum.gguf",
      "minicpm3.gguf",
      "minimax_m2.gguf",
      "ministral3.gguf",
      "mistral_sw.gguf",
      "mixtral_bf16.gguf",
      "nemotron.gguf",
      "nemotron_h.gguf",
      "olmo.gguf",
      "olmo2.gguf",
      "olmo3.gguf",
      "olmoe.gguf",
      "phi.gguf",
      "phi3_longrope_long.gguf",
      "phi3_longrope_short.gguf",
      "phi3_sw.gguf",
      "phi4_mini.gguf",
      "qwen2_sw.gguf",
      "qwen3_5_moe_text.gguf",
      "qwen3_5_text.gguf",
      "qwen3_bf16.gguf",
      "qwen3_next.gguf",
      "seed_oss.gguf",
      "solar_open.gguf",
      "stablelm.gguf",
      "starcoder2.gguf",
      "youtu.gguf",
  };
  return kNames;
}

inline std::string families_root() {
  const char* shared = std::getenv("INGLE_SHARED");
  const std::string all =
      (shared ? std::string(shared) : std::string(INGLE_SOURCE_DIR) + "/../shared") + "/goldens/arch";
  if (std::filesystem::exists(all + "/manifest.json")) return all;
  WARN("the shared goldens are not here: only the families of tests/data");
  return data_path("golden/arch");
}

inline bool has_family(const std::string& root, const std::string& name) {
  const std::string folder = root + "/" + name.substr(0, name.find('.'));
  return std::filesystem::exists(folder + "/config.json") &&
         (!name.ends_with(".gguf") || std::filesystem::exists(folder + "/model-f32.gguf") ||
          std::filesystem::exists(data_path("golden/gguf/" + name.substr(0, name.find('.')) + ".txt")));
}

// The decoders.
inline std::vector<FamilyRecord> read_families(const std::string& root) {
  std::vector<FamilyRecord> out;
  std::map<std::string, formats::MetaValue> manifest;
  for (auto& [key, value] : formats::flatten_json(*open_plain(root + "/manifest.json"), 1 << 24))
    manifest[key] = std::move(value);
  const std::string kind = ".kind";
  for (const auto& [key, value] : manifest) {
    if (!key.starts_with("families.") || !key.ends_with(kind)) continue;
    if (std::get<std::string>(value) != "causal") continue;
    FamilyRecord f;
    f.name = key.substr(9, key.size() - 9 - kind.size());
    if (!has_family(root, f.name)) continue;
    const auto number = [&](const char* field) {
      const auto at = manifest.find("families." + f.name + "." + field);
      const auto* d = at == manifest.end() ? nullptr : std::get_if<double>(&at->second);
      return d ? *d : 0.0;
    };
    f.noise = number("max_abs_diff_f64");
    f.steps_alike = number("max_abs_diff_cached") < 1e-3;
    out.push_back(std::move(f));
  }
  return out;
}

inline Golden read_golden_of(const std::string& folder) {
  const auto file = formats::open_safetensors(folder + "/golden.safetensors", quant::dtype_table());
  Golden g{ids_in(*file, "input_ids"), ids_in(*file, "greedy_ids"), floats_in(*file, "logits"),
           floats_in(*file, "greedy_margin")};
  g.n_vocab = static_cast<int64_t>(g.logits.size() / g.ids.size());
  return g;
}

}  // namespace ingle::tests
