// Small plans built by hand over tensors in memory, run on any backend.
#pragma once
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "formats/safetensors.h"
#include "graph/expand.h"
#include "quant/weight.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/paths.h"

namespace ingle::tests {

class MemoryCheckpoint final : public formats::Checkpoint {
 public:
  MemoryCheckpoint() { infos_.reserve(1024); }  // plans point at them
  const formats::TensorInfo* add(Shape shape, const quant::QuantFormat& format,
                                 std::vector<std::byte> bytes) {
    if (infos_.size() == infos_.capacity()) throw std::runtime_error("too many tensors");
    bytes_.push_back(std::move(bytes));
    infos_.push_back({"t" + std::to_string(infos_.size()), format.dtype.type, shape, bytes_.back().size(), 0,
                      static_cast<uint32_t>(infos_.size())});
    return &infos_.back();
  }
  const std::string& name() const override { return name_; }
  formats::Naming naming() const override { return formats::Naming::gguf; }
  std::span<const formats::TensorInfo> tensors() const override { return infos_; }
  const formats::TensorInfo* find(std::string_view tensor) const override {
    for (const auto& t : infos_)
      if (t.name == tensor) return &t;
    return nullptr;
  }
  const formats::MetaValue* meta(std::string_view) const override { return nullptr; }
  std::vector<std::string> meta_keys() const override { return {}; }
  TensorView view(const formats::TensorInfo& t, std::vector<std::byte>&) const override {
    return {t.type, t.shape, bytes_[t.source].data() + t.offset, t.bytes};
  }
  void forget(const formats::TensorInfo&) const override {}

 private:
  std::string name_ = "memory";
  std::vector<formats::TensorInfo> infos_;
  std::vector<std::vector<std::byte>> bytes_;
};

// Makes random weights and vectors and collects a plan of them.
class PlanMaker {
 public:
  explicit PlanMaker(uint32_t seed = 1) : random_(seed), file_(std::make_shared<MemoryCheckpoint>()) {
    plan.checkpoint = file_;
  }
  backends::Plan plan;

  float bell() { return bell_(random_); }
  Id buffer(int64_t width) {
    plan.buffers.push_back({width});
    return static_cast<Id>(plan.buffers.size() - 1);
  }
  // Values of variance 1 / cols, or, for formats that do not encode, blocks out of the goldens of quant.
  Id weight(int64_t rows, int64_t cols, const std::string& format) {
    const quant::QuantFormat* f = quant::find_format(format);
    if (!f) throw std::runtime_error("no format " + format);
    std::vector<std::byte> bytes(static_cast<size_t>(rows * cols / f->dtype.block_elems) *
                                 f->dtype.block_bytes);
    if (f->encode_row) {
      const float scale = 1 / std::sqrt(static_cast<float>(cols));
      std::vector<float> row(static_cast<size_t>(cols));
      const size_t row_bytes = bytes.size() / static_cast<size_t>(rows);
      for (int64_t r = 0; r < rows; ++r) {
        for (float& x : row) x = bell() * scale;
        f->encode_row(row.data(), cols, nullptr, bytes.data() + static_cast<size_t>(r) * row_bytes);
      }
    } else {
      fill_with_blocks(*f, bytes);
    }
    return add(rows, cols, *f, std::move(bytes));
  }
  Id identity(int64_t n) {
    std::vector<float> values(static_cast<size_t>(n * n));
    for (int64_t i = 0; i < n; ++i) values[static_cast<size_t>(i * n + i)] = 1;
    return matrix(n, n, values);
  }
  Id matrix(int64_t rows, int64_t cols, const std::vector<float>& values) {
    const auto raw = std::as_bytes(std::span(values));
    return add(rows, cols, *quant::find_format("f32"), {raw.begin(), raw.end()});
  }
  Id vector(int64_t n, float around) {
    backends::PlanVector v;
    for (int64_t i = 0; i < n; ++i) v.values.push_back(around + 0.3f * bell());
    plan.vectors.push_back(std::move(v));
    return static_cast<Id>(plan.vectors.size() - 1);
  }
  NormSpec norm(NormKind kind, int64_t n, bool bias = false) {
    if (kind == NormKind::none) return {};
    return {kind, vector(n, 1), bias ? vector(n, 0) : kNone, 1e-5f};
  }
  Id rotation(int64_t rotated, double base = 10000) {
    backends::PlanRotation r;
    for (int64_t i = 0; i < rotated / 2; ++i)
      r.inverse_frequency.push_back(
          std::pow(base, -2.0 * static_cast<double>(i) / static_cast<double>(rotated)));
    plan.rotations.push_back(std::move(r));
    return static_cast<Id>(plan.rotations.size() - 1);
  }

 private:
  Id add(int64_t rows, int64_t cols, const quant::QuantFormat& f, std::vector<std::byte> bytes) {
    plan.weights.push_back({file_->add({rows, cols}, f, std::move(bytes)), rows, cols, {}});
    return static_cast<Id>(plan.weights.size() - 1);
  }
  void fill_with_blocks(const quant::QuantFormat& f, std::vector<std::byte>& bytes) {
    const auto golden = formats::open_safetensors(
        data_path("quant/ggml_" + std::string(f.name) + ".safetensors"), quant::dtype_table());
    std::vector<std::byte> scratch;
    const TensorView blocks = golden->view(*golden->find("packed"), scratch);
    const size_t size = f.dtype.block_bytes, n = blocks.bytes / size;
    for (size_t at = 0; at < bytes.size(); at += size)
      std::memcpy(bytes.data() + at, blocks.data + random_() % n * size, size);
  }
  std::mt19937 random_;
  std::normal_distribution<float> bell_;
  std::shared_ptr<MemoryCheckpoint> file_;
};

// A program with its workspace and state pool.
class Running {
 public:
  static constexpr int64_t kTokens = 160, kSlices = 8;
  Running(backends::Plan plan, const std::string& backend, int threads = 2, const std::string& kernel = {},
          LogSink log = {})
      : pool_(threads) {
    const auto b = backends::make_backend(
        backend, {system_allocator(), &pool_, detect_cpu(), kernel, std::move(log), INGLE_PLUGIN_FOLDER});
    plan = graph::expand(std::move(plan), [&](const Op& op) { return b->takes(op); });
    states_ = std::make_unique<kv::StatePool>(system_allocator(), plan.parts, UINT64_MAX);
    program_ = b->prepare(std::make_shared<const backends::Plan>(std::move(plan)), {});
    workspace_ = program_->make_workspace(kTokens, kTokens, kSlices);
  }
  const backends::Program& program() const { return *program_; }
  int64_t n_vocab() const { return program_->plan().n_vocab; }
  const kv::StatePool& states() const { return *states_; }
  kv::SequenceState state() const { return kv::SequenceState(*states_); }

  struct Part {
    kv::SequenceState* state;
    std::vector<int32_t> tokens;
    int64_t n_wanted;
  };
  struct Result {
    std::vector<backends::StepStatus> status;
    std::vector<float> logits;
  };
  Result step(const std::vector<Part>& parts, const std::atomic<bool>* cancel = nullptr) const {
    std::vector<backends::Slice> slices;
    int64_t wanted = 0;
    for (const Part& p : parts) {
      p.state->reserve(static_cast<int64_t>(p.tokens.size()));
      slices.push_back({p.state, p.state->length(), p.tokens, p.n_wanted});
      wanted += p.n_wanted;
    }
    Result r{std::vector<backends::StepStatus>(parts.size(), backends::StepStatus::failed),
             std::vector<float>(static_cast<size_t>(wanted * n_vocab()), -12345.0f)};
    program_->run(*workspace_, {slices, r.status, r.logits.data(), cancel});
    for (const Part& p : parts) p.state->commit(static_cast<int64_t>(p.tokens.size()));
    return r;
  }

 private:
  ThreadPool pool_;
  std::unique_ptr<kv::StatePool> states_;
  std::unique_ptr<backends::Program> program_;
  std::unique_ptr<backends::Workspace> workspace_;
};

// The plug-ins that this build has, and the sample.
inline std::vector<std::string> plugin_backends() {
  std::vector<std::string> names;
  std::istringstream built(INGLE_BUILT_PLUGINS);
  for (std::string name; built >> name;) names.push_back(name);
  names.push_back("plugin:" INGLE_TEST_PLUGINS "/libingle_backend_sample.so");
  return names;
}

inline std::vector<int32_t> random_tokens(size_t n, int32_t n_vocab, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<int32_t> out;
  while (out.size() < n) out.push_back(static_cast<int32_t>(random() % static_cast<uint32_t>(n_vocab)));
  return out;
}

}  // namespace ingle::tests
