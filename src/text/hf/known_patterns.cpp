// Published expressions that the scanners of the pre-tokenizers stand for.
#include "text/hf/pattern.h"

namespace ingle::text::hf {
namespace {

// Two spaces or more.
Cut find_blanks(Scan& scan, size_t from, const Stage&) {
  for (size_t pos = from; pos < scan.end();) {
    const size_t end = scan.run(pos, [](const Char& c) { return c.code == ' '; });
    if (end > pos + 1) return {pos, end};
    pos += scan.at(pos).bytes;
  }
  return {scan.end(), scan.end()};
}

constexpr Stage kBlanks{.find = find_blanks};

// CLIP's: control tokens, contractions, letters, one number, marks; white space is none of them.
size_t match_clip(Scan& scan, std::string_view fragment, size_t pos) {
  const Char c = scan.at(pos);
  if (c.code == '<' || c.code == '\'') {
    for (const std::string_view whole :
         {"<|startoftext|>", "<|endoftext|>", "'s", "'t", "'re", "'ve", "'m", "'ll", "'d"}) {
      if (fragment.substr(pos).starts_with(whole)) return pos + whole.size();
    }
  }
  if (c.flags & kLetter) return scan.run_of(pos, kLetter);
  if (c.flags & kNumber) return pos + c.bytes;
  return scan.run(pos, [](const Char& k) { return !(k.flags & (kSpace | kLetter | kNumber)); });
}
Cut find_clip(Scan& scan, size_t from, const Stage&) {
  const std::string_view fragment = scan.fragment();
  for (size_t pos = from; pos < scan.end(); pos += scan.at(pos).bytes) {
    if (const size_t end = match_clip(scan, fragment, pos); end > pos) return {pos, end};
  }
  return {scan.end(), scan.end()};
}

constexpr Stage kClip{.find = find_clip};

// Spelt as the list spells it: line ends by their escapes, and a quote without one.
std::string canonical(std::string_view expression) {
  std::string out;
  for (size_t i = 0; i < expression.size(); ++i) {
    const char c = expression[i];
    if (c == '\n' || c == '\r') {
      out += c == '\n' ? "\\n" : "\\r";
    } else if (c == '\\' && i + 1 < expression.size()) {
      if (expression[++i] != '"') out += c;
      out += expression[i];
    } else {
      out += c;
    }
  }
  return out;
}

#define INGLE_ANY_CASE "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define INGLE_SPACES "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define INGLE_UPPER "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define INGLE_LOWER "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define INGLE_MARKS " ?[^\\s\\p{L}\\p{N}]+"
#define INGLE_LEAD "[^\\r\\n\\p{L}\\p{N}]?"

constexpr std::string_view kClipExpression =
    "<\\|startoftext\\|>|<\\|endoftext\\|>|'s|'t|'re|'ve|'m|'ll|'d|[\\p{L}]+|[\\p{N}]|[^\\s\\p{L}\\p{N}]+";

struct OfSpec {
  std::string_view expression, spec;
  size_t stage;
};
constexpr OfSpec kOfSpecs[] = {
    {"'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+", "gpt-2", 0},
    {"'(?:[sdmt]|ll|ve|re)| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+", "gpt-2", 0},
    {INGLE_ANY_CASE "|" INGLE_LEAD "\\p{L}+|\\p{N}{1,3}|" INGLE_MARKS "[\\r\\n]*|" INGLE_SPACES, "llama-bpe",
     0},
    {INGLE_ANY_CASE "|" INGLE_LEAD "\\p{L}+|\\p{N}|" INGLE_MARKS "[\\r\\n]*|" INGLE_SPACES, "qwen2", 0},
    {INGLE_ANY_CASE "|" INGLE_LEAD
                    "[\\p{L}\\p{M}]+|\\p{N}| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|" INGLE_SPACES,
     "qwen35", 0},
    {INGLE_LEAD INGLE_UPPER "*" INGLE_LOWER "+" INGLE_ANY_CASE "?|" INGLE_LEAD INGLE_UPPER "+" INGLE_LOWER
                            "*" INGLE_ANY_CASE "?|\\p{N}{1,3}|" INGLE_MARKS "[\\r\\n/]*|" INGLE_SPACES,
     "gpt-4o", 0},
    {INGLE_LEAD INGLE_UPPER "*" INGLE_LOWER "+" INGLE_ANY_CASE "?|" INGLE_LEAD INGLE_UPPER "+" INGLE_LOWER
                            "*" INGLE_ANY_CASE "?|\\p{N}|" INGLE_MARKS "[\\r\\n/]*|" INGLE_SPACES,
     "tiny_aya", 1},
    {INGLE_LEAD INGLE_UPPER "*" INGLE_LOWER "+|" INGLE_LEAD INGLE_UPPER "+" INGLE_LOWER
                            "*|\\p{N}|" INGLE_MARKS "[\\r\\n/]*|" INGLE_SPACES,
     "tekken", 0},
    {"\\d{1,3}(?=(?:\\d{3})*\\b)", "tiny_aya", 0},
    {"[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| "
     "?[\\p{P}\\p{S}]+[\\r\\n]*|" INGLE_SPACES,
     "deepseek-v3", 2},
    {"\\s+$", "deepseek-llm", 3},
    {"[0-9][0-9][0-9]", "falcon", 2},
    {" ?[^(\\s|[.,!?\xE2\x80\xA6\xE3\x80\x82\xEF\xBC\x8C\xE3\x80\x81\xE0\xA5\xA4\xDB\x94\xD8\x8C])]+",
     "bloom", 0},
};

}  // namespace

const Stage* find_known_pattern(std::string_view published) {
  const std::string expression = canonical(published);
  if (expression == " {2,}") return &kBlanks;
  if (expression == kClipExpression) return &kClip;
  for (const OfSpec& known : kOfSpecs) {
    if (known.expression == expression) return &find_pre_tokenizer(known.spec)->stages[known.stage];
  }
  return nullptr;
}

}  // namespace ingle::text::hf
