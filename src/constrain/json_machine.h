// A compiled schema: for each place in a JSON text, what may stand there. Schemas' combinators are gone: a
// node lists the alternatives for each type, and each alternative is a plain conjunction.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "constrain/dfa.h"
#include "constrain/number_rule.h"

namespace ingle::constrain {

constexpr int64_t kUnbounded = -1;

struct StringShape {
  DfaPtr text;                         // the decoded content, UTF-8
  int64_t low = 0, high = kUnbounded;  // code points
  bool endless = false;                // whatever was written of it, infinitely many can still come of it
};

// An alternative is told by a mask: which of the shape's open conditions ("some key …", "contains …") the
// value at hand fulfils. A node of -1 cannot be chosen.
struct KeyClass {
  int32_t name = -1;  // it is one key: some number; -1: any key of this class
  bool required = false;
  bool endless = false;        // wherever one of it can still come, infinitely many can
  std::vector<int32_t> nodes;  // by mask
};

struct ObjectShape {
  Dfa keys;  // the decoded key; labels are classes
  std::vector<KeyClass> classes;
  std::vector<std::vector<uint64_t>> reach;  // by state of `keys`: the classes that can still come of it
  std::vector<uint64_t> unnamed;             // the classes without a name
  // By state: the classes without a name of which infinitely many keys can still come.
  std::vector<std::vector<uint64_t>> endless;
  int32_t n_required = 0;
  int64_t low = 0, high = kUnbounded;
  uint32_t conditions = 0;  // all of these bits must have been fulfilled
};

struct ContainsRule {
  int64_t low = 1, high = kUnbounded;
};

struct ArrayShape {
  std::vector<std::vector<int32_t>> prefix;  // nodes by mask, of each of the first places
  std::vector<int32_t> rest;
  int64_t low = 0, high = kUnbounded;
  std::vector<ContainsRule> contains;
  bool unique = false;
  const std::vector<int32_t>& at(int64_t index) const {
    return index < static_cast<int64_t>(prefix.size()) ? prefix[static_cast<size_t>(index)] : rest;
  }
};

struct JsonNode {
  bool may_be_null = false, may_be_false = false, may_be_true = false;
  std::vector<NumberRule> numbers;
  std::vector<StringShape> strings;
  std::vector<ArrayShape> arrays;
  std::vector<ObjectShape> objects;
  bool nothing() const {
    return !may_be_null && !may_be_false && !may_be_true && numbers.empty() && strings.empty() &&
           arrays.empty() && objects.empty();
  }
};

struct JsonMachine {
  std::vector<JsonNode> nodes;
  int32_t root = 0;
  bool possible = true;         // does any value fulfil it?
  bool compact = false;         // no white space between tokens
  bool remembers_text = false;  // some array asks for unique items
};

struct SchemaOptions {
  bool assert_formats = false;  // "format" is an annotation by the standard's default
  bool compact = false;
};

// Throws Code::unsupported naming the keyword's path for what cannot be held, Code::invalid_argument for what
// is no schema.
JsonMachine compile_schema(std::string_view schema, const SchemaOptions& options, const std::string& where,
                           Budget budget = {});

}  // namespace ingle::constrain
