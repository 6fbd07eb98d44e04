// Finds how a chat template writes tool calls and reasoning, by rendering conversations with it.
#pragma once
#include <string_view>

#include "text/chat_template.h"
#include "text/tools/answer_reader.h"

namespace ingle::text {

// `source` is the template's. Never throws for what a template does; a template that cannot render any of the
// conversations has no dialect unless its source names one.
AnswerFormat detect_format(const ChatTemplate& chat_template, std::string_view source);

// What is called in AnswerFormat::written: kTool with kKey, a text of kValue, and kNumber, which is 7.
namespace probe {
constexpr std::string_view kTool = "probe_tool", kKey = "probe_key", kNumber = "probe_number",
                           kValue = "PROBEVALUE";
}  // namespace probe

}  // namespace ingle::text
