// Context-free grammars in GBNF: what is accepted, what is refused, and the same by a plain slow recogniser.
#include <functional>
#include <map>
#include <random>
#include <string>

#include "constrain/grammar.h"
#include "ingle/error.hpp"
#include "support/catch.h"

using namespace ingle;
using namespace ingle::constrain;

namespace {

bool accepts(const Grammar& grammar, std::string_view text) {
  const auto matcher = grammar.matcher(Purpose::judge);
  return matcher->advance(text) && matcher->accepting();
}
bool accepts(const std::string& source, std::string_view text) {
  return accepts(*gbnf_grammar(source, "grammar"), text);
}

std::string refusal(const std::string& source, Code code = Code::invalid_argument) {
  try {
    gbnf_grammar(source, "grammar");
  } catch (const Error& e) {
    INFO(source.substr(0, 60) << ": " << e.what());
    CHECK(e.code() == code);
    return e.message();
  }
  return {};
}

}  // namespace

TEST_CASE("a GBNF grammar accepts just its texts", "[constrain]") {
  struct Case {
    const char* source;
    std::vector<const char*> good, bad;
  };
  const Case cases[] = {
      {R"x(root ::= "ab" | "c")x", {"ab", "c"}, {"", "a", "abc", "ac"}},
      {R"x(root ::= [a-c]+ "-"? [^0-9\n]{2})x", {"abXY", "a-é\"", "cccc"}, {"a", "-ab", "ab1", "abc\n"}},
      {R"x(root ::= "a"* "b"{2} "c"{1,} "d"{0,2})x", {"bbc", "aabbccdd"}, {"abc", "bbcddd", "bb"}},
      {R"x(root ::= "a"{ 1 , 2 })x", {"a", "aa"}, {"", "aaa"}},
      {R"x(root ::= "\x41\u00e9\U0001F600\t\"\\\[\]")x", {"A\xC3\xA9\xF0\x9F\x98\x80\t\"\\[]"}, {"A"}},
      {R"x(root ::= [\x41-\x43\u4e00-\u9fff\]\-])x", {"B", "\xE6\xBC\xA2", "]", "-"}, {"D", ""}},
      {R"x(root ::= .)x", {"x", "\n", "\xE6\xBC\xA2"}, {"", "xy", "\xE6\xBC", "\xFF"}},
      {"root ::= # a comment\n  \"a\" # another\n  (\"b\" |\n \"c\")\nother ::= \"x\"\n",
       {"ab", "ac"},
       {"a"}},
      {"root ::= \"a\"\n  | \"b\"\n", {"a", "b"}, {"ab"}},
      {"root ::= x-1 x_2\nx-1 ::= \"1\"\nx_2 ::= \"2\" |", {"12", "1"}, {"2"}},
      {R"x(root ::= ("a" | "b" ("c" | "d"))+ )x", {"a", "bca", "bdbc"}, {"b", ""}},
      {R"x(root ::= "" | "x")x", {"", "x"}, {"xx"}},
      // Left, right, middle and hidden left recursion; ambiguity; empty rules.
      {R"x(root ::= root "a" | "b")x", {"b", "ba", "baaa"}, {"", "a", "bab"}},
      {R"x(root ::= "a" root | "b")x", {"b", "ab", "aaab"}, {"", "a", "ba"}},
      {R"x(root ::= "(" root ")" | "")x", {"", "()", "((()))"}, {"(", "())"}},
      {R"x(root ::= root root | "a" | "")x", {"", "a", "aaaaaaa"}, {"b"}},
      {"root ::= x root \"b\" | \"a\"\nx ::= \"\" | \"x\"", {"a", "ab", "xab", "xxabb"}, {"b", "xa"}},
      {"root ::= e\ne ::= e \"+\" t | t\nt ::= t \"*\" f | f\nf ::= \"(\" e \")\" | [0-9]+",
       {"1", "1+2*3", "(1+2)*(3)"},
       {"1+", "(1", "*1"}},
      {"root ::= a\na ::= b | \"x\"\nb ::= a | \"y\"", {"x", "y"}, {"", "xy"}},
      {R"x(root ::= "a" root "a" | "b" root "b" | "a" | "b" | "")x", {"", "abba", "aba"}, {"ab", "abab"}},
      {"root ::= x y \"!\"\nx ::= y y\ny ::= z | \"y\"\nz ::= \"\"",
       {"!", "y!", "yy!", "yyy!"},
       {"", "yyyy!"}},
  };
  for (const Case& c : cases) {
    INFO(c.source);
    const GrammarPtr grammar = gbnf_grammar(c.source, "grammar");
    for (const char* text : c.good) {
      INFO(text);
      CHECK(accepts(*grammar, text));
    }
    for (const char* text : c.bad) {
      INFO(text);
      CHECK_FALSE(accepts(*grammar, text));
    }
  }
}

TEST_CASE("what is no grammar is refused with line and column", "[constrain]") {
  CHECK(refusal("root ::= \"a\" x\n") == "the rule \"x\", which is not defined, at line 1, column 14");
  CHECK(refusal("a ::= \"a\"") == "no rule \"root\" at line 1, column 10");
  CHECK(refusal("root ::= \"a\n\n") == "a literal that does not end at line 1, column 10");
  CHECK(refusal("root ::= \"\xC3\xA9\" [a") == "a character class that does not end at line 1, column 14");
  CHECK(refusal("root ::= (\"a\"").find("a group that does not end at line 1, column 10") == 0);
  CHECK(refusal("root ::= \"a\")").find("an unmatched ')'") == 0);
  CHECK(refusal("root ::= * \"a\"").find("nothing to repeat") == 0);
  CHECK(refusal("root ::= \"a\"{2,1}").find("a repetition whose bounds") == 0);
  CHECK(refusal("root ::= \"a\"{x}").find("expected a number") == 0);
  CHECK(refusal("root ::= [z-a]").find("a range that is out of order") == 0);
  CHECK(refusal("root ::= []").find("an empty character class") == 0);
  CHECK(refusal("root ::= \"\\q\"").find("an escape that is not known") == 0);
  CHECK(refusal("root ::= \"\\ud800\"").find("an escape that is no code point") == 0);
  CHECK(refusal("root ::= \"\\u12\"").find("an escape without its hexadecimal digits") == 0);
  CHECK(refusal("root ::= \"\xFF\"").find("text that is not UTF-8") == 0);
  CHECK(refusal("root = \"a\"").find("expected \"::=\"") == 0);
  CHECK(refusal("root ::= \"a\"\nroot ::= \"b\"").find("the rule \"root\" again at line 2, column 1") == 0);
  CHECK(refusal("root ::= <think>", Code::unsupported).find("a token") == 0);
  CHECK(refusal("root ::= !<[7]>", Code::unsupported).find("a token") == 0);
  CHECK(refusal("root ::= root \"a\"").find("no text is of the grammar") == 0);
  CHECK(refusal("").find("no rule \"root\"") == 0);
}

TEST_CASE("hostile grammars end within the budget", "[constrain]") {
  const std::string deep(100'000, '(');
  CHECK(refusal("root ::= " + deep, Code::unsupported).find("groups nested deeper") == 0);
  CHECK(refusal("root ::= \"a\"{1000000}", Code::unsupported).find("a repetition of more than") == 0);
  CHECK(refusal("root ::= \"a\"" + std::string(100'000, '*'), Code::unsupported).find("more than 4 repet") ==
        0);
  CHECK(refusal("root ::= (((\"a\"{1000}){1000}){1000}){1000}", Code::unsupported).find("is too large") == 0);
  CHECK(refusal("root ::= ((((\"\"{100000}){100000}){100000}){100000}){100000}", Code::unsupported)
            .find("is too large") == 0);
  // A thousand rules, each of the next one twice: 2^1000 texts' worth, and no work before it is asked for.
  std::string doubled = "root ::= r0\n";
  for (int i = 0; i < 1000; ++i)
    doubled +=
        "r" + std::to_string(i) + " ::= r" + std::to_string(i + 1) + " r" + std::to_string(i + 1) + "\n";
  CHECK_FALSE(accepts(doubled + "r1000 ::= \"a\"", "aaaa"));
  // Exponential for backtracking, and for determinising.
  CHECK(accepts("root ::= (\"a\" | \"a\")* \"b\"", std::string(10'000, 'a') + "b"));
  CHECK(accepts("root ::= [ab]* \"a\" [ab]{200}", std::string(500, 'a')));
  CHECK_FALSE(accepts("root ::= ((\"a\"?)*)* \"b\"", std::string(10'000, 'a')));
  // Deep texts: nothing recurses over them.
  const std::string open(100'000, '('), close(100'000, ')');
  CHECK(accepts("root ::= \"(\" root \")\" | \"\"", open + close));
  CHECK_FALSE(accepts("root ::= \"(\" root \")\" | \"\"", open));
  CHECK(accepts("root ::= \"a\" root | \"\"", std::string(100'000, 'a')));
}

namespace {

// A random grammar over a, b and c: rules as alternatives of sequences of literals and rules.
struct Symbol {
  int rule;  // -1: the literal
  char letter;
};
using Sequence = std::vector<Symbol>;
using Grammars = std::vector<std::vector<Sequence>>;

Grammars random_rules(std::mt19937& random) {
  Grammars rules(1 + random() % 4);
  for (auto& rule : rules) {
    rule.resize(1 + random() % 3);
    for (Sequence& s : rule) {
      s.resize(random() % 4);
      for (Symbol& x : s) {
        x.rule = random() % 2 ? static_cast<int>(random() % rules.size()) : -1;
        x.letter = static_cast<char>('a' + random() % 3);
      }
    }
  }
  return rules;
}

std::string source_of(const Grammars& rules) {
  std::string out;
  for (size_t r = 0; r < rules.size(); ++r) {
    out += r == 0 ? "root ::= " : "r" + std::to_string(r) + " ::= ";
    for (size_t a = 0; a < rules[r].size(); ++a) {
      if (a) out += " | ";
      for (const Symbol& x : rules[r][a])
        out += x.rule < 0    ? std::string("\"") + x.letter + "\" "
               : x.rule == 0 ? "root "
                             : "r" + std::to_string(x.rule) + " ";
    }
    out += "\n";
  }
  return out;
}

// derives[r][i][j]: rule r gives text[i, j). The least fixed point, by trying until nothing is new.
bool derives(const Grammars& rules, const std::string& text) {
  const size_t n = text.size() + 1;
  std::vector<char> table(rules.size() * n * n);
  const auto cell = [&](size_t r, size_t i, size_t j) -> char& { return table[(r * n + i) * n + j]; };
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t r = 0; r < rules.size(); ++r)
      for (const Sequence& s : rules[r])
        for (size_t i = 0; i < n; ++i) {
          std::vector<char> ends(n);
          ends[i] = 1;
          for (const Symbol& x : s) {
            std::vector<char> next(n);
            for (size_t k = 0; k < n; ++k) {
              if (!ends[k]) continue;
              if (x.rule < 0) {
                if (k + 1 < n && text[k] == x.letter) next[k + 1] = 1;
                continue;
              }
              for (size_t j = k; j < n; ++j)
                if (cell(static_cast<size_t>(x.rule), k, j)) next[j] = 1;
            }
            ends = next;
          }
          for (size_t j = 0; j < n; ++j)
            if (ends[j] && !cell(r, i, j)) cell(r, i, j) = 1, changed = true;
        }
  }
  return cell(0, 0, n - 1) != 0;
}

// Every text over a, b and c of at most `longest` letters.
std::vector<std::string> all_texts(size_t longest) {
  std::vector<std::string> out{""};
  for (size_t i = 0; i < out.size(); ++i)
    if (out[i].size() < longest)
      for (const char c : {'a', 'b', 'c'}) out.push_back(out[i] + c);
  return out;
}

}  // namespace

TEST_CASE("random grammars are judged as a slow recogniser judges them", "[constrain]") {
  constexpr size_t kLongest = 5, kSeen = 4;
  std::mt19937 random(11);
  const std::vector<std::string> texts = all_texts(kLongest);
  int n_grammars = 0, n_accepted = 0;
  for (int round = 0; round < 250; ++round) {
    const Grammars rules = random_rules(random);
    const std::string source = source_of(rules);
    INFO(source);
    GrammarPtr grammar;
    try {
      grammar = gbnf_grammar(source, "grammar");
    } catch (const Error& e) {
      REQUIRE(e.message().find("no text is of the grammar") == 0);
      for (const std::string& text : texts) REQUIRE_FALSE(derives(rules, text));
      continue;
    }
    ++n_grammars;
    std::map<std::string, bool> right;
    for (const std::string& text : texts) right[text] = derives(rules, text);
    for (const std::string& text : texts) {
      INFO("text " << text);
      n_accepted += right[text];
      REQUIRE(accepts(*grammar, text) == right[text]);
      // A beginning of a text that is known must be taken.
      const auto matcher = grammar->matcher(Purpose::judge);
      const bool alive = matcher->advance(text);
      if (right[text]) REQUIRE(alive);
      if (text.size() <= kSeen && !alive)
        for (const auto& [longer, good] : right)
          if (longer.starts_with(text)) REQUIRE_FALSE(good);
    }
  }
  CHECK(n_grammars > 100);
  CHECK(n_accepted > 1000);
}
