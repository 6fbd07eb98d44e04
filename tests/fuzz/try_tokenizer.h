// What any tokenizer that loads must do, whatever it was made of: take any text, give ids of its own back,
// and stream the same bytes as it decodes. Traps where it does not.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "core/error.h"
#include "text/tokenizer.h"

namespace ingle::tests {

// `bytes`, what it was made of, are a text as good as any.
inline void try_tokenizer(const text::Tokenizer* tokenizer, std::string_view bytes) {
  for (const std::string& text : {std::string("Hello w\u00f6rld,  it's 123 \u4e2d\n\n"),
                                  std::string("\xE4\xB8 \xFF\x00z", 6), std::string(bytes.substr(0, 256))}) {
    for (const bool special : {false, true}) {
      try {
        const auto ids = tokenizer->encode(text, {special, special});
        for (const text::TokenId id : ids) {
          if (id < 0 || id >= tokenizer->size()) __builtin_trap();
          (void)tokenizer->piece(id);
        }
        text::Detokenizer stream(*tokenizer, special);
        std::string parts;
        for (const text::TokenId id : ids) parts += stream.push(id);
        parts += stream.finish();
        if (parts != tokenizer->decode(ids, special)) __builtin_trap();
      } catch (const Error& e) {
        if (e.code() == Code::internal) __builtin_trap();
      }
    }
  }
}

}  // namespace ingle::tests
