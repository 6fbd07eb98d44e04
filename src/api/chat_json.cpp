// Conversations in JSON: the form that chat APIs have, brought into the one that a template takes.
#include <charconv>

#include "api/impl.h"
#include "core/error.h"
#include "core/json.h"

namespace ingle {
namespace {

using Kind = Json::Kind;

[[noreturn]] void wrong(const std::string& where, std::string what) {
  fail(Code::invalid_argument, where, std::move(what));
}

// A member that is a text; null when there is none.
const std::string* text_in(const Json& object, std::string_view key) {
  const Json* found = object.find(key);
  return found && found->is(Kind::string) ? &found->text : nullptr;
}

// Content as a text, where it is one or the template takes no parts.
void fit_content(Json& content, const std::string& where, bool parts) {
  if (content.is(Kind::null) || content.is(Kind::string)) return;
  if (!content.is(Kind::array)) wrong(where, "is neither a text nor an array of parts");
  std::string all;
  for (size_t i = 0; i < content.items.size(); ++i) {
    const std::string place = format("{}[{}]", where, i);
    const Json& part = content.items[i];
    if (i) all += '\n';
    if (part.is(Kind::string)) {
      all += part.text;
      continue;
    }
    const std::string* type = text_in(part, "type");
    if (!type) wrong(place, "is no part: an object with a type");
    if (*type != "text")
      fail(Code::unsupported, place, format("a part of type \"{}\", expected text", *type));
    const std::string* text = text_in(part, "text");
    if (!text) wrong(place, "has no text");
    all += *text;
  }
  if (!parts) content = Json::of_string(all);
}

// The JSON text of an object, as chat APIs send arguments; "" is none.
Json parse_arguments(const std::string& written, const std::string& where) {
  if (written.empty()) return Json::of_object({});
  Json parsed;
  try {
    parsed = parse_json(written, where, RepeatedKeys::last_counts);
  } catch (const Error& e) {
    if (e.code() == Code::out_of_memory) throw;
    wrong(where, format("is a text that is no JSON object: {}", e.message()));
  }
  if (!parsed.is(Kind::object)) wrong(where, "is a text that is no JSON object");
  return parsed;
}

// A call's arguments: an object, or the text of one.
void fit_arguments(Json& arguments, const std::string& where, bool as_text) {
  if (arguments.is(Kind::string)) {
    Json parsed = parse_arguments(arguments.text, where);
    if (!as_text) arguments = std::move(parsed);
  } else if (arguments.is(Kind::object)) {
    if (as_text) arguments = Json::of_string(to_text(arguments));
  } else {
    wrong(where, "is neither an object nor the JSON text of one");
  }
}

void fit_calls(Json& calls, const std::string& where, bool as_text) {
  if (calls.is(Kind::null)) return;
  if (!calls.is(Kind::array)) wrong(where, "is no array");
  for (size_t i = 0; i < calls.items.size(); ++i) {
    const std::string place = format("{}[{}]", where, i);
    Json& call = calls.items[i];
    if (!call.is(Kind::object)) wrong(place, "is no object");
    Json* inner = call.find("function");
    Json& function = inner ? *inner : call;
    if (!text_in(function, "name")) wrong(place, "has no function with a name");
    if (!function.find("arguments")) function.member("arguments") = Json::of_object({});
    fit_arguments(function.member("arguments"), place + ".function.arguments", as_text);
  }
}

// Reasoning has several names; a template knows one of them.
void fit_reasoning(Json& message, std::string_view source) {
  constexpr const char* kNames[] = {"reasoning_content", "reasoning", "thinking"};
  const std::string* found = nullptr;
  for (const char* name : kNames)
    if (!found) found = text_in(message, name);
  if (!found) return;
  const Json reasoning = Json::of_string(*found);
  for (const char* name : kNames)
    if (!message.find(name) && source.find(name) != std::string_view::npos) message.member(name) = reasoning;
}

void fit_messages(const Model::Impl& model, Json& messages) {
  const text::AnswerFormat& format_of = model.answer_format();
  if (messages.items.empty()) wrong("messages", "is no array of messages");
  for (size_t i = 0; i < messages.items.size(); ++i) {
    Json& message = messages.items[i];
    const std::string where = format("messages[{}]", i);
    if (!message.is(Kind::object)) wrong(where, "is no object");
    const std::string* given = text_in(message, "role");
    if (!given || given->empty()) wrong(where, "has no role");
    const bool by_model = *given == "assistant";
    if (Json* content = message.find("content"))
      fit_content(*content, where + ".content", format_of.content_parts);
    if (Json* calls = message.find("tool_calls"))
      fit_calls(*calls, where + ".tool_calls", format_of.arguments_as_text);
    else if (!message.find("content"))
      wrong(where, "has no content");
    if (message.member("content").is(Kind::null) && !by_model) wrong(where + ".content", "is null");
    fit_reasoning(message, model.template_source);
  }
}

// A template computes with integers of 64 bits; one that it would round is refused where it stands. Nesting
// is bounded by parse_json.
void check_integers(const Json& value, const std::string& where) {
  if (value.is(Kind::number) && value.text.find_first_of(".eE") == std::string::npos) {
    int64_t fits = 0;
    const char* end = value.text.data() + value.text.size();
    if (std::from_chars(value.text.data(), end, fits).ec != std::errc())
      fail(Code::unsupported, where, format("the integer {} does not fit 64 bits", value.text.substr(0, 64)),
           "send it as a text");
  }
  for (size_t i = 0; i < value.items.size(); ++i) check_integers(value.items[i], format("{}[{}]", where, i));
  for (const auto& [key, member] : value.members)
    check_integers(member, where.empty() ? key.substr(0, 64) : format("{}.{}", where, key.substr(0, 64)));
}

bool take_flag(const Json& request, const char* key, bool fallback) {
  const Json* found = request.find(key);
  if (!found || found->is(Kind::null)) return fallback;
  if (!found->is(Kind::boolean)) wrong(key, "is neither true nor false");
  return found->truth;
}

Json read_request(std::string_view text) {
  Json request = parse_json(text, "conversation", RepeatedKeys::last_counts);
  if (request.is(Kind::array)) {
    Json messages = std::move(request);
    request = Json::of_object({});
    request.member("messages") = std::move(messages);
  }
  if (!request.is(Kind::object)) wrong("conversation", "is neither an object nor an array of messages");
  if (!request.find("messages")) wrong("conversation", "has no messages");
  for (const char* key : {"tools", "documents"})
    if (const Json* list = request.find(key); list && !list->is(Kind::array) && !list->is(Kind::null))
      wrong(key, "is no array");
  if (const Json* more = request.find("chat_template_kwargs"); more && !more->is(Kind::null)) {
    if (!more->is(Kind::object)) wrong("chat_template_kwargs", "is no object");
    const Json given = *more;
    for (const auto& [key, value] : given.members)
      if (!request.find(key)) request.member(key) = value;
  }
  // An empty list means none to templates, as chat APIs mean it.
  if (Json* tools = request.find("tools"); tools && tools->items.empty()) *tools = {};
  return request;
}

// The end of the last message's text in the rendered conversation, behind which the template's own follows.
void keep_open(text::MarkedText& rendered, const Json& last) {
  const std::string *role = text_in(last, "role"), *text = text_in(last, "content");
  if (!role || *role != "assistant" || !text)
    wrong("continue_final_message", "the last message is no assistant's text");
  const std::string& content = *text;
  const size_t begin = content.find_first_not_of(" \t\r\n");
  if (begin == std::string::npos) wrong("continue_final_message", "the last message is empty");
  const size_t size = content.find_last_not_of(" \t\r\n") + 1 - begin;
  const size_t found = rendered.text.rfind(content.substr(begin, size));
  if (found == std::string::npos)
    fail(Code::unsupported, "continue_final_message",
         "the template does not write the last message as it is");
  size_t end = found + size;
  const std::string_view space = std::string_view(content).substr(begin + size);
  if (std::string_view(rendered.text).substr(end).starts_with(space)) end += space.size();
  rendered.text.resize(end);
  while (!rendered.user.empty() && rendered.user.back().first >= end) rendered.user.pop_back();
  if (!rendered.user.empty())
    rendered.user.back().second = std::min(rendered.user.back().second, static_cast<uint32_t>(end));
}

}  // namespace

text::MarkedText render_chat(const Model::Impl& model, std::string_view text, bool add_generation_prompt) {
  const text::ChatTemplate& chat_template = model.need_chat_template();
  Json request = read_request(text);
  fit_messages(model, request.member("messages"));
  const bool open = take_flag(request, "continue_final_message", false);
  const bool prompt = take_flag(request, "add_generation_prompt", add_generation_prompt && !open);
  if (open && prompt) wrong("continue_final_message", "is set together with add_generation_prompt");
  const Json last = request.member("messages").items.back();
  for (const char* own : {"continue_final_message", "chat_template_kwargs", "bos_token", "eos_token"})
    request.erase(own);
  request.member("add_generation_prompt") = Json::of_boolean(prompt);
  text::TemplateContext in = model.context();
  in.add_generation_prompt = prompt;
  check_integers(request, "");
  in.extra_json = to_text(request);
  text::MarkedText rendered = chat_template.render_marked(in);
  if (open) keep_open(rendered, last);
  return rendered;
}

std::string Model::apply_chat_template_json(std::string_view conversation, bool add_generation_prompt) const {
  return render_chat(*impl_, conversation, add_generation_prompt).text;
}

}  // namespace ingle
