// Text to token ids and back. A Tokenizer is a light handle; copies share one immutable vocabulary.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ingle/error.hpp"

namespace ingle {

namespace text {
class Tokenizer;
class Detokenizer;
}  // namespace text

using TokenId = int32_t;

struct EncodeOptions {
  bool parse_special = false;  // may control tokens that are written in the text become control tokens?
  bool add_special = false;    // add the model's own BOS / EOS
};

class Tokenizer {
 public:
  // Of a GGUF file (with weights or vocabulary-only), a tokenizer.json, a SentencePiece model, or a folder
  // with one of the latter two.
  static Tokenizer load(const std::string& path);

  int64_t size() const;
  // Any byte string encodes.
  std::vector<TokenId> encode(std::string_view text, EncodeOptions options = {}) const;
  // Throws Code::invalid_argument naming an id that is not in [0, size()).
  std::string decode(std::span<const TokenId> ids, bool skip_special = false) const;
  std::string token_text(TokenId id) const;  // as the vocabulary spells it
  bool ends_generation(TokenId id) const;
  bool is_control(TokenId id) const;
  std::vector<TokenId> end_tokens() const;  // the ids that end an answer
  // The ids whose text holds `text`, which is not empty, without control tokens; for bans, biases and
  // SamplerOptions::dry_breakers. Reads the whole vocabulary. Code::invalid_argument when `text` is empty,
  // Code::not_found when no single token holds it.
  std::vector<TokenId> tokens_with(std::string_view text) const;
  TokenId bos() const;  // -1 when the model has none
  TokenId eos() const;

  explicit Tokenizer(std::shared_ptr<const text::Tokenizer> impl) : impl_(std::move(impl)) {}
  const text::Tokenizer& impl() const { return *impl_; }

 private:
  std::shared_ptr<const text::Tokenizer> impl_;
};

}  // namespace ingle
