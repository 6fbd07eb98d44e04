#include "text/tokenizer.h"

#include "core/error.h"
#include "text/gguf_tokenizer.h"

namespace ingle::text {
namespace {

std::unique_ptr<Encoder> make_encoder(const Vocabulary& v, const formats::Checkpoint& file,
                                      const GoOn& go_on) {
  switch (v.model) {
    case VocabularyModel::byte_bpe:
    case VocabularyModel::raw_bpe:
      return make_bpe(v, file, go_on);
    case VocabularyModel::sentencepiece_bpe:
      return make_sentencepiece_bpe(v, go_on);
    case VocabularyModel::unigram:
      return make_unigram(v);
    case VocabularyModel::wordpiece:
      return make_wordpiece(v);
  }
  fail(Code::internal, v.file, "a vocabulary of no kind");
}

std::vector<AddedTokens::Token> added_tokens(const Vocabulary& v, bool control) {
  std::vector<AddedTokens::Token> out;
  for (TokenId id = 0; id < v.size(); ++id) {
    const TokenKind kind = v.kinds[static_cast<size_t>(id)];
    const std::string_view text = v.texts[static_cast<size_t>(id)];
    const bool special = kind == TokenKind::control || kind == TokenKind::unknown;
    if (text.empty() || !(kind == TokenKind::user_defined || (control && special))) continue;
    out.push_back({text, id});
  }
  return out;
}

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

}  // namespace

GgufTokenizer::GgufTokenizer(const formats::Checkpoint& file, const GoOn& go_on)
    : vocabulary_(load_vocabulary(file, go_on)),
      encoder_(make_encoder(vocabulary_, file, go_on)),
      always_(added_tokens(vocabulary_, false)),
      with_special_(added_tokens(vocabulary_, true)) {}

size_t GgufTokenizer::index(TokenId id) const {
  if (id < 0 || id >= vocabulary_.size()) {
    fail(Code::invalid_argument, vocabulary_.file, format("token id {}, expected 0 to {}", id, size() - 1));
  }
  return static_cast<size_t>(id);
}

std::string GgufTokenizer::piece(TokenId id) const { return std::string(vocabulary_.pieces[index(id)]); }
TokenKind GgufTokenizer::kind(TokenId id) const { return vocabulary_.kinds[index(id)]; }
std::string_view GgufTokenizer::token_text(TokenId id) const { return vocabulary_.texts[index(id)]; }

bool GgufTokenizer::strips_leading_space() const {
  // WordPiece writes the space that starts a word into the word.
  return vocabulary_.add_space_prefix || vocabulary_.model == VocabularyModel::wordpiece;
}

std::vector<TokenId> GgufTokenizer::encode(std::string_view text, EncodeOptions options) const {
  Work work;
  return encode_counted(text, options, work);
}

std::vector<TokenId> GgufTokenizer::encode_counted(std::string_view text, EncodeOptions options,
                                                   Work& work) const {
  std::vector<TokenId> out;
  out.reserve(text.size() / 4 + 4);
  if (options.add_special && vocabulary_.special.add_bos) out.push_back(*vocabulary_.special.bos);
  EncodeState state(text.size());
  state.work.scanned = text.size();  // the search for added tokens
  encode_text(text, options.parse_special, out, state);
  work = state.work;
  if (options.add_special) out.insert(out.end(), vocabulary_.suffix.begin(), vocabulary_.suffix.end());
  return out;
}

void GgufTokenizer::encode_text(std::string_view text, bool parse_special, std::vector<TokenId>& out,
                                EncodeState& state) const {
  std::vector<AddedTokens::Match> matches;
  (parse_special ? with_special_ : always_).find(text, matches);
  const auto strip = [this](TokenId id) {
    return vocabulary_.strips.empty() ? uint8_t{0} : vocabulary_.strips[static_cast<size_t>(id)];
  };
  size_t begin = 0;
  bool first = true;
  const auto encode_until = [&](size_t end) {
    if (begin >= end) return;
    encoder_->encode(text.substr(begin, end - begin), first, out, state);
    first = false;
  };
  for (const AddedTokens::Match& m : matches) {
    size_t end = m.begin;
    if (strip(m.id) & Vocabulary::kStripLeft) {
      while (end > begin && is_space(text[end - 1])) --end;
    }
    encode_until(end);
    out.push_back(m.id);
    first = true;
    begin = m.end;
    if (strip(m.id) & Vocabulary::kStripRight) {
      while (begin < text.size() && is_space(text[begin])) ++begin;
    }
  }
  encode_until(text.size());
}

std::string GgufTokenizer::decode(std::span<const TokenId> ids, bool skip_special) const {
  Detokenizer stream(*this, skip_special);
  std::string out;
  for (const TokenId id : ids) out += stream.push(id);
  return out += stream.finish();
}

std::shared_ptr<const Tokenizer> load_gguf_tokenizer(const formats::Checkpoint& file, const GoOn& go_on) {
  return std::make_shared<GgufTokenizer>(file, go_on);
}

}  // namespace ingle::text
