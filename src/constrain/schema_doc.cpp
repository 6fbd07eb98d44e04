#include "constrain/schema_doc.h"

#include <algorithm>
#include <array>

#include "core/error.h"

namespace ingle::constrain {
namespace {

constexpr std::string_view kRootUri = "ingle:root";

// Keywords whose value is a schema, a list of schemas, a map of schemas.
constexpr std::array kOne = {"additionalItems",
                             "additionalProperties",
                             "contains",
                             "contentSchema",
                             "else",
                             "if",
                             "not",
                             "propertyNames",
                             "then",
                             "unevaluatedItems",
                             "unevaluatedProperties"};
constexpr std::array kList = {"allOf", "anyOf", "oneOf", "prefixItems"};
constexpr std::array kMap = {"$defs",      "definitions", "dependentSchemas", "patternProperties",
                             "properties", "dependencies"};

template <class List>
bool among(const List& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

std::string escaped(std::string_view name) {  // as one step of a JSON pointer
  std::string out;
  for (const char c : name) {
    if (c == '~')
      out += "~0";
    else if (c == '/')
      out += "~1";
    else
      out += c;
  }
  return out;
}

bool has_scheme(std::string_view uri) {
  const size_t colon = uri.find(':');
  return colon != std::string_view::npos && uri.find_first_of("/?#") > colon;
}

// RFC 3986, section 5.2, as far as schemas' references go; `reference` has no fragment.
std::string join(const std::string& base, const std::string& reference) {
  if (reference.empty()) return base;
  if (has_scheme(reference)) return reference;
  const size_t authority = base.find("://");
  if (authority == std::string::npos) return reference;
  const size_t root = std::min(base.find('/', authority + 3), base.size());
  if (reference[0] == '/') return base.substr(0, root) + reference;
  std::string path = root < base.size() ? base.substr(root, base.rfind('/') + 1 - root) : "/";
  path += reference;
  std::vector<std::string> steps;
  for (size_t i = 1; i <= path.size();) {
    const size_t end = std::min(path.find('/', i), path.size());
    const std::string step = path.substr(i, end - i);
    if (step == "..") {
      if (!steps.empty()) steps.pop_back();
    } else if (step != ".") {
      steps.push_back(step);
    }
    i = end + 1;
  }
  std::string out = base.substr(0, root);
  for (const std::string& step : steps) out += "/" + step;
  return out;
}

int hex_digit(char c) {
  return c >= '0' && c <= '9'   ? c - '0'
         : c >= 'a' && c <= 'f' ? c - 'a' + 10
         : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                : -1;
}

std::string percent_decoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() + 0 && hex_digit(text[i + 1]) >= 0 &&
        hex_digit(text[i + 2]) >= 0) {
      out += static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2]));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::pair<std::string, std::string> split_fragment(const std::string& reference) {
  const size_t hash = reference.find('#');
  if (hash == std::string::npos) return {reference, ""};
  return {reference.substr(0, hash), reference.substr(hash + 1)};
}

// The first draft that has a keyword, and whether draft 2020-12 still has it.
struct Lifetime {
  std::string_view keyword;
  Dialect first;
  bool still = true;
};
constexpr std::array kLifetimes = {
    Lifetime{"const", Dialect::draft6},
    Lifetime{"contains", Dialect::draft6},
    Lifetime{"propertyNames", Dialect::draft6},
    Lifetime{"if", Dialect::draft7},
    Lifetime{"then", Dialect::draft7},
    Lifetime{"else", Dialect::draft7},
    Lifetime{"dependentRequired", Dialect::draft2020_12},
    Lifetime{"dependentSchemas", Dialect::draft2020_12},
    Lifetime{"unevaluatedItems", Dialect::draft2020_12},
    Lifetime{"unevaluatedProperties", Dialect::draft2020_12},
    Lifetime{"additionalItems", Dialect::draft4, false},
    Lifetime{"dependencies", Dialect::draft4, false},
};

// Do bounds stand anywhere that are made exclusive by true, as draft 4 alone has it?
bool looks_like_draft4(const Json& j, int depth) {
  if (depth > 64) return false;
  for (const auto& [key, bound] :
       {std::pair("exclusiveMinimum", "minimum"), {"exclusiveMaximum", "maximum"}}) {
    const Json* open = j.find(key);
    if (open && open->is(Json::Kind::boolean) && j.find(bound)) return true;
  }
  for (const auto& [key, value] : j.members)
    if (key != "const" && key != "enum" && key != "default" && key != "examples" &&
        looks_like_draft4(value, depth + 1))
      return true;
  for (const Json& item : j.items)
    if (looks_like_draft4(item, depth + 1)) return true;
  return false;
}

// Does a keyword that draft 2020-12 dropped or reads otherwise stand anywhere?
bool looks_like_draft7(const Json& j, int depth) {
  if (depth > 64) return false;
  for (const auto& [key, value] : j.members) {
    if (key == "$defs" || key == "prefixItems" || key == "unevaluatedProperties" || key == "unevaluatedItems")
      return false;
  }
  for (const auto& [key, value] : j.members) {
    if (key == "definitions" && value.is(Json::Kind::object)) return true;
    if (key == "items" && value.is(Json::Kind::array)) return true;
    if (key == "dependencies" && value.is(Json::Kind::object)) return true;
    if (key == "const" || key == "enum" || key == "default" || key == "examples") continue;
    if (looks_like_draft7(value, depth + 1)) return true;
  }
  for (const Json& item : j.items)
    if (looks_like_draft7(item, depth + 1)) return true;
  return false;
}

}  // namespace

SchemaDoc::SchemaDoc(Json root, std::string where) : root_(std::move(root)), where_(std::move(where)) {
  find_dialect();
  index(&root_, "#", std::string(kRootUri), 0);
  resources_.emplace(std::string(kRootUri), &root_);
}

void SchemaDoc::find_dialect() {
  const Json* named = root_.find("$schema");
  if (!named || !named->is(Json::Kind::string)) {
    if (looks_like_draft4(root_, 0))
      dialect_ = Dialect::draft4;
    else if (looks_like_draft7(root_, 0))
      dialect_ = Dialect::draft7;
    return;
  }
  told_ = true;
  constexpr std::array<std::pair<std::string_view, Dialect>, 4> kUris = {{
      {"json-schema.org/draft-04/schema", Dialect::draft4},
      {"json-schema.org/draft-06/schema", Dialect::draft6},
      {"json-schema.org/draft-07/schema", Dialect::draft7},
      {"json-schema.org/draft/2020-12/schema", Dialect::draft2020_12},
  }};
  for (const auto& [uri, dialect] : kUris)
    if (named->text.find(uri) != std::string::npos) {
      dialect_ = dialect;
      return;
    }
  fail(Code::unsupported, where_ + "#/$schema", format("the dialect {} cannot be held", named->text),
       "drafts 4, 6, 7 and 2020-12 can");
}

const Json* SchemaDoc::keyword(const Json& json, std::string_view name) const {
  const Json* found = json.find(name);
  if (!found || !told_) return found;
  for (const Lifetime& life : kLifetimes)
    if (life.keyword == name)
      return dialect_ >= life.first && (life.still || before_2019()) ? found : nullptr;
  return found;
}

void SchemaDoc::index(const Json* json, std::string path, std::string base, int depth) {
  if (depth > 256) fail(Code::unsupported, where_ + path, "schemas are nested deeper than 256");
  if (!json->is(Json::Kind::object)) {
    if (json->is(Json::Kind::boolean)) {
      ids_.emplace(json, static_cast<int>(subschemas_.size()));
      subschemas_.push_back({json, std::move(path), std::move(base)});
    }
    return;
  }
  const bool plain_ref = before_2019() && json->find("$ref");
  const Json* own = json->find(dialect_ == Dialect::draft4 ? "id" : "$id");
  if (own && own->is(Json::Kind::string) && !plain_ref) {
    const auto [uri, fragment] = split_fragment(own->text);
    if (!uri.empty()) {
      base = join(base, uri);
      resources_.emplace(base, json);
    }
    if (!fragment.empty()) anchors_.emplace(base + "#" + fragment, json);
  }
  if (dialect_ == Dialect::draft2020_12) {
    for (const char* key : {"$anchor", "$dynamicAnchor"}) {
      const Json* name = json->find(key);
      if (!name || !name->is(Json::Kind::string)) continue;
      anchors_.emplace(base + "#" + name->text, json);
      if (key[1] == 'd') dynamic_[name->text].push_back(json);
    }
  }
  ids_.emplace(json, static_cast<int>(subschemas_.size()));
  subschemas_.push_back({json, path, base});
  index_children(json, path, base, depth);
}

void SchemaDoc::index_children(const Json* json, const std::string& path, const std::string& base,
                               int depth) {
  for (const auto& [key, value] : json->members) {
    const std::string here = path + "/" + escaped(key);
    const bool list = among(kList, key) || (key == "items" && value.is(Json::Kind::array));
    if (among(kOne, key) || (key == "items" && !list)) {
      index(&value, here, base, depth + 1);
    } else if (list && value.is(Json::Kind::array)) {
      for (size_t i = 0; i < value.items.size(); ++i)
        index(&value.items[i], format("{}/{}", here, i), base, depth + 1);
    } else if (among(kMap, key) && value.is(Json::Kind::object)) {
      for (const auto& [name, schema] : value.members)
        if (!schema.is(Json::Kind::array)) index(&schema, here + "/" + escaped(name), base, depth + 1);
    }
  }
}

int SchemaDoc::id(const Json* json) {
  const auto found = ids_.find(json);
  if (found != ids_.end()) return found->second;
  index(json, "#", std::string(kRootUri), 0);
  return ids_.at(json);
}

int SchemaDoc::child(int parent, const Json* json, const std::string& keyword) {
  if (dialect_ == Dialect::draft4 && json->is(Json::Kind::boolean) && !keyword.starts_with("additional"))
    fail(Code::invalid_argument, where(parent, keyword), "is no schema: draft 4 has neither true nor false");
  const auto found = ids_.find(json);
  if (found != ids_.end()) return found->second;
  if (!json->is(Json::Kind::object) && !json->is(Json::Kind::boolean))
    fail(Code::invalid_argument, where(parent, keyword), "is no schema: neither an object nor true or false");
  index(json, at(parent).path + "/" + escaped(keyword), at(parent).base, 0);
  return ids_.at(json);
}

int SchemaDoc::add(Json made, int parent, const std::string& keyword) {
  made_.push_back(std::make_unique<Json>(std::move(made)));
  const Json* json = made_.back().get();
  ids_.emplace(json, static_cast<int>(subschemas_.size()));
  subschemas_.push_back({json, at(parent).path + (keyword.empty() ? "" : "/" + keyword), at(parent).base});
  return ids_.at(json);
}

const Json* SchemaDoc::point(const Json* from, std::string_view pointer, std::string& path) const {
  while (!pointer.empty()) {
    if (pointer[0] != '/') return nullptr;
    const size_t end = std::min(pointer.find('/', 1), pointer.size());
    std::string step;
    const std::string_view raw = pointer.substr(1, end - 1);
    for (size_t i = 0; i < raw.size(); ++i) {
      const bool tilde = raw[i] == '~' && i + 1 < raw.size();
      step += tilde ? (raw[i + 1] == '1' ? '/' : '~') : raw[i];
      i += tilde;
    }
    if (from->is(Json::Kind::array)) {
      size_t index = 0;
      if (step.empty() || step.size() > 6) return nullptr;
      for (const char c : step) {
        if (c < '0' || c > '9') return nullptr;
        index = index * 10 + static_cast<size_t>(c - '0');
      }
      if (index >= from->items.size()) return nullptr;
      from = &from->items[index];
    } else {
      from = from->find(step);
      if (!from) return nullptr;
    }
    path += '/';
    path += escaped(step);
    pointer.remove_prefix(end);
  }
  return from;
}

int SchemaDoc::find(const std::string& uri, const std::string& fragment, const std::string& reference,
                    int from) {
  const auto resource = resources_.find(uri);
  if (resource == resources_.end())
    fail(Code::unsupported, where(from), format("the reference {} leads out of the document", reference),
         "put what it means under $defs");
  const Json* json = resource->second;
  const Subschema root = at(id(json));
  if (!fragment.empty() && fragment[0] != '/') {
    const auto anchor = anchors_.find(uri + "#" + fragment);
    if (anchor == anchors_.end())
      fail(Code::invalid_argument, where(from), format("the reference {} leads nowhere", reference));
    return id(anchor->second);
  }
  std::string path = root.path;
  json = point(json, fragment, path);
  if (!json) fail(Code::invalid_argument, where(from), format("the reference {} leads nowhere", reference));
  if (!json->is(Json::Kind::object) && !json->is(Json::Kind::boolean))
    fail(Code::invalid_argument, where(from), format("the reference {} leads to no schema", reference));
  if (!ids_.count(json)) index(json, path, root.base, 0);
  return ids_.at(json);
}

int SchemaDoc::resolve(int from, const std::string& reference) {
  const auto [uri, fragment] = split_fragment(reference);
  return find(join(at(from).base, uri), percent_decoded(fragment), reference, from);
}

int SchemaDoc::resolve_dynamic(int from, const std::string& reference) {
  const int first = resolve(from, reference);
  const std::string name = split_fragment(reference).second;
  const Json* own = at(first).json->find("$dynamicAnchor");
  if (!own || own->text != name) return first;  // behaves as $ref
  if (dynamic_[name].size() > 1)
    fail(Code::unsupported, where(from, "$dynamicRef"),
         format("there are {} dynamic anchors \"{}\": which one is meant depends on the way here",
                dynamic_[name].size(), name));
  return first;
}

std::string SchemaDoc::where(int id, std::string_view keyword) const {
  std::string out = where_;
  out += at(id).path;
  if (!keyword.empty()) {
    out += '/';
    out += escaped(keyword);
  }
  return out;
}

}  // namespace ingle::constrain
