// Options by key: one table for each kind, from which the setters, the JSON form and the description come.
#pragma once
#include <ingle/ingle.h>

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ingle/ingle.hpp"
#include "value.h"

namespace ingle::capi {

struct GrammarOptions {
  bool formats = true, compact = false;
  std::string tool_choice = "auto";
  bool parallel_calls = true;
  CompileLimits limits;
};

// What options of a kind fill; the order is that of kKindNames.
using Target =
    std::variant<RuntimeOptions, ModelOptions, ScriptedModel, SessionOptions, SamplerOptions, GenerateOptions,
                 BeamOptions, EngineOptions, Request, GrammarOptions, AnswerOptions>;
constexpr std::string_view kKindNames[] = {"runtime", "model",  "script",  "session", "sampler", "generate",
                                           "beams",   "engine", "request", "grammar", "answer"};

struct OptionRow {
  std::string key, type;     // "int", "float", "flag", "text", "list of text", …
  double low = 0, high = 0;  // of numbers
  Value initial;
  std::string help;
  // Throws without having changed anything.
  void (*set)(Target& target, const OptionRow& row, const Value& value);
};

const std::vector<OptionRow>& option_table(size_t kind);  // by Target's index
void set_option(Target& target, std::string_view key, const Value& value);
// ", did you mean …?" of the names, or nothing.
std::string near_miss(std::string_view name, const std::vector<std::string_view>& names);

// The T in `options`, or the defaults for NULL.
template <class T>
T options_argument(const ingle_options* options);

// Checked conversions, which name the row's key.
int64_t int_value(const OptionRow& row, const Value& value);  // in the row's range
double float_value(const OptionRow& row, const Value& value);
const std::string& text_value(const OptionRow& row, const Value& value);

}  // namespace ingle::capi
