// Plain pieces of a data flow, for models that the usual decoder does not describe: each claims what it needs
// and emits ops. Buffers are shared by role and width, since blocks run one after another.
#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "models/blocks.h"

namespace ingle::models {

// The epsilon of all norms, under any of the names that files give it.
float norm_eps(const Config& config);

class Flow {
 public:
  // `eps` of all norms; `plus` is what Hugging Face checkpoints leave out of norm weights.
  Flow(graph::GraphBuilder& builder, const Config& model, Names tensors, float eps, float plus = 0)
      : b(builder), config(model), names(std::move(tensors)), eps_(eps), plus_(plus) {}

  graph::GraphBuilder& b;
  const Config& config;
  const Names names;

  graph::TensorName name(int64_t layer, std::string_view role) const { return names.of_layer(layer, role); }
  bool holds(int64_t layer, std::string_view role) const {  // does the file have its ".weight"?
    return b.has(with_suffix(name(layer, role), ".weight"));
  }
  float eps() const { return eps_; }
  Id temp(const std::string& role, int64_t width);

  // Names without ".weight" or ".bias".
  LinearSpec weight(const graph::TensorName& name, int64_t out, int64_t in, Presence bias = Presence::no,
                    const graph::RowOrder& order = {});
  NormSpec rms(const graph::TensorName& name, int64_t width) { return rms(name, width, plus_); }
  NormSpec rms(const graph::TensorName& name, int64_t width, float plus);
  NormSpec bare_rms() const { return {NormKind::rms, kNone, kNone, eps_}; }

  void norm(Id in, Id out, const NormSpec& spec, int64_t group);
  Id normed(Id in, const NormSpec& spec, int64_t width);  // into a buffer of its own
  Id linear(Id in, const LinearSpec& w, const std::string& role, int64_t width);
  void multiply(Id x, Id by, Activation act = Activation::identity) { b.emit(op::Gate{x, by, act, 1}); }
  // x += residual * post(w in)
  void project(Id in, Id x, const LinearSpec& w, const NormSpec& post = {}, float residual = 1);
  // x += residual * post(down(act(gate(norm(x))) * up(norm(x)))), roles ffn_gate, ffn_up, ffn_down.
  void mlp(int64_t layer, Id x, int64_t width, Activation act, const NormSpec& norm,
           const NormSpec& post = {}, float residual = 1);

  // The same with gate and up in one tensor, and no other block's names.
  void fused_mlp(int64_t layer, Id x, std::string_view gate_up, std::string_view down, int64_t width,
                 const NormSpec& norm, float residual = 1);
  // x += post(moe(norm(x)))
  void moe(int64_t layer, Id x, const Moe& spec, const NormSpec& norm, const NormSpec& post = {});
  void copy(Id from, Id to, int64_t width) { copy(from, 0, to, width); }
  void copy(Id from, int64_t first, Id to, int64_t width);  // columns [first, first + width)

  Id embed(float scale = 1);  // the residual stream
  // Of the residual stream behind the last layer; those before have marked it (GraphBuilder::mark_stream).
  backends::Plan finish(Id x, const NormSpec& norm, float scale = 1, float softcap = 0);

 private:
  float eps_, plus_;
  Id table_ = kNone;
  std::map<std::pair<std::string, int64_t>, Id> temps_;
};

}  // namespace ingle::models
