// Several conversations of one model that go on together: each step reads the weights once for all of them,
// so many answers cost little more than one. Results are those of each session alone, bit for bit.
#pragma once
#include <exception>
#include <span>
#include <vector>

#include "ingle/session.hpp"

namespace ingle {

class Batch {
 public:
  // What happened to one session: its event, or the error that Session::next would have thrown.
  struct Outcome {
    TokenEvent event;
    std::exception_ptr error;  // null: none
  };

  // Session::next for each of `sessions` with the sampler of the same place, in one step; the outcomes come
  // in their order. Sessions may join, leave and come in another order from call to call. Throws
  // Code::invalid_argument, before anything is computed, when the two spans differ in length, a session or a
  // sampler stands there twice, or the sessions are of different models.
  static std::vector<Outcome> next(std::span<Session* const> sessions, std::span<Sampler* const> samplers);

  // Feeds one token to each, in one step. Throws as next() does, Code::unsupported for a session with taps,
  // and Code::context_full when a token does not fit; errors of single sessions come in the result, null
  // where all went well, and leave those sessions as they were.
  static std::vector<std::exception_ptr> feed(std::span<Session* const> sessions,
                                              std::span<const TokenId> tokens);
};

}  // namespace ingle
