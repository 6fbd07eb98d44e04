// Any bytes as a SentencePiece model: an Error, or a tokenizer that takes any text and gives ids of its own
// back.
#include <string>

#include "core/error.h"
#include "text/hugging_face.h"

using namespace ingle;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  std::shared_ptr<const text::Tokenizer> tokenizer;
  try {
    tokenizer = text::load_sentencepiece(bytes, "fuzz");
  } catch (const Error&) {
    return 0;
  }
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
  return 0;
}
