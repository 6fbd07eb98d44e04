// From messages to ids: the model's own template, and control tokens only where the template itself wrote
// them.
#include <algorithm>
#include <ctime>

#include "api/impl.h"
#include "core/error.h"
#include "text/tools/detect.h"

namespace ingle {
namespace {

uint16_t first_two(std::string_view text) {
  return static_cast<uint16_t>(static_cast<unsigned char>(text[0]) << 8 |
                               static_cast<unsigned char>(text[1]));
}

// Within a control token's text, of which a user wrote a part: between his part and the template's, or behind
// the first character of what is all his.
size_t cut_within(std::string_view text, size_t begin, size_t end,
                  const std::pair<uint32_t, uint32_t>& user) {
  if (user.first > begin) return user.first;
  if (user.second < end) return user.second;
  ++begin;
  while (begin + 1 < end && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) ++begin;
  return begin;
}

// Where the text must be cut so that no control token takes in what a user wrote.
std::vector<size_t> cuts(const text::MarkedText& marked, const ControlTexts& controls) {
  const std::string_view text = marked.text;
  std::vector<size_t> out;
  size_t next = 0;  // not looked at yet
  for (const auto& user : marked.user) {
    const size_t before = controls.longest > 0 ? controls.longest - 1 : 0;
    for (size_t i = std::max<size_t>(next, user.first > before ? user.first - before : 0); i < user.second;
         ++i) {
      if (i + 2 > text.size()) break;
      const auto found = controls.texts.find(first_two(text.substr(i)));
      if (found == controls.texts.end()) continue;
      for (const std::string_view control : found->second) {
        if (i + control.size() <= user.first || !text.substr(i).starts_with(control)) continue;
        out.push_back(cut_within(text, i, i + control.size(), user));
      }
    }
    next = std::max<size_t>(next, user.second > before ? user.second - before : 0);
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

std::vector<TokenId> encode(const Model::Impl& model, const text::MarkedText& marked) {
  const text::Tokenizer& tokenizer = model.tokenizer.impl();
  std::vector<size_t> ends = cuts(marked, model.controls);
  ends.push_back(marked.text.size());
  std::vector<TokenId> ids;
  size_t at = 0;
  for (const size_t end : ends) {
    const auto piece = tokenizer.encode(std::string_view(marked.text).substr(at, end - at), {true, false});
    ids.insert(ids.end(), piece.begin(), piece.end());
    at = end;
  }
  return ids;
}

}  // namespace

ControlTexts::ControlTexts(const text::Tokenizer& tokenizer) {
  for (TokenId id = 0; id < tokenizer.size(); ++id) {
    const std::string_view text = tokenizer.token_text(id);
    if (tokenizer.kind(id) != text::TokenKind::control || text.size() < 2) continue;
    texts[first_two(text)].push_back(text);
    longest = std::max(longest, text.size());
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

const text::AnswerFormat& Model::Impl::answer_format() const {
  std::call_once(format_found, [&] {
    if (chat_template) format = text::detect_format(*chat_template, template_source);
  });
  return format;
}

text::TemplateContext Model::Impl::context() const {
  text::TemplateContext out;
  const auto& special = tokenizer.impl().special();
  if (special.bos) out.bos_token = tokenizer.token_text(*special.bos);
  if (special.eos) out.eos_token = tokenizer.token_text(*special.eos);
  out.now_unix = static_cast<int64_t>(std::time(nullptr));
  return out;
}

std::string Model::Impl::render(std::span<const Message> messages, bool add_generation_prompt) const {
  text::TemplateContext in = context();
  for (const Message& m : messages) in.messages.push_back({m.role, m.content});
  in.add_generation_prompt = add_generation_prompt;
  return need_chat_template().render(in);
}

std::vector<TokenId> encode_chat(const Model::Impl& model, std::span<const Message> messages) {
  text::TemplateContext in = model.context();
  for (const Message& m : messages) in.messages.push_back({m.role, m.content});
  return encode(model, model.need_chat_template().render_marked(in));
}

std::vector<TokenId> encode_chat(const Model::Impl& model, std::string_view json) {
  return encode(model, render_chat(model, json, true));
}

std::string prompt_end(const text::Tokenizer& tokenizer, std::span<const TokenId> ids) {
  constexpr size_t kMostIds = 96;
  return tokenizer.decode(ids.subspan(ids.size() - std::min(ids.size(), kMostIds)), false);
}

}  // namespace ingle
