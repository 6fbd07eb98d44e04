// A model's own chat template (Jinja as transformers runs it), compiled once, run within bounds.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ingle::text {

struct ChatMessage {
  std::string role, content;
};

struct TemplateContext {
  std::vector<ChatMessage> messages;
  bool add_generation_prompt = true;
  std::string bos_token, eos_token;
  std::string
      extra_json;  // an object whose members become variables (tools, enable_thinking, …); may be empty
  int64_t now_unix = 0;  // for strftime_now
};

// A rendered conversation, and which bytes of it came out of the messages and other variables.
struct MarkedText {
  std::string text;
  std::vector<std::pair<uint32_t, uint32_t>> user;  // ranges, in order and apart
};

class ChatTemplate {
 public:
  // Throws Code::unsupported naming line, column and construct when the source cannot be held exactly.
  static std::shared_ptr<const ChatTemplate> compile(std::string_view source, std::string name);
  virtual ~ChatTemplate() = default;
  virtual const std::string& source() const = 0;
  // Throws Code::invalid_argument with the template's own words when it calls raise_exception;
  // Code::unsupported when a bound (steps, depth, output) is passed.
  virtual std::string render(const TemplateContext& context) const = 0;
  // The same with the bytes told apart. Roles, bos_token and eos_token count as the template's own. When
  // context.messages is empty, extra_json may hold messages, and add_generation_prompt too.
  virtual MarkedText render_marked(const TemplateContext& context) const = 0;
  // The same with every variable given as the members of one JSON object: messages with any content parts,
  // tools, documents, add_generation_prompt, bos_token, eos_token, …; what is absent is undefined, but for
  // tools and documents (none) and add_generation_prompt (false). Key order is kept.
  virtual std::string render_json(std::string_view context, int64_t now_unix = 0) const = 0;
};

}  // namespace ingle::text
