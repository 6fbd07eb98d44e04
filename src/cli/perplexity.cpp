// perplexity: how well a model foretells a text, and how far its probabilities are from another's.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <optional>

#include "common.h"
#include "json_out.h"
#include "reference.h"

namespace ingle::cli {
namespace {

struct PerplexityFlags {
  Common common;
  std::string model, file, save, reference;
  int64_t context = 512, windows = 0, stride = 0;
  double max_kl = -1;
};

// Of values that come one by one: the mean and its standard error.
struct Mean {
  double sum = 0, squares = 0;
  int64_t n = 0;
  void add(double v) { sum += v, squares += v * v, ++n; }
  double mean() const { return n ? sum / static_cast<double>(n) : 0; }
  double error() const {
    if (n < 2) return 0;
    const double variance = squares / static_cast<double>(n) - mean() * mean();
    return std::sqrt(std::max(variance, 0.0) / static_cast<double>(n - 1));
  }
};

// Kullback-Leibler divergence of the model's probabilities from the reference's, in nats.
class Divergence {
 public:
  void add(std::span<const float> logits, double lse, std::span<const float> reference, TokenId token) {
    constexpr float kCounted = -16;  // what the reference does not hold any more
    double kl = 0;
    for (size_t i = 0; i < logits.size(); ++i)
      if (reference[i] > kCounted) kl += std::exp(reference[i]) * (reference[i] - logits[i] + lse);
    kl_.add(kl);
    values_.push_back(static_cast<float>(kl));
    nll_.add(-reference[static_cast<size_t>(token)]);
    same_top_.add(argmax(logits) == argmax(reference) ? 1 : 0);
    const double change = std::exp(logits[static_cast<size_t>(token)] - lse) -
                          std::exp(static_cast<double>(reference[static_cast<size_t>(token)]));
    changes_.add(change * change);
  }
  double mean() const { return kl_.mean(); }
  Json json() {
    std::sort(values_.begin(), values_.end());
    Json percentiles = Json::object();
    for (const int p : {0, 1, 5, 10, 50, 90, 95, 99, 100}) percentiles[std::to_string(p)] = percentile(p);
    return {{"mean", kl_.mean()},
            {"error", kl_.error()},
            {"percentiles", std::move(percentiles)},
            {"same_top", same_top_.mean()},
            {"probability_change_rms", std::sqrt(changes_.mean())},
            {"reference_perplexity", std::exp(nll_.mean())}};
  }

 private:
  static ptrdiff_t argmax(std::span<const float> row) {
    return std::max_element(row.begin(), row.end()) - row.begin();  // ties: the lowest id
  }
  double percentile(int p) const {  // between the two nearest
    const double at = static_cast<double>(values_.size() - 1) * p / 100;
    const auto low = static_cast<size_t>(at);
    const size_t high = std::min(low + 1, values_.size() - 1);
    return values_[low] + (values_[high] - values_[low]) * (at - static_cast<double>(low));
  }
  Mean kl_, nll_, same_top_, changes_;
  std::vector<float> values_;
};

std::vector<TokenId> tokens_of(const Tokenizer& tokenizer, const std::string& path) {
  const std::string text = read_text_file(path);
  const std::vector<TokenId> added = tokenizer.encode("", {false, true});
  std::vector<TokenId> ids = tokenizer.encode(text, {false, true});
  if (!added.empty() && added.back() == tokenizer.eos() && added.back() != tokenizer.bos()) ids.pop_back();
  return ids;
}

// The BOS that each window begins with, or -1 when the model does without.
TokenId window_start(const Tokenizer& tokenizer) {
  const std::vector<TokenId> added = tokenizer.encode("", {false, true});
  return !added.empty() && added.front() == tokenizer.bos() ? tokenizer.bos() : -1;
}

struct Windows {
  ReferenceHead head;   // the tokens of all windows, one window after the other
  int64_t first_logit;  // in a window, the first position whose prediction counts
};

Windows cut(const PerplexityFlags& flags, const std::vector<TokenId>& ids, int64_t n_vocab) {
  const int64_t n = flags.context, step = flags.stride ? flags.stride : n;
  const auto total = static_cast<int64_t>(ids.size());
  if (flags.stride >= n)
    throw Error(
        Code::invalid_argument, "--stride",
        "is " + std::to_string(flags.stride) + ", expected less than --context, " + std::to_string(n));
  if (total < n)
    throw Error(
        Code::invalid_argument, flags.file,
        "has " + std::to_string(total) + " tokens, expected at least a window of " + std::to_string(n),
        "a smaller --context makes smaller windows");
  Windows out;
  out.head.n_context = n, out.head.n_vocab = n_vocab;
  out.head.n_windows = (total - n) / step + 1;
  if (flags.windows) out.head.n_windows = std::min(out.head.n_windows, flags.windows);
  for (int64_t w = 0; w < out.head.n_windows; ++w)
    out.head.tokens.insert(out.head.tokens.end(), ids.begin() + w * step, ids.begin() + w * step + n);
  out.first_logit = flags.stride ? n - flags.stride - 1 : n / 2;
  return out;
}

// Calls row(logits, the token that came) for each token that counts.
void score_windows(Session& session, const Windows& windows, TokenId start, Progress& bar,
                   const std::function<void(std::span<const float>, TokenId)>& row) {
  const int64_t n = windows.head.n_context, first = windows.first_logit;
  for (int64_t w = 0; w < windows.head.n_windows; ++w) {
    const std::span<const TokenId> all(windows.head.tokens.data() + w * n, static_cast<size_t>(n));
    std::vector<TokenId> window(all.begin(), all.end());
    if (start >= 0) window[0] = start;
    session.clear();
    session.feed(std::span(window).first(static_cast<size_t>(first)));
    session.score(std::span(window).subspan(static_cast<size_t>(first), static_cast<size_t>(n - 1 - first)),
                  [&](int64_t position, std::span<const float> logits) {
                    InterruptScope::check();
                    row(logits, all[static_cast<size_t>(position) + 1]);
                  });
    bar.update(static_cast<float>(w + 1) / static_cast<float>(windows.head.n_windows));
  }
}

void print_text(const Mean& nll, const Windows& windows, const Json* divergence) {
  const double perplexity = std::exp(nll.mean());
  std::printf("perplexity  %.4f ± %.4f\n%lld tokens of %lld windows of %lld\n", perplexity,
              perplexity * nll.error(), static_cast<long long>(nll.n),
              static_cast<long long>(windows.head.n_windows), static_cast<long long>(windows.head.n_context));
  if (!divergence) return;
  const Json& d = *divergence;
  std::printf(
      "reference   %.4f\ndivergence  %.6f ± %.6f\nsame top    %.3f %%\nchange of a token's probability, rms "
      "%.3f %%\n",
      d["reference_perplexity"].get<double>(), d["mean"].get<double>(), d["error"].get<double>(),
      100 * d["same_top"].get<double>(), 100 * d["probability_change_rms"].get<double>());
  for (const auto& [name, value] : d["percentiles"].items())
    std::printf("  %3s %% are at most  %.6f\n", name.c_str(), value.get<double>());
}

void check_reference(const ReferenceHead& head, const PerplexityFlags& flags, int64_t n_vocab) {
  if (head.n_vocab != n_vocab)
    throw Error(Code::invalid_argument, flags.reference,
                "is of a vocabulary of " + std::to_string(head.n_vocab) + ", the model's has " +
                    std::to_string(n_vocab));
  for (const TokenId id : head.tokens)
    if (id < 0 || id >= n_vocab)
      throw Error(Code::corrupt, flags.reference,
                  "has the token " + std::to_string(id) + " of a vocabulary of " + std::to_string(n_vocab));
}

int perplexity(const PerplexityFlags& flags) {
  std::optional<ReferenceReader> reference;
  if (!flags.reference.empty())
    reference.emplace(flags.reference);  // wrong files are told before a long load
  const auto runtime = make_runtime(flags.common);
  InterruptScope scope;
  const Model model = load_model(*runtime, flags.model, flags.common);
  const int64_t n_vocab = model.info().n_vocab;
  if (reference) check_reference(reference->head(), flags, n_vocab);
  const Windows windows = reference ? Windows{reference->head(), reference->head().n_context / 2}
                                    : cut(flags, tokens_of(model.tokenizer(), flags.file), n_vocab);
  Session session(model, {windows.head.n_context, 512, 0});
  scope.watch(session);
  std::optional<ReferenceWriter> writer;
  if (!flags.save.empty()) writer.emplace(flags.save, windows.head);
  std::optional<Divergence> divergence;
  if (reference) divergence.emplace();
  Mean nll;
  {
    Progress bar("scoring", !flags.common.quiet);
    score_windows(session, windows, window_start(model.tokenizer()), bar,
                  [&](std::span<const float> logits, TokenId token) {
                    const double lse = log_sum_exp(logits);
                    nll.add(lse - logits[static_cast<size_t>(token)]);
                    if (writer) writer->row(logits);
                    if (divergence) divergence->add(logits, lse, reference->row(), token);
                  });
  }
  if (writer) writer->finish();
  Json found;
  if (divergence) found = divergence->json();
  if (flags.common.json) {
    const double value = std::exp(nll.mean());
    Json out{{"perplexity", value},
             {"error", value * nll.error()},
             {"tokens", nll.n},
             {"windows", windows.head.n_windows},
             {"context", windows.head.n_context},
             {"stride", flags.stride}};
    if (divergence) out["divergence"] = found;
    print_json(out);
  } else {
    print_text(nll, windows, divergence ? &found : nullptr);
  }
  if (!divergence || flags.max_kl < 0 || divergence->mean() <= flags.max_kl) return kOk;
  std::fprintf(stderr, "ingle: the mean divergence is %.6f, expected at most %g\n", divergence->mean(),
               flags.max_kl);
  return kCheckFailed;
}

}  // namespace

void add_perplexity(Command app, Commands& commands) {
  auto flags = std::make_shared<PerplexityFlags>();
  Command c = app.command("perplexity", "How well a model foretells a text; how far it is from another");
  c.option("MODEL", flags->model, kModelHelp).required();
  Option file = c.option("-f,--file", flags->file, "The text, in UTF-8");
  Option context = add_count(c, "--context,--ctx", flags->context, "Tokens of a window, 512 unless given", 4);
  Option limit = add_count(c, "--windows", flags->windows, "Windows at most; 0: all", 0);
  Option stride = add_count(c, "--stride", flags->stride,
                            "Windows begin so many tokens apart, and the last so many of each count", 1);
  Option save = c.option("--save-reference", flags->save, "Write the model's probabilities to a file");
  Option reference =
      c.option("--reference", flags->reference, "Hold the model against such a file, over its tokens");
  c.option("--max-kl", flags->max_kl, "Exit with 7 when the mean divergence is larger")
      .needs(reference)
      .not_negative();
  reference.excludes(file).excludes(context).excludes(limit).excludes(stride).excludes(save);
  save.excludes(stride).needs(file);
  add_json(c, flags->common.json);
  add_common(c, flags->common);
  add_loading(c, flags->common);
  c.footer(
      "The text is cut into windows of --context tokens; what is left over does not count. Each window "
      "begins with\n"
      "the model's BOS, if it adds one, in place of its first token. Its first half is read only; of the "
      "others\n"
      "the probability after all that stand before them in the window is taken, and the perplexity is\n"
      "e^-mean(ln p), as llama.cpp's tool defines it. With --stride S the windows overlap: each token but "
      "those\n"
      "of the first window is counted once, after at least --context - S others. The divergence is that of\n"
      "Kullback and Leibler, in nats, of the model from the reference; \"same top\" is how often both find "
      "the\n"
      "same token likeliest. A reference takes two bytes for each token of the vocabulary and token "
      "counted;\n"
      "files of llama.cpp's --kl-divergence-base have the same layout.\n\n"
      "Examples:\n  ingle perplexity model.gguf --file wiki.txt\n"
      "  ingle perplexity model.gguf --file wiki.txt --context 2k --stride 512 --json\n"
      "  ingle perplexity model-f16.gguf --file wiki.txt --windows 20 --save-reference f16.kld\n"
      "  ingle perplexity model-q4_k.gguf --reference f16.kld --max-kl 0.05");
  commands.emplace_back(c, [flags, file, reference] {
    if (!file.count() && !reference.count())
      throw Error(Code::invalid_argument, "--file", "is missing, or --reference");
    return perplexity(*flags);
  });
}

}  // namespace ingle::cli
