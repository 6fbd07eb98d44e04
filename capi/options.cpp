#include "options.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "arguments.h"
#include "guard.h"
#include "handles.h"
#include "host.h"

namespace ingle::capi {
namespace {

constexpr size_t kShown = 64;  // bytes of a name from outside in a message

// Levenshtein's distance.
size_t edits(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (a[i] != b[j] ? 1 : 0);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

Target make_target(size_t kind) {
  switch (kind) {
    case 0:
      return RuntimeOptions{};
    case 1:
      return ModelOptions{};
    case 2:
      return ScriptedModel{};
    case 3:
      return SessionOptions{};
    case 4:
      return SamplerOptions{};
    case 5:
      return GenerateOptions{};
    case 6:
      return BeamOptions{};
    case 7:
      return EngineOptions{};
    case 8:
      return Request{};
    case 9:
      return GrammarOptions{};
    default:
      return AnswerOptions{};
  }
}

size_t kind_argument(const char* text) {
  const std::string name = string_argument(text, "kind");
  const auto found = std::find(std::begin(kKindNames), std::end(kKindNames), name);
  if (found == std::end(kKindNames))
    fail(Code::not_found, "kind", format("no options are named \"{}\"", name.substr(0, kShown)),
         near_miss(name, {std::begin(kKindNames), std::end(kKindNames)}));
  return static_cast<size_t>(found - std::begin(kKindNames));
}

// A float of the table as people write it: 0.8, not 0.800000011920929.
double shortest(double value) {
  const auto wanted = static_cast<float>(value);
  double read = value;
  for (int digits = 1; digits <= std::numeric_limits<float>::max_digits10; ++digits) {
    const std::string text = format("{:.{}g}", value, digits);
    std::from_chars(text.data(), text.data() + text.size(), read);
    if (static_cast<float>(read) == wanted) break;
  }
  return read;
}

[[noreturn]] void refuse_range(const OptionRow& row, const std::string& found) {
  fail(Code::invalid_argument, row.key,
       format("{} is out of range, expected {} to {}", found, row.low, row.high));
}

}  // namespace

std::string near_miss(std::string_view name, const std::vector<std::string_view>& names) {
  name = name.substr(0, kShown);
  std::string_view best;
  size_t fewest = 1 + std::max<size_t>(1, name.size() / 3);
  for (const std::string_view other : names) {
    const bool begun = name.size() >= 3 && other.starts_with(name);
    const size_t n = begun ? 1 : edits(name, other);
    if (n < fewest) fewest = n, best = other;
  }
  return best.empty() ? std::string() : format("did you mean \"{}\"?", best);
}

int64_t int_value(const OptionRow& row, const Value& value) {
  int64_t whole = 0;
  if (const auto* flag = value.as<bool>(); flag && row.type == "flag") {
    whole = *flag ? 1 : 0;
  } else if (const auto* number = value.as<int64_t>()) {
    whole = *number;
  } else if (const auto* real = value.as<double>()) {  // of a language that has no whole numbers
    constexpr double kExact = 9007199254740992.0;
    if (!(std::abs(*real) <= kExact)) refuse_range(row, format("{}", *real));
    if (*real != std::floor(*real))
      fail(Code::invalid_argument, row.key, format("{} is not a whole number", *real));
    whole = static_cast<int64_t>(*real);
  } else {
    fail(Code::invalid_argument, row.key, "expected a whole number");
  }
  if (static_cast<double>(whole) < row.low || static_cast<double>(whole) > row.high)
    refuse_range(row, format("{}", whole));
  return whole;
}

double float_value(const OptionRow& row, const Value& value) {
  double real = 0;
  if (const auto* number = value.as<int64_t>())
    real = static_cast<double>(*number);
  else if (const auto* given = value.as<double>())
    real = *given;
  else
    fail(Code::invalid_argument, row.key, "expected a number");
  if (!(real >= row.low && real <= row.high)) refuse_range(row, format("{}", real));  // also a NaN
  return real;
}

const std::string& text_value(const OptionRow& row, const Value& value) {
  if (const auto* text = value.as<std::string>()) return *text;
  fail(Code::invalid_argument, row.key, "expected a text");
}

void set_option(Target& target, std::string_view key, const Value& value) {
  const auto& table = option_table(target.index());
  for (const OptionRow& row : table)
    if (row.key == key) return row.set(target, row, value);
  std::vector<std::string_view> keys;
  keys.reserve(table.size());
  for (const OptionRow& row : table) keys.push_back(row.key);
  fail(Code::not_found, format("{} options", kKindNames[target.index()]),
       format("no option is named \"{}\"", key.substr(0, kShown)), near_miss(key, keys));
}

template <class T>
T options_argument(const ingle_options* options) {
  if (!options) return T{};
  const Target& target = need(options, "options").target;
  if (const T* found = std::get_if<T>(&target)) return *found;
  fail(Code::invalid_argument, "options",
       format("are {} options, expected {} options", kKindNames[target.index()],
              kKindNames[Target(T{}).index()]));
}
template RuntimeOptions options_argument(const ingle_options*);
template ModelOptions options_argument(const ingle_options*);
template ScriptedModel options_argument(const ingle_options*);
template SessionOptions options_argument(const ingle_options*);
template SamplerOptions options_argument(const ingle_options*);
template GenerateOptions options_argument(const ingle_options*);
template GrammarOptions options_argument(const ingle_options*);
template BeamOptions options_argument(const ingle_options*);
template EngineOptions options_argument(const ingle_options*);
template Request options_argument(const ingle_options*);
template AnswerOptions options_argument(const ingle_options*);

}  // namespace ingle::capi

using namespace ingle::capi;

ingle_code ingle_options_create(const char* kind, ingle_options** out, ingle_error** err) {
  return guard(err, [&] {
    auto& result = out_argument(out, "out");
    result = new ingle_options(make_target(kind_argument(kind)));
  });
}
ingle_options* ingle_options_retain(ingle_options* options) { return retain(options); }
void ingle_options_release(ingle_options* options) { release(options); }

ingle_code ingle_options_set_int(ingle_options* options, const char* key, int64_t value, ingle_error** err) {
  return guard(err, [&] { set_option(need(options, "options").target, string_argument(key, "key"), value); });
}

ingle_code ingle_options_set_float(ingle_options* options, const char* key, double value, ingle_error** err) {
  return guard(err, [&] { set_option(need(options, "options").target, string_argument(key, "key"), value); });
}

ingle_code ingle_options_set_string(ingle_options* options, const char* key, const char* value,
                                    int64_t length, ingle_error** err) {
  return guard(err, [&] {
    auto& target = need(options, "options").target;
    set_option(target, string_argument(key, "key"), std::string(text_argument(value, length, "value")));
  });
}

ingle_code ingle_options_set_json(ingle_options* options, const char* json, int64_t length,
                                  ingle_error** err) {
  return guard(err, [&] {
    auto& target = need(options, "options").target;
    const Value value = read_json(text_argument(json, length, "json"), "json");
    const auto* fields = value.as<Fields>();
    if (!fields)
      ingle::fail(ingle::Code::invalid_argument, "json", "is no object, expected {\"key\": value, …}");
    Target changed = target;
    for (const auto& [key, v] : *fields) set_option(changed, key, v);
    target = std::move(changed);
  });
}

ingle_code ingle_options_add_stage(ingle_options* options, const ingle_stage* stage, ingle_error** err) {
  return guard(err, [&] {
    auto& target = need(options, "options").target;
    auto* sampler = std::get_if<ingle::SamplerOptions>(&target);
    if (!sampler)
      ingle::fail(ingle::Code::invalid_argument, "options",
                  ingle::format("are {} options, expected sampler options", kKindNames[target.index()]));
    const auto lent = stage_argument(stage);
    sampler->custom.push_back(custom_stage(lent));
    lent->lent = true;
  });
}

ingle_code ingle_options_describe(const char* kind, ingle_text** out, ingle_error** err) {
  return guard(err, [&] {
    auto& result = out_argument(out, "out");
    List rows;
    for (const OptionRow& row : option_table(kind_argument(kind))) {
      Fields fields{{"key", row.key}, {"type", row.type}};
      if (row.type == "int" || row.type == "flag") {
        fields.emplace_back("low", static_cast<int64_t>(row.low));
        fields.emplace_back("high", row.high >= 9.2e18 ? INT64_MAX : static_cast<int64_t>(row.high));
      } else if (row.type == "float") {
        fields.emplace_back("low", shortest(row.low));
        fields.emplace_back("high", shortest(row.high));
      }
      const auto* real = row.initial.as<double>();
      fields.emplace_back("default", real ? Value(shortest(*real)) : row.initial);
      fields.emplace_back("help", row.help);
      rows.emplace_back(std::move(fields));
    }
    result = new ingle_text(write_json(rows));
  });
}
