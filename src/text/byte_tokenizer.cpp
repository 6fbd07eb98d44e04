#include "text/byte_tokenizer.h"

#include <array>

#include "core/error.h"

namespace ingle::text {
namespace {

constexpr std::string_view kEndText = "<|end|>", kStartText = "<|start|>";

class ByteTokenizer final : public Tokenizer {
 public:
  ByteTokenizer() {
    for (int i = 0; i < 256; ++i) bytes_[static_cast<size_t>(i)] = static_cast<char>(i);
    special_.bos = kByteStart;
    special_.eos = kByteEnd;
    special_.add_bos = true;
    special_.end_of_generation = {kByteEnd};
  }
  int64_t size() const override { return 258; }

  std::vector<TokenId> encode(std::string_view text, EncodeOptions options) const override {
    std::vector<TokenId> ids;
    if (options.add_special) ids.push_back(kByteStart);
    while (!text.empty()) {
      if (options.parse_special && text.starts_with(kEndText)) {
        ids.push_back(kByteEnd);
        text.remove_prefix(kEndText.size());
      } else if (options.parse_special && text.starts_with(kStartText)) {
        ids.push_back(kByteStart);
        text.remove_prefix(kStartText.size());
      } else {
        ids.push_back(static_cast<unsigned char>(text.front()));
        text.remove_prefix(1);
      }
    }
    return ids;
  }

  std::string decode(std::span<const TokenId> ids, bool skip_special) const override {
    Detokenizer d(*this, skip_special);
    std::string text;
    for (const TokenId id : ids) text += d.push(id);
    return text + d.finish();
  }
  std::string piece(TokenId id) const override { return std::string(token_text(id)); }
  TokenKind kind(TokenId id) const override { return id < 256 ? TokenKind::byte : TokenKind::control; }
  std::string_view token_text(TokenId id) const override {
    if (id == kByteEnd) return kEndText;
    if (id == kByteStart) return kStartText;
    if (id < 0 || id > kByteStart)
      fail(Code::invalid_argument, "token id", format("{} is not in [0, 258)", id));
    return {&bytes_[static_cast<size_t>(id)], 1};
  }
  const Special& special() const override { return special_; }
  bool strips_leading_space() const override { return false; }

 private:
  std::array<char, 256> bytes_{};
  Special special_;
};

}  // namespace

std::shared_ptr<const Tokenizer> make_byte_tokenizer() { return std::make_shared<ByteTokenizer>(); }

}  // namespace ingle::text
