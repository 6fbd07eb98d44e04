// A place in an answer of which more may come.
#pragma once
#include <cstddef>
#include <string_view>

namespace ingle::text {

enum class Match { no, yes, maybe };  // maybe: the text ends within what could be it, so far or for good

struct Cursor {
  std::string_view text;  // all that came
  size_t at = 0;
  bool ended = false;  // nothing more will come

  bool empty() const { return at >= text.size(); }
  char peek() const { return text[at]; }
  Match match_at(size_t place, std::string_view literal) const {
    const std::string_view rest = text.substr(place, literal.size());
    if (rest == literal) return Match::yes;
    return rest.size() < literal.size() && literal.starts_with(rest) ? Match::maybe : Match::no;
  }
  Match match(std::string_view literal) const { return match_at(at, literal); }
  static bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }
  void skip_space() {
    while (!empty() && is_space(peek())) ++at;
  }
};

// Looks for `literal` from `from` on, which it moves so that no byte is looked at twice by later calls with
// more text. Where it was found, or npos.
inline size_t search(const Cursor& in, std::string_view literal, size_t& from) {
  const size_t found = in.text.find(literal, from);
  if (found != std::string_view::npos) return found;
  const size_t keep = literal.size() - 1;
  if (in.text.size() > from + keep) from = in.text.size() - keep;
  return found;
}

}  // namespace ingle::text
