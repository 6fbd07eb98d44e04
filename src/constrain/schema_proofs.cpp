// What can be told of alternatives without following them: that nothing fulfils them, that one holds whatever
// another does. Proofs are short and may fail; an alternative that stays needlessly costs time alone.
#include <algorithm>

#include "constrain/schema_branches.h"
#include "core/error.h"

namespace ingle::constrain {
namespace {

using Kind = Json::Kind;

constexpr size_t kMostText = 2000;

// A schema without what it only tells people. False: it is large, or has a name or an anchor of its own.
bool plain_text(const Json& json, std::string& out) {
  if (out.size() > kMostText) return false;
  if (json.is(Kind::array)) {
    out += '[';
    for (const Json& item : json.items) {
      if (!plain_text(item, out)) return false;
      out += ',';
    }
    out += ']';
    return true;
  }
  if (!json.is(Kind::object)) {
    out += to_text(json);
    return true;
  }
  out += '{';
  for (const auto& [key, value] : json.members) {
    const bool text = value.is(Kind::string);
    if (text && (key == "title" || key == "description" || key == "$comment")) continue;
    if (text && (key == "id" || key == "$id" || key == "$anchor" || key.starts_with("$dynamic")))
      return false;
    out += to_text(Json::of_string(key)) + ':';
    if (key == "enum" || key == "const") {
      out += to_text(value);
    } else if (!plain_text(value, out)) {
      return false;
    }
    out += ',';
  }
  out += '}';
  return out.size() <= kMostText;
}

template <class T>
void unite(std::vector<T>& list) {  // keeps the order, which errors and tests see
  std::vector<T> out;
  for (T& each : list)
    if (std::find(out.begin(), out.end(), each) == out.end()) out.push_back(std::move(each));
  list = std::move(out);
}

template <class T>
bool within(const std::vector<T>& few, const std::vector<T>& many) {
  return std::all_of(few.begin(), few.end(),
                     [&](const T& t) { return std::find(many.begin(), many.end(), t) != many.end(); });
}

// Does a value of an object or array that fulfils `strict` surely fulfil `loose`, by their conditions alone?
bool implies(const Branch& strict, const Branch& loose) {
  const bool sizes = loose.low <= strict.low &&
                     (loose.high == kUnbounded || (strict.high != kUnbounded && strict.high <= loose.high));
  return sizes && (strict.unique || !loose.unique) && within(loose.keys, strict.keys) &&
         within(loose.required, strict.required) && within(loose.absent, strict.absent) &&
         within(loose.key_texts, strict.key_texts) && within(loose.some_keys, strict.some_keys) &&
         within(loose.items, strict.items) && within(loose.contains, strict.contains);
}

}  // namespace

// The first subschema that says the same in the same words.
int BranchCompiler::canonical(int schema) {
  const auto index = static_cast<size_t>(schema);
  if (canonical_.size() <= index) canonical_.resize(index + 1, -1);
  if (canonical_[index] >= 0) return canonical_[index];
  std::string text = doc_.at(schema).base + "\n";
  const bool plain = plain_text(*doc_.at(schema).json, text);
  return canonical_[index] = plain ? by_text_.emplace(std::move(text), schema).first->second : schema;
}

// ---- Proofs that nothing fulfils all of some literals ----

bool BranchCompiler::surely_nothing(const std::vector<Literal>& literals, int depth) {
  std::vector<Literal> key = literals;
  std::sort(key.begin(), key.end());
  for (size_t i = 1; i < key.size(); ++i)
    if (key[i] == negated(key[i - 1])) return true;
  if (depth == 0) return false;
  const auto known = nothing_.find({key, depth});
  if (known != nothing_.end()) return known->second;
  const bool found = find_nothing(key, depth);
  nothing_[{std::move(key), depth}] = found;
  return found;
}

bool BranchCompiler::find_nothing(const std::vector<Literal>& literals, int depth) {
  try {
    for (int t = 0; t < kTypes; ++t) {
      const auto type = static_cast<Type>(t);
      Branches all{Branch{}};
      for (const Literal l : literals) {
        meet(all, *branches(l, {type, false, true}), doc_.where(l / 2));
        std::erase_if(all,
                      [&](const Branch& b) { return contradicts(b, type) || surely_fails(b, type, depth); });
      }
      if (!all.empty()) return false;
    }
    return true;
  } catch (const Error& e) {
    if (e.code() == Code::out_of_memory || e.code() == Code::cancelled) throw;
    return false;  // no proof within the budget; what is really wrong is told when it is compiled
  }
}

bool BranchCompiler::surely_fails(const Branch& b, Type type, int depth) {
  if (type == Type::string && !b.languages.empty()) return text(b, "").text->empty();
  if (type == Type::object) {
    for (const std::string& name : b.required) {
      const std::vector<Literal> all = of_member(b, name, nullptr);
      if (!all.empty() && surely_nothing(all, depth - 1)) return true;
    }
  }
  if (type == Type::array) {
    for (int64_t i = 0; i < std::min<int64_t>(b.low, 8); ++i) {
      std::vector<Literal> all;
      for (const ItemRule& rule : b.items) {
        const Literal l =
            i < static_cast<int64_t>(rule.prefix.size()) ? rule.prefix[static_cast<size_t>(i)] : rule.rest;
        if (l != kNothing) all.push_back(l);
      }
      if (!all.empty() && surely_nothing(all, depth - 1)) return true;
    }
  }
  return false;
}

// What is asked of a member's value, by all rules but one.
std::vector<Literal> BranchCompiler::of_member(const Branch& b, const std::string& name,
                                               const KeyRule* without) {
  std::vector<Literal> all;
  for (const KeyRule& rule : b.keys) {
    if (&rule == without) continue;
    bool met = false;
    const auto add = [&](Literal l) {
      met = true;
      if (l != kNothing) all.push_back(l);
    };
    for (const auto& [known, l] : rule.names)
      if (known == name) add(l);
    for (const auto& [id, l] : rule.languages)
      if (language(id).accepts(name)) add(l);
    if (!met && rule.rest != kNothing) all.push_back(rule.rest);
  }
  return all;
}

// ---- Fewer alternatives ----

// Does a rule of one member say what the others have said?
bool BranchCompiler::needless(const Branch& b, const KeyRule& rule) {
  if (rule.names.size() != 1 || !rule.languages.empty() || rule.rest != kNothing) return false;
  const auto& [name, l] = rule.names.front();
  std::vector<Literal> against = of_member(b, name, &rule);
  if (l == kNothing || against.empty()) return l == kNothing;
  against.push_back(negated(l));
  return surely_nothing(against, kProofDepth - 1);
}

// Of alternatives that a negation made: drops what cannot be and what others allow anyway.
void BranchCompiler::reduce(Branches& out, Type type) {
  if (type != Type::object && type != Type::array) return;
  constexpr size_t kMost = 400;
  if (out.size() > kMost) return;
  if (out.size() > 1) std::erase_if(out, [&](const Branch& b) { return surely_fails(b, type, kProofDepth); });
  for (Branch& b : out) {
    unite(b.required);
    unite(b.absent);
    unite(b.keys);
    unite(b.items);
    for (size_t i = b.keys.size(); i-- > 0;)
      if (needless(b, b.keys[i])) b.keys.erase(b.keys.begin() + static_cast<ptrdiff_t>(i));
  }
  Branches kept;
  for (Branch& b : out) {
    if (std::any_of(kept.begin(), kept.end(), [&](const Branch& k) { return implies(b, k); })) continue;
    std::erase_if(kept, [&](const Branch& k) { return implies(k, b); });
    kept.push_back(std::move(b));
  }
  out = std::move(kept);
}

}  // namespace ingle::constrain
