// The tokenizer of a tokenizer.json. Tests use it directly to count work.
#pragma once
#include "text/hf/added_splitter.h"
#include "text/hf/config.h"
#include "text/hf/decoder.h"
#include "text/hf/model.h"
#include "text/hf/normalizer.h"
#include "text/hf/post_processor.h"
#include "text/hf/pre_tokenizer.h"

namespace ingle::text::hf {

class JsonTokenizer final : public Tokenizer {
 public:
  JsonTokenizer(std::string_view json, std::string name, const TokenizerConfig& config);
  int64_t size() const override { return tokens_.size(); }
  std::vector<TokenId> encode(std::string_view text, EncodeOptions options) const override;
  std::string decode(std::span<const TokenId> ids, bool skip_special) const override;
  std::string piece(TokenId id) const override;
  TokenKind kind(TokenId id) const override;
  std::string_view token_text(TokenId id) const override;
  const Special& special() const override { return special_; }
  bool strips_leading_space() const override { return false; }  // the decoder says what it drops
  std::unique_ptr<DecodeStream> decode_stream(bool skip_special) const override;

  std::vector<TokenId> encode_counted(std::string_view text, EncodeOptions options, Work& work) const;

 private:
  class Stream;
  size_t index(TokenId id) const;
  void read_tokens(const TokenizerJson& json, const Node& root, const TokenizerConfig& config);
  void read_added(const Node& root, const TokenizerConfig& config);
  void list_tokens(const TokenizerJson& json);
  void make_model(const TokenizerJson& json, const Node& root);
  void set_special(const TokenizerConfig& config);
  std::optional<TokenId> find_text(const std::optional<std::string>& text) const;

  void encode_plain(std::string_view text, bool at_start, std::vector<TokenId>& out,
                    EncodeState& state) const;

  TokenList tokens_;
  std::vector<AddedToken> added_;
  std::unique_ptr<Normalizer> normalizer_;
  PreTokenizers pre_tokenizers_;
  std::unique_ptr<Model> model_;
  Frame frame_;
  DecoderChain decoder_;
  std::unique_ptr<AddedSplitter> raw_, normal_;  // in the text as it is, in the normalised one
  Special special_;
};

}  // namespace ingle::text::hf
