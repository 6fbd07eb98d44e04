// Conversations in JSON: the form that chat APIs have, brought into the one that a template takes.
#include <nlohmann/json.hpp>

#include "api/impl.h"
#include "core/error.h"
#include "text/tools/json_scan.h"

namespace ingle {
namespace {

using Json = nlohmann::ordered_json;

[[noreturn]] void wrong(const std::string& where, std::string what) {
  fail(Code::invalid_argument, where, std::move(what));
}

// Content as a text, where it is one or the template takes no parts.
void fit_content(Json& content, const std::string& where, bool parts) {
  if (content.is_null() || content.is_string()) return;
  if (!content.is_array()) wrong(where, "is neither a text nor an array of parts");
  std::string all;
  for (size_t i = 0; i < content.size(); ++i) {
    const std::string place = format("{}[{}]", where, i);
    const Json& part = content[i];
    if (part.is_string()) {
      all.append(i ? "\n" : "").append(part.get_ref<const std::string&>());
      continue;
    }
    if (!part.is_object() || !part.contains("type") || !part["type"].is_string())
      wrong(place, "is no part: an object with a type");
    const auto& type = part["type"].get_ref<const std::string&>();
    if (type != "text") fail(Code::unsupported, place, format("a part of type \"{}\", expected text", type));
    if (!part.contains("text") || !part["text"].is_string()) wrong(place, "has no text");
    all.append(i ? "\n" : "").append(part["text"].get_ref<const std::string&>());
  }
  if (!parts) content = std::move(all);
}

// A call's arguments: an object, or as chat APIs send them the JSON text of one.
void fit_arguments(Json& arguments, const std::string& where, bool as_text) {
  if (arguments.is_string()) {
    const auto& written = arguments.get_ref<const std::string&>();
    const std::string_view text = written.empty() ? "{}" : std::string_view(written);
    Json parsed = text::is_json(text) ? Json::parse(text, nullptr, false) : Json();
    if (!parsed.is_object()) wrong(where, "is a text that is no JSON object");
    if (!as_text) arguments = std::move(parsed);
  } else if (arguments.is_object()) {
    if (as_text) arguments = arguments.dump();
  } else {
    wrong(where, "is neither an object nor the JSON text of one");
  }
}

void fit_calls(Json& calls, const std::string& where, bool as_text) {
  if (calls.is_null()) return;
  if (!calls.is_array()) wrong(where, "is no array");
  for (size_t i = 0; i < calls.size(); ++i) {
    const std::string place = format("{}[{}]", where, i);
    if (!calls[i].is_object()) wrong(place, "is no object");
    Json& function = calls[i].contains("function") ? calls[i]["function"] : calls[i];
    if (!function.is_object() || !function.contains("name") || !function["name"].is_string())
      wrong(place, "has no function with a name");
    if (!function.contains("arguments")) function["arguments"] = Json::object();
    fit_arguments(function["arguments"], place + ".function.arguments", as_text);
  }
}

// Reasoning has several names; a template knows one of them.
void fit_reasoning(Json& message, std::string_view source) {
  constexpr const char* kNames[] = {"reasoning_content", "reasoning", "thinking"};
  Json found;
  for (const char* name : kNames)
    if (found.is_null() && message.contains(name) && message[name].is_string()) found = message[name];
  if (found.is_null()) return;
  for (const char* name : kNames)
    if (!message.contains(name) && source.find(name) != std::string_view::npos) message[name] = found;
}

void fit_messages(const Model::Impl& model, Json& messages) {
  const text::AnswerFormat& format_of = model.answer_format();
  if (!messages.is_array() || messages.empty()) wrong("messages", "is no array of messages");
  for (size_t i = 0; i < messages.size(); ++i) {
    Json& message = messages[i];
    const std::string where = format("messages[{}]", i);
    if (!message.is_object()) wrong(where, "is no object");
    if (!message.contains("role") || !message["role"].is_string() ||
        message["role"].get_ref<const std::string&>().empty())
      wrong(where, "has no role");
    if (message.contains("content"))
      fit_content(message["content"], where + ".content", format_of.content_parts);
    if (message.contains("tool_calls"))
      fit_calls(message["tool_calls"], where + ".tool_calls", format_of.arguments_as_text);
    if (!message.contains("content") && !message.contains("tool_calls")) wrong(where, "has no content");
    if (!message.contains("content")) message["content"] = nullptr;
    if (message["content"].is_null() && message["role"] != "assistant") wrong(where + ".content", "is null");
    fit_reasoning(message, model.template_source);
  }
}

bool take_flag(Json& request, const char* key, bool fallback) {
  const auto found = request.find(key);
  if (found == request.end() || found->is_null()) return fallback;
  if (!found->is_boolean()) wrong(key, "is neither true nor false");
  return found->get<bool>();
}

Json read_request(std::string_view text) {
  if (!text::is_json(text)) wrong("conversation", "is no JSON, or is nested too deep");
  Json request = Json::parse(text, nullptr, false);
  if (request.is_discarded()) wrong("conversation", "is no JSON in UTF-8");
  if (request.is_array()) request = Json{{"messages", std::move(request)}};
  if (!request.is_object()) wrong("conversation", "is neither an object nor an array of messages");
  if (!request.contains("messages")) wrong("conversation", "has no messages");
  for (const char* key : {"tools", "documents"})
    if (request.contains(key) && !request[key].is_array() && !request[key].is_null())
      wrong(key, "is no array");
  if (const auto more = request.find("chat_template_kwargs"); more != request.end() && !more->is_null()) {
    if (!more->is_object()) wrong("chat_template_kwargs", "is no object");
    const Json given = *more;
    for (const auto& [key, value] : given.items())
      if (!request.contains(key)) request[key] = value;
  }
  // An empty list means none to templates, as chat APIs mean it.
  if (request.contains("tools") && request["tools"].is_array() && request["tools"].empty())
    request["tools"] = nullptr;
  return request;
}

// The end of the last message's text in the rendered conversation, behind which the template's own follows.
void keep_open(text::MarkedText& rendered, const Json& last) {
  if (last["role"] != "assistant" || !last["content"].is_string())
    wrong("continue_final_message", "the last message is no assistant's text");
  const std::string content = last["content"];
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
  fit_messages(model, request["messages"]);
  const bool open = take_flag(request, "continue_final_message", false);
  const bool prompt = take_flag(request, "add_generation_prompt", add_generation_prompt && !open);
  if (open && prompt) wrong("continue_final_message", "is set together with add_generation_prompt");
  const Json last = request["messages"].back();
  for (const char* own : {"continue_final_message", "chat_template_kwargs", "bos_token", "eos_token"})
    request.erase(own);
  request["add_generation_prompt"] = prompt;
  text::TemplateContext in = model.context();
  in.add_generation_prompt = prompt;
  in.extra_json = request.dump();
  text::MarkedText rendered = chat_template.render_marked(in);
  if (open) keep_open(rendered, last);
  return rendered;
}

std::string Model::apply_chat_template_json(std::string_view conversation, bool add_generation_prompt) const {
  return render_chat(*impl_, conversation, add_generation_prompt).text;
}

}  // namespace ingle
