// Any answer read in any dialect: the same whole and byte by byte, and never an exception. The first byte
// chooses the dialect, the second the marks of reasoning, the third what was opened.
#include <string>
#include <string_view>

#include "text/tools/answer_reader.h"

using namespace ingle;
using namespace ingle::text;

namespace {

constexpr std::string_view kTools =
    R"([{"name": "f", "parameters": {"properties": {"a": {"type": "string"}, "b": {"type": ["integer", "null"]}}}}])";

bool same(const ParsedAnswer& a, const ParsedAnswer& b) {
  if (a.raw != b.raw || a.content != b.content || a.reasoning != b.reasoning ||
      a.calls.size() != b.calls.size() || a.errors.size() != b.errors.size())
    return false;
  for (size_t i = 0; i < a.calls.size(); ++i)
    if (a.calls[i].id != b.calls[i].id || a.calls[i].name != b.calls[i].name ||
        a.calls[i].arguments != b.calls[i].arguments || a.calls[i].complete != b.calls[i].complete)
      return false;
  for (size_t i = 0; i < a.errors.size(); ++i)
    if (a.errors[i].text != b.errors[i].text || a.errors[i].offset != b.errors[i].offset) return false;
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 3) return 0;
  AnswerFormat format;
  format.tools = &dialects()[data[0] % dialects().size()];
  if (data[1] % 2) format.reasoning = &reasoning_marks()[data[1] / 2 % reasoning_marks().size()];
  std::string opening;
  if (data[2] % 4 == 1 && format.reasoning) opening = format.reasoning->begin;
  if (data[2] % 4 == 2) opening = format.tools->trigger();
  const std::string_view text(reinterpret_cast<const char*>(data) + 3, size - 3);
  const auto use = static_cast<ReasoningUse>(data[2] / 4 % 3);
  const auto schemas = std::make_shared<const ToolSchemas>(kTools);
  AnswerReader whole(format, schemas, use, 0, opening);
  whole.feed(text);
  whole.finish();
  AnswerReader bytes(format, schemas, use, 0, opening);
  for (const char& c : text) bytes.feed(std::string_view(&c, 1));
  bytes.finish();
  if (!same(whole.answer(), bytes.answer()) || whole.answer().raw != text) __builtin_trap();
  for (const ToolCall& c : whole.answer().calls)
    if (c.complete && !is_json(c.arguments)) __builtin_trap();
  return 0;
}
