// What the public handles hold.
#pragma once
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "backends/backend.h"
#include "core/checksum.h"
#include "core/cpu.h"
#include "core/memory.h"
#include "core/threads.h"
#include "engine/runner.h"
#include "ingle/model.hpp"
#include "text/chat_template.h"
#include "text/tokenizer.h"
#include "text/tools/answer_reader.h"

namespace ingle {

namespace constrain {
class TokenTrie;
}  // namespace constrain

struct Runtime::Impl {
  CpuFeatures cpu;
  std::string forced_kernel, plugin_folder;
  Allocator allocator = system_allocator();
  LogSink log;
  std::unique_ptr<ThreadPool> pool;
  backends::CacheSettings cache;

  backends::BackendContext backend_context() const {
    return {allocator, pool.get(), cpu, forced_kernel, log, plugin_folder, cache};
  }
};

// What the control tokens are written as, found out once: a vocabulary is large.
struct ControlTexts {
  // The tokenizer's own, of two bytes or more, by their first two: many begin with the same one.
  std::unordered_map<uint16_t, std::vector<std::string_view>> texts;
  size_t longest = 0;

  explicit ControlTexts(const text::Tokenizer& tokenizer);
};

struct Model::Impl {
  std::shared_ptr<Runtime::Impl> runtime;  // outlives everything below
  formats::CheckpointPtr checkpoint;       // null for a scripted model
  Tokenizer tokenizer;
  ControlTexts controls;
  std::string template_source;
  std::shared_ptr<const text::ChatTemplate> chat_template;  // null: the model has none
  std::string template_error;  // why a template that is there cannot be used; told when it is asked for
  std::unique_ptr<engine::Runner> runner;
  ModelInfo info;
  std::string backend;  // its name
  Digest sample{};      // of its weights, or its script
  mutable std::once_flag fingerprint_made;
  mutable Digest fingerprint_{};
  mutable std::once_flag trie_made;  // by the first answer that is held to a grammar
  mutable std::shared_ptr<const constrain::TokenTrie> trie;
  mutable std::once_flag format_found;  // by the first that asks how the template writes calls and reasoning
  mutable text::AnswerFormat format;

  explicit Impl(Tokenizer t) : tokenizer(std::move(t)), controls(tokenizer.impl()) {}
  // Tells states of this model from those of others: the file's metadata, names, types and shapes of its
  // tensors, a few bytes of each, and the backend.
  const Digest& fingerprint() const;
  const text::ChatTemplate& need_chat_template() const;
  const text::AnswerFormat& answer_format() const;  // nothing in it where there is no template
  std::string render(std::span<const Message> messages, bool add_generation_prompt) const;
  text::TemplateContext context() const;  // with bos, eos and the clock
};

kv::StateType state_type_of(const std::string& name, const backends::Backend& backend);
struct SessionOptions;
// With the context that the model was trained for where none was asked for. Throws for what is out of range.
SessionOptions checked(SessionOptions options, const backends::Plan& plan);

// Of a few bytes of each tensor: two models of the same shapes differ there.
Digest sample_weights(const formats::Checkpoint& file);

// A conversation as JSON ({"messages": […], "tools": […], …}, or the messages alone), rendered.
text::MarkedText render_chat(const Model::Impl& model, std::string_view json, bool add_generation_prompt);
// Ids of a rendered conversation in which nothing that a message's author wrote becomes a control token.
std::vector<TokenId> encode_chat(const Model::Impl& model, std::span<const Message> messages);
std::vector<TokenId> encode_chat(const Model::Impl& model, std::string_view json);
// The text of these ids' end, control tokens included: what an answer goes on from.
std::string prompt_end(const text::Tokenizer& tokenizer, std::span<const TokenId> ids);

}  // namespace ingle
