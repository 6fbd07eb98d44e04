// SentencePiece models: tokenizer.model.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "text/hf/config.h"

namespace ingle::text::hf {

std::shared_ptr<const Tokenizer> make_sentencepiece(std::string_view model, std::string name,
                                                    const TokenizerConfig& config);

}  // namespace ingle::text::hf
