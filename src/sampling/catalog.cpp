#include "sampling/catalog.h"

#include <algorithm>

#include "core/error.h"

namespace ingle::sampling {
namespace {

using P = SamplerParams;

enum class Part {
  edit,    // changes the logits of single ids: these come before anything is cut, also when the likeliest is
           // taken
  narrow,  // removes the unlikely; mirostat does that itself
  scale,   // changes how much likelier one is than another
};

// In another order than by logit, or of the first: these know of min_keep themselves.
constexpr std::string_view kCountThemselves[] = {"typical_p", "xtc"};

struct StageRow {
  std::string_view name;
  Part part;
  bool (*on)(const P&);   // by its parameters
  bool (*set)(const P&);  // away from the defaults
  StagePtr (*make)(const P&);
};

template <auto Member>
bool set(const P& p) {
  return p.*Member != P{}.*Member;
}

bool penalised(const P& p) {
  return p.penalty_window > 0 &&
         (p.repeat_penalty != 1.0f || p.frequency_penalty != 0.0f || p.presence_penalty != 0.0f);
}

StagePtr make_bias(const P& p) {
  std::vector<Candidate> bias;
  for (const auto& [id, amount] : p.logit_bias) bias.push_back({id, amount});
  return make_logit_bias(bias);
}

// What is a hard rule comes first, then what depends on the text; the host's own stages stand before the
// first cut (kCustomBefore), and so see all that is not banned.
constexpr std::string_view kCustomBefore = "top_n_sigma";
constexpr StageRow kStages[] = {
    {"banned_tokens", Part::edit, [](const P& p) { return !p.banned_tokens.empty(); }, set<&P::banned_tokens>,
     [](const P& p) { return make_banned_tokens(p.banned_tokens); }},
    {"min_tokens", Part::edit, [](const P& p) { return p.min_tokens > 0; }, set<&P::min_tokens>,
     [](const P& p) { return make_min_tokens(p.min_tokens, p.end_tokens); }},
    {"logit_bias", Part::edit, [](const P& p) { return !p.logit_bias.empty(); }, set<&P::logit_bias>,
     make_bias},
    {"no_repeat_ngram", Part::edit, [](const P& p) { return p.no_repeat_ngram > 0; },
     set<&P::no_repeat_ngram>, [](const P& p) { return make_no_repeat_ngram(p.no_repeat_ngram); }},
    {"penalties", Part::edit, penalised, penalised,
     [](const P& p) {
       return make_penalties({p.repeat_penalty, p.frequency_penalty, p.presence_penalty, p.penalty_window});
     }},
    {"dry", Part::edit, [](const P& p) { return p.dry_multiplier > 0; }, set<&P::dry_multiplier>,
     [](const P& p) {
       return make_dry({p.dry_multiplier, p.dry_base, p.dry_allowed_length, p.dry_last_n}, p.dry_breakers);
     }},
    {"top_n_sigma", Part::narrow, [](const P& p) { return p.top_n_sigma > 0; }, set<&P::top_n_sigma>,
     [](const P& p) { return make_top_n_sigma(p.top_n_sigma); }},
    {"top_k", Part::narrow, [](const P& p) { return p.top_k > 0; }, set<&P::top_k>,
     [](const P& p) { return make_top_k(p.top_k); }},
    {"typical_p", Part::narrow, [](const P& p) { return p.typical_p < 1; }, set<&P::typical_p>,
     [](const P& p) { return make_typical(p.typical_p, p.min_keep); }},
    {"tail_free", Part::narrow, [](const P& p) { return p.tfs_z < 1; }, set<&P::tfs_z>,
     [](const P& p) { return make_tail_free(p.tfs_z); }},
    {"top_a", Part::narrow, [](const P& p) { return p.top_a > 0; }, set<&P::top_a>,
     [](const P& p) { return make_top_a(p.top_a); }},
    {"top_p", Part::narrow, [](const P& p) { return p.top_p < 1; }, set<&P::top_p>,
     [](const P& p) { return make_top_p(p.top_p); }},
    {"min_p", Part::narrow, [](const P& p) { return p.min_p > 0; }, set<&P::min_p>,
     [](const P& p) { return make_min_p(p.min_p); }},
    {"xtc", Part::narrow, [](const P& p) { return p.xtc_probability > 0; }, set<&P::xtc_probability>,
     [](const P& p) { return make_xtc(p.xtc_probability, p.xtc_threshold, p.seed, p.min_keep); }},
    {"temperature", Part::scale, [](const P& p) { return p.temperature != 1 && p.dynatemp_range == 0; },
     set<&P::temperature>, [](const P& p) { return make_temperature(p.temperature); }},
    {"dynamic_temperature", Part::scale, [](const P& p) { return p.dynatemp_range > 0; },
     set<&P::dynatemp_range>,
     [](const P& p) {
       return make_dynamic_temperature(p.temperature, p.dynatemp_range, p.dynatemp_exponent);
     }},
    {"smoothing", Part::scale, [](const P& p) { return p.smoothing_factor > 0; }, set<&P::smoothing_factor>,
     [](const P& p) { return make_smoothing(p.smoothing_factor, p.smoothing_curve); }},
};

// Which stage chooses, and what it does to the default order.
enum class Chooser { greedy, mirostat, adaptive, draw };

Chooser chooser_of(const P& p) {
  const auto exclude = [](bool both, const char* where, const char* other) {
    if (both)
      fail(Code::invalid_argument, where, format("cannot be together with {}: both choose the token", other),
           "set one of them");
  };
  exclude(p.mirostat > 0 && p.temperature == 0, "mirostat", "temperature 0");
  exclude(p.adaptive_target > 0 && p.temperature == 0, "adaptive_target", "temperature 0");
  exclude(p.mirostat > 0 && p.adaptive_target > 0, "mirostat", "adaptive_target");
  if (p.temperature == 0) return Chooser::greedy;
  return p.mirostat > 0 ? Chooser::mirostat : p.adaptive_target > 0 ? Chooser::adaptive : Chooser::draw;
}

StagePtr make_stage(const StageRow& row, const P& p) {
  StagePtr stage = row.make(p);
  const auto& own = kCountThemselves;
  const bool counts = std::find(std::begin(own), std::end(own), row.name) != std::end(own);
  return row.part == Part::narrow && p.min_keep > 1 && !counts ? make_at_least(std::move(stage), p.min_keep)
                                                               : std::move(stage);
}

StagePtr make_chooser(Chooser chooser, const P& p) {
  switch (chooser) {
    case Chooser::greedy:
      return make_greedy();
    case Chooser::mirostat:
      return p.mirostat == 1 ? make_mirostat_1(p.mirostat_tau, p.mirostat_eta, p.seed)
                             : make_mirostat_2(p.mirostat_tau, p.mirostat_eta, p.seed);
    case Chooser::adaptive:
      return make_adaptive_p(p.adaptive_target, p.adaptive_decay, p.seed);
    default:
      return make_draw(p.seed);
  }
}

const StageRow* find_row(std::string_view name) {
  const auto at =
      std::find_if(std::begin(kStages), std::end(kStages), [&](auto& r) { return r.name == name; });
  return at == std::end(kStages) ? nullptr : at;
}

const CustomStage* find_custom(const P& p, std::string_view name) {
  const auto at = std::find_if(p.custom.begin(), p.custom.end(), [&](auto& c) { return c.name == name; });
  return at == p.custom.end() ? nullptr : &*at;
}

void check_custom(const P& p) {
  constexpr size_t kMostBytes = 64;
  for (const CustomStage& c : p.custom) {
    const bool spelled =
        !c.name.empty() && c.name.size() <= kMostBytes &&
        c.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-") == std::string::npos;
    if (!spelled)
      fail(Code::invalid_argument, "custom",
           format("a stage is named \"{}\", expected 1 to 64 of a-z, 0-9, _ and -",
                  c.name.substr(0, kMostBytes)));
    if (find_row(c.name) || find_custom(p, c.name) != &c)
      fail(Code::invalid_argument, "custom", format("there is another stage named \"{}\"", c.name));
    if (!c.apply) fail(Code::invalid_argument, "custom", format("the stage {} has no function", c.name));
  }
}

std::vector<std::string> default_order(const P& p, Chooser chooser) {
  std::vector<std::string> names;
  for (const StageRow& row : kStages) {
    if (row.name == kCustomBefore)
      for (const CustomStage& c : p.custom) names.push_back(c.name);
    const bool cut = chooser == Chooser::mirostat && row.part == Part::narrow;
    if (!cut) names.emplace_back(row.name);
  }
  return names;
}

std::vector<std::string> given_order(const P& p, std::string_view chooser) {
  std::vector<std::string> names = p.order;
  if (names.back() == chooser) names.pop_back();  // as describe() prints it
  std::vector<std::string_view> known;
  for (const StageRow& row : kStages) known.push_back(row.name);
  for (const CustomStage& c : p.custom) known.push_back(c.name);
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string_view shown = std::string_view(names[i]).substr(0, 64);
    if (std::find(known.begin(), known.end(), names[i]) == known.end())
      fail(Code::not_found, "order",
           format("no stage before the choice by {} is named \"{}\"", chooser, shown),
           near_miss(shown, known));
    if (std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i), names[i]) !=
        names.begin() + static_cast<std::ptrdiff_t>(i))
      fail(Code::invalid_argument, "order", format("names {} twice", shown));
  }
  return names;
}

// A stage that somebody asked for must not be passed over in silence.
void check_left_out(const P& p, const std::vector<std::string>& names, Chooser chooser) {
  const auto refuse_unless_named = [&](std::string_view name) {
    if (std::find(names.begin(), names.end(), name) != names.end()) return;
    const bool order = !p.order.empty();
    fail(Code::invalid_argument, order ? "order" : "mirostat",
         format("leaves out the stage {}, whose option is set", name),
         order ? "name it, or leave its option at the default" : "name it in an order, or leave its option");
  };
  for (const StageRow& row : kStages)
    if (row.on(p) && row.set(p) && (chooser != Chooser::greedy || row.part == Part::edit))
      refuse_unless_named(row.name);
  for (const CustomStage& c : p.custom) refuse_unless_named(c.name);
}

}  // namespace

std::vector<StagePtr> build_chain(const SamplerParams& p) {
  validate(p, kMaxVocab);
  check_custom(p);
  if (p.min_tokens > 0 && p.end_tokens.empty())
    fail(Code::invalid_argument, "min_tokens", "needs end_tokens, the ids that end an answer");
  const Chooser chooser = chooser_of(p);
  StagePtr last = make_chooser(chooser, p);
  const auto names = p.order.empty() ? default_order(p, chooser) : given_order(p, last->name());
  check_left_out(p, names, chooser);
  std::vector<StagePtr> chain;
  for (const std::string& name : names) {
    if (const CustomStage* custom = find_custom(p, name)) {
      chain.push_back(make_custom(*custom));
      continue;
    }
    const StageRow& row = *find_row(name);
    const bool idle = chooser == Chooser::greedy &&
                      (row.part == Part::scale || (row.part == Part::narrow && p.order.empty()));
    if (row.on(p) && !idle) chain.push_back(make_stage(row, p));
  }
  chain.push_back(std::move(last));
  return chain;
}

}  // namespace ingle::sampling
