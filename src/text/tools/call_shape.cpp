#include "text/tools/call_shape.h"

#include "core/error.h"
#include "core/json.h"
#include "text/tools/detect.h"

namespace ingle::text {
namespace {

constexpr const char* kChoice = "option tool_choice";

Json text_of(std::string_view s) { return Json::of_string(s); }

// Arguments are an object, whether the tool says so or not.
std::string schema_of(const Json* parameters) {
  if (!parameters || !parameters->is(Json::Kind::object)) return R"({"type": "object"})";
  if (parameters->find("type")) return to_text(*parameters);
  Json own = *parameters;
  own.member("type") = text_of("object");
  return to_text(own);
}

// ---- Arguments as JSON ----

void json_shape(const Dialect& d, const Json* parameters, CallShape& out) {
  const std::string& name = out.name;
  out.schema = schema_of(parameters);
  if (d.form == Form::harmony) {
    out.trigger = "<|channel|>commentary to=";
    out.begin = "<|channel|>commentary to=functions." + name + " <|constrain|>json<|message|>";
    out.many = false;
    return;
  }
  if (d.form == Form::json) {
    std::string quoted, name_key, arguments_key;
    append_quoted(quoted, name);
    append_quoted(name_key, d.name_key);
    append_quoted(arguments_key, d.arguments_key);
    const std::string open = format("{}{}{}", d.section_begin, d.lead, d.before);
    const std::string close = format("{}{}", d.after, d.section_end);
    out.begin =
        d.name_is_key ? "{" + quoted + ": " : "{" + name_key + ": " + quoted + ", " + arguments_key + ": ";
    out.end = "}";
    // A list of all calls, or a section for each.
    if (d.before.starts_with('[')) {
      out.head = open;
      out.foot = close;
      out.separator = ", ";
    } else {
      out.begin = open + out.begin;
      out.end += close;
      out.separator = "\n";
      out.many = !d.section_end.empty();
    }
    return;
  }
  out.head = d.section_begin;
  out.foot = d.section_end;
  out.begin = d.call_begin;
  if (!d.kind_end.empty()) out.begin += format("function{}", d.kind_end);
  out.begin += d.numbered_name ? "functions." + name + ":0" : name;
  out.begin += format("{}{}{}", d.name_end, d.lead, d.lead.starts_with("```") ? "\n" : "");
  out.end = format("{}{}{}", d.tail.empty() ? "" : "\n", d.tail, d.call_end);
  out.many = !d.numbered_name && !d.plain;
}

// ---- Arguments one by one ----

[[noreturn]] void refuse(const Dialect& d, const char* why) {
  fail(Code::unsupported, kChoice, format("the calls of the form \"{}\" cannot be held: {}", d.name, why));
}

// The texts between what was called in the probe.
struct Pieces {
  std::string head;                // up to the name
  std::string to_key, to_text;     // from the name to the first key; from a key to its text
  std::string text_end, next_key;  // behind the text; from there to the next key
  std::string to_number;           // from a key to its number
  std::string foot, separator;     // behind the last value's end; from there to the next call's name
  bool many = false;
};

bool cut_off(std::string& text, std::string_view begin) {
  if (!text.starts_with(begin)) return false;
  text.erase(0, begin.size());
  return true;
}

// What ends all calls.
std::string_view last_mark(const Dialect& d) { return !d.section_end.empty() ? d.section_end : d.call_end; }

Pieces pieces_of(const Dialect& d, std::string_view written) {
  Pieces p;
  size_t at = written.find(d.trigger());
  const auto up_to = [&](std::string_view what, std::string& out) {
    const size_t found = at == std::string_view::npos ? at : written.find(what, at);
    if (found == std::string_view::npos) refuse(d, "the template writes them in another way");
    out = written.substr(at, found - at);
    at = found + what.size();
  };
  if (at == std::string_view::npos && d.anchored) {  // written without the marker
    const size_t name = written.find(probe::kTool);
    at = name == std::string_view::npos ? name : written.rfind('[', name);
  }
  up_to(probe::kTool, p.head);
  up_to(probe::kKey, p.to_key);
  up_to(probe::kValue, p.to_text);
  up_to(probe::kNumber, p.next_key);
  up_to("7", p.to_number);
  // The second call, if there is one, ends as the first.
  p.many = written.find(probe::kTool, at) != std::string_view::npos;
  std::string rest;
  if (p.many) {
    up_to(probe::kTool, p.separator);
    up_to(probe::kNumber, rest);
    up_to("7", rest);
  }
  if (const std::string_view mark = last_mark(d);
      !mark.empty() && written.find(mark, at) != std::string_view::npos) {
    up_to(mark, p.foot);
    p.foot += mark;
  } else if (d.form == Form::python && d.anchored) {
    up_to("]", p.foot);
    p.foot += ']';
  } else {
    refuse(d, "the template does not end them");
  }
  return p;
}

// Splits what stands behind a value into the value's end and the rest.
void split_ends(const Dialect& d, Pieces& p) {
  size_t n = 0;
  if (d.form == Form::tagged)
    n = p.next_key.find(d.value_end) + d.value_end.size();
  else  // the quotes belong to a text
    n = p.next_key.find(',');
  if (n > p.next_key.size()) refuse(d, "the template writes values in another way");
  p.text_end = p.next_key.substr(0, n);
  p.next_key.erase(0, n);
  if (d.form != Form::tagged) return;
  if (!cut_off(p.foot, p.text_end) || (p.many && !cut_off(p.separator, p.text_end)))
    refuse(d, "the template writes values in several ways");
  if (d.type_end.empty() && p.to_text != p.to_number) refuse(d, "the template writes keys in several ways");
}

// Says nothing about values but their types.
bool says_types_alone(const Json& schema) {
  if (schema.is(Json::Kind::boolean)) return schema.truth;
  if (!schema.is(Json::Kind::object)) return false;
  for (const auto& [key, value] : schema.members) {
    if (key == "anyOf") {
      for (const Json& each : value.items)
        if (!says_types_alone(each) || !each.find("type")) return false;
      continue;
    }
    bool known = false;
    for (const char* one : {"type", "title", "description", "default", "examples", "deprecated", "$comment"})
      known = known || key == one;
    if (!known) return false;
  }
  return true;
}

// With the definitions that it may refer to.
std::string standalone(const Json& schema, const Json& root) {
  if (!schema.is(Json::Kind::object)) return to_text(schema);
  Json own = schema;
  for (const char* key : {"$schema", "$defs", "definitions"})
    if (const Json* found = root.find(key); found && !own.find(key)) own.member(key) = *found;
  return to_text(own);
}

void check_parameters(const Dialect& d, const Json& parameters, const std::string& where) {
  for (const auto& [key, value] : parameters.members) {
    bool known = false;
    for (const char* one : {"type", "properties", "required", "additionalProperties", "title", "description",
                            "$schema", "$id", "$defs", "definitions", "$comment"})
      known = known || key == one;
    if (!known)
      fail(Code::unsupported, where,
           format("\"{}\" cannot be held where arguments are written one by one, as in the form \"{}\"", key,
                  d.name));
  }
  if (const Json* type = parameters.find("type"); type && !type->is_text("object"))
    fail(Code::unsupported, where, "the type is no object");
}

void check_key(const Dialect& d, std::string_view key, const std::string& where) {
  const bool word = !key.empty() && key.find_first_of(" \t\r\n'\"[](){}=:,<>|") == std::string_view::npos;
  if (!word || (!d.key_end.empty() && key.find(d.key_end) != std::string_view::npos))
    fail(Code::unsupported, where, format("the key cannot be written in the form \"{}\"", d.name));
}

ArgumentShape argument_shape(const Dialect& d, const Pieces& p, std::string_view key, TypeSet types,
                             const Json& schema, const Json& root, const std::string& where) {
  check_key(d, key, where);
  ArgumentShape a;
  a.key = key;
  a.schema = standalone(schema, root);
  const auto opened = [&](const std::string& to_value) {
    a.first = format("{}{}{}", p.to_key, key, to_value);
    a.next = format("{}{}{}", p.next_key, key, to_value);
  };
  if (d.form == Form::python) {  // literals: JSON's are read as well
    opened(p.to_number);
    return a;
  }
  const bool texts = (types & kStringType) != 0 || types == 0;
  const bool structures = (types & (kObjectType | kArrayType)) != 0 || types == 0;
  if (d.form == Form::braces && (structures || (texts && types != kStringType)))
    fail(Code::unsupported, where,
         format("no text, number, boolean or null alone, which the form \"{}\" needs", d.name));
  // What reads as one of the other types is one, and else it is a text: any will do.
  if (texts && types != kStringType && !says_types_alone(schema))
    fail(Code::unsupported, where,
         format("a text or another type, which the form \"{}\" tells apart by the value alone", d.name));
  a.raw = texts;
  if (texts && types != kStringType) a.schema = R"({"type": "string"})";
  opened(a.raw ? p.to_text : p.to_number);
  if (d.form == Form::tagged)
    a.end = p.text_end;
  else if (a.raw)
    a.end = d.quote;
  return a;
}

// A type that stands between key and value must be one that the probe has shown.
bool tells_types(const Dialect& d) { return d.type_end.empty() || d.key_end.ends_with("string=\""); }

void written_shape(const AnswerFormat& format_of, const Json* parameters, const ToolSchemas& schemas,
                   CallShape& out) {
  const Dialect& d = *format_of.tools;
  if (d.form == Form::nested) refuse(d, "structures are spelled by tags");
  if (!tells_types(d)) refuse(d, "keys tell the values' types");
  Pieces p = pieces_of(d, format_of.written);
  split_ends(d, p);
  out.head = p.head;
  out.foot = p.foot;
  out.separator = p.separator;
  out.many = p.many;
  const std::string name_end = d.form == Form::tagged   ? std::string(d.name_end)
                               : d.form == Form::python ? "("
                                                        : "{";
  if (!cut_off(p.to_key, name_end)) refuse(d, "the template writes names in another way");
  out.begin = out.name + name_end;
  out.marker = d.form == Form::tagged ? d.value_end : d.quote;
  out.no_slash_escape = d.form == Form::python;
  if (!parameters || !parameters->is(Json::Kind::object)) return;
  const std::string where = format("tool \"{}\", parameters#", out.name);
  check_parameters(d, *parameters, where);
  const Json* properties = parameters->find("properties");
  const Json* required = parameters->find("required");
  constexpr size_t kMostArguments = 64;  // a grammar of them all holds as many
  if (properties && properties->members.size() > kMostArguments)
    fail(Code::unsupported, where + "/properties",
         format("{} of them, expected at most {}", properties->members.size(), kMostArguments));
  if (properties)
    for (const auto& [key, schema] : properties->members) {
      out.arguments.push_back(argument_shape(d, p, key, schemas.type(out.name, key), schema, *parameters,
                                             format("{}/properties/{}", where, key)));
      if (required)
        for (const Json& name : required->items)
          out.arguments.back().required = out.arguments.back().required || name.is_text(key);
    }
  if (required)
    for (const Json& name : required->items)
      if (!properties || !properties->find(name.text))
        fail(Code::unsupported, where + "/required",
             format("\"{}\" is no property, and only these can be written in the form \"{}\"", name.text,
                    d.name));
}

}  // namespace

bool call_shape(const AnswerFormat& format_of, std::string_view tool, CallShape& out) {
  const Dialect& d = *format_of.tools;
  const Json whole = parse_json(tool, "tool", RepeatedKeys::last_counts);
  const Json* function = whole.find("function");
  if (!function) function = &whole;
  const Json* named = function->find("name");
  if (!named || !named->is(Json::Kind::string)) return false;
  out = {};
  out.name = named->text;
  out.trigger = d.trigger();
  const Json* parameters = function->find("parameters");
  if (d.writes_json())
    json_shape(d, parameters, out);
  else
    written_shape(format_of, parameters, ToolSchemas("[" + to_text(whole) + "]"), out);
  if (format_of.opens_call) {
    out.at_start = true;
    out.free_begin = format("{}{}", d.content_name, d.name_end);
    out.many = false;
  } else if (d.anchored && !format_of.written.empty() &&
             format_of.written.find(out.trigger) == std::string::npos) {
    out.at_start = true;
    out.only_start = d.form == Form::python;  // what its marker begins would end with another one
    out.not_free = out.only_start ? "[" : "{[";
  }
  return true;
}

}  // namespace ingle::text
