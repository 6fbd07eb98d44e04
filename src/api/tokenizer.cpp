#include "ingle/tokenizer.hpp"

#include "core/error.h"
#include "formats/gguf.h"
#include "quant/weight.h"
#include "text/hugging_face.h"
#include "text/tokenizer.h"

namespace ingle {

Tokenizer Tokenizer::load(const std::string& path) {
  if (auto hugging_face = text::open_hugging_face_tokenizer(path)) return Tokenizer(std::move(hugging_face));
  return Tokenizer(text::load_gguf_tokenizer(*formats::open_gguf(path, quant::dtype_table())));
}

int64_t Tokenizer::size() const { return impl_->size(); }

std::vector<TokenId> Tokenizer::encode(std::string_view text, EncodeOptions options) const {
  return impl_->encode(text, {options.parse_special, options.add_special});
}

std::string Tokenizer::decode(std::span<const TokenId> ids, bool skip_special) const {
  return impl_->decode(ids, skip_special);
}

std::string Tokenizer::token_text(TokenId id) const {
  if (id < 0 || id >= size())
    fail(Code::invalid_argument, "token id", format("{} is not in [0, {})", id, size()));
  return std::string(impl_->token_text(id));
}

bool Tokenizer::ends_generation(TokenId id) const { return impl_->ends_generation(id); }

std::vector<TokenId> Tokenizer::end_tokens() const { return impl_->special().end_of_generation; }

std::vector<TokenId> Tokenizer::tokens_with(std::string_view part) const {
  if (part.empty()) fail(Code::invalid_argument, "text", "is empty");
  std::vector<TokenId> ids;
  for (TokenId id = 0; id < size(); ++id)
    if (impl_->kind(id) != text::TokenKind::control && impl_->piece(id).find(part) != std::string::npos)
      ids.push_back(id);
  if (ids.empty())
    fail(Code::not_found, "text",
         format("no token of this vocabulary holds \"{}\" whole", part.substr(0, 64)));
  return ids;
}

bool Tokenizer::is_control(TokenId id) const {
  return id >= 0 && id < size() && impl_->kind(id) == text::TokenKind::control;
}

TokenId Tokenizer::bos() const { return impl_->special().bos.value_or(-1); }
TokenId Tokenizer::eos() const { return impl_->special().eos.value_or(-1); }

}  // namespace ingle
