// Added tokens in a text, by their flags.
#pragma once
#include <functional>
#include <string_view>
#include <vector>

#include "text/added_tokens.h"
#include "text/hf/config.h"

namespace ingle::text::hf {

class AddedSplitter {
 public:
  using OnToken = std::function<void(TokenId)>;
  using OnPlain = std::function<void(size_t begin, size_t end)>;
  // Looks for those of `tokens` (which must outlive it) whose flag `normalized` is that given, each spelt as
  // `spelling` writes it.
  AddedSplitter(const std::vector<AddedToken>& tokens, bool normalized,
                const std::function<std::string(std::string)>& spelling);
  // Reports the parts of `text` in their order. Special tokens are found only where `parse_special`.
  void split(std::string_view text, bool parse_special, const OnToken& token, const OnPlain& plain) const;

 private:
  struct Finders {
    AddedTokens with_special, without;
  };
  static Finders make(const std::vector<AddedToken>& tokens, bool normalized,
                      const std::function<std::string(std::string)>& spelling);

  const std::vector<AddedToken>& tokens_;
  Finders finders_;
};

}  // namespace ingle::text::hf
