// A schema as alternatives: for one type of value, a list of conjunctions, one of which a value must fulfil.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "constrain/dfa.h"
#include "constrain/json_machine.h"
#include "constrain/schema_doc.h"

namespace ingle::constrain {

enum class Type : uint8_t { null, boolean, number, string, array, object };
constexpr int kTypes = 6;

// A subschema that must hold (even) or must not (odd).
using Literal = int32_t;
constexpr Literal kNothing = -1;  // no condition
inline Literal literal(int schema, bool holds) { return schema * 2 + !holds; }
inline Literal negated(Literal l) { return l ^ 1; }

using Language = std::pair<int32_t, bool>;  // of the compiler's languages; false: the text must not be in it

// Of every key: those named, those in a language, and the rest when neither applies.
struct KeyRule {
  std::vector<std::pair<std::string, Literal>> names;
  std::vector<std::pair<int32_t, Literal>> languages;
  Literal rest = kNothing;
  bool operator==(const KeyRule&) const = default;
};
// Some key that is not named, not in these languages, in `language` (-1: any), whose text fulfils `key` and
// whose value fulfils `value`.
struct SomeKey {
  std::vector<std::string> not_names;
  std::vector<int32_t> not_languages;
  int32_t language = -1;
  Literal key = kNothing, value = kNothing;
  bool operator==(const SomeKey&) const = default;
};
struct ItemRule {
  std::vector<Literal> prefix;
  Literal rest = kNothing;
  bool operator==(const ItemRule&) const = default;
};
struct SomeItems {  // `low` to `high` items from place `from` on fulfil `item`
  Literal item = kNothing;
  int64_t low = 1, high = kUnbounded, from = 0;
  bool operator==(const SomeItems&) const = default;
};

struct Branch {
  bool may_be_false = true, may_be_true = true;
  NumberRule number;
  std::vector<Language> languages;
  int64_t low = 0, high = kUnbounded;  // code points, items or members
  std::vector<ItemRule> items;
  std::vector<SomeItems> contains;
  bool unique = false;
  std::vector<KeyRule> keys;
  std::vector<std::string> required, absent;
  std::vector<Literal> key_texts;
  std::vector<SomeKey> some_keys;
  // What the keywords that held have looked at, for the unevaluated ones.
  std::vector<KeyRule> seen_keys;  // literals unused; `rest` other than kNothing: all
  int64_t seen_items = 0;          // kUnbounded: all
  std::vector<Literal> seen_contains;
};
using Branches = std::vector<Branch>;
using BranchesPtr = std::shared_ptr<const Branches>;

class BranchCompiler {
 public:
  BranchCompiler(SchemaDoc& doc, const SchemaOptions& options, Budget budget)
      : doc_(doc), options_(options), budget_(std::move(budget)) {}

  // Those of a value of type `type` that fulfils all the literals.
  Branches all_of(const std::vector<Literal>& literals, Type type);
  const Dfa& language(int32_t id) const { return *languages_[static_cast<size_t>(id)]; }
  // The texts in all of these, with so many code points.
  StringShape text(const Branch& branch, const std::string& where);
  Budget& budget() { return budget_; }
  SchemaDoc& doc() { return doc_; }

 private:
  struct How {
    Type type;
    bool track;        // the seen_… lists are wanted
    bool approximate;  // a superset will do: to prove that nothing fulfils it
    auto operator<=>(const How&) const = default;
  };
  BranchesPtr branches(Literal l, How how);
  Branches holding(int schema, How how);
  Branches failing(int schema, How how);
  void combinators(int schema, const Json& json, How how, Branches& out);
  void one_of(int schema, const Json& list, How how, Branches& out);
  void any_of(int schema, const Json& list, How how, Branches& out);
  void conditional(int schema, const Json& json, How how, Branches& out);
  void references(int schema, const Json& json, How how, Branches& out);
  void number_keywords(int schema, const Json& json, Branches& out);
  void string_keywords(int schema, const Json& json, Branches& out);
  void array_keywords(int schema, const Json& json, How how, Branches& out);
  void object_keywords(int schema, const Json& json, How how, Branches& out);
  void unevaluated(int schema, const Json& json, How how, Branches& out);
  void failing_combinators(int schema, const Json& json, How how, Branches& out);
  void failing_array(int schema, const Json& json, How how, Branches& out);
  void failing_object(int schema, const Json& json, How how, Branches& out);
  void failing_unevaluated(int schema, const Json& json, How how, Branches& out);

  Branches equal_to(int schema, const Json& value, Type type);
  Branches unequal_to(int schema, const Json& value, Type type);
  bool surely_nothing(const std::vector<Literal>& literals, int depth);
  bool find_nothing(const std::vector<Literal>& literals, int depth);
  bool surely_fails(const Branch& branch, Type type, int depth);
  void reduce(Branches& out, Type type);
  bool needless(const Branch& branch, const KeyRule& rule);
  std::vector<Literal> of_member(const Branch& branch, const std::string& name, const KeyRule* without);
  int canonical(int schema);

  void meet(Branches& a, const Branches& b, const std::string& where);
  void join(Branches& a, const Branches& b, const std::string& where);
  Literal child(int schema, const Json& value, const std::string& keyword, bool holds = true);
  int32_t pattern(const std::string& source, const std::string& where);
  int32_t text_language(const std::string& text);
  KeyRule key_rule(int schema, const Json& json);
  ItemRule item_rule(int schema, const Json& json);
  std::vector<SomeItems> contains_rule(int schema, const Json& json);
  int64_t count(int schema, const Json& json, const char* keyword, int64_t absent);
  bool old() const { return doc_.before_2019(); }

  SchemaDoc& doc_;
  const SchemaOptions& options_;
  Budget budget_;
  std::map<std::tuple<Literal, How>, BranchesPtr> known_;
  std::vector<DfaPtr> languages_;
  std::map<std::string, int32_t> by_source_;
  std::map<std::pair<std::vector<Literal>, int>, bool> nothing_;  // of surely_nothing()
  std::vector<int> canonical_;                                    // by subschema; -1: not asked for
  std::map<std::string, int> by_text_;
};

constexpr int kProofDepth = 3;  // how deep a proof that two alternatives exclude each other may look

bool contradicts(const Branch& branch, Type type);

}  // namespace ingle::constrain
