// WordPiece as BERT has it: normalise, cut at white space and punctuation, then take the longest token each
// time. GGUF files write "▁word" for what starts a word and "word" for what continues one.
#include "core/error.h"
#include "text/encoder.h"
#include "text/trie.h"

namespace ingle::text {
namespace {

constexpr size_t kLongestWord = 100;  // characters; longer words are unknown (BERT's tokenization.py)

// The tokens that start words, without their mark, or those that continue them.
std::vector<Trie::Entry> plain_entries(const Vocabulary& v, bool starts) {
  std::vector<Trie::Entry> out;
  for (TokenId id = 0; id < v.size(); ++id) {
    std::string_view text = v.texts[static_cast<size_t>(id)];
    if (!v.is_plain(id) || text.starts_with(kSpaceMark) != starts) continue;
    if (starts) text.remove_prefix(kSpaceMark.size());
    if (!text.empty()) out.push_back({text, id});
  }
  return out;
}

// The ideographs that BERT sets apart, by its own list.
bool is_ideograph(uint32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x20000 && c <= 0x2A6DF) ||
         (c >= 0x2A700 && c <= 0x2B73F) || (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

class WordPiece final : public Encoder {
 public:
  explicit WordPiece(const Vocabulary& vocabulary)
      : v_(vocabulary), starts_(plain_entries(vocabulary, true)), parts_(plain_entries(vocabulary, false)) {
    if (!v_.special.unknown) fail(Code::corrupt, v_.file, "tokenizer.ggml.unknown_token_id is missing");
  }

  void encode(std::string_view text, bool, std::vector<TokenId>& out, EncodeState& state) const override {
    std::string clean = clean_text(text);
    if (v_.strip_accents) clean = without_accents(normalize_nfd(clean));
    if (v_.lowercase) clean = lower(clean);
    const char* end = clean.data() + clean.size();
    size_t begin = 0, characters = 0;
    const auto flush = [&](size_t to) {
      if (characters)
        encode_word(std::string_view(clean).substr(begin, to - begin), characters, out, state.work);
      characters = 0;
    };
    for (size_t at = 0; at < clean.size();) {
      const Char c = char_at(clean.data() + at, end);
      const bool mark = (c.flags & kPunct) || (c.code < 128 && (c.flags & kSymbol));
      if (mark || (c.flags & kSpace)) flush(at);
      if (mark) {
        begin = at, characters = 1;
        flush(at + c.bytes);
      } else if (!(c.flags & kSpace)) {
        if (characters++ == 0) begin = at;
      }
      at += c.bytes;
    }
    flush(clean.size());
  }

 private:
  // Controls go, white space becomes ' ', ideographs get spaces around them.
  static std::string clean_text(std::string_view text) {
    std::string out;
    out.reserve(text.size() + 16);
    const char* end = text.data() + text.size();
    for (const char* at = text.data(); at < end;) {
      const Char c = char_at(at, end);
      const bool control = (c.flags & kOther) && !(c.flags & (kUnassigned | kSpace));
      if (c.code == 0xFFFD || control) {
        // dropped
      } else if (c.flags & kSpace) {
        out.push_back(' ');
      } else if (is_ideograph(c.code)) {
        out.push_back(' ');
        out.append(at, c.bytes);
        out.push_back(' ');
      } else {
        out.append(at, c.bytes);
      }
      at += c.bytes;
    }
    return out;
  }

  static std::string without_accents(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    const char* end = text.data() + text.size();
    for (const char* at = text.data(); at < end;) {
      const Char c = char_at(at, end);
      if (!(c.flags & kNonSpacing)) out.append(at, c.bytes);
      at += c.bytes;
    }
    return out;
  }

  static std::string lower(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    const char* end = text.data() + text.size();
    for (const char* at = text.data(); at < end;) {
      const CodePoint c = decode_utf8(at, end);
      if (c.code == 0x130) {  // İ, the only letter whose lower case is two characters
        out.append("i\xCC\x87");
      } else {
        append_utf8(out, to_lower(c.code));
      }
      at += c.bytes;
    }
    return out;
  }

  void encode_word(std::string_view word, size_t characters, std::vector<TokenId>& out, Work& work) const {
    const size_t first = out.size();
    if (characters <= kLongestWord && take_longest(word, starts_, parts_, out, work.scanned)) return;
    out.resize(first);
    out.push_back(*v_.special.unknown);
  }

  const Vocabulary& v_;
  Trie starts_, parts_;
};

}  // namespace

std::unique_ptr<Encoder> make_wordpiece(const Vocabulary& vocabulary) {
  return std::make_unique<WordPiece>(vocabulary);
}

}  // namespace ingle::text
