#include "text/vocabulary.h"

#include <cmath>
#include <limits>

#include "core/error.h"
#include "text/pretokenize.h"
#include "text/special_tokens.h"
#include "text/unicode.h"

namespace ingle::text {
namespace {

using formats::Checkpoint;

constexpr std::string_view kTokens = "tokenizer.ggml.tokens";
constexpr std::string_view kTypes = "tokenizer.ggml.token_type";
constexpr std::string_view kScores = "tokenizer.ggml.scores";

VocabularyModel read_model(const Checkpoint& file) {
  const std::string& name = file.need_string("tokenizer.ggml.model");
  if (name == "gpt2") return VocabularyModel::byte_bpe;
  if (name == "gemma4") return VocabularyModel::raw_bpe;
  if (name == "llama") return VocabularyModel::sentencepiece_bpe;
  if (name == "t5") return VocabularyModel::unigram;
  if (name == "bert") return VocabularyModel::wordpiece;
  fail(Code::unsupported, file.name(), format("tokenizer.ggml.model is '{}'", name),
       "known: gpt2, llama, t5, bert, gemma4");
}

void read_tokens(const Checkpoint& file, Vocabulary& v) {
  const std::vector<std::string>* tokens = file.find_strings(kTokens);
  if (!tokens || tokens->empty()) {
    fail(Code::corrupt, file.name(), format("{} is {}", kTokens, tokens ? "empty" : "missing"));
  }
  if (tokens->size() > static_cast<size_t>(std::numeric_limits<int32_t>::max() / 2)) {
    fail(Code::corrupt, file.name(), format("{} has {} entries", kTokens, tokens->size()));
  }
  size_t bytes = 0;
  for (const std::string& t : *tokens) bytes += t.size();
  v.texts.reserve(tokens->size(), bytes);
  for (const std::string& t : *tokens) v.texts.push_back(t);
}

void read_kinds(const Checkpoint& file, Vocabulary& v) {
  v.kinds.assign(v.texts.size(), TokenKind::normal);
  const auto types = file.find_ints(kTypes);
  if (!types) return;
  if (types->size() != v.texts.size()) {
    fail(Code::corrupt, file.name(),
         format("{} has {} entries, {} has {}", kTypes, types->size(), kTokens, v.texts.size()));
  }
  for (size_t i = 0; i < types->size(); ++i) {
    const int64_t t = (*types)[i];
    if (t < 0 || t > 6) {
      fail(Code::corrupt, file.name(), format("{}[{}] is {}, expected 0 to 6", kTypes, i, t));
    }
    v.kinds[i] = t == 0 ? TokenKind::unused : static_cast<TokenKind>(t);  // 0: the file does not know
  }
}

void read_scores(const Checkpoint& file, Vocabulary& v) {
  const auto scores = file.find_floats(kScores);
  const bool needed = v.model == VocabularyModel::sentencepiece_bpe || v.model == VocabularyModel::unigram;
  if (!scores) {
    if (needed) fail(Code::corrupt, file.name(), format("{} is missing", kScores));
    return;
  }
  if (scores->size() != v.texts.size()) {
    fail(Code::corrupt, file.name(),
         format("{} has {} entries, {} has {}", kScores, scores->size(), kTokens, v.texts.size()));
  }
  if (!needed) return;
  v.scores.resize(scores->size());
  for (size_t i = 0; i < scores->size(); ++i) {
    v.scores[i] = static_cast<float>((*scores)[i]);
    if (!std::isfinite(v.scores[i])) {
      fail(Code::corrupt, file.name(),
           format("{}[{}] is {}, expected a finite number", kScores, i, v.scores[i]));
    }
  }
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

void find_byte_tokens(Vocabulary& v) {
  v.byte_tokens.fill(-1);
  if (v.model == VocabularyModel::byte_bpe || v.model == VocabularyModel::wordpiece) return;
  for (int32_t id = 0; id < v.size(); ++id) {
    const int byte = named_byte(v.texts[static_cast<size_t>(id)]);
    TokenKind& kind = v.kinds[static_cast<size_t>(id)];
    if (byte < 0) {
      if (kind == TokenKind::byte) {
        fail(Code::corrupt, v.file,
             format("{}[{}] is of the kind byte and spelt '{}', expected <0xHH>", kTokens, id,
                    v.texts[static_cast<size_t>(id)]));
      }
      continue;
    }
    // Raw BPE vocabularies list their byte tokens as ordinary ones.
    if (kind == TokenKind::byte || v.model == VocabularyModel::raw_bpe) {
      v.byte_tokens[static_cast<size_t>(byte)] = id;
      kind = TokenKind::byte;
    }
  }
}

// What a token of an ordinary kind adds to a text.
std::string plain_piece(const Vocabulary& v, std::string_view text) {
  std::string out;
  switch (v.model) {
    case VocabularyModel::byte_bpe:
      return unmap_byte_level(text, out) ? out : std::string(text);
    case VocabularyModel::wordpiece:
      // "▁word" starts a word, "word" continues one.
    case VocabularyModel::raw_bpe:
    case VocabularyModel::sentencepiece_bpe:
    case VocabularyModel::unigram:
      return unescape_spaces(text);
  }
  return out;
}

void fill_pieces(Vocabulary& v, const GoOn& go_on) {
  v.pieces.reserve(v.texts.size(), 0);
  for (int32_t id = 0; id < v.size(); ++id) {
    if (static_cast<size_t>(id) % kAskEvery == 0) check_go_on(go_on, v.file);
    const std::string_view text = v.texts[static_cast<size_t>(id)];
    switch (v.kinds[static_cast<size_t>(id)]) {
      case TokenKind::control:
      case TokenKind::unknown:
      case TokenKind::user_defined:
        v.pieces.push_back(text);
        break;
      case TokenKind::byte: {
        const int byte = named_byte(text);
        const char c = static_cast<char>(byte < 0 ? 0 : byte);
        byte < 0 ? v.pieces.push_back(plain_piece(v, text)) : v.pieces.push_back({&c, 1});
        break;
      }
      default:
        v.pieces.push_back(plain_piece(v, text));
    }
  }
}

void read_options(const Checkpoint& file, Vocabulary& v) {
  v.add_space_prefix = v.model == VocabularyModel::sentencepiece_bpe || v.model == VocabularyModel::unigram;
  v.add_space_prefix = file.find_bool("tokenizer.ggml.add_space_prefix").value_or(v.add_space_prefix);
  v.remove_extra_whitespaces = file.find_bool("tokenizer.ggml.remove_extra_whitespaces").value_or(false);
  v.lowercase = file.find_bool("tokenizer.ggml.normalizer.lowercase").value_or(true);
  v.strip_accents = file.find_bool("tokenizer.ggml.normalizer.strip_accents").value_or(v.lowercase);
  if (v.model != VocabularyModel::unigram) return;
  const auto map = file.find_ints("tokenizer.ggml.precompiled_charsmap");
  if (!map) return;
  v.charsmap.reserve(map->size());
  for (size_t i = 0; i < map->size(); ++i) {
    const int64_t byte = (*map)[i];
    if (byte < -128 || byte > 255) {
      fail(Code::corrupt, v.file,
           format("tokenizer.ggml.precompiled_charsmap[{}] is {}, expected a byte", i, byte));
    }
    v.charsmap.push_back(static_cast<unsigned char>(byte & 0xFF));
  }
}

void read_pre_tokenizer(const Checkpoint& file, Vocabulary& v) {
  if (v.model != VocabularyModel::byte_bpe && v.model != VocabularyModel::raw_bpe) return;
  const std::string* named = file.find_string("tokenizer.ggml.pre");
  std::string_view name = "default";
  if (named) name = *named;
  if (v.model == VocabularyModel::raw_bpe) name = "gemma4";
  v.pre = find_pre_tokenizer(name);
  if (!v.pre) {
    fail(Code::unsupported, v.file, format("tokenizer.ggml.pre is '{}', which is not known", name),
         "the text would be cut in the wrong places");
  }
  if (v.pre->raw) v.model = VocabularyModel::raw_bpe;
}

}  // namespace

int named_byte(std::string_view text) {
  if (text.size() != 6 || text.substr(0, 3) != "<0x" || text[5] != '>') return -1;
  const int high = hex_digit(text[3]), low = hex_digit(text[4]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

bool unmap_byte_level(std::string_view text, std::string& out) {
  // Printable Latin-1 stands for itself; the other 68 bytes, in order, are U+0100 to U+0143.
  static constexpr auto kOthers = [] {
    std::array<unsigned char, 68> bytes{};
    size_t n = 0;
    for (int b = 0; b < 256; ++b) {
      const bool itself = (b >= 0x21 && b <= 0x7E) || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
      if (!itself) bytes[n++] = static_cast<unsigned char>(b);
    }
    return bytes;
  }();
  const char* end = text.data() + text.size();
  for (const char* at = text.data(); at < end;) {
    const auto lead = static_cast<unsigned char>(*at);
    if (lead >= 0x21 && lead <= 0x7E) {
      out.push_back(*at++);
      continue;
    }
    const CodePoint c = decode_utf8(at, end);
    if (!c.valid || c.code < 0xA1 || c.code == 0xAD || c.code >= 256 + kOthers.size()) return false;
    out.push_back(static_cast<char>(c.code < 256 ? c.code : kOthers[c.code - 256]));
    at += c.bytes;
  }
  return true;
}

std::string escape_spaces(std::string_view text) {
  std::string out;
  out.reserve(text.size() + text.size() / 2);
  for (const char c : text) {
    if (c == ' ') {
      out.append(kSpaceMark);
    } else {
      out.push_back(c);
    }
  }
  return out;
}

std::string unescape_spaces(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const bool mark = text.substr(i, kSpaceMark.size()) == kSpaceMark;
    out.push_back(mark ? ' ' : text[i]);
    i += mark ? kSpaceMark.size() : 1;
  }
  return out;
}

void check_go_on(const GoOn& go_on, const std::string& file) {
  if (go_on && !go_on()) fail(Code::cancelled, file, "loading was cancelled");
}

Vocabulary load_vocabulary(const Checkpoint& file, const GoOn& go_on) {
  Vocabulary v;
  v.file = file.name();
  v.model = read_model(file);
  read_pre_tokenizer(file, v);
  read_tokens(file, v);
  check_go_on(go_on, v.file);
  read_kinds(file, v);
  read_scores(file, v);
  read_options(file, v);
  check_go_on(go_on, v.file);
  find_byte_tokens(v);
  load_special_tokens(file, v);
  fill_pieces(v, go_on);
  return v;
}

}  // namespace ingle::text
