#include "backends/scripted/scripted.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace ingle::backends {
namespace {

constexpr float kLikely = 20.0f;  // logit of a scripted id over the others' 0

class ScriptedWorkspace final : public Workspace {
 public:
  uint64_t bytes() const override { return 0; }
};

class ScriptedProgram final : public Program {
 public:
  explicit ScriptedProgram(Script script) : script_(std::move(script)) {
    if (script_.end < 0 || script_.end >= script_.n_vocab)
      fail(Code::invalid_argument, "script",
           format("the end's id {} is not in [0, {})", script_.end, script_.n_vocab));
    if (!script_.logits.empty() && !script_.ids.empty())
      fail(Code::invalid_argument, "script", "gives both ids and logits, expected one of them");
    for (size_t i = 0; i < script_.logits.size(); ++i)
      if (static_cast<int64_t>(script_.logits[i].size()) != script_.n_vocab)
        fail(Code::invalid_argument, format("script, row {}", i),
             format("has {} logits, expected {}", script_.logits[i].size(), script_.n_vocab));
    for (const int32_t id : script_.ids)
      if (id < 0 || id >= script_.n_vocab)
        fail(Code::invalid_argument, "script", format("token id {} is not in [0, {})", id, script_.n_vocab));
    // Rows of logits stand for the id that is most likely in them.
    for (const auto& row : script_.logits)
      script_.ids.push_back(static_cast<int32_t>(std::max_element(row.begin(), row.end()) - row.begin()));
    plan_.parts = {{kv::PartKind::pages, kv::StateType::f32, 1, 1, 1, 1, 0}};
    plan_.n_vocab = script_.n_vocab;
    plan_.n_context = script_.n_context;
  }
  const Plan& plan() const override { return plan_; }
  uint64_t weight_bytes() const override { return 0; }
  std::string kernels() const override { return "none (scripted)"; }
  std::unique_ptr<Workspace> make_workspace(int64_t, int64_t, int64_t) const override {
    return std::make_unique<ScriptedWorkspace>();
  }

  void run(Workspace&, const Batch& batch) const noexcept override {
    int64_t written = 0;
    for (size_t s = 0; s < batch.slices.size(); ++s) {
      const Slice& slice = batch.slices[s];
      const auto n = static_cast<int64_t>(slice.tokens.size());
      batch.status[s] = StepStatus::ok;
      for (int64_t i = 0; i < n; ++i) {
        if (batch.cancel && batch.cancel->load(std::memory_order_relaxed)) {
          std::fill(batch.status.begin(), batch.status.end(), StepStatus::cancelled);
          return;
        }
        const int64_t step = advance(slice, slice.start + i, slice.tokens[static_cast<size_t>(i)]);
        if (i < n - slice.n_wanted) continue;
        float* out = batch.logits_row(written++, script_.n_vocab);
        write(step, out);
        if (!std::all_of(out, out + script_.n_vocab, [](float x) { return x == x && x != INFINITY; }))
          batch.status[s] = StepStatus::numeric;
      }
    }
  }

 private:
  static float& cell(const Slice& slice, int64_t position) {
    std::byte* page = slice.state->pages(0)[static_cast<size_t>(position / kv::kPageTokens)];
    return reinterpret_cast<float*>(page)[position % kv::kPageTokens];
  }
  // Scripted tokens given so far, once `token` is at `position`.
  int64_t advance(const Slice& slice, int64_t position, int32_t token) const {
    const int64_t before = position > 0 ? static_cast<int64_t>(cell(slice, position - 1)) : -1;
    const bool follows = before >= 0 && before < static_cast<int64_t>(script_.ids.size()) &&
                         script_.ids[static_cast<size_t>(before)] == token;
    const int64_t now = follows ? before + 1 : 0;
    cell(slice, position) = static_cast<float>(now);
    return now;
  }
  void write(int64_t step, float* out) const {
    const auto i = static_cast<size_t>(step);
    if (i < script_.logits.size()) {
      std::copy(script_.logits[i].begin(), script_.logits[i].end(), out);
      return;
    }
    std::fill_n(out, script_.n_vocab, 0.0f);
    out[i < script_.ids.size() ? script_.ids[i] : script_.end] = kLikely;
  }

  Script script_;
  Plan plan_;
};

}  // namespace

std::unique_ptr<Program> make_scripted_program(Script script) {
  return std::make_unique<ScriptedProgram>(std::move(script));
}

}  // namespace ingle::backends
