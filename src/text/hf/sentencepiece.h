// SentencePiece models: tokenizer.model.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "text/charsmap.h"
#include "text/encoder.h"
#include "text/hf/added_splitter.h"
#include "text/hf/config.h"

namespace ingle::text::hf {

// A model file, checked.
struct SentencePieceModel {
  Vocabulary vocabulary;
  bool byte_fallback = false;
  bool add_dummy_prefix = true, remove_extra_whitespaces = true, escape_whitespaces = true;
  std::string unknown_surface = " \xE2\x81\x87 ";  // what an unknown token is in a text
  std::string bos_piece = "<s>", eos_piece = "</s>", pad_piece = "<pad>";
};

// Throws Code::corrupt or Code::unsupported naming the field.
SentencePieceModel read_sentencepiece(std::string_view bytes, const std::string& file);

// What the library does to a text before it looks for pieces (sentencepiece, normalizer.cc).
class SentencePieceNormalizer {
 public:
  explicit SentencePieceNormalizer(const SentencePieceModel& model);
  // `first`: the dummy prefix is due.
  std::string apply(std::string_view text, bool first) const;
  // Pieces that a user defined: found in any text, never changed.
  const AddedTokens& user_defined() const { return user_defined_; }

 private:
  CharsMap map_;
  AddedTokens user_defined_;
  bool prefix_, remove_extra_;
  std::string space_;
};

// Tests use it directly to count work.
class SentencePieceTokenizer final : public Tokenizer {
 public:
  SentencePieceTokenizer(SentencePieceModel model, const TokenizerConfig& config);
  int64_t size() const override { return static_cast<int64_t>(kinds_.size()); }
  std::vector<TokenId> encode(std::string_view text, EncodeOptions options) const override;
  std::string decode(std::span<const TokenId> ids, bool skip_special) const override;
  std::string piece(TokenId id) const override;
  TokenKind kind(TokenId id) const override;
  std::string_view token_text(TokenId id) const override;
  const Special& special() const override { return special_; }
  bool strips_leading_space() const override;
  std::unique_ptr<DecodeStream> decode_stream(bool skip_special) const override;

  std::vector<TokenId> encode_counted(std::string_view text, EncodeOptions options, Work& work) const;

 private:
  class Stream;
  size_t index(TokenId id) const;
  void add_tokens(const TokenizerConfig& config);
  void set_special(const TokenizerConfig& config);
  std::optional<TokenId> find_text(std::string_view text) const;
  void encode_plain(std::string_view text, bool first, std::vector<TokenId>& out, EncodeState& state) const;

  SentencePieceModel model_;
  SentencePieceNormalizer normalizer_;
  std::unique_ptr<NormalEncoder> encoder_;
  bool unigram_, legacy_;
  std::vector<TokenKind> kinds_;  // of the model's tokens and of those added
  std::vector<AddedToken> added_;
  std::vector<std::string> extra_;  // texts of ids beyond the model's
  std::unique_ptr<AddedSplitter> splitter_;
  Special special_;
};

std::shared_ptr<const Tokenizer> make_sentencepiece(std::string_view model, std::string name,
                                                    const TokenizerConfig& config);

}  // namespace ingle::text::hf
