// Filters that apply an attribute, another filter or a test to each item.
#include <algorithm>

#include "text/template/filters.h"

namespace ingle::text::jinja {
namespace {

Args without_first(const Args& args, size_t n) {
  Args rest;
  rest.pos.assign(args.pos.begin() + static_cast<ptrdiff_t>(n), args.pos.end());
  rest.kw = args.kw;
  return rest;
}

Value map_attribute(Interp& in, const Seq& items, const Args& args) {
  const Bound bound("map", args, {"attribute", "default"}, 1);
  std::vector<Value> out;
  for (const Value& item : items.items) {
    Value found = attribute_of(in, item, *bound[0]);
    out.push_back(found.is(Kind::undefined) && bound.has(1) && !bound[1]->is(Kind::none) ? *bound[1]
                                                                                         : std::move(found));
  }
  return in.list(std::move(out), Flavor::generator);
}

// What is falsy, None included, has no items for map, select and their like.
Value items_of(Interp& in, const Value& v) { return truthy(v) ? iterate(in.heap(), v) : in.list({}); }

Value map(Interp& in, const Value& v, const Args& args) {
  const Value all = items_of(in, v);
  const bool by_attribute =
      std::any_of(args.kw.begin(), args.kw.end(), [](const auto& kw) { return kw.first == "attribute"; });
  if (args.pos.empty() && by_attribute) return map_attribute(in, all.as_seq(), args);
  if (args.pos.empty()) raise("map needs the name of a filter");
  const FilterFn fn = find_filter(need_text(args.pos[0]));
  if (!fn) refuse(format("the filter '{}' is not supported", args.pos[0].text()));
  const Args rest = without_first(args, 1);
  std::vector<Value> out;
  for (const Value& item : all.as_seq().items) {
    in.heap().spend(1);
    out.push_back(fn(in, item, rest));
  }
  return in.list(std::move(out), Flavor::generator);
}

// Keeps the items whose value (or attribute) passes the test, or those that do not.
Value choose(Interp& in, const Value& v, const Args& args, bool by_attribute, bool wanted) {
  const Value all = items_of(in, v);
  const size_t skip = by_attribute ? 1 : 0;
  if (args.pos.size() < skip) raise("selectattr and rejectattr need the name of an attribute");
  TestFn test = nullptr;
  Args rest;
  if (args.pos.size() > skip) {
    test = find_test(need_text(args.pos[skip]));
    if (!test) refuse(format("the test '{}' is not supported", args.pos[skip].text()));
    rest = without_first(args, skip + 1);
  }
  std::vector<Value> out;
  for (const Value& item : all.as_seq().items) {
    in.heap().spend(1);
    const Value subject = by_attribute ? attribute_of(in, item, args.pos[0]) : item;
    if ((test ? test(in, subject, rest) : truthy(subject)) == wanted) out.push_back(item);
  }
  return in.list(std::move(out), Flavor::generator);
}

Value select(Interp& in, const Value& v, const Args& args) { return choose(in, v, args, false, true); }
Value reject(Interp& in, const Value& v, const Args& args) { return choose(in, v, args, false, false); }
Value select_attr(Interp& in, const Value& v, const Args& args) { return choose(in, v, args, true, true); }
Value reject_attr(Interp& in, const Value& v, const Args& args) { return choose(in, v, args, true, false); }

Value group_by(Interp& in, const Value& v, const Args& args) {
  const Bound bound("groupby", args, {"attribute", "default", "case_sensitive"}, 1);
  const Value all = iterate(in.heap(), v);
  struct Keyed {
    Value key, shown, item;
  };
  std::vector<Keyed> keyed;
  for (const Value& item : all.as_seq().items) {
    Value shown = attribute_of(in, item, *bound[0]);
    if (shown.is(Kind::undefined) && bound.has(1) && !bound[1]->is(Kind::none)) shown = *bound[1];
    Value key = bound.flag(2, false) ? shown : ignore_case(in, shown);
    keyed.push_back({std::move(key), std::move(shown), item});
  }
  std::stable_sort(keyed.begin(), keyed.end(), [&](const Keyed& a, const Keyed& b) {
    return compare(in.heap(), a.key, b.key, "<") == -1;
  });
  std::vector<Value> groups;
  for (size_t i = 0; i < keyed.size();) {
    std::vector<Value> members;
    const size_t begin = i;
    for (; i < keyed.size() && equal(in.heap(), keyed[i].key, keyed[begin].key); ++i)
      members.push_back(keyed[i].item);
    if (i == begin) members.push_back(keyed[i++].item);  // NaN differs from itself
    const Value group = in.list({keyed[begin].shown, in.list(std::move(members))}, Flavor::tuple);
    const_cast<Seq&>(group.as_seq()).grouped = true;  // nobody else has it yet
    groups.push_back(group);
  }
  return in.list(std::move(groups));
}

constexpr FilterRow kFilters[] = {{"map", map},
                                  {"select", select},
                                  {"reject", reject},
                                  {"selectattr", select_attr},
                                  {"rejectattr", reject_attr},
                                  {"groupby", group_by}};

}  // namespace

std::span<const FilterRow> select_filters() { return kFilters; }

}  // namespace ingle::text::jinja
