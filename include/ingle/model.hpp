// A loaded model: immutable, shared by any number of sessions and threads.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ingle/runtime.hpp"
#include "ingle/tokenizer.hpp"

namespace ingle {

struct ModelOptions {
  // "cpu", "ref" (float activations, slow, the oracle), "null", or a plug-in: "openblas", "onednn", "eigen"
  // or any other in the plug-in folder, or "plugin:/path/to/library.so".
  std::string backend = "cpu";
  // Of the attention state: "f32", "f16", "bf16", "q8", "q4"; empty: the backend's choice.
  std::string state_type;
  bool map = true;  // map the file; false reads it (safe against later truncation)
  // Called on the loading thread with 0 … 1; returning false cancels the load (Code::cancelled).
  std::function<bool(float fraction)> progress;
};

// A file that the host reads itself (a game's package, an encrypted store).
struct ModelReader {
  std::string name;  // for messages
  uint64_t size = 0;
  // Fills `out` from `offset`; false on failure. Called on any thread, also during the model's life.
  std::function<bool(uint64_t offset, std::span<std::byte> out)> read_at;
};

struct ModelInfo {
  std::string name, architecture;
  int64_t n_parameters = 0, n_layers = 0, n_embedding = 0, n_vocab = 0, n_context = 0;
  uint64_t file_bytes = 0, weight_bytes = 0;  // on disk; packed in memory
  std::string kernels;                        // which kernels the weights got
  bool cached = false;                        // the packed weights were found in the runtime's cache
};

struct Message {
  std::string role, content;
};

// A conversation with all that a template takes: {"messages": […], "tools": […], …}, see docs/templates.md.
struct ChatJson {
  std::string text;
};

// A model whose answers are given, for tests of what is built on Ingle. Tokens are the 256 bytes, then
// "<|end|>" (256, ends generation) and "<|start|>" (257, BOS).
struct ScriptedModel {
  // What follows a prompt, in order. Past the end <|end|> follows. When a fed token is not the scripted one,
  // the script starts over after it.
  std::vector<TokenId> ids;
  // Optional, instead of ids: rows of n_vocab (258) logits each.
  std::vector<std::vector<float>> logits;
  std::string chat_template;  // Jinja; empty: none
  int64_t n_context = 4096;
};

class Model {
 public:
  static Model load(const Runtime& runtime, const std::string& path, const ModelOptions& options = {});
  // `bytes` are borrowed for the model's life.
  static Model load(const Runtime& runtime, std::span<const std::byte> bytes,
                    const ModelOptions& options = {});
  static Model load(const Runtime& runtime, ModelReader reader, const ModelOptions& options = {});
  static Model scripted(const Runtime& runtime, const ScriptedModel& script);

  const ModelInfo& info() const;
  const Tokenizer& tokenizer() const;
  bool has_chat_template() const;
  // Renders the model's own template. Throws Code::unsupported when the model has none: there is no default.
  std::string apply_chat_template(std::span<const Message> messages, bool add_generation_prompt = true) const;
  // The same of a conversation in JSON, as Session::feed_chat_json takes it; its own add_generation_prompt
  // wins.
  std::string apply_chat_template_json(std::string_view conversation,
                                       bool add_generation_prompt = true) const;
  std::string chat_template() const;  // the Jinja source; empty when the model has none

  struct Impl;
  explicit Model(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  const std::shared_ptr<const Impl>& impl() const { return impl_; }

 private:
  std::shared_ptr<const Impl> impl_;
};

// What a file says about itself; nothing is decoded or run.
struct FileTensor {
  std::string name, type;
  std::vector<int64_t> shape;  // row-major, outermost first
  uint64_t bytes = 0;
};
struct FileReport {
  std::string container;                                      // "gguf"
  std::vector<std::pair<std::string, std::string>> metadata;  // key, value as text (long arrays abridged)
  std::vector<FileTensor> tensors;
};
FileReport inspect(const std::string& path);

// Rewrites a GGUF file with its matrices in another type ("q8_0", "q4_k", …; vectors and what does not divide
// into blocks stay, or take the nearest type that fits). Progress as in ModelOptions.
void quantize(const Runtime& runtime, const std::string& from, const std::string& to, const std::string& type,
              const std::function<bool(float)>& progress = {});

}  // namespace ingle
