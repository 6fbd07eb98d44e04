// template: renders chat templates, one context a line.
#include <chrono>
#include <cstdio>

#include "jsonl.h"

namespace ingle::cli {
namespace {

struct TemplateFlags {
  std::string what, now, bos, eos;
  bool jsonl = false;
};

// "2024-07-26 14:05:09", taken as UTC, which is also what the template is told.
int64_t parse_time(const std::string& text) {
  using namespace std::chrono;
  unsigned year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
  int end = 0;
  const bool read = std::sscanf(text.c_str(), "%4u-%2u-%2u %2u:%2u:%2u%n", &year, &month, &day, &hour,
                                &minute, &second, &end) == 6 &&
                    static_cast<size_t>(end) == text.size();
  const year_month_day date{std::chrono::year(static_cast<int>(year)), std::chrono::month(month),
                            std::chrono::day(day)};
  if (!read || !date.ok() || hour > 23 || minute > 59 || second > 59)
    throw Error(Code::invalid_argument, "--now", "\"" + text + "\" is no time, expected YYYY-MM-DD hh:mm:ss");
  return duration_cast<seconds>(sys_days(date).time_since_epoch()).count() + hour * 3600 + minute * 60 +
         second;
}

// The model's bos_token and eos_token, where the template is a model's.
Json own_tokens(const ChatTemplate& compiled, const std::string& path) {
  Json out = Json::object();
  if (!compiled.of_model()) return out;
  try {
    const Tokenizer tokenizer = Tokenizer::load(path);
    if (tokenizer.bos() >= 0) out["bos_token"] = tokenizer.token_text(tokenizer.bos());
    if (tokenizer.eos() >= 0) out["eos_token"] = tokenizer.token_text(tokenizer.eos());
  } catch (const Error& e) {
    if (e.code() != Code::not_found) throw;  // a folder that has no tokenizer
  }
  return out;
}

// What the context does not say itself is put before its first member.
std::string with_defaults(const Json& in, std::string line, const Json& defaults) {
  std::string members;
  for (const auto& [key, value] : defaults.items())
    if (!in.contains(key)) members += Json(key).dump() + ": " + value.dump() + (in.empty() ? "" : ",");
  if (in.empty() && members.empty()) return line;
  return line.insert(line.find('{') + 1, members);
}

int render(const TemplateFlags& flags, bool given_bos, bool given_eos) {
  const ChatTemplate compiled = ChatTemplate::load(flags.what);
  Json defaults = own_tokens(compiled, flags.what);
  if (given_bos) defaults["bos_token"] = flags.bos;
  if (given_eos) defaults["eos_token"] = flags.eos;
  const int64_t now = flags.now.empty() ? std::chrono::duration_cast<std::chrono::seconds>(
                                              std::chrono::system_clock::now().time_since_epoch())
                                              .count()
                                        : parse_time(flags.now);
  return each_line([&](const Json& in, const std::string& line) {
    try {
      return Json{{"output", compiled.render(with_defaults(in, line, defaults), now)}};
    } catch (const Error& e) {
      if (e.code() == Code::out_of_memory) throw;
      return Json{{"error", e.message()}, {"where", e.where()}};
    }
  });
}

}  // namespace

void add_template(Command app, Commands& commands) {
  auto flags = std::make_shared<TemplateFlags>();
  Command c = app.command("template", "Conversations to text, by a chat template");
  c.option("WHAT", flags->what, "A file with a Jinja template, a GGUF file, or a model's folder").required();
  c.flag("--jsonl", flags->jsonl,
         "{\"messages\", \"tools\", …} a line in, {\"output\"} or {\"error\", \"where\"} a line out")
      .required();
  c.option("--now", flags->now, "What strftime_now tells: YYYY-MM-DD hh:mm:ss (default: the clock, UTC)");
  Option bos = c.option("--bos", flags->bos, "bos_token, where a line has none (default: the model's)");
  Option eos = c.option("--eos", flags->eos, "eos_token, where a line has none (default: the model's)");
  c.footer(
      "Examples:\n  echo '{\"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}], "
      "\"add_generation_prompt\": true}' |\n    ingle template model.gguf --jsonl");
  commands.emplace_back(c, [flags, bos, eos] { return render(*flags, bos.count() > 0, eos.count() > 0); });
}

}  // namespace ingle::cli
