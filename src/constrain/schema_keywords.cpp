// What each keyword asks of a value, and of the keywords that look at what others have looked at.
#include <algorithm>

#include "constrain/formats.h"
#include "constrain/regex.h"
#include "constrain/schema_branches.h"
#include "core/error.h"

namespace ingle::constrain {
namespace {

using Kind = Json::Kind;

const Decimal kOne = Decimal::integer(1);

}  // namespace

int64_t BranchCompiler::count(int schema, const Json& json, const char* keyword, int64_t absent) {
  const Json* value = doc_.keyword(json, keyword);
  if (!value) return absent;
  const auto number = value->is(Kind::number) ? Decimal::parse(value->text) : std::nullopt;
  if (!number || number->negative || !is_multiple(*number, kOne))
    fail(Code::invalid_argument, doc_.where(schema, keyword), format("{} is no count", to_text(*value)));
  if (number->is_zero()) return 0;
  if (static_cast<int64_t>(number->digits.size()) + number->exponent > 15)
    fail(Code::unsupported, doc_.where(schema, keyword), format("{} is too large", value->text));
  std::string digits = number->digits + std::string(static_cast<size_t>(number->exponent), '0');
  return std::stoll(digits);
}

void BranchCompiler::number_keywords(int schema, const Json& json, Branches& out) {
  NumberRule rule;
  const bool draft4 = doc_.dialect() == Dialect::draft4;
  const auto open = [&](const char* keyword) {  // of draft 4: true beside the bound
    const Json* value = json.find(keyword);
    if (value && !value->is(Kind::boolean))
      fail(Code::invalid_argument, doc_.where(schema, keyword),
           format("{} is neither true nor false, as draft 4 has it", to_text(*value)));
    return value && value->truth;
  };
  for (const char* keyword : {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}) {
    if (draft4 && keyword[0] == 'e') continue;
    const Json* value = doc_.keyword(json, keyword);
    if (!value) continue;
    const auto number = value->is(Kind::number) ? Decimal::parse(value->text) : std::nullopt;
    if (!number)
      fail(Code::invalid_argument, doc_.where(schema, keyword), format("{} is no number", to_text(*value)));
    const std::string_view name = keyword;
    if (name == "multipleOf") {
      if (number->negative || number->is_zero())
        fail(Code::invalid_argument, doc_.where(schema, keyword), format("{} is not above 0", value->text));
      if (!fits_divisor(*number))
        fail(Code::unsupported, doc_.where(schema, keyword),
             format("{} has more than 18 digits", value->text));
      rule.multiples.push_back(*number);
    } else if (name.ends_with("inimum")) {
      rule.raise(*number, draft4 ? open("exclusiveMinimum") : name[0] == 'e');
    } else {
      rule.lower(*number, draft4 ? open("exclusiveMaximum") : name[0] == 'e');
    }
  }
  for (Branch& b : out) b.number.add(rule);
}

void BranchCompiler::string_keywords(int schema, const Json& json, Branches& out) {
  Branch b;
  b.low = count(schema, json, "minLength", 0);
  b.high = count(schema, json, "maxLength", kUnbounded);
  if (const Json* source = json.find("pattern")) {
    if (!source->is(Kind::string)) fail(Code::invalid_argument, doc_.where(schema, "pattern"), "is no text");
    b.languages.emplace_back(pattern(source->text, doc_.where(schema, "pattern")), true);
  }
  if (const Json* name = json.find("format"); name && options_.assert_formats && name->is(Kind::string)) {
    const char* source = format_pattern(name->text);
    if (!source)
      fail(Code::unsupported, doc_.where(schema, "format"),
           format("the format {} cannot be held", to_text(*name)),
           "without the option to assert formats it is an annotation");
    b.languages.emplace_back(pattern(std::string("^(?:") + source + ")$", doc_.where(schema, "format")),
                             true);
  }
  meet(out, {b}, doc_.where(schema));
}

// ---- Arrays ----

ItemRule BranchCompiler::item_rule(int schema, const Json& json) {
  ItemRule rule;
  const Json* items = json.find("items");
  const bool list = items && items->is(Kind::array);
  if (list && !old())
    fail(Code::invalid_argument, doc_.where(schema, "items"),
         "is a list of schemas, which draft 2020-12 calls prefixItems");
  const Json* prefix = list ? items : old() ? nullptr : json.find("prefixItems");
  if (prefix) {
    if (!prefix->is(Kind::array))
      fail(Code::invalid_argument, doc_.where(schema, "prefixItems"), "is no list");
    for (const Json& each : prefix->items)
      rule.prefix.push_back(child(schema, each, list ? "items" : "prefixItems"));
  }
  if (items && !list) rule.rest = child(schema, *items, "items");
  if (const Json* more = doc_.keyword(json, "additionalItems"); more && list)
    rule.rest = child(schema, *more, "additionalItems");
  return rule;
}

std::vector<SomeItems> BranchCompiler::contains_rule(int schema, const Json& json) {
  const Json* item = doc_.keyword(json, "contains");
  if (!item) return {};
  SomeItems some;
  some.item = child(schema, *item, "contains");
  if (!old()) {
    some.low = count(schema, json, "minContains", 1);
    some.high = count(schema, json, "maxContains", kUnbounded);
  }
  return {some};
}

void BranchCompiler::array_keywords(int schema, const Json& json, How how, Branches& out) {
  Branch b;
  b.low = count(schema, json, "minItems", 0);
  b.high = count(schema, json, "maxItems", kUnbounded);
  const ItemRule rule = item_rule(schema, json);
  if (!rule.prefix.empty() || rule.rest != kNothing) b.items.push_back(rule);
  for (const SomeItems& some : contains_rule(schema, json)) {
    if (some.low > 0 || some.high != kUnbounded) b.contains.push_back(some);
    if (how.track || doc_.keyword(json, "unevaluatedItems")) b.seen_contains.push_back(some.item);
  }
  if (const Json* unique = json.find("uniqueItems")) b.unique = unique->truth;
  b.seen_items = rule.rest != kNothing ? kUnbounded : static_cast<int64_t>(rule.prefix.size());
  meet(out, {b}, doc_.where(schema));
}

// ---- Objects ----

KeyRule BranchCompiler::key_rule(int schema, const Json& json) {
  KeyRule rule;
  const auto map_of = [&](const char* keyword) -> const Json* {
    const Json* map = doc_.keyword(json, keyword);
    if (map && !map->is(Kind::object))
      fail(Code::invalid_argument, doc_.where(schema, keyword), "is no object");
    return map;
  };
  if (const Json* map = map_of("properties"))
    for (const auto& [name, value] : map->members)
      rule.names.emplace_back(name, child(schema, value, "properties/" + name));
  if (const Json* map = map_of("patternProperties"))
    for (const auto& [source, value] : map->members)
      rule.languages.emplace_back(pattern(source, doc_.where(schema, "patternProperties")),
                                  child(schema, value, "patternProperties/" + source));
  if (const Json* rest = json.find("additionalProperties"))
    rule.rest = child(schema, *rest, "additionalProperties");
  return rule;
}

void BranchCompiler::object_keywords(int schema, const Json& json, How how, Branches& out) {
  Branch b;
  const std::string where = doc_.where(schema);
  b.low = count(schema, json, "minProperties", 0);
  b.high = count(schema, json, "maxProperties", kUnbounded);
  const KeyRule rule = key_rule(schema, json);
  if (!rule.names.empty() || !rule.languages.empty() || rule.rest != kNothing) {
    b.keys.push_back(rule);
    b.seen_keys.push_back(rule);
  }
  if (const Json* list = json.find("required")) {
    if (!list->is(Kind::array)) fail(Code::invalid_argument, doc_.where(schema, "required"), "is no list");
    for (const Json& name : list->items) {
      if (!name.is(Kind::string))
        fail(Code::invalid_argument, doc_.where(schema, "required"), "holds more than texts");
      b.required.push_back(name.text);
    }
  }
  if (const Json* names = doc_.keyword(json, "propertyNames"))
    b.key_texts.push_back(child(schema, *names, "propertyNames"));
  meet(out, {b}, where);
  for (const char* keyword : {"dependentRequired", "dependentSchemas", "dependencies"}) {
    const Json* map = doc_.keyword(json, keyword);
    if (!map) continue;
    for (const auto& [name, value] : map->members) {
      Branch without, with;
      without.absent.push_back(name);
      with.required.push_back(name);
      Branches either{without};
      if (value.is(Kind::array)) {
        for (const Json& other : value.items) with.required.push_back(other.text);
        either.push_back(with);
      } else {
        Branches then{with};
        meet(then, *branches(child(schema, value, std::string(keyword) + "/" + name), how), where);
        join(either, then, where);
      }
      meet(out, either, where);
      std::erase_if(out, [&](const Branch& each) { return contradicts(each, how.type); });
    }
  }
}

// ---- Unevaluated ----

void BranchCompiler::unevaluated(int schema, const Json& json, How how, Branches& out) {
  if (const Json* value = doc_.keyword(json, "unevaluatedProperties"); value && how.type == Type::object) {
    const Literal rest = child(schema, *value, "unevaluatedProperties");
    for (Branch& b : out) {
      KeyRule rule;
      bool all = false;
      for (const KeyRule& seen : b.seen_keys) {
        all = all || seen.rest != kNothing;
        for (const auto& [name, l] : seen.names) rule.names.emplace_back(name, kNothing);
        for (const auto& [id, l] : seen.languages) rule.languages.emplace_back(id, kNothing);
      }
      if (all) continue;
      rule.rest = rest;
      b.keys.push_back(rule);
      b.seen_keys.push_back({{}, {}, rest});
    }
  }
  if (const Json* value = doc_.keyword(json, "unevaluatedItems"); value && how.type == Type::array) {
    for (Branch& b : out) {
      if (b.seen_items == kUnbounded) continue;
      ItemRule rule;
      rule.prefix.assign(static_cast<size_t>(b.seen_items), kNothing);
      rule.rest = child(schema, *value, "unevaluatedItems");
      if (!b.seen_contains.empty()) {  // an item that `contains` matched has been looked at
        Json either, made;
        either.kind = Kind::array;
        either.items.push_back(*value);
        for (const Literal l : b.seen_contains) either.items.push_back(*doc_.at(l / 2).json);
        made.kind = Kind::object;
        made.members.emplace_back("anyOf", std::move(either));
        rule.rest = literal(doc_.add(std::move(made), schema, "unevaluatedItems"), true);
      }
      b.items.push_back(std::move(rule));
      b.seen_items = kUnbounded;
    }
  }
}

}  // namespace ingle::constrain
