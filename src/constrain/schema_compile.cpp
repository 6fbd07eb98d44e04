// From alternatives to the machine: nodes are conjunctions of literals, met once each; then what can hold
// nothing is taken out, so that no way through the machine ends in a place without a way on.
#include <algorithm>
#include <map>
#include <set>

#include "constrain/schema_branches.h"
#include "core/error.h"

namespace ingle::constrain {
namespace {

constexpr size_t kMaxConditions = 3;  // alternatives double with each

class Compiler {
 public:
  Compiler(SchemaDoc& doc, const SchemaOptions& options, Budget budget)
      : branches_(doc, options, std::move(budget)) {
    machine_.compact = options.compact;
  }

  JsonMachine run() {
    machine_.root = node({literal(branches_.doc().root(), true)});
    for (size_t i = 0; i < keys_.size(); ++i) expand(i);
    find_possible();
    for (size_t i = 0; i < machine_.nodes.size(); ++i) prune(i);
    machine_.possible = possible_[static_cast<size_t>(machine_.root)];
    return std::move(machine_);
  }

 private:
  int32_t node(std::vector<Literal> key) {
    std::sort(key.begin(), key.end());
    key.erase(std::unique(key.begin(), key.end()), key.end());
    const auto [at, fresh] = numbers_.emplace(std::move(key), static_cast<int32_t>(keys_.size()));
    if (fresh) {
      branches_.budget().take(&Budget::nodes, 1, branches_.doc().where(branches_.doc().root()));
      keys_.push_back(at->first);
      machine_.nodes.emplace_back();
    }
    return at->second;
  }
  std::string where(size_t i) {
    return branches_.doc().where(keys_[i].empty() ? branches_.doc().root() : keys_[i].front() / 2);
  }

  void expand(size_t i) {
    const std::vector<Literal> key = keys_[i];
    const auto each = [&](Type type, const auto& add) {
      for (const Branch& b : branches_.all_of(key, type)) add(b);
    };
    // `machine_.nodes` may grow while a shape is made.
    each(Type::null, [&](const Branch&) { machine_.nodes[i].may_be_null = true; });
    each(Type::boolean, [&](const Branch& b) {
      machine_.nodes[i].may_be_false |= b.may_be_false;
      machine_.nodes[i].may_be_true |= b.may_be_true;
    });
    each(Type::number, [&](const Branch& b) { machine_.nodes[i].numbers.push_back(b.number); });
    each(Type::string, [&](const Branch& b) {
      StringShape shape = branches_.text(b, where(i));
      shape.endless = is_endless(shape);
      if (!shape.text->empty()) machine_.nodes[i].strings.push_back(std::move(shape));
    });
    each(Type::array, [&](const Branch& b) {
      ArrayShape shape = array(b, where(i));
      machine_.remembers_text = machine_.remembers_text || shape.unique;
      machine_.nodes[i].arrays.push_back(std::move(shape));
    });
    each(Type::object, [&](const Branch& b) {
      ObjectShape shape = object(b, where(i));
      machine_.nodes[i].objects.push_back(std::move(shape));
    });
    simplify(machine_.nodes[i]);
  }

  // An alternative that asks for nothing makes the others needless.
  static void simplify(JsonNode& n) {
    for (const NumberRule& rule : n.numbers)
      if (rule.free()) {
        n.numbers = {NumberRule{}};
        break;
      }
    for (const StringShape& s : n.strings)
      if (s.text == any_text() && s.low == 0 && s.high == kUnbounded) {
        n.strings = {StringShape(s)};
        break;
      }
  }

  // ---- Arrays ----

  ArrayShape array(const Branch& b, const std::string& place) {
    ArrayShape out;
    out.low = b.low;
    out.high = b.high;
    out.unique = b.unique;
    if (b.contains.size() > kMaxConditions)
      fail(Code::unsupported, place,
           format("{} conditions on some items, expected at most {}", b.contains.size(), kMaxConditions));
    size_t first = 0;
    for (const ItemRule& rule : b.items) first = std::max(first, rule.prefix.size());
    for (const SomeItems& some : b.contains) {
      first = std::max(first, static_cast<size_t>(some.from));
      out.contains.push_back({some.low, some.high});
    }
    branches_.budget().take(&Budget::nodes, static_cast<int64_t>(first), place);
    for (size_t i = 0; i < first; ++i) out.prefix.push_back(item_nodes(b, i));
    out.rest = item_nodes(b, first);
    return out;
  }

  std::vector<int32_t> item_nodes(const Branch& b, size_t index) {
    std::vector<Literal> base;
    for (const ItemRule& rule : b.items) {
      const Literal l = index < rule.prefix.size() ? rule.prefix[index] : rule.rest;
      if (l != kNothing) base.push_back(l);
    }
    std::vector<int32_t> out;
    for (uint32_t mask = 0; mask < 1u << b.contains.size(); ++mask) {
      std::vector<Literal> all = base;
      bool possible = true;
      for (size_t c = 0; c < b.contains.size(); ++c) {
        const SomeItems& some = b.contains[c];
        const bool applies = static_cast<int64_t>(index) >= some.from, chosen = mask >> c & 1;
        if (chosen && !applies) possible = false;
        if (chosen) all.push_back(some.item);
        // Only where there is an upper bound must those that are not counted be told apart.
        if (!chosen && applies && some.high != kUnbounded) all.push_back(negated(some.item));
      }
      out.push_back(possible ? node(std::move(all)) : -1);
    }
    return out;
  }

  // ---- Objects ----

  struct ClassKey {
    int32_t name;
    std::vector<char> in;  // by automaton
    auto operator<=>(const ClassKey&) const = default;
  };

  Dfa language_of(Literal l, const std::string& place) {
    std::vector<StringShape> shapes;
    for (const Branch& b : branches_.all_of({l}, Type::string)) shapes.push_back(branches_.text(b, place));
    std::vector<Dfa> sized;
    for (const StringShape& s : shapes)
      sized.push_back(s.low == 0 && s.high == kUnbounded
                          ? *s.text
                          : with_length(*s.text, s.low, s.high, branches_.budget(), place));
    if (sized.size() == 1) return sized[0];
    std::vector<const Dfa*> parts;
    for (const Dfa& d : sized) parts.push_back(&d);
    const std::vector<char> required(parts.size(), 0);
    if (parts.empty()) return {};
    return product(
        parts, required,
        [&](std::span<const int32_t> states) {
          for (size_t i = 0; i < states.size(); ++i)
            if (states[i] >= 0 && parts[i]->label[static_cast<size_t>(states[i])] >= 0) return 0;
          return -1;
        },
        branches_.budget(), place);
  }

  ObjectShape object(const Branch& b, const std::string& place) {
    ObjectShape out;
    out.low = b.low;
    out.high = b.high;
    if (b.some_keys.size() > kMaxConditions)
      fail(Code::unsupported, place,
           format("{} conditions on some members, expected at most {}", b.some_keys.size(), kMaxConditions));
    out.conditions = (1u << b.some_keys.size()) - 1;

    std::set<std::string> all_names(b.required.begin(), b.required.end());
    all_names.insert(b.absent.begin(), b.absent.end());
    std::vector<int32_t> languages;
    const auto use = [&](int32_t id) {
      if (id >= 0 && std::find(languages.begin(), languages.end(), id) == languages.end())
        languages.push_back(id);
    };
    for (const KeyRule& rule : b.keys) {
      for (const auto& [name, l] : rule.names) all_names.insert(name);
      for (const auto& [id, l] : rule.languages) use(id);
    }
    for (const SomeKey& some : b.some_keys) {
      all_names.insert(some.not_names.begin(), some.not_names.end());
      for (const int32_t id : some.not_languages) use(id);
      use(some.language);
    }
    const std::vector<std::string> names(all_names.begin(), all_names.end());

    // Side by side: any text, the names, what all keys must be, the languages, what some key must be.
    std::vector<Dfa> own;
    own.reserve(1 + b.key_texts.size() + b.some_keys.size());
    own.push_back(of_texts(names));
    for (const Literal l : b.key_texts) own.push_back(language_of(l, place));
    for (const SomeKey& some : b.some_keys)
      own.push_back(some.key == kNothing ? Dfa{} : language_of(some.key, place));
    std::vector<const Dfa*> parts{any_text().get(), &own[0]};
    std::vector<char> required{1, 0};
    for (size_t i = 0; i < b.key_texts.size(); ++i) {
      parts.push_back(&own[1 + i]);
      required.push_back(1);
    }
    const size_t first_language = parts.size();
    for (const int32_t id : languages) parts.push_back(&branches_.language(id));
    const size_t first_some = parts.size();
    for (size_t i = 0; i < b.some_keys.size(); ++i) parts.push_back(&own[1 + b.key_texts.size() + i]);
    required.resize(parts.size(), 0);

    std::map<ClassKey, int32_t> classes;
    out.keys = product(
        parts, required,
        [&](std::span<const int32_t> states) {
          const auto accepted = [&](size_t p) {
            return states[p] >= 0 && parts[p]->label[static_cast<size_t>(states[p])] >= 0;
          };
          for (size_t p = 0; p < parts.size(); ++p)
            if (required[p] && !accepted(p)) return -1;
          ClassKey key{accepted(1) ? own[0].label[static_cast<size_t>(states[1])] : -1, {}};
          for (size_t p = first_language; p < parts.size(); ++p) key.in.push_back(accepted(p));
          return classes.emplace(std::move(key), static_cast<int32_t>(classes.size())).first->second;
        },
        branches_.budget(), place);
    out.classes.resize(classes.size());
    for (const auto& [key, number] : classes) {
      KeyClass& c = out.classes[static_cast<size_t>(number)];
      c.name = key.name;
      const std::string* name = key.name >= 0 ? &names[static_cast<size_t>(key.name)] : nullptr;
      c.required = name && std::find(b.required.begin(), b.required.end(), *name) != b.required.end();
      const auto in = [&](int32_t id) {
        const auto at = std::find(languages.begin(), languages.end(), id) - languages.begin();
        return key.in[static_cast<size_t>(at)] != 0;
      };
      const auto fulfils = [&](size_t some) { return key.in[first_some - first_language + some] != 0; };
      if (!(name && std::find(b.absent.begin(), b.absent.end(), *name) != b.absent.end()))
        c.nodes = value_nodes(b, name, in, fulfils);
      else
        c.nodes.assign(1u << b.some_keys.size(), -1);
    }
    out.n_required = static_cast<int32_t>(std::set<std::string>(b.required.begin(), b.required.end()).size());
    return out;
  }

  template <class In, class Fulfils>
  std::vector<int32_t> value_nodes(const Branch& b, const std::string* name, const In& in,
                                   const Fulfils& fulfils) {
    std::vector<Literal> base;
    for (const KeyRule& rule : b.keys) {
      bool met = false;
      const auto add = [&](Literal l) {
        met = true;
        if (l != kNothing) base.push_back(l);
      };
      for (const auto& [known, l] : rule.names)
        if (name && known == *name) add(l);
      for (const auto& [id, l] : rule.languages)
        if (in(id)) add(l);
      if (!met && rule.rest != kNothing) base.push_back(rule.rest);
    }
    uint32_t may = 0;
    for (size_t i = 0; i < b.some_keys.size(); ++i) {
      const SomeKey& some = b.some_keys[i];
      bool good = some.language < 0 || in(some.language);
      good = good && !(name && std::find(some.not_names.begin(), some.not_names.end(), *name) !=
                                   some.not_names.end());
      for (const int32_t id : some.not_languages) good = good && !in(id);
      good = good && (some.key == kNothing || fulfils(i));
      may |= static_cast<uint32_t>(good) << i;
    }
    std::vector<int32_t> out;
    for (uint32_t mask = 0; mask < 1u << b.some_keys.size(); ++mask) {
      if (mask & ~may) {
        out.push_back(-1);
        continue;
      }
      std::vector<Literal> all = base;
      for (size_t i = 0; i < b.some_keys.size(); ++i)
        if ((mask >> i & 1) && b.some_keys[i].value != kNothing) all.push_back(b.some_keys[i].value);
      out.push_back(node(std::move(all)));
    }
    return out;
  }

  // ---- What is possible: the least fixed point ----

  bool any(const std::vector<int32_t>& nodes, uint32_t with = 0) const {
    for (uint32_t mask = 0; mask < nodes.size(); ++mask)
      if ((mask & with) == with && nodes[mask] >= 0 && possible_[static_cast<size_t>(nodes[mask])])
        return true;
    return false;
  }

  bool possible(const ArrayShape& a) const {
    int64_t longest = 0;  // kUnbounded: no place is impossible
    while (longest < static_cast<int64_t>(a.prefix.size()) && any(a.prefix[static_cast<size_t>(longest)]))
      ++longest;
    if (longest == static_cast<int64_t>(a.prefix.size()) && any(a.rest)) longest = kUnbounded;
    if (a.high != kUnbounded) longest = longest == kUnbounded ? a.high : std::min(longest, a.high);
    if (longest != kUnbounded && longest < a.low) return false;
    for (size_t c = 0; c < a.contains.size(); ++c) {
      const uint32_t bit = 1u << c;
      const auto first = static_cast<int64_t>(a.prefix.size());
      int64_t places = 0;
      for (int64_t i = 0; i < first && (longest == kUnbounded || i < longest); ++i)
        places += any(a.at(i), bit);
      if (any(a.rest, bit)) {
        if (longest == kUnbounded) continue;
        places += std::max<int64_t>(0, longest - first);
      }
      if (places < a.contains[c].low) return false;
    }
    return true;
  }

  bool possible(const ObjectShape& o) const {
    int64_t named = 0, required = 0;
    bool open = false;
    uint32_t conditions = 0;
    for (const KeyClass& c : o.classes) {
      if (!any(c.nodes)) continue;
      named += c.name >= 0;
      required += c.required;
      open = open || c.name < 0;
      for (uint32_t bit = 1; bit <= o.conditions; bit <<= 1)
        if (any(c.nodes, bit)) conditions |= bit;
    }
    if (required < o.n_required || conditions != o.conditions) return false;
    if (o.high != kUnbounded && required > o.high) return false;
    return open || named >= o.low;
  }

  void find_possible() {
    possible_.assign(machine_.nodes.size(), 0);
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t i = machine_.nodes.size(); i-- > 0;) {
        if (possible_[i]) continue;
        const JsonNode& n = machine_.nodes[i];
        bool good =
            n.may_be_null || n.may_be_false || n.may_be_true || !n.numbers.empty() || !n.strings.empty();
        for (const ArrayShape& a : n.arrays) good = good || possible(a);
        for (const ObjectShape& o : n.objects) good = good || possible(o);
        if (!good) continue;
        possible_[i] = 1;
        changed = true;
      }
    }
  }

  void prune(size_t i) {
    JsonNode& n = machine_.nodes[i];
    std::erase_if(n.arrays, [&](const ArrayShape& a) { return !possible(a); });
    std::erase_if(n.objects, [&](const ObjectShape& o) { return !possible(o); });
    const auto drop = [&](std::vector<int32_t>& nodes) {
      for (int32_t& each : nodes)
        if (each >= 0 && !possible_[static_cast<size_t>(each)]) each = -1;
    };
    for (ArrayShape& a : n.arrays) {
      for (auto& nodes : a.prefix) drop(nodes);
      drop(a.rest);
    }
    for (ObjectShape& o : n.objects) {
      for (KeyClass& c : o.classes) drop(c.nodes);
      for (int32_t& label : o.keys.label)
        if (label >= 0 && !any(o.classes[static_cast<size_t>(label)].nodes)) label = -1;
      o.keys = trim(o.keys);
      o.reach = reachable(o);
      o.unnamed.assign((o.classes.size() + 63) / 64, 0);
      for (size_t c = 0; c < o.classes.size(); ++c) {
        KeyClass& own = o.classes[c];
        if (own.name < 0 && is_one_text(o, c)) own.name = 0;
        if (own.name < 0) o.unnamed[c / 64] |= uint64_t{1} << (c % 64);
      }
      find_endless(o);
    }
  }

  static bool is_endless(const StringShape& s) {
    if (s.high != kUnbounded) return false;
    const auto left = endless(*s.text, std::vector<char>(static_cast<size_t>(s.text->size()), 1));
    return std::find(left.begin(), left.end(), 0) == left.end();
  }

  static void find_endless(ObjectShape& o) {
    o.endless.assign(o.reach.size(), std::vector<uint64_t>(o.unnamed.size()));
    for (size_t c = 0; c < o.classes.size(); ++c) {
      if (o.classes[c].name >= 0) continue;
      std::vector<char> states;
      for (const auto& reach : o.reach) states.push_back(reach[c / 64] >> (c % 64) & 1);
      const std::vector<char> left = endless(o.keys, states);
      o.classes[c].endless = left == states;
      for (size_t s = 0; s < left.size(); ++s)
        if (left[s]) o.endless[s][c / 64] |= uint64_t{1} << (c % 64);
    }
  }

  static bool is_one_text(const ObjectShape& o, size_t c) {
    const auto reaches = [&](int32_t s) { return o.reach[static_cast<size_t>(s)][c / 64] >> (c % 64) & 1; };
    if (o.keys.empty() || !reaches(o.keys.start)) return false;
    int32_t s = o.keys.start;
    for (int32_t n = 0; n <= o.keys.size(); ++n) {
      int32_t next = -1, ways = o.keys.label[static_cast<size_t>(s)] == static_cast<int32_t>(c);
      const bool ends = ways != 0;
      for (int b = 0; b < 256 && ways < 2; ++b)
        if (const int32_t to = o.keys.step(s, static_cast<uint8_t>(b)); to >= 0 && reaches(to)) {
          next = to;
          ++ways;
        }
      if (ways != 1 || ends) return ways == 1;
      s = next;
    }
    return false;
  }

  static std::vector<std::vector<uint64_t>> reachable(const ObjectShape& o) {
    const size_t words = (o.classes.size() + 63) / 64, n = static_cast<size_t>(o.keys.size());
    std::vector<std::vector<uint64_t>> out(n, std::vector<uint64_t>(words));
    for (size_t s = 0; s < n; ++s)
      if (const int32_t l = o.keys.label[s]; l >= 0)
        out[s][static_cast<size_t>(l) / 64] |= uint64_t{1} << (l % 64);
    const auto width = static_cast<size_t>(o.keys.n_classes);
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t s = n; s-- > 0;)
        for (size_t c = 0; c < width; ++c) {
          const int32_t to = o.keys.next[s * width + c];
          if (to < 0 || static_cast<size_t>(to) == s) continue;
          for (size_t w = 0; w < words; ++w) {
            const uint64_t merged = out[s][w] | out[static_cast<size_t>(to)][w];
            changed = changed || merged != out[s][w];
            out[s][w] = merged;
          }
        }
    }
    return out;
  }

  BranchCompiler branches_;
  JsonMachine machine_;
  std::map<std::vector<Literal>, int32_t> numbers_;
  std::vector<std::vector<Literal>> keys_;
  std::vector<char> possible_;
};

}  // namespace

JsonMachine compile_schema(std::string_view schema, const SchemaOptions& options, const std::string& where,
                           Budget budget) {
  budget.check_source(schema, where);
  Json json = parse_json(schema, where);
  if (!json.is(Json::Kind::object) && !json.is(Json::Kind::boolean))
    fail(Code::invalid_argument, where, "a schema is an object, true or false");
  SchemaDoc doc(std::move(json), where);
  return Compiler(doc, options, std::move(budget)).run();
}

}  // namespace ingle::constrain
