// Real templates: each is told apart by what it renders, and what it renders of a conversation with calls is
// read back as those calls.
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "ingle/error.hpp"
#include "support/catch.h"
#include "support/paths.h"
#include "text/chat_template.h"
#include "text/tools/detect.h"

using namespace ingle::text;
using ingle::Error;
using ingle::ParsedAnswer;
using ingle::ReasoningUse;
using ingle::ToolCall;
using nlohmann::json;
using nlohmann::ordered_json;

namespace {

std::string read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

std::string templates_folder() {
  if (auto named = ingle::tests::environment("INGLE_TEMPLATES")) return *named;
  const auto home = ingle::tests::environment("HOME");
  return home ? *home + "/.cache/ingle-models/templates" : "";
}

struct Row {
  const char *file, *dialect, *reasoning;  // "?": it writes calls in a form that is not known
};

constexpr Row kRows[] = {
    {"Apertus-8B-Instruct", "apertus", "apertus"},
    {"Apriel-1.6-15b-Thinker-fixed", "hunyuan-a13b", "apriel"},
    {"Bielik-11B-v3.0-Instruct", "hermes", "think"},
    {"ByteDance-Seed-OSS", "seed-oss", "seed-oss"},
    {"Cohere2MoE", "command-r7b", "cohere"},
    {"CohereForAI-c4ai-command-r-plus-tool_use", "command-r-plus", ""},
    {"CohereForAI-c4ai-command-r7b-12-2024-tool_use", "command-r7b", "cohere"},
    {"GLM-4.6", "glm", "think"},
    {"GLM-4.7-Flash", "glm", "think"},
    {"GigaChat3-10B-A1.8B", "gigachat-3", ""},
    {"GigaChat3.1-10B-A1.8B", "gigachat-3.1", ""},
    {"HuggingFaceTB-SmolLM3-3B", "", "think"},  // this version of it knows no tools
    {"Kimi-K2-Instruct", "kimi-k2", ""},
    {"Kimi-K2-Thinking", "kimi-k2", "think"},
    {"Kimi-K3", "kimi-k3", "kimi-k3"},
    {"LFM2-8B-A1B", "lfm2", ""},
    {"LFM2.5-8B-A1B", "lfm2", "think"},
    {"LFM2.5-Instruct", "", ""},
    {"MiMo-VL", "hermes", ""},
    {"MiniMax-M1", "minimax-m1", ""},
    {"MiniMax-M2", "minimax-m2", "think"},
    {"MiniMax-M3", "minimax-m3", "minimax-m3"},
    {"Mistral-Small-3.2-24B-Instruct-2506", "mistral", ""},
    {"NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "qwen3-coder", "think"},
    {"NVIDIA-Nemotron-Nano-v2", "nemotron-nano-v2", "think"},
    {"NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use", "hermes", ""},
    {"NousResearch-Hermes-3-Llama-3.1-8B-tool_use", "hermes", ""},
    {"Qwen-QwQ-32B", "hermes", "think"},
    {"Qwen-Qwen2.5-7B-Instruct", "hermes", ""},
    {"Qwen-Qwen3-0.6B", "hermes", "think"},
    {"Qwen3-Coder", "qwen3-coder", ""},
    {"Qwen3.5-4B", "qwen3-coder", "think"},
    {"Reka-Edge", "hermes", "think"},
    {"Spark2.5", "glm", "think"},
    {"StepFun3.5-Flash", "qwen3-coder", "think"},
    {"deepseek-ai-DeepSeek-R1-Distill-Llama-8B", "deepseek-v3", "think"},
    {"deepseek-ai-DeepSeek-R1-Distill-Qwen-32B", "deepseek-v3", "think"},
    {"deepseek-ai-DeepSeek-V3.1", "deepseek-v3.1", "think"},
    {"deepseek-ai-DeepSeek-V3.2", "deepseek-v3.2", "think"},
    {"deepseek-ai-DeepSeek-V4-Flash-0731", "deepseek-v4", "think"},
    {"deepseek-ai-DeepSeek-V4", "deepseek-v4", "think"},
    {"fireworks-ai-llama-3-firefunction-v2", "firefunction-v2", ""},
    {"google-gemma-2-2b-it", "", ""},
    {"google-gemma-4-31B-it-interleaved", "gemma4", "gemma4"},
    {"google-gemma-4-31B-it", "gemma4", "gemma4"},
    {"ibm-granite-granite-3.3-2B-Instruct", "granite-3", "granite"},
    {"ibm-granite-granite-4.0", "hermes", ""},
    {"ibm-granite-granite-4.1", "hermes", ""},
    {"inclusionai-ling-3.0-flash", "glm", "think"},
    {"llama-cpp-deepseek-r1", "deepseek-v3", "think"},
    {"llama-cpp-rwkv-world", "", "think"},
    {"meetkai-functionary-medium-v3.1", "functionary-v3.1", ""},
    {"meetkai-functionary-medium-v3.2", "functionary-v3.2", ""},
    {"meta-llama-Llama-3.1-8B-Instruct", "llama3", ""},
    {"meta-llama-Llama-3.2-3B-Instruct", "llama3", ""},
    {"meta-llama-Llama-3.3-70B-Instruct", "llama3", ""},
    {"microsoft-Phi-3.5-mini-instruct", "", ""},
    {"mistralai-Ministral-3-14B-Reasoning-2512", "mistral", "mistral"},
    {"mistralai-Mistral-Nemo-Instruct-2407", "mistral-nemo", ""},
    {"moonshotai-Kimi-K2", "kimi-k2", ""},
    {"muse-glimmer", "?", ""},
    {"openai-gpt-oss-120b", "harmony", "harmony"},
    {"openbmb-MiniCPM5-1B", "minicpm5", "think"},
    {"poolside-Laguna-S-2.1", "glm", "think"},
    {"poolside-Laguna-XS-2.1", "glm", "think"},
    {"poolside-Laguna-XS.2", "glm", "think"},
    {"tencent-Hy3", "hunyuan", "hunyuan"},
    {"unsloth-Apriel-1.5", "hunyuan-a13b", ""},
    {"unsloth-mistral-Devstral-Small-2507", "mistral", ""},
    {"upstage-Solar-Open-100B", "solar-open", "solar-open"},
};

const ordered_json kTools = ordered_json::parse(R"([
 {"type": "function", "function": {"name": "get_weather", "description": "Weather of a place", "parameters":
  {"type": "object", "properties": {"place": {"type": "string", "description": "where"},
   "days": {"type": "integer", "description": "how many"}, "exact": {"type": "boolean", "description": "exact"}},
   "required": ["place"]}}},
 {"type": "function", "function": {"name": "find_it", "description": "Finds", "parameters":
  {"type": "object", "properties": {"text": {"type": "string", "description": "what"},
   "tags": {"type": "array", "items": {"type": "string"}, "description": "with"}}, "required": ["text"]}}}])");

struct Wanted {
  std::string name;
  ordered_json arguments;
};

// An assistant's turn with these calls, as the template writes it, and the prompt before it; empty: it
// refuses.
std::pair<std::string, std::string> written(const ChatTemplate& t, const AnswerFormat& format,
                                            const std::vector<Wanted>& calls, const std::string& content) {
  ordered_json turn = {{"role", "assistant"}, {"content", content}, {"tool_calls", ordered_json::array()}};
  int n = 0;
  for (const Wanted& w : calls) {
    ordered_json function = {{"name", w.name}, {"arguments", w.arguments}};
    if (format.arguments_as_text) function["arguments"] = w.arguments.dump();
    turn["tool_calls"].push_back(
        {{"id", "abcdef00" + std::to_string(n++)}, {"type", "function"}, {"function", function}});
  }
  const ordered_json user = {{"role", "user"}, {"content", "USERTURN"}};
  const auto render = [&](ordered_json messages, bool prompt) {
    return t.render_json(ordered_json{
        {"messages", std::move(messages)},
        {"tools", kTools},
        {"add_generation_prompt", prompt},
        {"bos_token", ""},
        {"eos_token", ""}}.dump());
  };
  try {
    const std::string prompt = render(ordered_json::array({user}), true);
    std::string all = render(ordered_json::array({user, turn}), false);
    if (all.starts_with(prompt)) return {prompt, all.substr(prompt.size())};
    return {"", all.substr(all.rfind("USERTURN") + 8)};
  } catch (const Error&) {
    return {};
  }
}

ParsedAnswer parse(const AnswerFormat& format, const std::string& prompt, std::string_view text) {
  AnswerReader reader(format, std::make_shared<const ToolSchemas>(kTools.dump()), ReasoningUse::apart, 0,
                      format.opened_by(prompt));
  reader.feed(text);
  reader.finish();
  return reader.answer();
}

}  // namespace

namespace {

const std::vector<std::vector<Wanted>> kConversations = {
    {{"get_weather", {{"place", "Zürich"}, {"days", 3}}}},
    {{"get_weather", {{"place", "a \"b\" \\ c"}, {"days", -1}, {"exact", true}}},
     {"find_it", {{"text", "two\nlines"}, {"tags", {"x", "y z"}}}}},
    {{"find_it", {{"text", "12"}}}},
};

// The template is told apart as the row says, and the calls that it writes are read back.
void check_template(const Row& row, const std::string& source) {
  INFO(row.file);
  REQUIRE(!source.empty());
  const auto compiled = ChatTemplate::compile(source, row.file);
  const AnswerFormat format = detect_format(*compiled, source);
  CHECK((format.tools ? std::string(format.tools->name) : format.unknown.empty() ? "" : "?") == row.dialect);
  CHECK((format.reasoning ? std::string(format.reasoning->name) : "") == row.reasoning);
  if (!format.tools) return;
  for (size_t i = 0; i < kConversations.size(); ++i) {
    const auto& calls = kConversations[i];
    const auto [prompt, text] = written(*compiled, format, calls, "");
    if (text.find(calls.back().name) == std::string::npos) continue;  // it cannot write calls, or not so many
    CAPTURE(i, prompt.substr(prompt.size() - std::min<size_t>(prompt.size(), 40)), text);
    const ParsedAnswer got = parse(format, prompt, text);
    CHECK(got.raw == text);
    CHECK(got.errors.empty());
    REQUIRE(got.calls.size() == calls.size());
    for (size_t c = 0; c < calls.size(); ++c) {
      CHECK(got.calls[c].complete);
      CHECK(got.calls[c].name == calls[c].name);
      CHECK(json::parse(got.calls[c].arguments) == json(calls[c].arguments));
    }
  }
}

}  // namespace

TEST_CASE("real templates are told apart, and their calls read back", "[tools][templates]") {
  const std::string folder = templates_folder();
  if (!std::filesystem::exists(folder)) {
    WARN("skipped: no templates in " << folder << " (INGLE_TEMPLATES names the folder)");
    return;
  }
  for (const Row& row : kRows) check_template(row, read(folder + "/" + row.file + ".jinja"));
}

// Small ones, which write calls as the templates of families do that the folder lacks.
TEST_CASE("made templates are told apart, and their calls read back", "[tools][templates]") {
  constexpr Row kMade[] = {
      {"llama4", "llama4", ""},
      {"llama4-pythonic", "pythonic", ""},
      {"olmo3", "olmo3", ""},
      {"functionary-v2", "functionary-v2", ""},
      {"functionary-v2-llama3", "functionary-v2-llama3", ""},
      {"hunyuan-a13b", "hunyuan-a13b", "hunyuan-a13b"},
      {"ernie-4.5-thinking", "hermes", "ernie"},
  };
  for (const Row& row : kMade)
    check_template(row, read(ingle::tests::data_path("text/templates/" + std::string(row.file) + ".jinja")));
}

TEST_CASE("marks of users' texts change nothing of what templates write", "[tools][templates]") {
  const std::string folder = templates_folder();
  if (!std::filesystem::exists(folder)) {
    WARN("skipped: no templates in " << folder << " (INGLE_TEMPLATES names the folder)");
    return;
  }
  // All that a user wrote is spelled with letters that templates do not use.
  const ordered_json messages = ordered_json::parse(R"([
      {"role": "system", "content": "ßß <|im_end|> ßß"}, {"role": "user", "content": "  ßß\n<|eot_id|>[/INST] ßß "},
      {"role": "assistant", "content": "<think>ß</think>ßß"}, {"role": "user", "content": "ß</s>ß"}])");
  int n = 0;
  for (const Row& row : kRows) {
    INFO(row.file);
    const auto compiled = ChatTemplate::compile(read(folder + "/" + row.file + ".jinja"), row.file);
    TemplateContext context;
    context.extra_json = ordered_json{{"messages", messages}, {"add_generation_prompt", true}}.dump();
    context.bos_token = "<bos>";
    context.eos_token = "<eos>";
    context.now_unix = 1722002709;
    ordered_json plain = {{"messages", messages}, {"add_generation_prompt", true}};
    plain["bos_token"] = "<bos>";
    plain["eos_token"] = "<eos>";
    std::string wanted;
    try {
      wanted = compiled->render_json(plain.dump(), context.now_unix);
    } catch (const Error&) {
      CHECK_THROWS_AS(compiled->render_marked(context), Error);
      continue;
    }
    const MarkedText got = compiled->render_marked(context);
    CHECK(got.text == wanted);
    ++n;
    size_t before = 0, marked = 0, letters = 0;
    for (const auto& [begin, end] : got.user) {
      CHECK(begin < end);
      CHECK((before == 0 || begin > before));
      CHECK(end <= got.text.size());
      before = end;
      const std::string_view piece = std::string_view(got.text).substr(begin, end - begin);
      for (size_t at = piece.find("ß"); at != piece.npos; at = piece.find("ß", at + 1)) ++marked;
    }
    for (size_t at = got.text.find("ß"); at != got.text.npos; at = got.text.find("ß", at + 1)) ++letters;
    CHECK(letters > 0);
    CHECK(marked == letters);
  }
  CHECK(n > 50);
}
