#include "api/answer.h"

#include <algorithm>

#include "constrain/regex.h"
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
  if (o.reasoning_budget < -1)
    fail(Code::invalid_argument, "option reasoning_budget",
         format("is {}, expected -1 or more", o.reasoning_budget));
  if (o.stop.size() > kMaxStops)
    fail(Code::invalid_argument, "option stop",
         format("{} stop strings, expected at most {}", o.stop.size(), kMaxStops));
  for (const std::string& s : o.stop)
    if (s.empty() || s.size() > kMaxStopBytes)
      fail(Code::invalid_argument, "option stop",
           format("a stop string of {} bytes, expected 1 to {}", s.size(), kMaxStopBytes));
  constexpr size_t kMaxPhrases = 256;
  const auto check_texts = [=](const char* option, const std::vector<std::string>& texts, size_t most) {
    if (texts.size() > most)
      fail(Code::invalid_argument, option, format("{} of them, expected at most {}", texts.size(), most));
    for (const std::string& s : texts)
      if (s.empty() || s.size() > kMaxStopBytes)
        fail(Code::invalid_argument, option,
             format("one of {} bytes, expected 1 to {}", s.size(), kMaxStopBytes));
  };
  constexpr size_t kMaxTokens = 256;
  if (o.stop_tokens.size() > kMaxTokens)
    fail(Code::invalid_argument, "option stop_tokens",
         format("{} ids, expected at most {}", o.stop_tokens.size(), kMaxTokens));
  check_texts("option stop_patterns", o.stop_patterns, kMaxStops);
  check_texts("option banned_phrases", o.banned_phrases, kMaxPhrases);
  if (o.jump_ahead && !o.banned_phrases.empty())
    fail(Code::unsupported, "option jump_ahead", "does not go with banned_phrases");
  for (const std::string& s : o.stop)
    if (!text::jinja::is_utf8(s))  // answers are whole characters: it could never be met
      fail(Code::invalid_argument, "option stop", "a stop string is not UTF-8");
}

void refuse_looking_ahead(const GenerateOptions& o, const char* where) {
  const char* option = !o.banned_phrases.empty() ? "banned_phrases" : o.jump_ahead ? "jump_ahead" : nullptr;
  if (option) fail(Code::unsupported, where, format("{} looks ahead, which sessions alone can", option));
}

std::vector<TokenId> Answer::forced_tokens(std::span<const TokenId> before, int64_t most) const {
  constexpr size_t kMostBytes = 1 << 14;  // the answer is encoded anew each time
  const std::string forced = constrained() ? text_.constraint->forced() : std::string();
  if (forced.size() < 2) return {};
  std::string text;
  for (const TokenId id : before) text += tokenizer_->piece(id);
  if (text.size() > kMostBytes) return {};
  std::vector<TokenId> ids = tokenizer_->encode(text + forced, {});
  if (ids.size() <= before.size() + 1 || !std::equal(before.begin(), before.end(), ids.begin())) return {};
  ids.erase(ids.begin(), ids.begin() + static_cast<ptrdiff_t>(before.size()));
  ids.pop_back();
  std::string spelled;
  for (const TokenId id : ids) spelled += tokenizer_->piece(id);
  if (!forced.starts_with(spelled)) return {};
  if (const int64_t left = tokens_left(); left >= 0) most = std::min(most, left);
  ids.resize(std::min(ids.size(), static_cast<size_t>(std::max<int64_t>(most, 0))));
  return ids;
}

namespace {

// Patterns as GenerateOptions::stop_patterns has them.
std::vector<constrain::DfaPtr> stop_automata(const std::vector<std::string>& patterns) {
  std::vector<constrain::DfaPtr> out;
  for (const std::string& pattern : patterns) {
    constrain::Budget budget;
    budget.dfa_states = 10'000;  // as many readings may be open at a time
    const std::string where = format("option stop_patterns, pattern {}", out.size());
    auto dfa = std::make_shared<const constrain::Dfa>(
        constrain::compile_regex(pattern, constrain::Anchoring::whole, budget, where));
    if (dfa->empty()) fail(Code::invalid_argument, where, "matches no text");
    if (dfa->accepts("")) fail(Code::invalid_argument, where, "matches the empty text");
    out.push_back(std::move(dfa));
  }
  return out;
}

}  // namespace

Answer::Text::Text(const text::Tokenizer& tokenizer, const GenerateOptions& options)
    : detokenizer(tokenizer, !options.control_text),
      stops(options.stop, stop_automata(options.stop_patterns), options.include_stop) {}

Answer::Answer(const Model::Impl& model, const GenerateOptions& o, std::span<const TokenId> prompt)
    : tokenizer_(&model.tokenizer.impl()), options_(o), text_(*tokenizer_, options_) {
  for (const TokenId id : o.stop_tokens)
    if (id < 0 || id >= tokenizer_->size())
      fail(Code::invalid_argument, "option stop_tokens",
           ingle::format("id {} is not in [0, {})", id, tokenizer_->size()));
  if (o.reasoning_budget >= 0) {
    const text::AnswerFormat& format = model.answer_format();
    if (!format.reasoning)
      fail(Code::unsupported, "option reasoning_budget",
           "the model's template writes no reasoning that is known");
    // What stands between the reasoning and the answer would be none of the grammar.
    if (o.grammar && format.reasoning->marks_answer())
      fail(Code::unsupported, "option reasoning_budget",
           ingle::format(
               "does not go with a grammar where the answer has marks of its own, as in the form \"{}\"",
               format.reasoning->name));
    gate_.emplace(*tokenizer_, *format.reasoning, o.reasoning_budget,
                  format.opened_by(prompt_end(*tokenizer_, prompt)), o.grammar.has_value());
    text_.gate = gate_;
  }
  if (!o.grammar) return;
  std::call_once(model.trie_made, [&] { model.trie = answer_trie(model.tokenizer.impl()); });
  trie_ = model.trie;
  text_.constraint.emplace(o.grammar->impl(), *tokenizer_, trie_);
}

void Answer::Text::accept(TokenId id) {
  if (!constraint) {
    if (gate) gate->accept(id);
    return;
  }
  if (constrained()) {
    if (gate && gate->opener() == id && !constraint->allows(id)) {
      gate->open();
      gate->accept(id);
      return;
    }
    constraint->accept(id);
    if (gate) gate->close();
    return;
  }
  gate->accept(id);
  if (!gate->inside() && !constraint->begin_with(gate->rest()))
    fail(Code::internal, "grammar", format("token {} ends the reasoning but does not fit", id));
}

// In reasoning that a grammar follows: may this token come? Not one that ends the answer there, or goes on
// behind the end of the reasoning with what the grammar does not have.
bool Answer::fits(TokenId id) const {
  if (tokenizer_->ends_generation(id)) return false;
  ReasoningGate gate = *text_.gate;
  gate.accept(id);
  return gate.inside() || gate.rest().empty() || Constraint(*text_.constraint).begin_with(gate.rest());
}

std::optional<TokenId> Answer::choose(std::span<const float> logits, Sampler& sampler, bool needed) {
  const auto sample = [&](std::span<const float> row) -> std::optional<TokenId> {
    if (!needed && std::all_of(row.begin(), row.end(), [](float x) { return x == kGone; }))
      return std::nullopt;
    return sampler.sample(row);
  };
  if (text_.gate)
    if (const auto forced = text_.gate->forced()) return forced;
  if (!text_.constraint) return sample(logits);
  if (text_.constrained())
    return sample(text_.constraint->masked(logits, text_.gate ? text_.gate->opener() : std::nullopt));
  std::optional<TokenId> id = sample(logits);
  if (!id || fits(*id)) return id;
  std::vector<float> left(logits.begin(), logits.end());
  do {
    left[static_cast<size_t>(*id)] = kGone;
    id = sample(left);
  } while (id && !fits(*id));
  return id;
}

// Where a token did not go through all of it, what came before it does once more.
void Answer::mend() {
  if (!torn_) return;
  Text fresh(*tokenizer_, options_);
  if (options_.grammar) fresh.constraint.emplace(options_.grammar->impl(), *tokenizer_, trie_);
  fresh.gate = gate_;
  for (const TokenId id : ids_) {
    if (fresh.gate) fresh.gate->forced();  // which it may have to know of
    fresh.accept(id);
    fresh.stops.push(fresh.detokenizer.push(id));
  }
  text_ = std::move(fresh);
  torn_ = false;
}

TokenEvent Answer::finish(TokenEvent event, Finish how) {
  mend();
  torn_ = true;
  event = end(std::move(event), how);
  torn_ = false;
  return event;
}

TokenEvent Answer::end(TokenEvent event, Finish how) {
  event.text += text_.stops.push(text_.detokenizer.finish());
  event.text += text_.stops.finish();
  event.finish = finish_ = how;
  return event;
}

bool Answer::stops_at(TokenId id) const {
  return std::find(options_.stop_tokens.begin(), options_.stop_tokens.end(), id) !=
         options_.stop_tokens.end();
}

Answer::Step Answer::next(std::span<const float> own, std::span<const float> logits, Sampler& sampler,
                          bool room) {
  mend();
  if (!taken_) {
    TokenEvent event;
    event.id = *choose(logits, sampler, true);
    event.logprob = sampling::log_softmax_at(own, event.id);
    if (options_.top_logprobs > 0) event.top = top_logprobs(own, options_.top_logprobs);
    if (ids_.size() == ids_.capacity()) ids_.reserve(std::max<size_t>(16, 2 * ids_.size()));
    sampler.accept(event.id);
    taken_ = std::move(event);  // from here on it is this one, also when telling it fails at first
  }
  torn_ = true;
  Step step = tell(*taken_, room);
  torn_ = false;
  ids_.push_back(step.event.id);
  taken_.reset();
  return step;
}

Answer::Step Answer::tell(TokenEvent event, bool room) {
  text_.accept(event.id);
  if (stops_at(event.id)) {
    if (options_.include_stop) event.text = text_.stops.push(text_.detokenizer.push(event.id));
    return {end(std::move(event), Finish::stop), false};
  }
  if (!options_.ignore_end && tokenizer_->ends_generation(event.id))
    return {end(std::move(event), Finish::end), false};
  if (!room) return {end(std::move(event), Finish::context), false};
  event.text = text_.stops.push(text_.detokenizer.push(event.id));
  if (text_.stops.stopped()) {
    event.finish = finish_ = Finish::stop;
    return {std::move(event), true};
  }
  if (text_.constrained() && text_.constraint->ended()) return {end(std::move(event), Finish::end), true};
  if (full(1)) return {end(std::move(event), Finish::length), true};
  return {std::move(event), true};
}

void Answer::go_back(Standing to) {
  text_.detokenizer = std::move(to.detokenizer);
  if (to.constraint) text_.constraint = std::move(*to.constraint);
  text_.gate = std::move(to.gate);
  ids_.resize(to.n_tokens);
}

Answer::Taken Answer::take(TokenId id, std::span<const float> own, bool room) {
  Taken out;
  out.event.id = id;
  out.event.logprob = sampling::log_softmax_at(own, id);
  if (options_.top_logprobs > 0) out.event.top = top_logprobs(own, options_.top_logprobs);
  text_.accept(id);
  ids_.push_back(id);
  if (stops_at(id)) {
    if (options_.include_stop) out.text = text_.detokenizer.push(id);
    out.finish = Finish::stop;
  } else if (!options_.ignore_end && tokenizer_->ends_generation(id)) {
    out.finish = Finish::end;
  } else if (!room) {
    out.finish = Finish::context;
  } else {
    out.kept = true;
    out.text = text_.detokenizer.push(id);
    if (text_.constrained() && text_.constraint->ended())
      out.finish = Finish::end;
    else if (full())
      out.finish = Finish::length;
  }
  if (out.finish != Finish::none) out.rest = text_.detokenizer.finish();
  return out;
}

TokenEvent Answer::tell(Taken taken) {
  TokenEvent event = std::move(taken.event);
  event.text = text_.stops.push(taken.text);
  if (text_.stops.stopped()) {
    event.finish = Finish::stop;
  } else if (taken.finish != Finish::none) {
    event.text += text_.stops.push(taken.rest);
    event.text += text_.stops.finish();
    event.finish = taken.finish;
  }
  finish_ = event.finish;
  return event;
}

}  // namespace ingle
