#include "api/answer.h"

#include <algorithm>

#include "core/error.h"
#include "sampling/chain.h"
#include "text/template/utf8.h"

namespace ingle {

void check(const GenerateOptions& o) {
  constexpr size_t kMaxStops = 16, kMaxStopBytes = 256;
  if (o.max_tokens < -1)
    fail(Code::invalid_argument, "option max_tokens", format("is {}, expected -1 or more", o.max_tokens));
  if (o.top_logprobs < 0 || o.top_logprobs > 64)
    fail(Code::invalid_argument, "option top_logprobs", format("is {}, expected 0 to 64", o.top_logprobs));
  if (o.stop.size() > kMaxStops)
    fail(Code::invalid_argument, "option stop",
         format("{} stop strings, expected at most {}", o.stop.size(), kMaxStops));
  for (const std::string& s : o.stop)
    if (s.empty() || s.size() > kMaxStopBytes)
      fail(Code::invalid_argument, "option stop",
           format("a stop string of {} bytes, expected 1 to {}", s.size(), kMaxStopBytes));
  for (const std::string& s : o.stop)
    if (!text::jinja::is_utf8(s))  // answers are whole characters: it could never be met
      fail(Code::invalid_argument, "option stop", "a stop string is not UTF-8");
}

Answer::Answer(const Model::Impl& model, const GenerateOptions& o)
    : tokenizer_(&model.tokenizer.impl()), options_(o), detokenizer_(*tokenizer_, true), stops_(o.stop) {
  if (!o.grammar) return;
  std::call_once(model.trie_made, [&] { model.trie = answer_trie(model.tokenizer.impl()); });
  constraint_.emplace(o.grammar->impl(), model.tokenizer.impl(), model.trie);
}

TokenEvent Answer::finish(TokenEvent event, Finish how) {
  event.text += stops_.push(detokenizer_.finish());
  event.text += stops_.finish();
  event.finish = finish_ = how;
  return event;
}

Answer::Step Answer::next(std::span<const float> own, std::span<const float> logits, Sampler& sampler,
                          bool room) {
  TokenEvent event;
  event.id = sampler.sample(constraint_ ? constraint_->masked(logits) : logits);
  event.logprob = sampling::log_softmax_at(own, event.id);
  if (options_.top_logprobs > 0) event.top = top_logprobs(own, options_.top_logprobs);
  sampler.accept(event.id);
  if (constraint_) constraint_->accept(event.id);
  ++n_tokens_;
  const auto& ends = tokenizer_->special().end_of_generation;
  if (!options_.ignore_end && std::find(ends.begin(), ends.end(), event.id) != ends.end())
    return {finish(std::move(event), Finish::end), false};
  if (!room) return {finish(std::move(event), Finish::context), false};
  event.text = stops_.push(detokenizer_.push(event.id));
  if (stops_.stopped()) {
    event.finish = finish_ = Finish::stop;
    return {std::move(event), true};
  }
  if (constraint_ && constraint_->ended()) return {finish(std::move(event), Finish::end), true};
  if (full()) return {finish(std::move(event), Finish::length), true};
  return {std::move(event), true};
}

}  // namespace ingle
