// Multi-head latent attention (DeepSeek-V2, arXiv:2405.04434) in place of attention.
#pragma once
#include "graph/builder.h"
#include "models/config.h"
#include "models/names.h"
#include "models/rope.h"

namespace ingle::models {

struct Mla {
  int64_t n_heads = 0;
  int64_t q_rank = 0;                       // 0: q in one step
  int64_t rank = 0;                         // of the latent row that keys and values come from
  int64_t nope = 0, n_rotated = 0, dv = 0;  // of a head: values of q and k that do not turn, that do; of v
  Rope rope;
  float scale = 0;
  float norm_eps = 0;  // of the norms of q's and kv's rows
  Temperature temperature;
  bool bias = false;  // of the first projections and of the output
};

// From the configuration; `otherwise` as in read_rope. RoPE's scaling (YaRN) also scales the logits.
Mla usual_mla(const Config& config, double otherwise = 0);

// x += residual * post(attention(norm(x))) for layer i. Absorbed where the up-projections can be turned;
// else, with blocks of codes that cannot, plain.
void emit_mla(graph::GraphBuilder& b, const Config& config, const Names& names, int64_t i, const Mla& mla,
              Id x, const NormSpec& norm, const NormSpec& post, float residual = 1);

}  // namespace ingle::models
