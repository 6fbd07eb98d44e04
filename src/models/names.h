// What Hugging Face checkpoints call the tensors of a family, against the roles that blocks ask for. A role
// is GGUF's name of the tensor, without "blk.<i>." and ".weight".
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "graph/builder.h"

namespace ingle::models {

struct TensorRole {
  std::string_view role, hugging_face;  // "attn_q", "self_attn.q_proj"
  std::string_view gguf = {};           // where converters name this family's tensor unlike the role
};

class Names {
 public:
  // Llama's names, with `changes` for the roles that differ or that Llama lacks; `layers` stands before a
  // layer's number.
  Names(std::string_view layers = "model.layers.", std::vector<TensorRole> changes = {})
      : layers_(layers), changes_(std::move(changes)) {}

  // Without ".weight" or ".bias". A name is empty where the role has none.
  graph::TensorName of_layer(int64_t index, std::string_view role) const;
  // By its own name, which only Hugging Face checkpoints have.
  graph::TensorName of_layer_exactly(int64_t index, std::string_view name) const;
  graph::TensorName layer(int64_t index) const;  // what all of its tensors' names begin with
  graph::TensorName of_model(std::string_view role) const;

 private:
  TensorRole find(std::string_view role) const;
  std::string layers_;
  std::vector<TensorRole> changes_;
};

graph::TensorName with_suffix(const graph::TensorName& name, std::string_view suffix);

}  // namespace ingle::models
