// What calls of a tool look like in a template's form, for a grammar that holds answers to them.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "text/tools/answer_reader.h"

namespace ingle::text {

// One of the arguments that are written one by one.
struct ArgumentShape {
  std::string first, next;  // from the name, or the argument before, to the value
  std::string key, schema;  // JSON Schema of the value
  bool raw = false;         // a text as it is, not as JSON
  std::string end;          // behind the value
  bool required = false;
};

// Head, then calls, each of them begin, the arguments, end, with `separator` between, then foot.
struct CallShape {
  std::string trigger;  // the marker at which calls begin: what head and begin begin with
  std::string head, foot;
  std::string name, begin, end;
  std::string separator;
  bool many = true;  // may a call follow another?
  // The arguments: JSON of `schema`; or, where that is empty, each of `arguments` at most once, in any order.
  std::string schema;
  std::vector<ArgumentShape> arguments;
  std::string marker;            // stands in no value; empty: all may
  bool no_slash_escape = false;  // "\/" is none in values
  // At the start of the answer: a call may stand there without the trigger, and what free text begins with,
  // and with which bytes it does not.
  bool at_start = false, only_start = false;  // there alone
  std::string free_begin, not_free;
};

// Of one tool: [{"type": "function", "function": {…}}]'s inner object as JSON text. False where it has no
// name, or what it takes is no object. Throws Code::unsupported naming what cannot be held in the form.
bool call_shape(const AnswerFormat& format, std::string_view tool, CallShape& out);

}  // namespace ingle::text
