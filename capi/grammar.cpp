#include <algorithm>

#include "arguments.h"
#include "guard.h"
#include "handles.h"

namespace ingle::capi {
namespace {

constexpr std::string_view kKinds[] = {"json_schema", "regex",           "gbnf", "lark",
                                       "choice",      "structural_tags", "lazy"};
constexpr int kDepth = 8;  // of grammars within grammars

Grammar make(std::string_view kind, std::string_view source, const GrammarOptions& options, int depth);

const Value* find(const Fields& fields, std::string_view key) {
  for (const auto& [name, value] : fields)
    if (name == key) return &value;
  return nullptr;
}

const Fields& fields_of(const Value& value, const std::string& where) {
  if (const auto* fields = value.as<Fields>()) return *fields;
  fail(Code::invalid_argument, where, "expected an object");
}

const std::string& text_of(const Value* value, const std::string& where) {
  if (value)
    if (const auto* text = value->as<std::string>()) return *text;
  fail(Code::invalid_argument, where, "is missing or no text");
}

bool flag_of(const Fields& fields, std::string_view key) {
  const Value* value = find(fields, key);
  if (!value) return false;
  if (const auto* flag = value->as<bool>()) return *flag;
  fail(Code::invalid_argument, std::string(key), "expected true or false");
}

std::vector<std::string> texts_of(const Value* value, const std::string& where) {
  std::vector<std::string> out;
  if (!value) return out;
  const auto* list = value->as<List>();
  if (!list) fail(Code::invalid_argument, where, "expected a list of texts");
  for (const Value& v : *list) out.push_back(text_of(&v, where));
  return out;
}

void check_keys(const Fields& fields, std::initializer_list<std::string_view> own, const std::string& where) {
  for (const auto& [name, value] : fields)
    if (std::find(own.begin(), own.end(), name) == own.end() &&
        std::find(std::begin(kKinds), std::end(kKinds), name) == std::end(kKinds))
      fail(Code::invalid_argument, where, format("the key \"{}\" is not known", name.substr(0, 64)));
}

// The one member that is named like a kind. Its value is the source, or where that is JSON, the JSON itself.
Grammar content(const Fields& fields, const GrammarOptions& options, int depth, const std::string& where) {
  const Value* found = nullptr;
  std::string_view kind;
  for (const std::string_view k : kKinds)
    if (const Value* value = find(fields, k)) {
      if (found) fail(Code::invalid_argument, where, format("both \"{}\" and \"{}\"", kind, k));
      found = value, kind = k;
    }
  if (!found)
    fail(Code::invalid_argument, where, "no content", "give one of json_schema, regex, gbnf, lark, choice");
  const auto* text = found->as<std::string>();
  const bool json = kind == "choice" || kind == "structural_tags" || kind == "lazy";
  if (!text && !json) fail(Code::invalid_argument, where, format("\"{}\" is no text", kind));
  return make(kind, text ? *text : write_json(*found), options, depth);
}

Grammar structural_tags(const Value& json, const GrammarOptions& options, int depth) {
  const std::string where = "structural_tags";
  const Fields& fields = fields_of(json, where);
  check_keys(fields, {"tags", "triggers", "at_least_one", "stop_after_first"}, where);
  const Value* list = find(fields, "tags");
  if (!list || !list->as<List>()) fail(Code::invalid_argument, where, "\"tags\" is missing or no list");
  std::vector<StructuralTag> tags;
  for (const Value& v : *list->as<List>()) {
    const std::string place = format("{}, tag {}", where, tags.size());
    const Fields& tag = fields_of(v, place);
    check_keys(tag, {"begin", "end"}, place);
    const Value* end = find(tag, "end");
    tags.push_back({text_of(find(tag, "begin"), place + ", begin"), content(tag, options, depth, place),
                    end ? text_of(end, place + ", end") : std::string()});
  }
  return Grammar::structural_tags(tags,
                                  {texts_of(find(fields, "triggers"), where + ", triggers"),
                                   flag_of(fields, "at_least_one"), flag_of(fields, "stop_after_first")},
                                  options.limits);
}

Grammar lazy(const Value& json, const GrammarOptions& options, int depth) {
  const std::string where = "lazy";
  const Fields& fields = fields_of(json, where);
  check_keys(fields, {"markers", "with_marker"}, where);
  return Grammar::lazy(texts_of(find(fields, "markers"), where + ", markers"),
                       content(fields, options, depth, where), flag_of(fields, "with_marker"));
}

Grammar make(std::string_view kind, std::string_view source, const GrammarOptions& options, int depth) {
  if (depth > kDepth) fail(Code::unsupported, "source", format("grammars nested deeper than {}", kDepth));
  if (kind == "json_schema")
    return Grammar::json_schema(source, {options.formats, options.compact}, options.limits);
  if (kind == "regex") return Grammar::regex(source, options.limits);
  if (kind == "gbnf") return Grammar::gbnf(source, options.limits);
  if (kind == "lark") return Grammar::lark(source, options.limits);
  const Value json = read_json(source, "source");
  if (kind == "choice") return Grammar::choice(texts_of(&json, "choice"), options.limits);
  if (kind == "lazy") return lazy(json, options, depth + 1);
  return structural_tags(json, options, depth + 1);
}

std::string_view kind_argument(const std::string& name) {
  const auto found = std::find(std::begin(kKinds), std::end(kKinds), name);
  if (found != std::end(kKinds)) return *found;
  fail(Code::not_found, "kind", format("no grammars are named \"{}\"", name.substr(0, 64)),
       near_miss(name, {std::begin(kKinds), std::end(kKinds)}));
}

}  // namespace
}  // namespace ingle::capi

using namespace ingle::capi;

ingle_code ingle_grammar_create(const char* kind, const char* source, int64_t length,
                                const ingle_options* options, const ingle_progress* progress,
                                ingle_grammar** out, ingle_error** err) {
  return guard(err, [&] {
    auto& result = out_argument(out, "out");
    const std::string_view wanted = kind_argument(string_argument(kind, "kind"));
    const std::string_view text = text_argument(source, length, "source");
    GrammarOptions o = options_argument<GrammarOptions>(options);
    if (const auto report = progress_argument(progress)) o.limits.go_on = [report] { return report(0); };
    result = new ingle_grammar(make(wanted, text, o, 0));
  });
}
ingle_grammar* ingle_grammar_retain(ingle_grammar* grammar) { return retain(grammar); }
void ingle_grammar_release(ingle_grammar* grammar) { release(grammar); }

ingle_code ingle_grammar_accepts(const ingle_grammar* grammar, const char* text, int64_t length, int32_t* out,
                                 ingle_error** err) {
  return guard(err, [&] {
    auto& result = out_argument(out, "out");
    const Kept g(grammar, "grammar");
    result = g->grammar.accepts(text_argument(text, length, "text")) ? 1 : 0;
  });
}

ingle_code ingle_options_set_grammar(ingle_options* options, const ingle_grammar* grammar,
                                     ingle_error** err) {
  return guard(err, [&] {
    auto& target = need(options, "options").target;
    auto* generate = std::get_if<ingle::GenerateOptions>(&target);
    if (!generate)
      ingle::fail(ingle::Code::invalid_argument, "options",
                  ingle::format("are {} options, expected generate options", kKindNames[target.index()]));
    if (grammar)
      generate->grammar = need(grammar, "grammar").grammar;
    else
      generate->grammar.reset();
  });
}
