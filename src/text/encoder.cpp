#include "text/encoder.h"

namespace ingle::text {

void append_fallback(const Vocabulary& v, std::string_view bytes, std::vector<TokenId>& out) {
  for (const char c : bytes) {
    if (v.byte_tokens[static_cast<unsigned char>(c)] < 0) {
      if (v.special.unknown) out.push_back(*v.special.unknown);
      return;
    }
  }
  for (const char c : bytes) out.push_back(v.byte_tokens[static_cast<unsigned char>(c)]);
}

MarkCuts::MarkCuts(const Vocabulary& v) {
  for (int32_t id = 0; id < v.size(); ++id) {
    if (!v.is_plain(id)) continue;
    const std::string_view text = v.texts[static_cast<size_t>(id)];
    for (size_t at = text.find(kSpaceMark, 1); at != text.npos; at = text.find(kSpaceMark, at + 1)) {
      joined_[static_cast<unsigned char>(text[at - 1])] = true;
    }
  }
}

size_t MarkCuts::next(std::string_view text, size_t begin) const {
  for (size_t at = begin + 1;; ++at) {
    at = text.find(kSpaceMark[0], at);
    if (at == text.npos) return text.size();
    if (!joined_[static_cast<unsigned char>(text[at - 1])] &&
        text.substr(at, kSpaceMark.size()) == kSpaceMark) {
      return at;
    }
  }
}

}  // namespace ingle::text
