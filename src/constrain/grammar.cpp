#include "constrain/grammar.h"

#include "constrain/chart.h"
#include "constrain/json_matcher.h"
#include "constrain/regex.h"
#include "core/error.h"

namespace ingle::constrain {
namespace {

class DfaMatcher : public Matcher {
 public:
  explicit DfaMatcher(DfaPtr dfa) : dfa_(std::move(dfa)), state_(dfa_->start) {}
  using Matcher::advance;
  bool advance(uint8_t byte) override {
    if (state_ >= 0) state_ = dfa_->step(state_, byte);
    return state_ >= 0;
  }
  bool accepting() const override { return state_ >= 0 && dfa_->label[static_cast<size_t>(state_)] >= 0; }
  std::unique_ptr<Matcher> clone() const override { return std::make_unique<DfaMatcher>(*this); }
  void assign(const Matcher& other) override { *this = static_cast<const DfaMatcher&>(other); }
  bool same(const Matcher& other) const override {
    const auto& o = static_cast<const DfaMatcher&>(other);
    return state_ == o.state_ && dfa_ == o.dfa_;
  }
  size_t hash() const override { return static_cast<size_t>(state_) * 0x9E3779B97F4A7C15u; }

 private:
  DfaPtr dfa_;
  int32_t state_;
};

class DfaGrammar : public Grammar {
 public:
  explicit DfaGrammar(DfaPtr dfa) : dfa_(std::move(dfa)) {}
  std::unique_ptr<Matcher> matcher(Purpose) const override { return std::make_unique<DfaMatcher>(dfa_); }

 private:
  DfaPtr dfa_;
};

class ChartMatcher : public Matcher {
 public:
  ChartMatcher(std::shared_ptr<Chart> chart, Chart::PositionPtr at)
      : chart_(std::move(chart)), at_(std::move(at)) {}
  using Matcher::advance;
  bool advance(uint8_t byte) override {
    if (at_) at_ = chart_->advance(*at_, byte);
    return at_ != nullptr;
  }
  bool accepting() const override { return at_ && at_->whole; }
  std::unique_ptr<Matcher> clone() const override { return std::make_unique<ChartMatcher>(*this); }
  void assign(const Matcher& other) override { *this = static_cast<const ChartMatcher&>(other); }
  bool same(const Matcher& other) const override {
    const auto& o = static_cast<const ChartMatcher&>(other);
    return at_ == o.at_ || (at_ && o.at_ && *at_ == *o.at_);
  }
  size_t hash() const override { return at_ ? at_->hash : 0; }

  size_t n_parts() const override { return at_ && at_->items.size() <= kMostParts ? at_->items.size() : 0; }
  PartKey part_key(size_t i) const override { return {chart_.get(), at_->items[i].state, {}}; }
  std::unique_ptr<Matcher> inside(size_t i) const override {
    return std::make_unique<ChartMatcher>(chart_, chart_->at_state(at_->items[i].state));
  }
  Left left() const override {
    if (!at_ || !at_->left) return Left::no;
    return at_->items.empty() ? Left::surely : Left::maybe;
  }
  std::unique_ptr<Matcher> outside(size_t i, int32_t) const override {
    Chart::PositionPtr after = chart_->after(at_->items[i].stack);
    if (after->items.empty() && !after->whole) return nullptr;
    return std::make_unique<ChartMatcher>(chart_, std::move(after));
  }

 private:
  static constexpr size_t kMostParts = 64;
  std::shared_ptr<Chart> chart_;
  Chart::PositionPtr at_;
};

class NetworkGrammar : public Grammar {
 public:
  NetworkGrammar(Network network, const std::string& where)
      : chart_(std::make_shared<Chart>(std::move(network), where)) {}
  std::unique_ptr<Matcher> matcher(Purpose) const override {
    return std::make_unique<ChartMatcher>(chart_, chart_->start());
  }

 private:
  std::shared_ptr<Chart> chart_;
};

class SchemaGrammar : public Grammar {
 public:
  SchemaGrammar(JsonMachine machine, std::string where)
      : machine_(std::make_shared<const JsonMachine>(std::move(machine))), where_(std::move(where)) {}
  std::unique_ptr<Matcher> matcher(Purpose purpose) const override {
    if (purpose == Purpose::write && !machine_->possible)
      fail(Code::invalid_argument, where_, "no value fulfils the schema");
    return std::make_unique<JsonMatcher>(machine_, purpose);
  }

 private:
  std::shared_ptr<const JsonMachine> machine_;
  std::string where_;
};

}  // namespace

std::shared_ptr<Masker> Grammar::masker(const std::shared_ptr<const TokenTrie>& trie) const {
  constexpr size_t kKept = 4;
  const std::lock_guard lock(mutex_);
  for (const auto& m : maskers_)
    if (m->trie() == trie) return m;
  if (maskers_.size() == kKept) maskers_.erase(maskers_.begin());
  return maskers_.emplace_back(std::make_shared<Masker>(trie));
}

GrammarPtr schema_grammar(std::string_view schema, const SchemaOptions& options, const std::string& where,
                          Budget budget) {
  return std::make_shared<SchemaGrammar>(compile_schema(schema, options, where, std::move(budget)), where);
}

GrammarPtr regex_grammar(std::string_view pattern, const std::string& where, Budget budget) {
  budget.check_source(pattern, where);
  auto dfa = std::make_shared<const Dfa>(compile_regex(pattern, Anchoring::whole, budget, where));
  if (dfa->empty()) fail(Code::unsupported, where, "no text matches the regular expression");
  return std::make_shared<DfaGrammar>(std::move(dfa));
}

GrammarPtr rules_grammar(const Rules& rules, const std::string& where, Budget budget) {
  Network network = build_network(rules, budget, where);
  if (network.start() < 0)
    fail(Code::invalid_argument, where,
         format("no text is of the grammar: \"{}\" never ends",
                rules.rules[static_cast<size_t>(rules.root)].name));
  return std::make_shared<NetworkGrammar>(std::move(network), where);
}

GrammarPtr gbnf_grammar(std::string_view source, const std::string& where, Budget budget) {
  budget.check_source(source, where);
  return rules_grammar(parse_gbnf(source, where), where, std::move(budget));
}

GrammarPtr lark_grammar(std::string_view source, const std::string& where, Budget budget) {
  budget.check_source(source, where);
  return rules_grammar(parse_lark(source, where), where, std::move(budget));
}

GrammarPtr choice_grammar(std::span<const std::string> texts, const std::string& where, Budget budget) {
  if (texts.empty()) fail(Code::invalid_argument, where, "no texts to choose from");
  for (const std::string& text : texts) {
    budget.check_source(text, where);
    if (!any_text()->accepts(text)) fail(Code::invalid_argument, where, "a text that is not UTF-8");
    budget.take(&Budget::dfa_states, static_cast<int64_t>(text.size()), where);
  }
  return std::make_shared<DfaGrammar>(std::make_shared<const Dfa>(of_texts(texts)));
}

}  // namespace ingle::constrain
