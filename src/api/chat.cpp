// From messages to ids: the model's own template, and control tokens only where the template itself wrote
// them.
#include <algorithm>
#include <ctime>

#include "api/impl.h"
#include "core/error.h"

namespace ingle {
namespace {

// Put into what a message's author wrote, inside each control token's text, before rendering; taken out
// after. The noncharacters U+FDD0 and U+FDD1 have no meaning in any text that is interchanged.
constexpr std::string_view kMark = "\xEF\xB7\x90\xEF\xB7\x91";

// Breaks every control token's text in `content` by a mark after its first character. A vocabulary can have
// thousands of control tokens, nearly all of which begin with the same byte: the others' places cost one
// look-up.
std::string marked(const std::string& content, const ControlTexts& controls) {
  std::string out;
  bool due = false;  // a control token's text began: the mark comes before the next character
  for (size_t i = 0; i < content.size(); ++i) {
    const auto byte = static_cast<unsigned char>(content[i]);
    if (due && (byte & 0xC0) != 0x80) {
      out += kMark;
      due = false;
    }
    out += content[i];
    const std::string_view rest = std::string_view(content).substr(i);
    if (controls.begins[byte] && std::any_of(controls.texts.begin(), controls.texts.end(),
                                             [&](auto c) { return rest.starts_with(c); }))
      due = true;
  }
  return out;
}

}  // namespace

ControlTexts::ControlTexts(const text::Tokenizer& tokenizer) {
  for (TokenId id = 0; id < tokenizer.size(); ++id) {
    const std::string_view text = tokenizer.token_text(id);
    if (tokenizer.kind(id) != text::TokenKind::control || text.size() < 2) continue;
    texts.push_back(text);
    begins[static_cast<unsigned char>(text.front())] = true;
  }
}

const text::ChatTemplate& Model::Impl::need_chat_template() const {
  if (chat_template) return *chat_template;
  if (!template_error.empty())
    fail(Code::unsupported, info.name, "the model's chat template cannot be used: " + template_error,
         "give the prompt as raw text");
  fail(Code::unsupported, info.name,
       "the model has no chat template: it is a base model, not one for conversations",
       "give the prompt as raw text");
}

std::string Model::Impl::render(std::span<const Message> messages, bool add_generation_prompt) const {
  text::TemplateContext context;
  for (const Message& m : messages) context.messages.push_back({m.role, m.content});
  context.add_generation_prompt = add_generation_prompt;
  const auto& special = tokenizer.impl().special();
  if (special.bos) context.bos_token = tokenizer.token_text(*special.bos);
  if (special.eos) context.eos_token = tokenizer.token_text(*special.eos);
  context.now_unix = static_cast<int64_t>(std::time(nullptr));
  return need_chat_template().render(context);
}

std::vector<TokenId> encode_chat(const Model::Impl& model, std::span<const Message> messages) {
  const text::Tokenizer& tokenizer = model.tokenizer.impl();
  std::vector<Message> safe(messages.begin(), messages.end());
  for (Message& m : safe) {
    if (m.content.find(kMark) != std::string::npos)
      fail(Code::invalid_argument, "message",
           "holds the noncharacters U+FDD0 U+FDD1, which mark inserted text");
    m.content = marked(m.content, model.controls);
  }
  // Between marks nothing of a user's can be a whole control token, so each piece may be parsed for the
  // template's.
  const std::string rendered = model.render(safe, true);
  std::vector<TokenId> ids;
  for (size_t at = 0; at <= rendered.size();) {
    const size_t end = std::min(rendered.find(kMark, at), rendered.size());
    const auto piece = tokenizer.encode(std::string_view(rendered).substr(at, end - at), {true, false});
    ids.insert(ids.end(), piece.begin(), piece.end());
    at = end + kMark.size();
  }
  return ids;
}

}  // namespace ingle
