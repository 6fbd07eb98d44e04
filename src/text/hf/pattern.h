// What Split and Replace search for: a string, a scanner of our own for a published expression, or any other
// regular expression through PCRE2 within bounds.
#pragma once
#include <memory>
#include <string_view>

#include "text/hf/json_reader.h"
#include "text/pretokenize.h"
#include "text/pretokenize_stages.h"

namespace ingle::text::hf {

class Pattern {
 public:
  virtual ~Pattern() = default;
  // Searches one fragment from left to right; matches may be empty.
  class Search {
   public:
    virtual ~Search() = default;
    // The first match at or after `from`; begin is npos when there is none.
    virtual Cut next(size_t from) = 0;
  };
  // `text[begin, end)` is the fragment; places are those of `text`. Both must outlive the search.
  virtual std::unique_ptr<Search> search(std::string_view text, size_t begin, size_t end,
                                         Work& work) const = 0;
  // The scanner behind it, or null.
  virtual const Stage* stage() const { return nullptr; }
};

// {"String": "…"}, {"Regex": "…"}, or a string by itself.
std::unique_ptr<Pattern> read_pattern(const Node& node);

std::unique_ptr<Pattern> make_string_pattern(std::string text);
std::unique_ptr<Pattern> make_stage_pattern(const Stage& stage);
// `node` is where it stands, for errors.
std::unique_ptr<Pattern> make_regex_pattern(const std::string& expression, const Node& node);

// The scanner that cuts as a published expression does, or null.
const Stage* find_known_pattern(std::string_view expression);

// The expression in the syntax of PCRE2. Throws Code::unsupported naming what has no equivalent there.
std::string translate_expression(const std::string& expression, const Node& node);

}  // namespace ingle::text::hf
