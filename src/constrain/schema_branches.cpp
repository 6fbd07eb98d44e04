#include "constrain/schema_branches.h"

#include <algorithm>

#include "constrain/regex.h"
#include "core/error.h"

namespace ingle::constrain {
namespace {

using Kind = Json::Kind;

template <class T>
void append(std::vector<T>& to, const std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

int64_t least(int64_t a, int64_t b) { return a == kUnbounded ? b : b == kUnbounded ? a : std::min(a, b); }

Branch both(Branch a, const Branch& b) {
  a.may_be_false = a.may_be_false && b.may_be_false;
  a.may_be_true = a.may_be_true && b.may_be_true;
  a.number.add(b.number);
  append(a.languages, b.languages);
  a.low = std::max(a.low, b.low);
  a.high = least(a.high, b.high);
  append(a.items, b.items);
  append(a.contains, b.contains);
  a.unique = a.unique || b.unique;
  append(a.keys, b.keys);
  append(a.required, b.required);
  append(a.absent, b.absent);
  append(a.key_texts, b.key_texts);
  append(a.some_keys, b.some_keys);
  append(a.seen_keys, b.seen_keys);
  a.seen_items = a.seen_items == kUnbounded || b.seen_items == kUnbounded
                     ? kUnbounded
                     : std::max(a.seen_items, b.seen_items);
  append(a.seen_contains, b.seen_contains);
  return a;
}

bool names_type(const std::string& name, Type type) {
  switch (type) {
    case Type::null:
      return name == "null";
    case Type::boolean:
      return name == "boolean";
    case Type::number:
      return name == "number" || name == "integer";
    case Type::string:
      return name == "string";
    case Type::array:
      return name == "array";
    case Type::object:
      return name == "object";
  }
  return false;
}

}  // namespace

bool contradicts(const Branch& b, Type type) {
  if (b.high != kUnbounded && b.low > b.high) return true;
  if (type == Type::boolean) return !b.may_be_false && !b.may_be_true;
  if (type == Type::number) return !b.number.possible();
  for (const std::string& name : b.absent)
    if (std::find(b.required.begin(), b.required.end(), name) != b.required.end()) return true;
  return false;
}

void BranchCompiler::meet(Branches& a, const Branches& b, const std::string& where) {
  if (a.size() == 1 && b.size() == 1) {
    a[0] = both(std::move(a[0]), b[0]);
    return;
  }
  Branches out;
  if (a.size() * b.size() > 0)
    budget_.take(&Budget::branches, static_cast<int64_t>(a.size() * b.size()), where);
  for (const Branch& x : a)
    for (const Branch& y : b) out.push_back(both(x, y));
  a = std::move(out);
}

void BranchCompiler::join(Branches& a, const Branches& b, const std::string& where) {
  budget_.take(&Budget::branches, static_cast<int64_t>(b.size()), where);
  append(a, b);
}

Literal BranchCompiler::child(int schema, const Json& value, const std::string& keyword, bool holds) {
  return literal(canonical(doc_.child(schema, &value, keyword)), holds);
}

int32_t BranchCompiler::pattern(const std::string& source, const std::string& where) {
  const std::string key = "/" + source;
  if (const auto known = by_source_.find(key); known != by_source_.end()) return known->second;
  // Noted when it has compiled: one that is refused is refused again, not taken for an empty language.
  languages_.push_back(std::make_shared<const Dfa>(compile_regex(source, Anchoring::search, budget_, where)));
  return by_source_.emplace(key, static_cast<int32_t>(languages_.size()) - 1).first->second;
}

int32_t BranchCompiler::text_language(const std::string& text) {
  const auto [at, fresh] = by_source_.emplace("=" + text, static_cast<int32_t>(languages_.size()));
  if (fresh) languages_.push_back(std::make_shared<const Dfa>(of_texts({&text, 1})));
  return at->second;
}

StringShape BranchCompiler::text(const Branch& b, const std::string& where) {
  if (b.languages.empty()) return {any_text(), b.low, b.high};
  std::vector<const Dfa*> parts{any_text().get()};
  std::vector<char> required{1};
  for (const auto& [id, in] : b.languages) {
    parts.push_back(&language(id));
    required.push_back(in);
  }
  Dfa dfa = product(
      parts, required,
      [&](std::span<const int32_t> states) {
        for (size_t i = 0; i < parts.size(); ++i) {
          const bool in = states[i] >= 0 && parts[i]->label[static_cast<size_t>(states[i])] >= 0;
          if (in != (i == 0 || b.languages[i - 1].second)) return -1;
        }
        return 0;
      },
      budget_, where);
  // An upper bound multiplies the states. Where they were too many it is counted beside.
  constexpr int64_t kMostStates = 10'000;
  if (b.high != kUnbounded && b.high > kMostStates / std::max(1, dfa.size())) {
    if (b.low > 0) dfa = with_length(dfa, b.low, kUnbounded, budget_, where);
    if (dfa.empty()) return {std::make_shared<const Dfa>(std::move(dfa)), 0, kUnbounded};
    budget_.step(dfa.size() * int64_t{dfa.n_classes}, where);
    find_need(dfa);
    if (dfa.need[static_cast<size_t>(dfa.start)] > b.high) dfa = {};
    return {std::make_shared<const Dfa>(std::move(dfa)), 0, b.high};
  }
  if (b.low > 0 || b.high != kUnbounded) dfa = with_length(dfa, b.low, b.high, budget_, where);
  return {std::make_shared<const Dfa>(std::move(dfa)), 0, kUnbounded};
}

Branches BranchCompiler::all_of(const std::vector<Literal>& literals, Type type) {
  Branches out{Branch{}};
  for (const Literal l : literals) {
    meet(out, *branches(l, {type, false, false}), doc_.where(l / 2));
    std::erase_if(out, [&](const Branch& b) { return contradicts(b, type); });
  }
  return out;
}

BranchesPtr BranchCompiler::branches(Literal l, How how) {
  const auto [at, fresh] = known_.emplace(std::tuple{l, how}, nullptr);
  if (!fresh) {
    if (!at->second)
      fail(Code::invalid_argument, doc_.where(l / 2),
           "the schema refers to itself without a step into the value");
    return at->second;
  }
  try {
    Branches found = l & 1 ? failing(l / 2, how) : holding(l / 2, how);
    std::erase_if(found, [&](const Branch& b) { return contradicts(b, how.type); });
    if (!how.track)  // what a negation looked at counts for nothing
      for (Branch& b : found) {
        b.seen_keys.clear();
        b.seen_items = 0;
        b.seen_contains.clear();
      }
    return known_[{l, how}] = std::make_shared<const Branches>(std::move(found));
  } catch (...) {
    known_.erase({l, how});
    throw;
  }
}

Branches BranchCompiler::holding(int schema, How how) {
  const Json& json = *doc_.at(schema).json;
  if (json.is(Kind::boolean)) return json.truth ? Branches{Branch{}} : Branches{};
  Branches out{Branch{}};
  const std::string where = doc_.where(schema);
  if (const Json* ref = json.find("$ref"); ref && old()) {
    references(schema, json, how, out);
    return out;
  }
  if (const Json* type = json.find("type")) {
    bool allowed = false, integer = false, number = false;
    const auto one = [&](const Json& name) {
      if (!name.is(Kind::string) ||
          !(name.text == "null" || name.text == "boolean" || name.text == "number" ||
            name.text == "integer" || name.text == "string" || name.text == "array" || name.text == "object"))
        fail(Code::invalid_argument, doc_.where(schema, "type"), format("{} is no type", to_text(name)));
      if (!names_type(name.text, how.type)) return;
      allowed = true;
      (name.text == "integer" ? integer : number) = true;
    };
    if (type->is(Kind::array))
      for (const Json& name : type->items) one(name);
    else
      one(*type);
    if (!allowed) return {};
    if (how.type == Type::number && integer && !number) {
      out[0].number.multiples.push_back(Decimal::integer(1));
      out[0].number.whole_spelling = doc_.dialect() == Dialect::draft4;
    }
  }
  if (const Json* value = doc_.keyword(json, "const")) meet(out, equal_to(schema, *value, how.type), where);
  if (const Json* list = json.find("enum")) {
    if (!list->is(Kind::array)) fail(Code::invalid_argument, doc_.where(schema, "enum"), "is no list");
    Branches any;
    for (const Json& value : list->items) join(any, equal_to(schema, value, how.type), where);
    meet(out, any, where);
  }
  if (out.empty()) return out;
  const bool late = doc_.keyword(json, "unevaluatedProperties") || doc_.keyword(json, "unevaluatedItems");
  How inner = how;
  inner.track = how.track || (late && !old());
  switch (how.type) {
    case Type::number:
      number_keywords(schema, json, out);
      break;
    case Type::string:
      string_keywords(schema, json, out);
      break;
    case Type::array:
      array_keywords(schema, json, inner, out);
      break;
    case Type::object:
      object_keywords(schema, json, inner, out);
      break;
    default:
      break;
  }
  combinators(schema, json, inner, out);
  if (late && !old()) unevaluated(schema, json, inner, out);
  return out;
}

void BranchCompiler::references(int schema, const Json& json, How how, Branches& out) {
  for (const char* keyword : {"$ref", "$dynamicRef", "$recursiveRef"}) {
    const Json* ref = doc_.keyword(json, keyword);
    if (!ref || (old() && keyword[1] != 'r')) continue;
    if (keyword[2] == 'e' && keyword[3] == 'c')
      fail(Code::unsupported, doc_.where(schema, keyword), "$recursiveRef cannot be held");
    if (!ref->is(Kind::string)) fail(Code::invalid_argument, doc_.where(schema, keyword), "is no text");
    const int target =
        keyword[1] == 'd' ? doc_.resolve_dynamic(schema, ref->text) : doc_.resolve(schema, ref->text);
    meet(out, *branches(literal(target, true), how), doc_.where(schema, keyword));
  }
}

void BranchCompiler::combinators(int schema, const Json& json, How how, Branches& out) {
  references(schema, json, how, out);
  const auto list_of = [&](const char* keyword) -> const Json* {
    const Json* list = doc_.keyword(json, keyword);
    if (list && (!list->is(Kind::array) || list->items.empty()))
      fail(Code::invalid_argument, doc_.where(schema, keyword), "is no list of schemas");
    return list;
  };
  if (const Json* list = list_of("allOf"))
    for (const Json& each : list->items)
      meet(out, *branches(child(schema, each, "allOf"), how), doc_.where(schema, "allOf"));
  if (const Json* list = list_of("anyOf")) any_of(schema, *list, how, out);
  if (const Json* list = list_of("oneOf")) one_of(schema, *list, how, out);
  if (const Json* no = json.find("not")) {
    How plain = how;
    plain.track = false;
    meet(out, *branches(child(schema, *no, "not", false), plain), doc_.where(schema, "not"));
  }
  if (doc_.keyword(json, "if")) conditional(schema, json, how, out);
}

void BranchCompiler::any_of(int schema, const Json& list, How how, Branches& out) {
  const std::string where = doc_.where(schema, "anyOf");
  if (!how.track || how.approximate) {
    Branches any;
    for (const Json& each : list.items) join(any, *branches(child(schema, each, "anyOf"), how), where);
    meet(out, any, where);
    return;
  }
  // What has been looked at depends on which hold: every alternative either does or does not.
  Branches any;
  How plain = how;
  plain.track = false;
  if (list.items.size() > 8)
    fail(Code::unsupported, where, "has more than 8 alternatives beside an unevaluated keyword");
  for (uint32_t mask = 1; mask < 1u << list.items.size(); ++mask) {
    Branches all{Branch{}};
    for (size_t i = 0; i < list.items.size() && !all.empty(); ++i) {
      const bool holds = mask >> i & 1;
      meet(all, *branches(child(schema, list.items[i], "anyOf", holds), holds ? how : plain), where);
      std::erase_if(all, [&](const Branch& b) { return contradicts(b, how.type); });
    }
    join(any, all, where);
  }
  meet(out, any, where);
}

void BranchCompiler::one_of(int schema, const Json& list, How how, Branches& out) {
  const std::string where = doc_.where(schema, "oneOf");
  How plain = how;
  plain.track = false;
  Branches any;
  for (size_t i = 0; i < list.items.size(); ++i) {
    const Literal here = child(schema, list.items[i], "oneOf");
    Branches one = *branches(here, how);
    for (size_t j = 0; j < list.items.size() && !one.empty() && !how.approximate; ++j) {
      const Literal other = child(schema, list.items[j], "oneOf");
      // Alternatives that exclude each other anyway, as most do, need no proof at run time.
      if (j == i || (other != here && surely_nothing({here, other}, kProofDepth))) continue;
      meet(one, *branches(negated(other), plain), where);
      std::erase_if(one, [&](const Branch& b) { return contradicts(b, how.type); });
      if (!how.track) reduce(one, how.type);  // what was looked at tells alternatives apart
    }
    join(any, one, where);
  }
  meet(out, any, where);
}

void BranchCompiler::conditional(int schema, const Json& json, How how, Branches& out) {
  const Json& condition = *doc_.keyword(json, "if");
  const Json *then = doc_.keyword(json, "then"), *otherwise = doc_.keyword(json, "else");
  const std::string where = doc_.where(schema, "if");
  if (!then && !otherwise && !how.track) return;
  How plain = how;
  plain.track = false;
  Branches yes = *branches(child(schema, condition, "if"), how);
  if (then) meet(yes, *branches(child(schema, *then, "then"), how), where);
  Branches no = *branches(child(schema, condition, "if", false), plain);
  if (otherwise) meet(no, *branches(child(schema, *otherwise, "else"), how), where);
  join(yes, no, where);
  meet(out, yes, where);
}

// ---- Values ----

Branches BranchCompiler::equal_to(int schema, const Json& value, Type type) {
  Branch b;
  const auto is = [&](Kind kind, Type t) { return value.is(kind) && type == t; };
  if (is(Kind::null, Type::null)) return {b};
  if (is(Kind::boolean, Type::boolean)) {
    (value.truth ? b.may_be_false : b.may_be_true) = false;
    return {b};
  }
  if (is(Kind::number, Type::number)) {
    const auto number = Decimal::parse(value.text);
    if (!number)
      fail(Code::unsupported, doc_.where(schema), format("the number {} is too large", value.text));
    b.number.low = b.number.high = number;
    return {b};
  }
  if (is(Kind::string, Type::string)) {
    b.languages.emplace_back(text_language(value.text), true);
    return {b};
  }
  const auto equals = [&](const Json& part) {
    Json made;  // not const, which draft 4 has not
    made.kind = Kind::object;
    made.members.emplace_back("enum", Json::of_array({part}));
    return literal(canonical(doc_.add(std::move(made), schema, "const")), true);
  };
  Json nothing;
  nothing.kind = Kind::boolean;
  if (is(Kind::array, Type::array)) {
    b.low = b.high = static_cast<int64_t>(value.items.size());
    ItemRule rule;
    for (const Json& item : value.items) rule.prefix.push_back(equals(item));
    b.items.push_back(std::move(rule));
    return {b};
  }
  if (is(Kind::object, Type::object)) {
    KeyRule rule;
    for (const auto& [name, member] : value.members) {
      rule.names.emplace_back(name, equals(member));
      b.required.push_back(name);
    }
    rule.rest = literal(doc_.add(nothing, schema, "const"), true);
    b.keys.push_back(std::move(rule));
    return {b};
  }
  return {};
}

Branches BranchCompiler::unequal_to(int schema, const Json& value, Type type) {
  const Branches equal = equal_to(schema, value, type);
  if (equal.empty()) return {Branch{}};
  const Branch& e = equal.front();
  Branches out;
  Branch b;
  switch (type) {
    case Type::null:
      return {};
    case Type::boolean:
      b.may_be_true = e.may_be_false;
      b.may_be_false = e.may_be_true;
      return {b};
    case Type::number:
      b.number.not_equal.push_back(*e.number.low);
      return {b};
    case Type::string:
      b.languages.emplace_back(e.languages.front().first, false);
      return {b};
    case Type::array:
      for (size_t i = 0; i < e.items.front().prefix.size(); ++i) {
        Branch other;
        other.low = static_cast<int64_t>(i) + 1;
        other.items.push_back({std::vector<Literal>(i, kNothing), kNothing});
        other.items.back().prefix.push_back(negated(e.items.front().prefix[i]));
        out.push_back(std::move(other));
      }
      b.low = e.high + 1;
      out.push_back(b);
      if (e.low > 0) {
        b.low = 0;
        b.high = e.low - 1;
        out.push_back(b);
      }
      return out;
    case Type::object: {
      const KeyRule& rule = e.keys.front();
      SomeKey extra;
      for (const auto& [name, same] : rule.names) {
        extra.not_names.push_back(name);
        Branch without, different;
        without.absent.push_back(name);
        different.required.push_back(name);
        different.keys.push_back({{{name, negated(same)}}, {}, kNothing});
        out.push_back(std::move(without));
        out.push_back(std::move(different));
      }
      b.some_keys.push_back(std::move(extra));
      out.push_back(std::move(b));
      return out;
    }
  }
  return out;
}

}  // namespace ingle::constrain
