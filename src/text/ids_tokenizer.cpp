#include "text/ids_tokenizer.h"

#include "core/error.h"

namespace ingle::text {
namespace {

class IdsTokenizer final : public Tokenizer {
 public:
  IdsTokenizer(const std::string& where, int64_t size) : where_(where), size_(size) {}
  int64_t size() const override { return size_; }
  std::vector<TokenId> encode(std::string_view, EncodeOptions) const override { refuse(); }
  std::string decode(std::span<const TokenId>, bool) const override { refuse(); }
  std::string piece(TokenId) const override { return {}; }
  TokenKind kind(TokenId) const override { return TokenKind::normal; }
  std::string_view token_text(TokenId) const override { return {}; }
  const Special& special() const override { return special_; }
  bool strips_leading_space() const override { return false; }

 private:
  [[noreturn]] void refuse() const {
    fail(Code::unsupported, where_,
         "the model came without a tokenizer, so it takes and gives token ids only");
  }
  std::string where_;
  int64_t size_;
  Special special_;
};

}  // namespace

std::shared_ptr<const Tokenizer> make_ids_tokenizer(const std::string& where, int64_t size) {
  return std::make_shared<IdsTokenizer>(where, size);
}

}  // namespace ingle::text
