// Beam search: the likeliest continuations as wholes, instead of token by token.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "ingle/session.hpp"

namespace ingle {

enum class EarlyStopping : int32_t {
  no = 0,     // when no running beam is likely to become better, by its score at its present length
  yes = 1,    // as soon as there are as many ended beams as beams
  never = 2,  // only when no running beam can become better, whatever its length
};

struct BeamOptions {
  int32_t beams = 4;         // [1, 64]
  int32_t groups = 1;        // [1, beams], divides beams: diverse beam search (Vijayakumar et al. 2016)
  float diversity = 0;       // [0, 100], off a token's score for each earlier group's beam that takes it now
  float length_penalty = 1;  // [-100, 100]: the score is the log-probability / length^penalty
  EarlyStopping early_stopping = EarlyStopping::no;
  int32_t max_tokens = 128;  // [1, 2^20]
  int32_t results = 1;       // [1, beams]
  bool ignore_end = false;   // go on past end-of-generation ids
};

struct Beam {
  std::vector<TokenId> ids;      // with the id that ended it
  std::string text;              // without
  double score = 0;              // log-probability (and what diversity took off) / length^penalty
  Finish finish = Finish::none;  // end, length or context
};

// The best `results` continuations of what the session holds, best first, as transformers' beam search
// defines score, length (the end counts) and stopping. Ties go to the beam with the better rank, then to the
// lowest id. The session stays as it is: feed() what was chosen. Every running beam is a fork and shares the
// session's state, and Session::cancel() is answered by Code::cancelled. Throws Code::invalid_argument naming
// an option out of range, Code::context_full when there is no room for a token.
std::vector<Beam> beam_search(Session& session, const BeamOptions& options = {});

}  // namespace ingle
