// GGUF files made from Hugging Face checkpoints of the goldens, for families that have none there.
#pragma once
#include <map>
#include <string>

#include "formats/gguf.h"
#include "golden/support.h"
#include "support/temp.h"

namespace ingle::tests {

struct MadeModel {
  int64_t hidden, n_ffn, n_heads, n_kv_heads, dk;
  double eps, theta;
  formats::GgufMeta extra;  // keys without the architecture's prefix
};

// The configurations of config.json.
inline MadeModel made_model(const std::string& name) {
  if (name == "mistral_sw")
    return {32, 64, 4, 2, 16, 1e-5, 100000, {{"attention.sliding_window", uint64_t{16}}}};
  if (name == "llama_bias") return {32, 64, 4, 2, 32, 1e-6, 10000, {}};
  if (name == "llama_rope_linear")
    return {32, 64,   2,     1,
            16, 1e-6, 10000, {{"rope.scaling.type", std::string("linear")}, {"rope.scaling.factor", 4.0}}};
  throw std::runtime_error("no configuration of " + name);
}

inline std::string gguf_name(std::string name) {
  static const std::vector<std::pair<std::string, std::string>> kParts = {
      {"lm_head", "output"},
      {"model.embed_tokens", "token_embd"},
      {"model.norm", "output_norm"},
      {"model.layers", "blk"},
      {"input_layernorm", "attn_norm"},
      {"post_attention_layernorm", "ffn_norm"},
      {"self_attn.q_proj", "attn_q"},
      {"self_attn.k_proj", "attn_k"},
      {"self_attn.v_proj", "attn_v"},
      {"self_attn.o_proj", "attn_output"},
      {"mlp.gate_proj", "ffn_gate"},
      {"mlp.up_proj", "ffn_up"},
      {"mlp.down_proj", "ffn_down"}};
  for (const auto& [from, to] : kParts)
    if (const size_t at = name.find(from); at != std::string::npos) name.replace(at, from.size(), to);
  return name;
}

// llama.cpp's converter puts the rows that rotate together side by side: row 2 i of a head is row i, row 2 i
// + 1 row i + dk / 2.
inline std::vector<float> adjacent_pairs(const std::vector<float>& values, int64_t row_width, int64_t dk) {
  std::vector<float> out(values.size());
  const auto rows = static_cast<int64_t>(values.size()) / row_width;
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t in_head = r % dk, from = r - in_head + in_head / 2 + (in_head % 2) * (dk / 2);
    std::copy_n(values.begin() + from * row_width, row_width, out.begin() + r * row_width);
  }
  return out;
}

// Writes the model of tests/data/models/<name>/model.safetensors as architecture llama; returns the path.
inline std::string make_gguf(const std::string& name, const TempDir& dir) {
  const MadeModel m = made_model(name);
  const auto from =
      formats::open_safetensors(data_path("models/" + name + "/model.safetensors"), quant::dtype_table());
  formats::GgufMeta meta = {{"general.architecture", std::string("llama")},
                            {"llama.block_count", uint64_t{2}},
                            {"llama.context_length", uint64_t{128}},
                            {"llama.embedding_length", static_cast<uint64_t>(m.hidden)},
                            {"llama.feed_forward_length", static_cast<uint64_t>(m.n_ffn)},
                            {"llama.attention.head_count", static_cast<uint64_t>(m.n_heads)},
                            {"llama.attention.head_count_kv", static_cast<uint64_t>(m.n_kv_heads)},
                            {"llama.attention.key_length", static_cast<uint64_t>(m.dk)},
                            {"llama.attention.value_length", static_cast<uint64_t>(m.dk)},
                            {"llama.attention.layer_norm_rms_epsilon", m.eps},
                            {"llama.rope.freq_base", m.theta}};
  for (const auto& [key, value] : m.extra) meta.emplace_back("llama." + key, value);
  std::vector<formats::GgufTensor> tensors;
  std::vector<std::vector<float>> values;
  for (const formats::TensorInfo& t : from->tensors()) {
    tensors.push_back({gguf_name(t.name), DType::f32, t.shape});
    std::vector<float> v = floats_in(*from, t.name);
    if (t.name.find("q_proj") != std::string::npos || t.name.find("k_proj") != std::string::npos)
      v = adjacent_pairs(v, t.shape.rank() == 2 ? t.shape.back() : 1, m.dk);
    values.push_back(std::move(v));
  }
  const std::string path = dir.path() + "/" + name + ".gguf";
  formats::write_gguf(path, meta, tensors, quant::dtype_table(), [&](size_t i, std::vector<std::byte>& out) {
    const auto bytes = std::as_bytes(std::span(values[i]));
    out.insert(out.end(), bytes.begin(), bytes.end());
  });
  return path;
}

}  // namespace ingle::tests
