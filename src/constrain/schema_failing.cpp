// The values that do not fulfil a schema: some keyword fails.
#include <algorithm>

#include "constrain/formats.h"
#include "constrain/schema_branches.h"
#include "core/error.h"

namespace ingle::constrain {
namespace {

using Kind = Json::Kind;

const Decimal kOne = Decimal::integer(1);

Branch number_branch(const NumberRule& rule) {
  Branch b;
  b.number = rule;
  return b;
}

}  // namespace

Branches BranchCompiler::failing(int schema, How how) {
  const Json& json = *doc_.at(schema).json;
  if (json.is(Kind::boolean)) return json.truth ? Branches{} : Branches{Branch{}};
  if (how.approximate) {  // only what is cheap to refute
    if (json.members.size() == 1 && json.members[0].first == "const")
      return unequal_to(schema, json.members[0].second, how.type);
    constexpr size_t kFew = 16;
    for (const auto& [key, value] : json.members)
      if (key != "type" && !(key == "enum" && value.items.size() <= kFew) && !value.is(Kind::string))
        return {Branch{}};
    if (json.find("$ref") || json.find("$dynamicRef") || json.find("pattern") || json.find("format"))
      return {Branch{}};
  }
  how.track = false;
  Branches out;
  const std::string where = doc_.where(schema);
  if (json.find("$ref") && old()) {
    failing_combinators(schema, json, how, out);
    return out;
  }
  if (json.find("type")) {
    Json alone;
    alone.kind = Kind::object;
    alone.members.emplace_back("type", *json.find("type"));
    const Branches held = holding(doc_.add(std::move(alone), schema, ""), how);
    if (held.empty()) return {Branch{}};
    NumberRule rule;
    if (held[0].number.whole_spelling)
      rule.other_spelling = true;
    else
      rule.not_multiples = held[0].number.multiples;
    if (!held[0].number.multiples.empty()) out.push_back(number_branch(rule));
  }
  if (const Json* value = doc_.keyword(json, "const")) join(out, unequal_to(schema, *value, how.type), where);
  if (const Json* list = json.find("enum")) {
    Branches none{Branch{}};
    for (const Json& value : list->items) {
      meet(none, unequal_to(schema, value, how.type), where);
      std::erase_if(none, [&](const Branch& b) { return contradicts(b, how.type); });
    }
    join(out, none, where);
  }
  if (how.type == Type::number) {
    Branches held{Branch{}};
    number_keywords(schema, json, held);
    const NumberRule& rule = held[0].number;
    NumberRule other;
    if (rule.low) {
      other.lower(*rule.low, !rule.low_open);
      out.push_back(number_branch(other));
    }
    if (rule.high) {
      other = {};
      other.raise(*rule.high, !rule.high_open);
      out.push_back(number_branch(other));
    }
    for (const Decimal& m : rule.multiples) {
      other = {};
      other.not_multiples.push_back(m);
      out.push_back(number_branch(other));
    }
  }
  if (how.type == Type::string) {
    Branches held{Branch{}};
    string_keywords(schema, json, held);
    for (const Language& l : held[0].languages) {
      Branch b;
      b.languages.emplace_back(l.first, false);
      out.push_back(b);
    }
    Branch b;
    if (held[0].low > 0) {
      b.high = held[0].low - 1;
      out.push_back(b);
    }
    if (held[0].high != kUnbounded) {
      b = {};
      b.low = held[0].high + 1;
      out.push_back(b);
    }
  }
  if (how.type == Type::array) failing_array(schema, json, how, out);
  if (how.type == Type::object) failing_object(schema, json, how, out);
  failing_combinators(schema, json, how, out);
  if (!old()) failing_unevaluated(schema, json, how, out);
  return out;
}

void BranchCompiler::failing_combinators(int schema, const Json& json, How how, Branches& out) {
  const std::string where = doc_.where(schema);
  for (const char* keyword : {"$ref", "$dynamicRef", "$recursiveRef"}) {
    const Json* ref = doc_.keyword(json, keyword);
    if (!ref || (old() && keyword[1] != 'r')) continue;
    if (keyword[1] == 'r' && keyword[3] == 'c')
      fail(Code::unsupported, doc_.where(schema, keyword), "$recursiveRef cannot be held");
    const int target =
        keyword[1] == 'd' ? doc_.resolve_dynamic(schema, ref->text) : doc_.resolve(schema, ref->text);
    join(out, *branches(literal(target, false), how), where);
    if (old()) return;
  }
  const auto all_fail = [&](const Json& list, const char* keyword) {
    Branches none{Branch{}};
    for (const Json& each : list.items) {
      meet(none, *branches(child(schema, each, keyword, false), how), where);
      std::erase_if(none, [&](const Branch& b) { return contradicts(b, how.type); });
    }
    join(out, none, where);
  };
  if (const Json* list = json.find("allOf"))
    for (const Json& each : list->items)
      join(out, *branches(child(schema, each, "allOf", false), how), where);
  if (const Json* list = json.find("anyOf")) all_fail(*list, "anyOf");
  if (const Json* list = json.find("oneOf")) {
    all_fail(*list, "oneOf");
    for (size_t i = 0; i < list->items.size(); ++i)  // or two hold
      for (size_t j = i + 1; j < list->items.size(); ++j) {
        Branches two = *branches(child(schema, list->items[i], "oneOf"), how);
        meet(two, *branches(child(schema, list->items[j], "oneOf"), how), where);
        std::erase_if(two, [&](const Branch& b) { return contradicts(b, how.type); });
        join(out, two, where);
      }
  }
  if (const Json* no = json.find("not")) join(out, *branches(child(schema, *no, "not"), how), where);
  if (const Json* condition = doc_.keyword(json, "if")) {
    const auto arm = [&](const char* keyword, bool holds) {
      const Json* then = doc_.keyword(json, keyword);
      if (!then) return;
      Branches both = *branches(child(schema, *condition, "if", holds), how);
      meet(both, *branches(child(schema, *then, keyword, false), how), where);
      join(out, both, where);
    };
    arm("then", true);
    arm("else", false);
  }
}

void BranchCompiler::failing_array(int schema, const Json& json, How how, Branches& out) {
  Branches held{Branch{}};
  array_keywords(schema, json, how, held);
  const Branch& h = held[0];
  Branch b;
  if (h.low > 0) {
    b.high = h.low - 1;
    out.push_back(b);
  }
  if (h.high != kUnbounded) {
    b = {};
    b.low = h.high + 1;
    out.push_back(b);
  }
  for (const ItemRule& rule : h.items) {
    for (size_t i = 0; i < rule.prefix.size(); ++i) {
      b = {};
      b.low = static_cast<int64_t>(i) + 1;
      b.items.push_back({std::vector<Literal>(i, kNothing), kNothing});
      b.items.back().prefix.push_back(negated(rule.prefix[i]));
      out.push_back(b);
    }
    if (rule.rest == kNothing) continue;
    b = {};
    b.low = static_cast<int64_t>(rule.prefix.size()) + 1;
    b.contains.push_back({negated(rule.rest), 1, kUnbounded, static_cast<int64_t>(rule.prefix.size())});
    out.push_back(b);
  }
  for (const SomeItems& some : h.contains) {
    b = {};
    if (some.low > 0) {
      b.contains.push_back({some.item, 0, some.low - 1, 0});
      out.push_back(b);
    }
    if (some.high != kUnbounded) {
      b.contains = {{some.item, some.high + 1, kUnbounded, 0}};
      out.push_back(b);
    }
  }
  if (h.unique)
    fail(Code::unsupported, doc_.where(schema, "uniqueItems"), "cannot be held where it is negated");
}

void BranchCompiler::failing_object(int schema, const Json& json, How how, Branches& out) {
  Branch b;
  if (const int64_t low = count(schema, json, "minProperties", 0); low > 0) {
    b.high = low - 1;
    out.push_back(b);
  }
  if (const int64_t high = count(schema, json, "maxProperties", kUnbounded); high != kUnbounded) {
    b = {};
    b.low = high + 1;
    out.push_back(b);
  }
  const KeyRule rule = key_rule(schema, json);
  SomeKey other;
  for (const auto& [name, l] : rule.names) {
    other.not_names.push_back(name);
    b = {};
    b.required.push_back(name);
    b.keys.push_back({{{name, negated(l)}}, {}, kNothing});
    out.push_back(b);
  }
  for (const auto& [id, l] : rule.languages) {
    other.not_languages.push_back(id);
    b = {};
    b.some_keys.push_back({{}, {}, id, kNothing, negated(l)});
    out.push_back(b);
  }
  if (rule.rest != kNothing) {
    other.value = negated(rule.rest);
    b = {};
    b.some_keys.push_back(other);
    out.push_back(b);
  }
  if (const Json* list = json.find("required"))
    for (const Json& name : list->items) {
      b = {};
      b.absent.push_back(name.text);
      out.push_back(b);
    }
  if (const Json* names = doc_.keyword(json, "propertyNames")) {
    b = {};
    b.some_keys.push_back({{}, {}, -1, child(schema, *names, "propertyNames", false), kNothing});
    out.push_back(b);
  }
  for (const char* keyword : {"dependentRequired", "dependentSchemas", "dependencies"}) {
    const Json* map = doc_.keyword(json, keyword);
    if (!map) continue;
    for (const auto& [name, value] : map->members) {
      Branch with;
      with.required.push_back(name);
      if (value.is(Kind::array)) {
        for (const Json& missing : value.items) {
          b = with;
          b.absent.push_back(missing.text);
          out.push_back(b);
        }
      } else {
        Branches then{with};
        meet(then, *branches(child(schema, value, std::string(keyword) + "/" + name, false), how),
             doc_.where(schema));
        join(out, then, doc_.where(schema));
      }
    }
  }
}

// What stands beside it holds, and something that none of it has looked at does not fulfil it.
void BranchCompiler::failing_unevaluated(int schema, const Json& json, How how, Branches& out) {
  const Json* keys = how.type == Type::object ? doc_.keyword(json, "unevaluatedProperties") : nullptr;
  const Json* items = how.type == Type::array ? doc_.keyword(json, "unevaluatedItems") : nullptr;
  if (!keys && !items) return;
  Json rest;
  rest.kind = Kind::object;
  for (const auto& member : json.members)
    if (member.first != "unevaluatedProperties" && member.first != "unevaluatedItems")
      rest.members.push_back(member);
  how.track = true;
  Branches held = holding(doc_.add(std::move(rest), schema, ""), how);
  for (Branch& b : held) {
    if (keys) {
      SomeKey some;
      bool all = false;
      for (const KeyRule& seen : b.seen_keys) {
        all = all || seen.rest != kNothing;
        for (const auto& [name, l] : seen.names) some.not_names.push_back(name);
        for (const auto& [id, l] : seen.languages) some.not_languages.push_back(id);
      }
      if (all) continue;
      some.value = child(schema, *keys, "unevaluatedProperties", false);
      b.some_keys.push_back(std::move(some));
    } else {
      if (b.seen_items == kUnbounded) continue;
      if (!b.seen_contains.empty())
        fail(Code::unsupported, doc_.where(schema, "unevaluatedItems"),
             "cannot be held where it is negated beside contains");
      b.low = std::max(b.low, b.seen_items + 1);
      b.contains.push_back({child(schema, *items, "unevaluatedItems", false), 1, kUnbounded, b.seen_items});
    }
    out.push_back(std::move(b));
  }
}

}  // namespace ingle::constrain
