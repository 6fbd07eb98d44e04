#include "ingle/batch.hpp"

#include "api/session_impl.h"
#include "core/error.h"

namespace ingle {
namespace {

using backends::StepStatus;

template <class T>
void check_distinct(std::span<T* const> all, std::string_view what) {
  for (size_t i = 0; i < all.size(); ++i) {
    if (!all[i]) fail(Code::invalid_argument, "batch", format("{} {} is null", what, i));
    for (size_t j = 0; j < i; ++j)
      if (all[i] == all[j])
        fail(Code::invalid_argument, "batch", format("{} {} is also {} {}", what, i, what, j));
  }
}

// Computes one token for each of several sequences, and says for each how it went.
struct Step {
  std::vector<engine::Sequence*> sequences;
  std::vector<TokenId> tokens;
  std::vector<StepStatus> status;

  void add(engine::Sequence& sequence, TokenId token) {
    sequences.push_back(&sequence);
    tokens.push_back(token);
  }
  void run() {
    status.assign(sequences.size(), StepStatus::failed);
    engine::Sequence::feed_each(sequences, tokens, status);
  }
};

}  // namespace

std::vector<Batch::Outcome> Batch::next(std::span<Session* const> sessions,
                                        std::span<Sampler* const> samplers) {
  if (sessions.size() != samplers.size())
    fail(Code::invalid_argument, "batch",
         format("{} sessions and {} samplers", sessions.size(), samplers.size()));
  check_distinct(sessions, "session");
  check_distinct(samplers, "sampler");
  Step step;
  std::vector<Session::Impl*> computed;
  for (Session* session : sessions) {
    Session::Impl& impl = *session->impl_;
    if (&impl.m() != &sessions[0]->impl_->m())
      fail(Code::invalid_argument, "batch", "the sessions are of different models");
    if (const std::optional<TokenId> id = impl.next_to_compute()) {
      step.add(impl.sequence, *id);
      computed.push_back(&impl);
    }
  }
  step.run();
  for (size_t i = 0; i < computed.size(); ++i)
    if (step.status[i] == StepStatus::ok) computed[i]->pending.reset();
  // A session whose part of the step failed computes its token alone, and tells what is wrong.
  std::vector<Outcome> outcomes(sessions.size());
  for (size_t i = 0; i < sessions.size(); ++i) {
    try {
      outcomes[i].event = sessions[i]->impl_->next(*samplers[i], {});
    } catch (...) {
      outcomes[i].error = std::current_exception();
    }
  }
  return outcomes;
}

std::vector<std::exception_ptr> Batch::feed(std::span<Session* const> sessions,
                                            std::span<const TokenId> tokens) {
  if (sessions.size() != tokens.size())
    fail(Code::invalid_argument, "batch",
         format("{} sessions and {} tokens", sessions.size(), tokens.size()));
  check_distinct(sessions, "session");
  Step step;
  for (size_t i = 0; i < sessions.size(); ++i) {
    Session::Impl& impl = *sessions[i]->impl_;
    if (impl.taps) fail(Code::unsupported, "batch", format("session {} has taps: it is fed alone", i));
    impl.drop_ahead();
    const auto held = static_cast<int64_t>(impl.all.size());
    if (held >= impl.options.context)
      fail(Code::context_full, "batch",
           format("1 token does not fit: {} of {} are taken", held, impl.options.context));
    impl.compute_pending();
    impl.make_room(1);
    step.add(impl.sequence, tokens[i]);
  }
  step.run();
  std::vector<std::exception_ptr> errors(sessions.size());
  for (size_t i = 0; i < sessions.size(); ++i) {
    Session::Impl& impl = *sessions[i]->impl_;
    if (step.status[i] == StepStatus::failed) {
      errors[i] = std::make_exception_ptr(
          Error(Code::io, "batch", "the backend failed in a step", "its log says why"));
      continue;
    }
    if (step.status[i] != StepStatus::ok) {
      errors[i] =
          std::make_exception_ptr(Error(Code::numeric, "batch", "the model gave NaN or infinite logits"));
      continue;
    }
    impl.all.push_back(tokens[i]);
    impl.answer.reset();
    ++impl.stats.prompt_tokens;
  }
  return errors;
}

}  // namespace ingle
