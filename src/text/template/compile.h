// ChatTemplate::compile with limits of one's own, for tests and fuzzing.
#pragma once
#include "text/chat_template.h"
#include "text/template/heap.h"

namespace ingle::text::jinja {

std::shared_ptr<const ChatTemplate> compile(std::string_view source, std::string name, const Limits& limits);

}  // namespace ingle::text::jinja
