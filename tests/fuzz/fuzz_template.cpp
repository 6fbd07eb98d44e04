// Any text compiled as a chat template and rendered twice: an Error or a text, the same both times. What
// follows a zero byte is the JSON of the variables.
#include <string>
#include <string_view>

#include "ingle/error.hpp"
#include "text/template/compile.h"

namespace {

constexpr std::string_view kVariables =
    R"({"messages": [{"role": "system", "content": "S"}, {"role": "user", "content": [{"type": "text", "text": "\u00e9"}]},
{"role": "assistant", "content": null, "tool_calls": [{"function": {"name": "f", "arguments": {"a": 1.5, "b": [true]}}}]}],
"tools": [{"function": {"name": "f", "parameters": {"properties": {"a": {"type": "number"}}}}}], "bos_token": "<s>",
"eos_token": "</s>", "add_generation_prompt": true, "n": 7, "xs": [3, 1, 2]})";

std::string outcome(std::string_view source, std::string_view variables) {
  ingle::text::jinja::Limits limits;
  limits.steps = 50'000;
  limits.live_bytes = 16u << 20;
  limits.text_bytes = 1u << 20;
  try {
    return ingle::text::jinja::compile(source, "fuzz", limits)->render_json(variables, 1722002709);
  } catch (const ingle::Error& e) {
    return e.what();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t zero = input.find('\0');
  const std::string_view source = input.substr(0, zero);
  const std::string_view variables = zero == input.npos ? kVariables : input.substr(zero + 1);
  if (outcome(source, variables) != outcome(source, variables)) __builtin_trap();
  return 0;
}
