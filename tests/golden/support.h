// Models of the goldens (tests/data/models, tests/data of larger ones) on a backend, and what they should
// give.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "engine/sequence.h"
#include "formats/folder.h"
#include "formats/gguf.h"
#include "formats/safetensors.h"
#include "graph/expand.h"
#include "models/architecture.h"
#include "quant/weight.h"
#include "support/catch.h"
#include "support/paths.h"

namespace ingle::tests {

inline std::vector<float> floats_in(const formats::Checkpoint& file, const std::string& name) {
  const formats::TensorInfo* info = file.find(name);
  if (!info) throw std::runtime_error("no tensor " + name + " in " + file.name());
  std::vector<std::byte> scratch;
  const quant::QuantWeight w = quant::block_weight(file.view(*info, scratch), name);
  std::vector<float> out(static_cast<size_t>(info->shape.elements()));
  w.format->decode_rows(w, 0, info->shape.rows(), out.data());
  return out;
}
inline std::vector<int32_t> ids_in(const formats::Checkpoint& file, const std::string& name) {
  const std::vector<float> values = floats_in(file, name);  // ids are far below 2^24
  return std::vector<int32_t>(values.begin(), values.end());
}

// What transformers made of a tiny model, in float32.
struct Golden {
  std::vector<int32_t> ids, greedy;
  std::vector<float> logits, margin;  // [ids][n_vocab]; of each greedy step
  int64_t n_vocab = 0;
  float spread() const {
    const auto [low, high] = std::minmax_element(logits.begin(), logits.end());
    return *high - *low;
  }
};
inline Golden read_golden(const std::string& name) {
  const auto file =
      formats::open_safetensors(data_path("models/" + name + "/golden.safetensors"), quant::dtype_table());
  Golden g{ids_in(*file, "input_ids"), ids_in(*file, "greedy_ids"), floats_in(*file, "logits"),
           floats_in(*file, "greedy_margin")};
  g.n_vocab = static_cast<int64_t>(g.logits.size() / g.ids.size());
  return g;
}

struct Setting {
  std::string backend = "ref";
  int threads = 2;
  std::string kernel;                       // forced
  std::optional<kv::StateType> state_type;  // the backend's choice when absent
  Allocator allocator = system_allocator();
};

// A model ready to run, with everything that it stands on.
class Loaded {
 public:
  Loaded(formats::CheckpointPtr file, const Setting& s) : pool_(s.threads) {
    const backends::BackendContext context{s.allocator, &pool_, detect_cpu(), s.kernel, {}};
    const auto backend = backends::make_backend(s.backend, context);
    backends::Plan plan = models::build_plan(file, s.state_type.value_or(backend->default_state_type()));
    plan = graph::expand(std::move(plan), [&](const Op& op) { return backend->takes(op); });
    states_ = std::make_unique<kv::StatePool>(s.allocator, plan.parts, UINT64_MAX);
    runner_ = std::make_unique<engine::Runner>(
        backend->prepare(std::make_shared<const backends::Plan>(std::move(plan)), {}));
  }
  Loaded(const std::string& path, const Setting& s)
      : Loaded(formats::open_checkpoint(path, quant::dtype_table()), s) {}

  engine::Runner& runner() { return *runner_; }
  const backends::Plan& plan() const { return runner_->plan(); }
  const kv::StatePool& states() const { return *states_; }
  engine::Sequence sequence() { return engine::Sequence(*runner_, *states_); }

 private:
  ThreadPool pool_;
  std::unique_ptr<kv::StatePool> states_;
  std::unique_ptr<engine::Runner> runner_;
};

// Logits of every position [ids][n_vocab], computed in steps of `chunk` tokens.
inline std::vector<float> logits_of(Loaded& model, std::span<const int32_t> ids, int64_t chunk) {
  engine::Sequence s = model.sequence();
  std::vector<float> out;
  engine::FeedOptions options;
  options.chunk = chunk;
  options.row = [&](int64_t, std::span<const float> row) { out.insert(out.end(), row.begin(), row.end()); };
  s.feed(ids, options);
  return out;
}

inline int32_t argmax(std::span<const float> row) {
  return static_cast<int32_t>(std::max_element(row.begin(), row.end()) - row.begin());
}
// Logit of the most likely id over that of the second.
inline float margin_of(std::span<const float> row) {
  float first = -INFINITY, second = -INFINITY;
  for (const float x : row) {
    if (x > first)
      second = first, first = x;
    else
      second = std::max(second, x);
  }
  return first - second;
}

inline std::vector<int32_t> greedy_after(Loaded& model, std::span<const int32_t> ids, size_t n) {
  engine::Sequence s = model.sequence();
  s.feed(ids, {});
  std::vector<int32_t> out;
  while (out.size() < n) {
    out.push_back(argmax(s.logits()));
    s.feed(std::span(&out.back(), 1), {});
  }
  return out;
}

inline float largest_difference(std::span<const float> a, std::span<const float> b) {
  REQUIRE(a.size() == b.size());
  float most = 0;
  for (size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

inline std::vector<double> log_softmax(std::span<const float> row) {
  const double top = *std::max_element(row.begin(), row.end());
  double sum = 0;
  for (const float x : row) sum += std::exp(x - top);
  std::vector<double> out;
  for (const float x : row) out.push_back(x - top - std::log(sum));
  return out;
}

// Two sets of logits compared row by row: mean Kullback-Leibler divergence of `b` from `a`, and whether the
// most likely ids agree wherever a's margin exceeds `clear`.
struct Agreement {
  double mean_kl = 0;
  int rows = 0, clear = 0, same = 0;  // same: of the clear ones
};
inline Agreement compare(std::span<const float> a, std::span<const float> b, int64_t n_vocab, float clear) {
  REQUIRE(a.size() == b.size());
  Agreement out;
  const auto width = static_cast<size_t>(n_vocab);
  for (size_t at = 0; at < a.size(); at += width) {
    const auto ra = a.subspan(at, width), rb = b.subspan(at, width);
    const std::vector<double> p = log_softmax(ra), q = log_softmax(rb);
    for (size_t i = 0; i < width; ++i) out.mean_kl += std::exp(p[i]) * (p[i] - q[i]);
    ++out.rows;
    if (margin_of(ra) < clear) continue;
    ++out.clear;
    out.same += argmax(ra) == argmax(rb);
  }
  out.mean_kl /= out.rows;
  return out;
}

}  // namespace ingle::tests
