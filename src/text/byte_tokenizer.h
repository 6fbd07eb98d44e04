// A vocabulary that needs no file: the 256 bytes, then <|end|> (256) and <|start|> (257).
#pragma once
#include <memory>

#include "text/tokenizer.h"

namespace ingle::text {

constexpr TokenId kByteEnd = 256, kByteStart = 257;

std::shared_ptr<const Tokenizer> make_byte_tokenizer();

}  // namespace ingle::text
