// The tokenizer of a GGUF file. Tests use it directly to count work.
#pragma once
#include "text/added_tokens.h"
#include "text/encoder.h"

namespace ingle::text {

class GgufTokenizer final : public Tokenizer {
 public:
  explicit GgufTokenizer(const formats::Checkpoint& file, const GoOn& go_on = {});
  int64_t size() const override { return vocabulary_.size(); }
  std::vector<TokenId> encode(std::string_view text, EncodeOptions options) const override;
  std::string decode(std::span<const TokenId> ids, bool skip_special) const override;
  std::string piece(TokenId id) const override;
  TokenKind kind(TokenId id) const override;
  std::string_view token_text(TokenId id) const override;
  const Special& special() const override { return vocabulary_.special; }
  bool strips_leading_space() const override;

  std::vector<TokenId> encode_counted(std::string_view text, EncodeOptions options, Work& work) const;

 private:
  size_t index(TokenId id) const;
  void encode_text(std::string_view text, bool parse_special, std::vector<TokenId>& out,
                   EncodeState& state) const;

  Vocabulary vocabulary_;
  std::unique_ptr<Encoder> encoder_;
  AddedTokens always_, with_special_;  // found in any text; found when special tokens are parsed
};

}  // namespace ingle::text
