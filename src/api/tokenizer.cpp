#include "ingle/tokenizer.hpp"

#include <algorithm>

#include "core/error.h"
#include "formats/gguf.h"
#include "quant/weight.h"
#include "text/tokenizer.h"

namespace ingle {

Tokenizer Tokenizer::load(const std::string& path) {
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

bool Tokenizer::ends_generation(TokenId id) const {
  const auto& ends = impl_->special().end_of_generation;
  return std::find(ends.begin(), ends.end(), id) != ends.end();
}

bool Tokenizer::is_control(TokenId id) const {
  return id >= 0 && id < size() && impl_->kind(id) == text::TokenKind::control;
}

TokenId Tokenizer::bos() const { return impl_->special().bos.value_or(-1); }
TokenId Tokenizer::eos() const { return impl_->special().eos.value_or(-1); }

}  // namespace ingle
