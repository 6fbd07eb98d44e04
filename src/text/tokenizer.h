// Text to token ids and back.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/checkpoint.h"

namespace ingle::text {

using TokenId = int32_t;

enum class TokenKind : uint8_t {
  normal = 1,
  unknown = 2,
  control = 3,
  user_defined = 4,
  unused = 5,
  byte = 6
};

struct EncodeOptions {
  bool parse_special = false;  // may control tokens written in the text become control tokens?
  bool add_special = false;    // add the model's own BOS / EOS
};

// One sequence on its way from ids to text: whole UTF-8 characters only. After finish() it starts anew.
class DecodeStream {
 public:
  virtual ~DecodeStream() = default;
  virtual std::string push(TokenId id) = 0;  // what became certain
  virtual std::string finish() = 0;          // what is left; a broken character becomes U+FFFD
  virtual std::unique_ptr<DecodeStream> clone() const = 0;
};

// Immutable; any number of threads may use one. Any byte string encodes; nothing recurses over the text.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  virtual int64_t size() const = 0;
  virtual std::vector<TokenId> encode(std::string_view text, EncodeOptions options) const = 0;
  // A whole sequence to text. `skip_special` leaves control tokens out. Throws Code::invalid_argument naming
  // an id outside [0, size()).
  virtual std::string decode(std::span<const TokenId> ids, bool skip_special) const = 0;
  // The raw bytes that one id adds to a text in the middle of a sequence (not necessarily whole UTF-8).
  virtual std::string piece(TokenId id) const = 0;
  virtual TokenKind kind(TokenId id) const = 0;
  virtual std::string_view token_text(TokenId id) const = 0;  // as the vocabulary spells it

  struct Special {
    std::optional<TokenId> bos, eos, eot, eom, unknown, padding;
    bool add_bos = false, add_eos = false;
    std::vector<TokenId> end_of_generation;  // eos, eot, eom and the like: generation stops at any of them
  };
  virtual const Special& special() const = 0;
  bool ends_generation(TokenId id) const;
  // How many leading spaces the decoder drops at the start of a text (SentencePiece's dummy prefix): 0 or 1.
  virtual bool strips_leading_space() const = 0;
  // What decode() runs ids through. Unless overridden: pieces one behind the other, the leading space dropped
  // where strips_leading_space() says so. The tokenizer must outlive it.
  virtual std::unique_ptr<DecodeStream> decode_stream(bool skip_special) const;
};

// Asked every few milliseconds while a vocabulary is read, on the loading thread; false: Code::cancelled.
// May be empty.
using GoOn = std::function<bool()>;

// Reads the vocabulary out of a GGUF checkpoint (`tokenizer.ggml.*`). Errors name the key.
std::shared_ptr<const Tokenizer> load_gguf_tokenizer(const formats::Checkpoint& file, const GoOn& go_on = {});

// Streams ids to text: the same bytes as decode() of the whole sequence.
class Detokenizer {
 public:
  Detokenizer(const Tokenizer& tokenizer, bool skip_special)
      : stream_(tokenizer.decode_stream(skip_special)) {}
  Detokenizer(const Detokenizer& other) : stream_(other.stream_->clone()) {}
  Detokenizer& operator=(const Detokenizer& other) {
    stream_ = other.stream_->clone();
    return *this;
  }
  Detokenizer(Detokenizer&&) noexcept = default;
  Detokenizer& operator=(Detokenizer&&) noexcept = default;
  std::string push(TokenId id) { return stream_->push(id); }
  std::string finish() { return stream_->finish(); }

 private:
  std::unique_ptr<DecodeStream> stream_;
};

}  // namespace ingle::text
