// Mixtures of experts in place of a feed-forward block.
#pragma once
#include "graph/builder.h"
#include "models/config.h"
#include "models/names.h"

namespace ingle::models {

// How a Hugging Face checkpoint lays out its experts. GGUF stacks gate, up and down, each [expert, out, in].
enum class ExpertLayout : uint8_t {
  usual,  // a tensor per expert and matrix ("{}" in the role's name is its number), or, where the checkpoint
          // has them, "ffn_gate_up_exps" [expert, gate then up, in] and "ffn_down_stack" [expert, out, in]
  transposed,   // those two as [expert, in, gate then up] and [expert, in, out]
  interleaved,  // as transposed, but gate and up alternate
  flat  // [expert * inner, hidden] each: "ffn_gate_exps", "ffn_up_exps", and "ffn_down_exps" transposed
};

struct Moe {
  RouterSpec router;  // the correction is claimed by role "exp_probs_b" where `correction` is set
  bool correction = false, router_bias = false, expert_bias = false;
  int64_t width = 0;  // of an expert
  Activation act = Activation::silu;
  GluBound bound;
  bool weigh_input = false;  // the weight goes on the expert's input
  ExpertLayout layout = ExpertLayout::usual;
  int64_t shared_width = 0;   // 0: no shared expert
  bool shared_gate = false;   // its output is times the sigmoid of a product
  bool shared_fused = false;  // its gate and up are one tensor, "ffn_up_shexp"
  float scale = 1;            // of all that is added to the residual
};

// Softmax, then the best; numbers of experts and their width from the configuration.
// `normalise`: where the file does not say.
Moe usual_moe(const Config& config, bool normalise);
// Choice out of the groups that score best, where the configuration has groups.
void read_groups(const Config& config, Moe& moe);
// As DeepSeek-V3 has it: sigmoids with a correction, groups that score by their best two, normalised and
// scaled.
Moe sigmoid_moe(const Config& config);
// GGUF's "expert_gating_func"; `otherwise` where a file does not say.
bool gguf_scores_by_sigmoids(const Config& config, bool otherwise);
// Does layer i have a plain feed-forward block? By config.json's lists or numbers, or by what a GGUF file
// holds.
bool is_dense(const Config& config, int64_t layer);

// The op of layer i without its input and norms.
op::Moe claim_moe(graph::GraphBuilder& b, const Config& config, const Names& names, int64_t i,
                  const Moe& moe);

}  // namespace ingle::models
