#include "api/impl.h"
#include "core/error.h"
#include "ingle/answer.hpp"
#include "ingle/chat.hpp"
#include "ingle/session.hpp"
#include "text/tools/detect.h"

namespace ingle {
namespace {

ChatFormat describe(const text::AnswerFormat& format) {
  ChatFormat out;
  if (format.tools) out.dialect = format.tools->name;
  if (format.reasoning) out.reasoning = format.reasoning->name;
  out.unknown = format.unknown;
  return out;
}

text::AnswerReader reader(text::AnswerFormat how, const AnswerOptions& options, std::string_view prompt) {
  if (options.first_index < 0)
    fail(Code::invalid_argument, "option first_index",
         format("is {}, expected 0 or more", options.first_index));
  if (!options.parse_tools) {
    // Harmony's messages hold the reasoning as well.
    if (!how.tools || how.tools->form != text::Form::harmony) how.tools = nullptr;
  } else if (!how.unknown.empty()) {
    fail(Code::unsupported, "chat_template", "writes tool calls in a form that is not known: " + how.unknown,
         "read the answer without its calls (parse_tools)");
  }
  auto schemas = std::make_shared<const text::ToolSchemas>(options.tools);
  const std::string opened = how.opened_by(prompt);
  return text::AnswerReader(how, std::move(schemas), options.reasoning, options.first_index, opened);
}

}  // namespace

struct AnswerParser::Impl {
  text::AnswerReader reader;
};

ChatFormat chat_format(const ChatTemplate& chat_template) {
  return describe(text::detect_format(chat_template.impl(), chat_template.impl().source()));
}
ChatFormat chat_format(const Model& model) { return describe(model.impl()->answer_format()); }

AnswerParser::AnswerParser(const ChatTemplate& chat_template, const AnswerOptions& options,
                           std::string_view prompt)
    : impl_(new Impl{reader(text::detect_format(chat_template.impl(), chat_template.impl().source()), options,
                            prompt)}) {}
AnswerParser::AnswerParser(const Model& model, const AnswerOptions& options, std::string_view prompt)
    : impl_(new Impl{reader(model.impl()->answer_format(), options, prompt)}) {}
AnswerParser::AnswerParser(const Session& session, const AnswerOptions& options)
    : AnswerParser(session.model(), options,
                   prompt_end(session.model().tokenizer().impl(), session.tokens())) {}
AnswerParser::AnswerParser(const AnswerParser& other) : impl_(new Impl(*other.impl_)) {}
AnswerParser& AnswerParser::operator=(const AnswerParser& other) { return *this = AnswerParser(other); }
AnswerParser::AnswerParser(AnswerParser&&) noexcept = default;
AnswerParser& AnswerParser::operator=(AnswerParser&&) noexcept = default;
AnswerParser::~AnswerParser() = default;

std::vector<AnswerEvent> AnswerParser::feed(std::string_view text) { return impl_->reader.feed(text); }
std::vector<AnswerEvent> AnswerParser::finish() { return impl_->reader.finish(); }
const ParsedAnswer& AnswerParser::answer() const { return impl_->reader.answer(); }

}  // namespace ingle
