// Calls of tools in the form of a model's template, as a grammar.
#include <algorithm>

#include "api/budget.h"
#include "api/impl.h"
#include "constrain/arguments.h"
#include "constrain/calls.h"
#include "core/error.h"
#include "core/json.h"
#include "ingle/answer.hpp"
#include "text/tools/call_shape.h"

namespace ingle {
namespace {

constexpr const char* kChoice = "option tool_choice";

struct Choice {
  bool free = false, never = false;
  std::string name;  // of the one tool
};

Choice read_choice(const std::string& choice) {
  if (choice == "auto") return {true, false, {}};
  if (choice == "none") return {true, true, {}};
  if (choice == "required") return {};
  if (!choice.starts_with('{')) return {false, false, choice};
  const Json whole = parse_json(choice, kChoice, RepeatedKeys::last_counts);
  const Json* function = whole.find("function");
  const Json* name = function && function->is(Json::Kind::object) ? function->find("name") : nullptr;
  if (!name || !name->is(Json::Kind::string))
    fail(Code::invalid_argument, kChoice, "names no function",
         R"(expected {"type": "function", "function": {"name": "…"}})");
  return {false, false, name->text};
}

// Of the control tokens in a text, their spelling in grammars; the longest where several begin.
class Spelling {
 public:
  explicit Spelling(const text::Tokenizer& tokenizer) {
    for (TokenId id = 0; id < tokenizer.size(); ++id)
      if (tokenizer.kind(id) == text::TokenKind::control && !tokenizer.ends_generation(id) &&
          tokenizer.token_text(id).size() > 1)
        controls_.emplace_back(tokenizer.token_text(id), id);
    std::stable_sort(controls_.begin(), controls_.end(),
                     [](const auto& a, const auto& b) { return a.first.size() > b.first.size(); });
  }
  std::string operator()(std::string_view text) const {
    std::string out;
    for (size_t at = 0; at < text.size();) {
      const auto found = std::find_if(controls_.begin(), controls_.end(),
                                      [&](const auto& c) { return text.substr(at).starts_with(c.first); });
      if (found == controls_.end()) {
        out += text[at++];
        continue;
      }
      out += constrain::control_spelling(found->second);
      at += found->first.size();
    }
    return out;
  }

 private:
  std::vector<std::pair<std::string, TokenId>> controls_;
};

const text::AnswerFormat& format_of(const Model& model) {
  const text::AnswerFormat& format = model.impl()->answer_format();
  if (!format.unknown.empty())
    fail(Code::unsupported, "chat_template",
         "writes tool calls in a form that is not known: " + format.unknown);
  if (!format.tools) fail(Code::unsupported, "chat_template", "writes no tool calls");
  return format;
}

constrain::GrammarPtr arguments_of(const text::CallShape& shape, const Spelling& spelled,
                                   const CompileLimits& limits) {
  const std::string where = ingle::format("tool \"{}\", parameters", shape.name);
  if (!shape.schema.empty()) return constrain::schema_grammar(shape.schema, {}, where, budget_of(limits));
  constrain::WrittenArguments all;
  for (const text::ArgumentShape& a : shape.arguments)
    all.arguments.push_back(
        {spelled(a.first), spelled(a.next),
         constrain::schema_grammar(a.schema, {}, ingle::format("{}#/properties/{}", where, a.key),
                                   budget_of(limits)),
         a.raw, spelled(a.end), a.required});
  all.marker = shape.marker;  // no value holds control tokens, but it may spell one
  all.no_slash_escape = shape.no_slash_escape;
  return constrain::arguments_grammar(std::move(all), where);
}

}  // namespace

Grammar tool_grammar(const Model& model, std::string_view tools, const ToolChoice& how,
                     const CompileLimits& limits) {
  const Choice choice = read_choice(how.choice);
  const text::AnswerFormat& format = format_of(model);
  const Json list = parse_json(tools, "option tools", RepeatedKeys::last_counts);
  if (!list.is(Json::Kind::array)) fail(Code::invalid_argument, "option tools", "is no list of tools");
  const Spelling spelled(model.tokenizer().impl());
  constrain::CallsOptions options;
  std::vector<constrain::Call> calls;
  std::string names;
  for (const Json& tool : list.items) {
    text::CallShape shape;
    if (!tool.is(Json::Kind::object) || !call_shape(format, to_text(tool), shape))
      fail(Code::invalid_argument, ingle::format("option tools, tool {}", calls.size()),
           "is no function with a name");
    options.trigger = spelled(shape.trigger);
    if (options.trigger != shape.trigger) options.not_in_free = shape.trigger;
    options.head = spelled(shape.head);
    options.foot = spelled(shape.foot);
    options.separator = spelled(shape.separator);
    options.many = shape.many && how.parallel;
    options.at_start = shape.at_start;
    options.only_start = shape.only_start;
    options.free_begin = spelled(shape.free_begin);
    options.not_free = shape.not_free;
    names += ingle::format("{}\"{}\"", names.empty() ? "" : ", ", shape.name);
    if (!choice.name.empty() && choice.name != shape.name) continue;
    if (choice.never) continue;
    calls.push_back({spelled(shape.begin), arguments_of(shape, spelled, limits), spelled(shape.end)});
  }
  if (names.empty()) fail(Code::invalid_argument, "option tools", "holds no tools");
  if (calls.empty() && !choice.never)
    fail(Code::invalid_argument, kChoice, ingle::format("\"{}\" is none of the tools", choice.name),
         "auto, required, none, or one of " + names);
  options.never = choice.never;
  options.must = !choice.free;
  return Grammar(constrain::calls_grammar(std::move(calls), options, "tools"));
}

}  // namespace ingle
