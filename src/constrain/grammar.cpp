#include "constrain/grammar.h"

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
    return state_ == static_cast<const DfaMatcher&>(other).state_;
  }

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

GrammarPtr schema_grammar(std::string_view schema, const SchemaOptions& options, const std::string& where) {
  return std::make_shared<SchemaGrammar>(compile_schema(schema, options, where), where);
}

GrammarPtr regex_grammar(std::string_view pattern, const std::string& where) {
  Budget budget;
  auto dfa = std::make_shared<const Dfa>(compile_regex(pattern, Anchoring::whole, budget, where));
  if (dfa->empty()) fail(Code::unsupported, where, "no text matches the regular expression");
  return std::make_shared<DfaGrammar>(std::move(dfa));
}

}  // namespace ingle::constrain
