// Where each pattern cuts, against a regular-expression library run on the published patterns
// (tests/data/text/make_pretokenize.py), and how much work it is.
#include <algorithm>
#include <cstring>

#include "small_stack.h"
#include "vocabs.h"

using namespace ingle;
using namespace ingle::tests;

TEST_CASE("pre-tokenizers cut where the published patterns match") {
  const auto cases = read_jsonl(INGLE_TEST_DATA "/text/pretokenize.cases.jsonl");
  REQUIRE(cases.size() > 500);
  std::vector<size_t> ends;
  for (const JsonObject& c : cases) {
    const auto* spec = text::find_pre_tokenizer(c.at("pre").text);
    REQUIRE(spec);
    text::Work work;
    const std::string& text = c.at("text").text;
    text::pre_tokenize(*spec, text, ends, work);
    INFO(c.at("pre").text << ": '" << text << "'");
    CHECK(show({ends.begin(), ends.end()}) == show(c.at("ends").numbers));
  }
}

TEST_CASE("pre-tokenizers are listed once, and an unknown name is none") {
  std::vector<std::string_view> names;
  for (const auto& spec : text::pre_tokenizers()) {
    names.push_back(spec.name);
    CHECK(text::find_pre_tokenizer(spec.name) == &spec);
    CHECK_FALSE(spec.stages.empty());
  }
  std::sort(names.begin(), names.end());
  CHECK(std::adjacent_find(names.begin(), names.end()) == names.end());
  CHECK(text::find_pre_tokenizer("") == nullptr);
  CHECK(text::find_pre_tokenizer("gpt-3") == nullptr);
}

TEST_CASE("pre-tokenizers take linear work and little stack") {
  on_small_stack([] {
    std::vector<size_t> ends;
    std::vector<const text::Stage*> seen;
    for (const auto& spec : text::pre_tokenizers()) {
      if (std::find(seen.begin(), seen.end(), spec.stages.data()) != seen.end()) continue;
      seen.push_back(spec.stages.data());
      for (const char* unit : {"a", "A", " ", "\n", "1", ".", "'", "é", "中", "\u0301", "\xFF", "aA", " \n",
                               "1½", "A\u0301", " a", "\t", "½"}) {
        // A square would show at either size.
        const size_t size = std::strchr("a \n1", unit[0]) && !unit[1] ? 1 << 20 : 1 << 16;
        std::string text;
        while (text.size() < size) text += unit;
        text::Work work;
        text::pre_tokenize(spec, text, ends, work);
        INFO(spec.name << " '" << unit << "' scanned " << work.scanned);
        REQUIRE(ends.back() == text.size());
        CHECK(std::is_sorted(ends.begin(), ends.end()));
        CHECK(work.scanned <= 24 * text.size());
        CHECK(work.scanned >= text.size() / 4);
      }
    }
  });
}
