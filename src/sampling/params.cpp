#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "core/error.h"
#include "sampling/catalog.h"

namespace ingle::sampling {
namespace {

struct Row {
  ParamInfo info;
  double (*get)(const SamplerParams&);
  void (*set)(SamplerParams&, double);
};

template <auto Member>
constexpr Row row(std::string_view key, double low, double high, double initial, std::string_view help) {
  using T = std::remove_reference_t<decltype(std::declval<SamplerParams&>().*Member)>;
  return {{key, std::is_floating_point_v<T> ? "float" : "int", low, high, initial, help},
          [](const SamplerParams& p) { return static_cast<double>(p.*Member); },
          [](SamplerParams& p, double v) { p.*Member = static_cast<T>(v); }};
}

using P = SamplerParams;
constexpr Row kRows[] = {
    row<&P::temperature>(
        "temperature", 0, 100, 0.8f,
        "Divides the logits before the draw: lower is more certain. 0 always takes the likeliest."),
    row<&P::top_k>("top_k", 0, 2147483647, 40, "Keeps the k likeliest tokens. 0 is off."),
    row<&P::top_p>("top_p", 0, 1, 0.95f,
                   "Keeps the likeliest tokens that together reach this probability. 1 is off."),
    row<&P::min_p>("min_p", 0, 1, 0.05f,
                   "Keeps tokens of at least this share of the likeliest one's probability. 0 is off."),
    row<&P::min_keep>("min_keep", 1, 2147483647, 1,
                      "What removes unlikely tokens leaves so many at least, or all where there are fewer."),
    row<&P::typical_p>(
        "typical_p", 0, 1, 1,
        "Keeps tokens whose surprise is nearest to the entropy, up to this probability. 1 is off."),
    row<&P::repeat_penalty>(
        "repeat_penalty", 0.01f, 100, 1,
        "Divides positive and multiplies negative logits of tokens in the window. 1 is off."),
    row<&P::frequency_penalty>(
        "frequency_penalty", -100, 100, 0,
        "Is taken off a logit for each time the token stands in the window. 0 is off."),
    row<&P::presence_penalty>("presence_penalty", -100, 100, 0,
                              "Is taken off the logits of tokens that stand in the window. 0 is off."),
    row<&P::penalty_window>("penalty_window", 0, 1 << 20, 64,
                            "How many of the last tokens the penalties see."),
    row<&P::seed>("seed", 0, 9007199254740992.0, 0, "Equal seeds give equal text."),
    row<&P::min_tokens>("min_tokens", 0, 2147483647, 0, "No end before so many tokens. 0 is off."),
    row<&P::no_repeat_ngram>("no_repeat_ngram", 0, 1024, 0,
                             "No sequence of so many tokens comes a second time. 0 is off."),
    row<&P::dry_multiplier>("dry_multiplier", 0, 100, 0,
                            "DRY: a token that lengthens a repetition loses multiplier * base^(length - "
                            "allowed length). 0 is off."),
    row<&P::dry_base>("dry_base", 1, 100, 1.75f, "DRY: how fast the loss grows with the repetition."),
    row<&P::dry_allowed_length>("dry_allowed_length", 0, 1 << 20, 2,
                                "DRY: shorter repetitions cost nothing."),
    row<&P::dry_last_n>("dry_last_n", -1, 1 << 20, -1, "DRY: how many of the last tokens count. -1: all."),
    row<&P::top_n_sigma>("top_n_sigma", 0, 1000, 0,
                         "Keeps logits within so many standard deviations of the highest. 0 is off."),
    row<&P::tfs_z>("tfs_z", 0, 1, 1, "Tail free: cuts where the curve of probabilities gets flat. 1 is off."),
    row<&P::top_a>("top_a", 0, 1, 0,
                   "Keeps tokens of at least this times the square of the highest probability. 0 is off."),
    row<&P::xtc_probability>("xtc_probability", 0, 1, 0,
                             "XTC: how often all tokens of at least the threshold go but the least likely of "
                             "them. 0 is off."),
    row<&P::xtc_threshold>("xtc_threshold", 0, 1, 0.1f, "XTC: the probability of a top choice."),
    row<&P::dynatemp_range>(
        "dynatemp_range", 0, 100, 0,
        "The temperature is so much lower where the model is sure, and higher where it is "
        "not. 0 is off."),
    row<&P::dynatemp_exponent>("dynatemp_exponent", 0.01f, 100, 1,
                               "How the temperature follows the entropy."),
    row<&P::smoothing_factor>("smoothing_factor", 0, 100, 0,
                              "Bends logits by their distance from the "
                              "highest, squared. 0 is off."),
    row<&P::smoothing_curve>(
        "smoothing_curve", 1, 10, 1,
        "Above 1 the bend has a cubic part; above 3 it may put others above the highest."),
    row<&P::mirostat>("mirostat", 0, 2, 0,
                      "Draws with a steady surprise, version 1 or 2, in place of the cuts. 0 is off."),
    row<&P::mirostat_tau>("mirostat_tau", 0, 100, 5, "Mirostat: the surprise, in bits."),
    row<&P::mirostat_eta>("mirostat_eta", 0, 1, 0.1f, "Mirostat: how fast it follows."),
    row<&P::adaptive_target>("adaptive_target", 0, 1, 0, "Draws near this probability, over time. 0 is off."),
    row<&P::adaptive_decay>(
        "adaptive_decay", 0, 0.99f, 0.9f,
        "How long the mean of the probabilities drawn looks back: about 1 / (1 - decay)."),
};

struct IdsRow {
  ParamInfo info;
  std::vector<int32_t> P::*ids;
};
constexpr double kLastId = static_cast<double>(kMaxVocab - 1);
constexpr IdsRow kIdsRows[] = {
    {{"banned_tokens", "list of ids", 0, kLastId, 0, "Tokens that are never chosen."}, &P::banned_tokens},
    {{"end_tokens", "list of ids", 0, kLastId, 0, "The tokens that end an answer, for min_tokens."},
     &P::end_tokens},
    {{"dry_breakers", "list of ids", 0, kLastId, 0, "DRY: tokens that end a repetition."}, &P::dry_breakers},
};
constexpr ParamInfo kOrder = {
    "order", "list of names",
    0,       0,
    0,       "The stages that take part, in their order. Empty: all that are on, in the default order."};

constexpr auto kTable = [] {
  std::array<ParamInfo, std::size(kRows) + std::size(kIdsRows) + 1> infos{};
  size_t n = 0;
  for (const Row& r : kRows) infos[n++] = r.info;
  for (const IdsRow& r : kIdsRows) infos[n++] = r.info;
  infos[n] = kOrder;
  return infos;
}();

// Levenshtein's distance.
size_t edits(std::string_view a, std::string_view b) {
  std::vector<size_t> distance(b.size() + 1);
  std::iota(distance.begin(), distance.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(distance[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (a[i] != b[j]);
      diagonal = distance[j + 1];
      distance[j + 1] = std::min({replaced, diagonal + 1, distance[j] + 1});
    }
  }
  return distance.back();
}

// For a key that is not there, or of another type.
[[noreturn]] void refuse_key(std::string_view key, std::string_view given) {
  for (const ParamInfo& info : kTable)
    if (info.key == key)
      fail(Code::invalid_argument, std::string(key), format("is a {}, not a {}", info.type, given));
  constexpr size_t kShown = 64;  // a key may be anything; the error stays readable
  const std::string_view shown = key.substr(0, kShown);
  std::vector<std::string_view> keys;
  for (const ParamInfo& info : kTable) keys.push_back(info.key);
  fail(Code::not_found, "sampler options", format("no option is named \"{}\"", shown),
       near_miss(shown, keys));
}

const Row& find_row(std::string_view key) {
  for (const Row& r : kRows)
    if (r.info.key == key) return r;
  refuse_key(key, "number");
}

void check_value(const ParamInfo& info, double value) {
  if (!(value >= info.low && value <= info.high))  // also for a NaN
    fail(Code::invalid_argument, std::string(info.key),
         format("{} is out of range, expected {} to {}", value, info.low, info.high));
  if (info.type == "int" && value != std::floor(value))
    fail(Code::invalid_argument, std::string(info.key), format("{} is not a whole number", value));
}

void check_ids(std::string_view key, std::span<const int32_t> given, int64_t n_vocab) {
  std::vector<int32_t> ids(given.begin(), given.end());
  std::sort(ids.begin(), ids.end());
  for (const int32_t id : ids)
    if (id < 0 || id >= n_vocab)
      fail(Code::invalid_argument, std::string(key), format("id {}, expected 0 to {}", id, n_vocab - 1));
  const auto twice = std::adjacent_find(ids.begin(), ids.end());
  if (twice != ids.end())
    fail(Code::invalid_argument, std::string(key), format("id {} is given twice", *twice));
}

void check_bias(const P& p, int64_t n_vocab) {
  std::vector<int32_t> ids;
  for (const auto& [id, amount] : p.logit_bias) {
    if (!(amount <= std::numeric_limits<float>::max()))
      fail(Code::invalid_argument, "logit_bias",
           format("{} for id {}, expected a finite number or -inf", amount, id));
    ids.push_back(id);
  }
  check_ids("logit_bias", ids, n_vocab);
}

}  // namespace

std::string near_miss(std::string_view name, std::span<const std::string_view> names) {
  std::string_view best;
  size_t best_edits = 1 + std::max<size_t>(1, name.size() / 3);
  for (const std::string_view other : names) {  // a few typing errors away, or begun with what was given
    const bool begun = name.size() >= 3 && other.starts_with(name);
    const size_t n = begun ? 1 : edits(name, other);
    if (n < best_edits) best_edits = n, best = other;
  }
  return best.empty() ? std::string() : format("did you mean \"{}\"?", best);
}

std::span<const ParamInfo> param_table() { return kTable; }

void set_param(SamplerParams& p, std::string_view key, double value) {
  const Row& r = find_row(key);
  check_value(r.info, value);
  r.set(p, value);
}

void set_param(SamplerParams& p, std::string_view key, std::span<const int32_t> ids) {
  for (const IdsRow& r : kIdsRows)
    if (r.info.key == key) {
      check_ids(key, ids, kMaxVocab);
      (p.*r.ids).assign(ids.begin(), ids.end());
      return;
    }
  refuse_key(key, "list of ids");
}

void set_param(SamplerParams& p, std::string_view key, std::span<const std::string> names) {
  if (key != kOrder.key) refuse_key(key, "list of names");
  p.order.assign(names.begin(), names.end());  // what they name is known when the chain is made
}

double get_param(const SamplerParams& p, std::string_view key) { return find_row(key).get(p); }

void validate(const SamplerParams& p, int64_t n_vocab) {
  if (n_vocab < 1 || n_vocab > kMaxVocab)
    fail(Code::invalid_argument, "vocabulary", format("{} tokens, expected 1 to {}", n_vocab, kMaxVocab));
  for (const Row& r : kRows)
    if (r.info.key != "seed")
      check_value(r.info, r.get(p));  // every seed is good, also past the table's 2^53
  check_bias(p, n_vocab);
  for (const IdsRow& r : kIdsRows) check_ids(r.info.key, p.*r.ids, n_vocab);
}

}  // namespace ingle::sampling
