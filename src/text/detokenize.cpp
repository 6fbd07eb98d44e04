#include "text/detokenize.h"

#include "text/unicode.h"

namespace ingle::text {

std::string take_characters(std::string& pending, bool at_end) {
  std::string out;
  const char* at = pending.data();
  const char* end = at + pending.size();
  while (at < end) {
    const CodePoint c = decode_utf8(at, end);
    if (c.valid) {
      out.append(at, c.bytes);
      at += c.bytes;
      continue;
    }
    if (!at_end && truncated_prefix(at, end)) break;
    append_utf8(out, 0xFFFD);
    at += broken_bytes(at, end);
  }
  pending.erase(0, static_cast<size_t>(at - pending.data()));
  return out;
}

namespace {

class PieceStream final : public DecodeStream {
 public:
  PieceStream(const Tokenizer& tokenizer, bool skip_special)
      : tokenizer_(tokenizer), skip_special_(skip_special) {}

  std::string push(TokenId id) override {
    const TokenKind kind = tokenizer_.kind(id);
    if (skip_special_ && (kind == TokenKind::control || kind == TokenKind::unknown)) return {};
    const std::string piece = tokenizer_.piece(id);
    size_t from = 0;
    if (at_start_ && !piece.empty()) {
      at_start_ = false;
      if (piece[0] == ' ' && tokenizer_.strips_leading_space()) from = 1;
    }
    pending_.append(piece, from);
    return take_characters(pending_, false);
  }

  std::string finish() override {
    std::string rest = take_characters(pending_, true);
    at_start_ = true;
    return rest;
  }

  std::unique_ptr<DecodeStream> clone() const override { return std::make_unique<PieceStream>(*this); }

 private:
  const Tokenizer& tokenizer_;
  bool skip_special_;
  bool at_start_ = true;
  std::string pending_;
};

}  // namespace

std::unique_ptr<DecodeStream> Tokenizer::decode_stream(bool skip_special) const {
  return std::make_unique<PieceStream>(*this, skip_special);
}

}  // namespace ingle::text
