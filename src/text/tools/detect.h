// Finds how a chat template writes tool calls and reasoning, by rendering conversations with it.
#pragma once
#include <string_view>

#include "text/chat_template.h"
#include "text/tools/answer_reader.h"

namespace ingle::text {

// `source` is the template's. Never throws for what a template does; a template that cannot render any of the
// conversations has no dialect unless its source names one.
AnswerFormat detect_format(const ChatTemplate& chat_template, std::string_view source);

// What a constrained call is made of: head, then calls, each of them begin, JSON of `schema`, end, with
// `separator` between, then foot.
struct CallShape {
  std::string trigger;  // the marker at which calls begin: what head and begin begin with
  std::string head, foot;
  std::string name, begin, schema, end;
  std::string separator;
  bool many = true;  // may a call follow another?
};
// Of one tool: [{"type": "function", "function": {…}}]'s inner object as JSON text. False where the dialect's
// arguments are no JSON, or the tool has no name.
bool call_shape(const Dialect& dialect, std::string_view tool, CallShape& out);

}  // namespace ingle::text
