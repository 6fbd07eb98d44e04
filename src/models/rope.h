// Rotary positions: which values of a head turn, how fast, and how the speeds were stretched for long texts.
#pragma once
#include <string>
#include <vector>

#include "backends/plan.h"
#include "graph/builder.h"
#include "models/config.h"

namespace ingle::models {

// How a head's rotated pairs lie in Q and K rows. Inside they are half a rotation apart (i, i + n / 2).
enum class Pairs : uint8_t {
  halves,            // in every container
  adjacent_in_gguf,  // llama.cpp's converter puts them side by side for Llama's family
  adjacent           // side by side in every container (GPT-J's convention)
};

struct Rope {
  double theta = 0;
  int64_t n_rotated = 0;
  double linear_factor = 1;               // positions are divided by it
  std::vector<float> frequency_factors;   // divide each pair's frequency
  std::vector<double> inverse_frequency;  // where not empty, all of the above is in it already
  double magnitude = 1;                   // of the rotated values
  // In passes longer than `trained` tokens: other frequencies, or a base that grows with them (dynamic NTK).
  int64_t trained = 0;
  std::vector<double> when_long;
  double ntk_factor = 0;
  Pairs pairs = Pairs::halves;
  bool backwards = false;  // turns the other way
};

// Queries of far positions are scaled by 1 + beta log(1 + floor((position + offset) / span)).
struct Temperature {
  double beta = 0;  // 0: off
  int64_t span = 1, offset = 0;
};

// The spelling of Ministral 3 and Mistral 4.
Temperature llama4_temperature(const Config& config);

// Theta and scaling of the file. `layers` is config.json's name of a kind of layers that has values of its
// own ("sliding_attention"); empty: the model's. Throws naming the kind of a scaling that is not understood.
// GGUF's LongRoPE has tensors, which take the builder. `otherwise`: theta of GGUF files without the key, for
// families whose converters leave it out; 0: it has to be there. `whole_pairs`: are the bounds between which
// YaRN mixes rounded to whole pairs, where the file does not say (GGUF)?
Rope read_rope(const Config& config, const std::string& layers = {}, graph::GraphBuilder* b = nullptr,
               double otherwise = 0, bool whole_pairs = true);

// Factors that converters compute for Llama 3's scaling ("rope_freqs.weight"), where the file has them.
void read_gguf_factors(graph::GraphBuilder& b, const Config& config, Rope& rope);

// config.json's n_context, or what dynamic scaling makes of it.
int64_t longest_context(const Config& config);

backends::PlanRotation rotation_of(const Rope& rope);

}  // namespace ingle::models
