// A JSON Schema document: which subschema a reference means, and in which dialect it is read.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/json.h"

namespace ingle::constrain {

enum class Dialect { draft4, draft6, draft7, draft2020_12 };

struct Subschema {
  const Json* json;
  std::string path;  // JSON pointer from the document's root, for messages: "#/properties/a"
  std::string base;  // the URI that references in it are relative to
};

class SchemaDoc {
 public:
  // `where` stands before the path in errors. Without $schema the dialect is told by spellings: draft 4 where
  // exclusiveMinimum or exclusiveMaximum is true or false, draft 7 where "definitions", an array under
  // "items" or "dependencies" stand, else draft 2020-12.
  SchemaDoc(Json root, std::string where);

  Dialect dialect() const { return dialect_; }
  bool before_2019() const { return dialect_ < Dialect::draft2020_12; }
  // Of a subschema; null when the dialect has no such keyword and $schema named it: then it says nothing.
  const Json* keyword(const Json& json, std::string_view name) const;
  int root() { return id(&root_); }
  // Numbers subschemas as they are met; `json` is part of the document, or one made by add().
  int id(const Json* json);
  const Subschema& at(int id) const { return subschemas_[static_cast<size_t>(id)]; }
  int child(int parent, const Json* json, const std::string& keyword);
  // A schema that stands in no document, {"const": value} for instance.
  int add(Json made, int parent, const std::string& keyword);
  // Throws Code::unsupported for what lies outside the document.
  int resolve(int from, const std::string& reference);
  int resolve_dynamic(int from, const std::string& reference);
  std::string where(int id, std::string_view keyword = {}) const;

 private:
  void find_dialect();
  void index(const Json* json, std::string path, std::string base, int depth);
  void index_children(const Json* json, const std::string& path, const std::string& base, int depth);
  const Json* point(const Json* from, std::string_view pointer, std::string& path) const;
  int find(const std::string& uri, const std::string& fragment, const std::string& reference, int from);

  Json root_;
  std::string where_;
  Dialect dialect_ = Dialect::draft2020_12;
  bool told_ = false;  // the dialect, by $schema
  std::vector<Subschema> subschemas_;
  std::unordered_map<const Json*, int> ids_;
  std::map<std::string, const Json*> resources_;  // by absolute URI
  std::map<std::string, const Json*> anchors_;    // URI#name
  std::map<std::string, std::vector<const Json*>> dynamic_;
  std::vector<std::unique_ptr<Json>> made_;
};

}  // namespace ingle::constrain
