#include "text/hf/added_splitter.h"

#include <algorithm>
#include <unordered_set>

#include "text/unicode.h"

namespace ingle::text::hf {
namespace {

// White space at the end of `text` begins here; white space at its start ends there.
size_t space_before(std::string_view text) {
  size_t at = text.size();
  while (at > 0) {
    size_t begin = at - 1;
    while (begin > 0 && at - begin < 4 && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) --begin;
    const Char c = char_at(text.data() + begin, text.data() + at);
    if (begin + c.bytes != at || !(c.flags & kSpace)) break;
    at = begin;
  }
  return at;
}
size_t space_after(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    const Char c = char_at(text.data() + at, text.data() + text.size());
    if (!(c.flags & kSpace)) break;
    at += c.bytes;
  }
  return at;
}

bool ends_with_word(std::string_view text) {
  if (text.empty()) return false;
  size_t begin = text.size() - 1;
  while (begin > 0 && text.size() - begin < 4 && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80)
    --begin;
  const Char c = char_at(text.data() + begin, text.data() + text.size());
  return begin + c.bytes == text.size() && is_word(c);
}
bool starts_with_word(std::string_view text) {
  return !text.empty() && is_word(char_at(text.data(), text.data() + text.size()));
}

}  // namespace

AddedSplitter::AddedSplitter(const std::vector<AddedToken>& tokens, bool normalized,
                             const std::function<std::string(std::string)>& spelling)
    : tokens_(tokens), finders_(make(tokens, normalized, spelling)) {}

AddedSplitter::Finders AddedSplitter::make(const std::vector<AddedToken>& tokens, bool normalized,
                                           const std::function<std::string(std::string)>& spelling) {
  // Of equal texts the special token counts, then the first.
  std::vector<size_t> order(tokens.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_partition(order.begin(), order.end(), [&](size_t i) { return tokens[i].special; });
  std::unordered_set<std::string> texts;  // whose strings stay where they are
  std::vector<AddedTokens::Token> all, plain;
  for (const size_t i : order) {
    if (tokens[i].normalized != normalized) continue;
    const auto [text, fresh] = texts.insert(spelling(tokens[i].content));
    if (!fresh || text->empty()) continue;
    all.push_back({*text, static_cast<TokenId>(i)});
    if (!tokens[i].special) plain.push_back(all.back());
  }
  return {AddedTokens(all), AddedTokens(plain)};
}

void AddedSplitter::split(std::string_view text, bool parse_special, const OnToken& token,
                          const OnPlain& plain) const {
  std::vector<AddedTokens::Match> matches;
  (parse_special ? finders_.with_special : finders_.without).find(text, matches);
  size_t kept = 0;
  for (const AddedTokens::Match& m : matches) {
    const AddedToken& t = tokens_[static_cast<size_t>(m.id)];
    size_t begin = m.begin, end = m.end;
    if (t.single_word && (ends_with_word(text.substr(0, begin)) || starts_with_word(text.substr(end))))
      continue;
    const size_t free = std::min(kept, begin);
    if (t.lstrip) begin = std::max(kept, free + space_before(text.substr(free, begin - free)));
    // Where the token before has taken white space beyond this one's end, it has taken all of it.
    if (t.rstrip) end = std::max(kept, end + (kept > end ? 0 : space_after(text.substr(end))));
    if (kept < begin) plain(kept, begin);
    token(static_cast<TokenId>(t.id));
    kept = end;
  }
  if (kept < text.size()) plain(kept, text.size());
}

}  // namespace ingle::text::hf
