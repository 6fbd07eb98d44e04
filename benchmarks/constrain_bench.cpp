// What grammars cost over a real vocabulary, on one thread: bench_constrain VOCABULARY SCHEMAS [WORST]
// VOCABULARY is a GGUF file, SCHEMAS a folder of files that hold {"schema": …, "tests": [{"valid", "data"}]}
// or a list of such groups: the public JSON Schema suite, or MaskBench. Each schema is compiled afresh, and
// each of its valid instances written token by token, with a mask before every token. WORST: how many of the
// slowest masks are told, and why schemas were refused.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "api/constraint.h"
#include "constrain/grammar.h"
#include "ingle/ingle.hpp"

using namespace ingle;
using nlohmann::ordered_json;

namespace {

double now_us() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return 1e6 * static_cast<double>(t.tv_sec) + 1e-3 * static_cast<double>(t.tv_nsec);
}

void print(const char* what, std::vector<double> us) {
  if (us.empty()) return;
  std::sort(us.begin(), us.end());
  double sum = 0;
  for (const double x : us) sum += x;
  const auto at = [&](double q) { return us[static_cast<size_t>(q * static_cast<double>(us.size() - 1))]; };
  std::printf("%-22s n %7zu  mean %9.1f us  p50 %8.1f  p90 %8.1f  p99 %9.1f  max %10.1f\n", what, us.size(),
              sum / static_cast<double>(us.size()), at(0.5), at(0.9), at(0.99), us.back());
}

struct Slow {
  double us;
  std::string where;
  bool operator<(const Slow& o) const { return us > o.us; }
};

struct Times {
  std::vector<double> compile, mask, first;  // first: of each schema
  std::vector<Slow> slow;
  bool tell_refused = false;
  size_t refused = 0, wrong = 0, untaken = 0;
};

// As models write it: a space behind commas and colons.
void dump(std::string& out, const ordered_json& j) {
  const char* between = "";
  if (j.is_object()) {
    out += '{';
    for (const auto& [key, value] : j.items()) {
      out += between + ordered_json(key).dump() + ": ";
      dump(out, value);
      between = ", ";
    }
    out += '}';
  } else if (j.is_array()) {
    out += '[';
    for (const auto& item : j) {
      out += between;
      dump(out, item);
      between = ", ";
    }
    out += ']';
  } else {
    out += j.dump();
  }
}

void write(const constrain::Grammar& grammar, const Tokenizer& tokenizer,
           const std::shared_ptr<const constrain::TokenTrie>& trie, const std::string& text, Times& times,
           const std::string& name = {}) {
  const auto at = grammar.matcher(constrain::Purpose::write);
  std::string so_far;
  for (const TokenId id : tokenizer.encode(text)) {
    const double start = now_us();
    const auto mask = grammar.masker(trie)->mask(*at);
    times.mask.push_back(now_us() - start);
    if (!name.empty()) times.slow.push_back({times.mask.back(), name + ": " + so_far});
    so_far += tokenizer.impl().piece(id);
    const bool offered = (*mask)[id], taken = at->advance(tokenizer.impl().piece(id));
    if (offered != taken) ++times.wrong;
    if (!taken) {  // a spelling that writing leaves out
      ++times.untaken;
      return;
    }
  }
}

constexpr const char* kJson = R"x(root ::= value
value ::= object | array | string | number | ("true" | "false" | "null") ws
object ::= "{" ws (string ":" ws value ("," ws string ":" ws value)*)? "}" ws
array ::= "[" ws (value ("," ws value)*)? "]" ws
string ::= "\"" ([^"\\\x7F\x00-\x1F] | "\\" (["\\bfnrt] | "u" [0-9a-fA-F]{4}))* "\"" ws
number ::= ("-"? ([0-9] | [1-9] [0-9]{0,15})) ("." [0-9]+)? ([eE] [-+]? [0-9]{1,15})? ws
ws ::= | " " | "\n" [ \t]{0,20}
)x";

void measure(const ordered_json& group, const Tokenizer& tokenizer,
             const std::shared_ptr<const constrain::TokenTrie>& trie, const std::string& file, Times& times) {
  const std::string schema = group["schema"].dump();
  constrain::GrammarPtr grammar;
  const double start = now_us();
  try {
    grammar = constrain::schema_grammar(schema, {}, "schema");
  } catch (const Error& e) {
    ++times.refused;
    if (times.tell_refused) std::printf("%s: %s\n", file.c_str(), e.what());
    return;
  }
  times.compile.push_back(now_us() - start);
  const size_t before = times.mask.size();
  for (const auto& test : group["tests"]) {
    if (!test["valid"].get<bool>()) continue;
    std::string text;
    dump(text, test["data"]);
    try {
      write(*grammar, tokenizer, trie, text, times, file);
    } catch (const Error&) {  // nothing can be written
    }
  }
  if (times.mask.size() > before) times.first.push_back(times.compile.back() + times.mask[before]);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return std::fprintf(stderr, "bench_constrain VOCABULARY SCHEMAS\n"), 2;
  const Tokenizer tokenizer = Tokenizer::load(argv[1]);
  double start = now_us();
  const auto trie = answer_trie(tokenizer.impl());
  std::printf("%lld tokens, %zu nodes of their tree, made in %.0f ms\n",
              static_cast<long long>(tokenizer.size()), trie->nodes().size(), (now_us() - start) / 1e3);
  Times times;
  times.tell_refused = argc > 3;
  for (const auto& file : std::filesystem::recursive_directory_iterator(argv[2])) {
    if (file.path().extension() != ".json") continue;
    std::ifstream in(file.path());
    ordered_json groups = ordered_json::parse(in);
    if (groups.is_object()) groups = ordered_json::array({std::move(groups)});
    for (const auto& group : groups) measure(group, tokenizer, trie, file.path().filename(), times);
  }
  print("compile a schema", times.compile);
  print("first mask, compiled", times.first);
  print("mask, cold schema", times.mask);
  std::printf(
      "%zu schemas refused, %zu tokens offered wrongly, %zu texts in spellings that are not written\n",
      times.refused, times.wrong, times.untaken);
  const size_t worst = std::min(argc > 3 ? std::stoul(argv[3]) : 0, times.slow.size());
  std::partial_sort(times.slow.begin(), times.slow.begin() + static_cast<ptrdiff_t>(worst), times.slow.end());
  for (size_t i = 0; i < worst; ++i)
    std::printf("%10.1f us  %s\n", times.slow[i].us, times.slow[i].where.c_str());
  Times rules;
  const auto json = constrain::gbnf_grammar(kJson, "grammar");
  const std::string text =
      R"({"name": "a longer text, of several words", "list": [1, 2.5, {"inner": ["x", "y", {"deep": null}]}], "b": true})";
  write(*json, tokenizer, trie, text, rules);
  print("mask, cold GBNF", rules.mask);
  rules = {};
  for (int i = 0; i < 20; ++i) write(*json, tokenizer, trie, text, rules);
  print("mask, warm GBNF", rules.mask);
  std::printf("%zu tokens offered wrongly\n", rules.wrong);
}
