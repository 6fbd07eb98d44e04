#include "text/hf/sentencepiece.h"

#include <algorithm>

#include "core/error.h"
#include "text/special_tokens.h"
#include "text/unicode.h"

namespace ingle::text::hf {
namespace {

constexpr const char* kCharsMap = "normalizer_spec.precompiled_charsmap";

std::vector<AddedTokens::Token> user_defined(const Vocabulary& v) {
  std::vector<AddedTokens::Token> out;
  for (TokenId id = 0; id < v.size(); ++id) {
    if (v.kinds[static_cast<size_t>(id)] == TokenKind::user_defined)
      out.push_back({v.texts[static_cast<size_t>(id)], id});
  }
  return out;
}

}  // namespace

// ---- normalisation ----

SentencePieceNormalizer::SentencePieceNormalizer(const SentencePieceModel& model)
    : map_(model.vocabulary.charsmap, model.vocabulary.file, kCharsMap),
      user_defined_(text::hf::user_defined(model.vocabulary)),
      prefix_(model.add_dummy_prefix),
      remove_extra_(model.remove_extra_whitespaces),
      space_(model.escape_whitespaces ? kSpaceMark : std::string_view(" ")) {}

std::string SentencePieceNormalizer::apply(std::string_view text, bool first) const {
  std::string out;
  out.reserve(text.size() + text.size() / 2 + 8);
  std::vector<AddedTokens::Match> defined;
  user_defined_.find(text, defined);
  auto next = defined.begin();
  bool due = first && prefix_, after_space = remove_extra_;
  const auto put = [&](std::string_view part) {
    while (after_space && part.starts_with(' ')) part.remove_prefix(1);
    if (!part.empty()) {
      if (due) out.append(space_);
      due = false;
      for (const char c : part) {
        if (c == ' ') {
          out.append(space_);
        } else {
          out.push_back(c);
        }
      }
      after_space = part.back() == ' ';
    }
    if (!remove_extra_) after_space = false;
  };
  const char* end = text.data() + text.size();
  for (size_t at = 0; at < text.size();) {
    while (next != defined.end() && next->begin < at) ++next;
    if (next != defined.end() && next->begin == at) {
      put(text.substr(at, next->end - at));
      at = next->end;
    } else if (const CharsMap::Replacement replaced = map_.longest(text, at); replaced.bytes) {
      put(replaced.text);
      at += replaced.bytes;
    } else {
      const CodePoint c = decode_utf8(text.data() + at, end);
      put(c.valid ? text.substr(at, c.bytes) : std::string_view("\xEF\xBF\xBD"));
      at += c.bytes;
    }
  }
  // A text that normalises to nothing still has its prefix where leading spaces stay.
  if (due && !text.empty() && !remove_extra_) out.append(space_);
  while (remove_extra_ && out.ends_with(space_)) out.erase(out.size() - space_.size());
  return out;
}

// ---- the tokenizer ----

SentencePieceTokenizer::SentencePieceTokenizer(SentencePieceModel model, const TokenizerConfig& config)
    : model_(std::move(model)),
      normalizer_(model_),
      unigram_(model_.vocabulary.model == VocabularyModel::unigram),
      legacy_(config.legacy.value_or(true)),
      kinds_(model_.vocabulary.kinds) {
  encoder_ = unigram_ ? make_unigram(model_.vocabulary) : make_sentencepiece_bpe(model_.vocabulary);
  add_tokens(config);
  set_special(config);
}

// The model's control pieces, and what the files beside it add.
void SentencePieceTokenizer::add_tokens(const TokenizerConfig& config) {
  const Vocabulary& v = model_.vocabulary;
  for (TokenId id = 0; id < v.size(); ++id) {
    const TokenKind kind = kinds_[static_cast<size_t>(id)];
    if (kind != TokenKind::control && kind != TokenKind::unknown) continue;
    AddedToken token;
    token.content = v.texts[static_cast<size_t>(id)], token.id = id, token.special = true;
    added_.push_back(std::move(token));
  }
  const auto most = static_cast<int64_t>(2 * (kinds_.size() + config.added.size()) + 65536);
  for (AddedToken token : config.added) {
    if (token.content.empty()) continue;
    if (token.id < 0 || token.id >= most) {
      fail(Code::corrupt, config.file,
           format("added token '{}' has the id {}, expected 0 to {}", token.content, token.id, most - 1));
    }
    token.normalized = false;
    const auto id = static_cast<size_t>(token.id), own = static_cast<size_t>(v.size());
    if (id < own && v.texts[id] != token.content) {
      fail(Code::corrupt, config.file,
           format("added token '{}' has the id {}, which is '{}' in the model", token.content, token.id,
                  v.texts[id]));
    }
    if (id >= own) {
      if (id >= kinds_.size()) kinds_.resize(id + 1, TokenKind::unused), extra_.resize(id + 1 - own);
      extra_[id - own] = token.content;
      kinds_[id] = token.special ? TokenKind::control : TokenKind::user_defined;
    }
    const auto same =
        std::find_if(added_.begin(), added_.end(), [&](const AddedToken& t) { return t.id == token.id; });
    if (same != added_.end()) {
      token.special = token.special || same->special;
      *same = std::move(token);
    } else {
      added_.push_back(std::move(token));
    }
  }
  splitter_ = std::make_unique<AddedSplitter>(added_, false, [](std::string text) { return text; });
}

std::optional<TokenId> SentencePieceTokenizer::find_text(std::string_view text) const {
  if (text.empty()) return std::nullopt;
  for (int64_t id = 0; id < size(); ++id) {
    if (token_text(static_cast<TokenId>(id)) == text) return static_cast<TokenId>(id);
  }
  return std::nullopt;
}

void SentencePieceTokenizer::set_special(const TokenizerConfig& config) {
  Special& s = special_;
  const auto control = [&](const std::optional<std::string>& named, const std::string& piece) {
    if (named) return find_text(*named);
    const auto id = find_text(piece);
    return id && kinds_[static_cast<size_t>(*id)] == TokenKind::control ? id : std::nullopt;
  };
  s.bos = control(config.bos, model_.bos_piece);
  s.eos = control(config.eos, model_.eos_piece);
  s.padding = control(config.padding, model_.pad_piece);
  s.unknown = model_.vocabulary.special.unknown;
  s.add_bos = s.bos && config.add_bos.value_or(true);
  s.add_eos = s.eos && config.add_eos.value_or(unigram_ && !s.bos);
  s.end_of_generation = generation_ends(added_, config, s.eos, size());
}

size_t SentencePieceTokenizer::index(TokenId id) const {
  if (id < 0 || id >= size()) {
    fail(Code::invalid_argument, model_.vocabulary.file,
         format("token id {}, expected 0 to {}", id, size() - 1));
  }
  return static_cast<size_t>(id);
}

TokenKind SentencePieceTokenizer::kind(TokenId id) const { return kinds_[index(id)]; }

std::string_view SentencePieceTokenizer::token_text(TokenId id) const {
  const size_t i = index(id), own = model_.vocabulary.texts.size();
  return i < own ? model_.vocabulary.texts[i] : std::string_view(extra_[i - own]);
}

bool SentencePieceTokenizer::strips_leading_space() const {
  return model_.add_dummy_prefix || model_.remove_extra_whitespaces;
}

std::vector<TokenId> SentencePieceTokenizer::encode(std::string_view text, EncodeOptions options) const {
  Work work;
  return encode_counted(text, options, work);
}

std::vector<TokenId> SentencePieceTokenizer::encode_counted(std::string_view text, EncodeOptions options,
                                                            Work& work) const {
  std::vector<TokenId> out;
  out.reserve(text.size() / 4 + 8);
  if (options.add_special && special_.add_bos) out.push_back(*special_.bos);
  EncodeState state(text.size());
  state.work.scanned = text.size();
  splitter_->split(
      text, options.parse_special, [&out](TokenId id) { out.push_back(id); },
      [&](size_t begin, size_t end) {
        encode_plain(text.substr(begin, end - begin), begin == 0 || legacy_, out, state);
      });
  work = state.work;
  if (options.add_special && special_.add_eos) out.push_back(*special_.eos);
  return out;
}

void SentencePieceTokenizer::encode_plain(std::string_view text, bool first, std::vector<TokenId>& out,
                                          EncodeState& state) const {
  const std::string normal = normalizer_.apply(text, first);
  state.work.scanned += text.size();
  if (unigram_) return encoder_->encode_normal(normal, out, state);
  // What a user defined takes no part in merges.
  std::vector<AddedTokens::Match> defined;
  normalizer_.user_defined().find(normal, defined);
  size_t kept = 0;
  for (const AddedTokens::Match& m : defined) {
    encoder_->encode_normal(std::string_view(normal).substr(kept, m.begin - kept), out, state);
    out.push_back(m.id);
    kept = m.end;
  }
  encoder_->encode_normal(std::string_view(normal).substr(kept), out, state);
}

// ---- ids to text ----

// As the library decodes: leading spaces that it added come off, bytes become characters where they are
// whole.
class SentencePieceTokenizer::Stream final : public DecodeStream {
 public:
  Stream(const SentencePieceTokenizer& owner, bool skip_special)
      : owner_(owner), skip_special_(skip_special) {}
  std::unique_ptr<DecodeStream> clone() const override { return std::make_unique<Stream>(*this); }

  std::string push(TokenId id) override {
    const TokenKind kind = owner_.kind(id);
    if (skip_special_ && (kind == TokenKind::control || kind == TokenKind::unknown)) return {};
    std::string piece = owner_.piece(id);
    if (kind == TokenKind::byte) {
      bytes_ += piece;
      return note(take_bytes(false));
    }
    std::string out = note(take_bytes(true));
    const bool plain =
        kind == TokenKind::normal || kind == TokenKind::user_defined || kind == TokenKind::unused;
    if (at_start_ && plain && owner_.strips_leading_space() && piece.starts_with(' ')) {
      piece.erase(0, 1);
      // Where extra spaces go, those of the next piece go too, as long as there is no text.
      if (!owner_.model_.remove_extra_whitespaces) at_start_ = false;
    }
    return out + note(std::move(piece));
  }

  std::string finish() override {
    std::string rest = take_bytes(true);
    at_start_ = true;
    return rest;
  }

 private:
  std::string note(std::string text) {
    if (!text.empty()) at_start_ = false;
    return text;
  }

  std::string take_bytes(bool all) {
    std::string out;
    const char* at = bytes_.data();
    const char* end = at + bytes_.size();
    while (at < end) {
      const CodePoint c = decode_utf8(at, end);
      if (!c.valid && !all && truncated_prefix(at, end)) break;
      append_utf8(out, c.code);  // U+FFFD for what is none
      at += c.bytes;
    }
    bytes_.erase(0, static_cast<size_t>(at - bytes_.data()));
    return out;
  }

  const SentencePieceTokenizer& owner_;
  bool skip_special_, at_start_ = true;
  std::string bytes_;
};

std::unique_ptr<DecodeStream> SentencePieceTokenizer::decode_stream(bool skip_special) const {
  return std::make_unique<Stream>(*this, skip_special);
}

std::string SentencePieceTokenizer::decode(std::span<const TokenId> ids, bool skip_special) const {
  Stream stream(*this, skip_special);
  std::string out;
  for (const TokenId id : ids) out += stream.push(id);
  return out += stream.finish();
}

std::string SentencePieceTokenizer::piece(TokenId id) const {
  const std::string_view text = token_text(id);
  switch (kind(id)) {
    case TokenKind::byte:
      return std::string(1, static_cast<char>(named_byte(text)));
    case TokenKind::unknown:
      return model_.unknown_surface;
    case TokenKind::control:
      return std::string(text);
    default:
      return unescape_spaces(text);
  }
}

std::shared_ptr<const Tokenizer> make_sentencepiece(std::string_view model, std::string name,
                                                    const TokenizerConfig& config) {
  return std::make_shared<SentencePieceTokenizer>(read_sentencepiece(model, name), config);
}

}  // namespace ingle::text::hf

namespace ingle::text {

std::shared_ptr<const Tokenizer> load_sentencepiece(std::string_view model, std::string name) {
  hf::TokenizerConfig none;
  none.file = name;
  return hf::make_sentencepiece(model, std::move(name), none);
}

}  // namespace ingle::text
