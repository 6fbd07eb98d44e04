#include "text/hf/sentencepiece.h"

#include "core/error.h"

namespace ingle::text::hf {

std::shared_ptr<const Tokenizer> make_sentencepiece(std::string_view, std::string name,
                                                    const TokenizerConfig&) {
  fail(Code::unsupported, std::move(name), "tokenizer.model is not read yet");
}

}  // namespace ingle::text::hf

namespace ingle::text {

std::shared_ptr<const Tokenizer> load_sentencepiece(std::string_view model, std::string name) {
  return hf::make_sentencepiece(model, std::move(name), {});
}

}  // namespace ingle::text
