// What Gemma 3n and Gemma 4 share: attention whose last layers read other layers' keys and values, and
// embeddings that every layer has of its own.
#pragma once
#include "models/flow.h"

namespace ingle::models {

// Attention with norms on q, k and, without weights, v. Layers from `first_shared` on have no keys and values
// of their own: they read those of the last layer of their kind before it.
class SharedAttention {
 public:
  SharedAttention(Flow& flow, int64_t first_shared) : f_(flow), first_shared_(first_shared) {}
  struct Layer {
    HeadShape heads;
    int64_t window = 0;
    Id rotation = kNone;
    bool v_is_k = false;  // one matrix for both
  };
  // x += post(attention(normed))
  void emit(int64_t layer, const Layer& spec, Id normed, Id x, const NormSpec& post);

 private:
  Flow& f_;
  int64_t first_shared_;
  std::map<bool, graph::GraphBuilder::StateSlot> last_;  // [slides]
};

// Of a token, n values for each layer, from a table of their own and a projection of the token's embedding.
// Roles "per_layer_token_embd", "per_layer_model_proj", "per_layer_proj_norm", "inp_gate", "proj",
// "post_norm".
class LayerEmbeddings {
 public:
  LayerEmbeddings(Flow& flow, Id embedded);  // emits
  // Into `out`: norm(projection(values of the layer * gelu(gate of x))).
  void emit(int64_t layer, Id x, Id out);

 private:
  Flow& f_;
  int64_t n_;
  Id all_;
};

constexpr Key kLayerWidth{"embedding_length_per_layer_input", "hidden_size_per_layer_input"};
constexpr Key kSharedLayers{"attention.shared_kv_layers", "num_kv_shared_layers"};

std::vector<bool> sliding_layers(const Config& config);
// Of a tensor that has ".weight" in GGUF files alone.
std::vector<float> flat_values(Flow& flow, graph::TensorName name, int64_t n);

// The usual names and those of the layers' embeddings.
Names gemma_names(std::vector<TensorRole> more);

}  // namespace ingle::models
