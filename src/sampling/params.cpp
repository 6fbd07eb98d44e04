#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "core/error.h"
#include "sampling/chain.h"

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
};

constexpr auto kTable = [] {
  std::array<ParamInfo, std::size(kRows)> infos{};
  for (size_t i = 0; i < infos.size(); ++i) infos[i] = kRows[i].info;
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

// The key that was probably meant: a few typing errors away, or begun with what was given.
std::string near_miss(std::string_view key) {
  std::string_view best;
  size_t best_edits = 1 + std::max<size_t>(1, key.size() / 3);
  for (const ParamInfo& info : kTable) {
    const bool begun = key.size() >= 3 && info.key.starts_with(key);
    const size_t n = begun ? 1 : edits(key, info.key);
    if (n < best_edits) best_edits = n, best = info.key;
  }
  return best.empty() ? std::string() : format("did you mean \"{}\"?", best);
}

const Row& find_row(std::string_view key) {
  for (const Row& r : kRows)
    if (r.info.key == key) return r;
  constexpr size_t kShown = 64;  // a key may be anything; the error stays readable
  const std::string_view shown = key.substr(0, kShown);
  fail(Code::not_found, "sampler options", format("no option is named \"{}\"", shown), near_miss(shown));
}

void check_value(const ParamInfo& info, double value) {
  if (!(value >= info.low && value <= info.high))  // also for a NaN
    fail(Code::invalid_argument, std::string(info.key),
         format("{} is out of range, expected {} to {}", value, info.low, info.high));
  if (info.type == "int" && value != std::floor(value))
    fail(Code::invalid_argument, std::string(info.key), format("{} is not a whole number", value));
}

void check_bias(const std::vector<Candidate>& bias, int64_t n_vocab) {
  std::vector<int32_t> ids;
  for (const Candidate& b : bias) {
    if (b.id < 0 || b.id >= n_vocab)
      fail(Code::invalid_argument, "logit_bias", format("id {}, expected 0 to {}", b.id, n_vocab - 1));
    if (!(b.logit <= std::numeric_limits<float>::max()))
      fail(Code::invalid_argument, "logit_bias",
           format("{} for id {}, expected a finite number or -inf", b.logit, b.id));
    ids.push_back(b.id);
  }
  std::sort(ids.begin(), ids.end());
  const auto twice = std::adjacent_find(ids.begin(), ids.end());
  if (twice != ids.end()) fail(Code::invalid_argument, "logit_bias", format("id {} is given twice", *twice));
}

}  // namespace

std::span<const ParamInfo> param_table() { return kTable; }

void set_param(SamplerParams& p, std::string_view key, double value) {
  const Row& r = find_row(key);
  check_value(r.info, value);
  r.set(p, value);
}

double get_param(const SamplerParams& p, std::string_view key) { return find_row(key).get(p); }

void validate(const SamplerParams& p, int64_t n_vocab) {
  if (n_vocab < 1 || n_vocab > kMaxVocab)
    fail(Code::invalid_argument, "vocabulary", format("{} tokens, expected 1 to {}", n_vocab, kMaxVocab));
  for (const Row& r : kRows)
    if (r.info.key != "seed")
      check_value(r.info, r.get(p));  // every seed is good, also past the table's 2^53
  check_bias(p.logit_bias, n_vocab);
}

}  // namespace ingle::sampling
