// Any bytes as a SentencePiece model: an Error, or a tokenizer that takes any text and gives ids of its own
// back.
#include <string>

#include "core/error.h"
#include "text/hugging_face.h"
#include "try_tokenizer.h"

using namespace ingle;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  std::shared_ptr<const text::Tokenizer> tokenizer;
  try {
    tokenizer = text::load_sentencepiece(bytes, "fuzz");
  } catch (const Error&) {
    return 0;
  }
  tests::try_tokenizer(tokenizer.get(), bytes);
  return 0;
}
