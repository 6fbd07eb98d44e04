// Filters on sequences and dicts that need no other filter or test.
#include <algorithm>

#include "text/template/filters.h"
#include "text/template/utf8.h"

namespace ingle::text::jinja {

Value ignore_case(Interp& in, const Value& v) {
  return v.is(Kind::string) ? in.text(change_case(v.text(), CaseRule::lower)) : v;
}

Value attribute_of(Interp& in, const Value& item, const Value& path) {
  if (path.is_integral()) return in.get_item(item, path);
  const std::string& text = need_text(path);
  Value at = item;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('.', begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    const bool digits =
        !part.empty() && part.size() < 10 && part.find_first_not_of("0123456789") == part.npos;
    at = in.get_item(at, digits ? Value::integer(std::stoi(part)) : in.text(part));
    begin = end + 1;
  }
  return at;
}

namespace {

Value count(Interp&, const Value& v, const Args&) { return Value::integer(length(v)); }

Value first(Interp& in, const Value& v, const Args&) {
  const Value items = iterate(in.heap(), v);
  return items.as_seq().items.empty() ? make_undefined("no first item: the sequence is empty")
                                      : items.as_seq().items.front();
}

Value last(Interp& in, const Value& v, const Args&) {
  if (v.is(Kind::list) && v.as_seq().flavor == Flavor::generator)
    raise("'generator' object is not reversible");
  const Value items = iterate(in.heap(), v);
  return items.as_seq().items.empty() ? make_undefined("no last item: the sequence is empty")
                                      : items.as_seq().items.back();
}

Value list(Interp& in, const Value& v, const Args&) {
  const Value items = iterate(in.heap(), v);
  return in.list(items.as_seq().items);
}

Value reverse(Interp& in, const Value& v, const Args&) {
  if (v.is(Kind::string)) return slice(in, v, Value::none(), Value::none(), Value::integer(-1));
  const Value items = iterate(in.heap(), v);
  std::vector<Value> out(items.as_seq().items.rbegin(), items.as_seq().items.rend());
  return in.list(std::move(out), Flavor::generator);
}

Value join(Interp& in, const Value& v, const Args& args) {
  const Bound bound("join", args, {"d", "attribute"});
  const Value separator = bound.has(0) ? *bound[0] : in.text("");
  const Value items = iterate(in.heap(), v);
  Sink out(in.heap());
  bool later = false;
  for (const Value& item : items.as_seq().items) {
    if (later) write_text(out, separator);
    later = true;
    const bool by_attribute = bound.has(1) && !bound[1]->is(Kind::none);
    write_text(out, by_attribute ? attribute_of(in, item, *bound[1]) : item);
  }
  return in.text(out);
}

Value items(Interp& in, const Value& v, const Args&) {
  std::vector<Value> out;
  if (v.is(Kind::dict)) {
    for (const auto& [key, value] : v.as_map().items) out.push_back(in.list({key, value}, Flavor::tuple));
  } else if (!v.is(Kind::undefined)) {
    raise("can only get item pairs from a mapping");
  }
  return in.list(std::move(out), Flavor::generator);
}

// Sorts by keys made beforehand; equal ones keep their order, reversed or not, as in Python.
std::vector<Value> sorted(Interp& in, std::vector<std::pair<Value, Value>> keyed, bool reversed) {
  std::stable_sort(keyed.begin(), keyed.end(), [&](const auto& a, const auto& b) {
    return compare(in.heap(), reversed ? b.first : a.first, reversed ? a.first : b.first, "<") == -1;
  });
  std::vector<Value> out;
  for (auto& each : keyed) out.push_back(std::move(each.second));
  return out;
}

// The sort key of an item: itself, an attribute, or several separated by commas.
Value sort_key(Interp& in, const Value& item, const Value& attribute, bool case_sensitive) {
  const auto fold = [&](const Value& v) { return case_sensitive ? v : ignore_case(in, v); };
  if (attribute.is(Kind::none)) return fold(item);
  if (attribute.is_integral() || need_text(attribute).find(',') == std::string::npos) {
    return fold(attribute_of(in, item, attribute));
  }
  std::vector<Value> keys;
  const std::string& text = attribute.text();
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    keys.push_back(fold(attribute_of(in, item, in.text(text.substr(begin, end - begin)))));
    begin = end + 1;
  }
  return in.list(std::move(keys));
}

Value sort(Interp& in, const Value& v, const Args& args) {
  const Bound bound("sort", args, {"reverse", "case_sensitive", "attribute"});
  const Value all = iterate(in.heap(), v);
  std::vector<std::pair<Value, Value>> keyed;
  for (const Value& item : all.as_seq().items) {
    keyed.emplace_back(sort_key(in, item, bound.get(2, Value::none()), bound.flag(1, false)), item);
  }
  return in.list(sorted(in, std::move(keyed), bound.flag(0, false)));
}

Value dict_sort(Interp& in, const Value& v, const Args& args) {
  const Bound bound("dictsort", args, {"case_sensitive", "by", "reverse"});
  if (v.is(Kind::undefined)) raise(undefined_reason(v));
  if (!v.is(Kind::dict)) raise(format("'{}' object has no attribute 'items'", type_name(v)));
  const std::string_view by = bound.str(1, "key");
  if (by != "key" && by != "value") raise("dictsort: 'by' must be \"key\" or \"value\"");
  std::vector<std::pair<Value, Value>> keyed;
  for (const auto& [key, value] : v.as_map().items) {
    const Value& from = by == "key" ? key : value;
    keyed.emplace_back(bound.flag(0, false) ? from : ignore_case(in, from),
                       in.list({key, value}, Flavor::tuple));
  }
  return in.list(sorted(in, std::move(keyed), bound.flag(2, false)));
}

Value unique(Interp& in, const Value& v, const Args& args) {
  const Bound bound("unique", args, {"case_sensitive", "attribute"});
  const Value all = iterate(in.heap(), v);
  Map seen;
  std::vector<Value> out;
  for (const Value& item : all.as_seq().items) {
    const Value key = sort_key(in, item, bound.get(1, Value::none()), bound.flag(0, false));
    if (seen.find(key)) continue;
    seen.set(key, Value::none());
    out.push_back(item);
  }
  return in.list(std::move(out), Flavor::generator);
}

Value extreme(Interp& in, const Value& v, const Args& args, int wanted) {
  const Bound bound("min and max", args, {"case_sensitive", "attribute"});
  const Value all = iterate(in.heap(), v);
  Value best = make_undefined("no aggregated item: the sequence is empty"), best_key;
  for (const Value& item : all.as_seq().items) {
    Value key = sort_key(in, item, bound.get(1, Value::none()), bound.flag(0, false));
    if (&item == &all.as_seq().items.front() ||
        compare(in.heap(), key, best_key, wanted < 0 ? "<" : ">") == wanted) {
      best = item;
      best_key = std::move(key);
    }
  }
  return best;
}
Value min(Interp& in, const Value& v, const Args& args) { return extreme(in, v, args, -1); }
Value max(Interp& in, const Value& v, const Args& args) { return extreme(in, v, args, 1); }

Value sum(Interp& in, const Value& v, const Args& args) {
  const Bound bound("sum", args, {"attribute", "start"});
  const Value all = iterate(in.heap(), v);
  Value total = bound.get(1, Value::integer(0));
  const bool by_attribute = bound.has(0) && !bound[0]->is(Kind::none);
  for (const Value& item : all.as_seq().items) {
    total = arithmetic(in, Op::add, total, by_attribute ? attribute_of(in, item, *bound[0]) : item);
  }
  return total;
}

Value batch(Interp& in, const Value& v, const Args& args) {
  const Bound bound("batch", args, {"linecount", "fill_with"}, 1);
  const int64_t n = bound.integer(0, 1);
  if (n < 1 || n > 1'000'000) raise("batch: the count must be from 1 to 1000000");
  const Value all = iterate(in.heap(), v);
  std::vector<Value> out, row;
  const auto flush = [&] { out.push_back(in.list(std::exchange(row, {}))); };
  for (const Value& item : all.as_seq().items) {
    if (static_cast<int64_t>(row.size()) == n) flush();
    row.push_back(item);
  }
  if (!row.empty()) {
    if (bound.has(1) && !bound[1]->is(Kind::none)) row.resize(static_cast<size_t>(n), *bound[1]);
    flush();
  }
  return in.list(std::move(out), Flavor::generator);
}

Value slice_filter(Interp& in, const Value& v, const Args& args) {
  const Bound bound("slice", args, {"slices", "fill_with"}, 1);
  const int64_t n = bound.integer(0, 1);
  if (n < 1 || n > 1'000'000) raise("slice: the count must be from 1 to 1000000");
  const Value all = iterate(in.heap(), v);
  const auto& items = all.as_seq().items;
  const size_t slices = static_cast<size_t>(n), each = items.size() / slices, longer = items.size() % slices;
  std::vector<Value> out;
  for (size_t i = 0, at = 0; i < slices; ++i) {
    const size_t size = each + (i < longer ? 1 : 0);
    std::vector<Value> row(items.begin() + static_cast<ptrdiff_t>(at),
                           items.begin() + static_cast<ptrdiff_t>(at + size));
    if (i >= longer && longer > 0 && bound.has(1) && !bound[1]->is(Kind::none)) row.push_back(*bound[1]);
    out.push_back(in.list(std::move(row)));
    at += size;
  }
  return in.list(std::move(out), Flavor::generator);
}

constexpr FilterRow kFilters[] = {
    {"length", count},       {"count", count}, {"first", first}, {"last", last}, {"list", list},
    {"reverse", reverse},    {"join", join},   {"items", items}, {"sort", sort}, {"dictsort", dict_sort},
    {"unique", unique},      {"min", min},     {"max", max},     {"sum", sum},   {"batch", batch},
    {"slice", slice_filter},
};

}  // namespace

std::span<const FilterRow> sequence_filters() { return kFilters; }

}  // namespace ingle::text::jinja
