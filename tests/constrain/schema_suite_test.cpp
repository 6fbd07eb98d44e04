// The public JSON Schema test suite (tests/data/constrain/suite, under its own licence): what compiles judges
// every instance right, and what does not is refused by name.
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "constrain/grammar.h"
#include "ingle/error.hpp"
#include "support/catch.h"

using namespace ingle;
using nlohmann::ordered_json;

namespace {

struct Score {
  int groups = 0, compiled = 0, instances = 0, wrong = 0;
};

void judge(const ordered_json& group, const constrain::Grammar& grammar, Score& score) {
  for (const auto& test : group["tests"]) {
    const auto matcher = grammar.matcher(constrain::Purpose::judge);
    const bool accepted = matcher->advance(test["data"].dump()) && matcher->accepting();
    ++score.instances;
    if (accepted == test["valid"].get<bool>()) continue;
    ++score.wrong;
    UNSCOPED_INFO(group["description"] << ": " << test["description"]
                                       << (accepted ? " was accepted" : " was not"));
  }
}

Score run(const std::string& draft, const std::string& uri) {
  Score score;
  for (const auto& file : std::filesystem::directory_iterator(INGLE_TEST_DATA "/constrain/suite/" + draft)) {
    std::ifstream in(file.path());
    for (const auto& group : ordered_json::parse(in)) {
      ordered_json schema = group["schema"];
      if (schema.is_object() && !schema.contains("$schema")) schema["$schema"] = uri;
      ++score.groups;
      constrain::GrammarPtr grammar;
      try {
        grammar = constrain::schema_grammar(schema.dump(), {}, "schema");
      } catch (const Error& e) {
        CHECK(e.code() == Code::unsupported);
        CHECK(e.where().find("schema#") == 0);
        continue;
      }
      ++score.compiled;
      judge(group, *grammar, score);
    }
  }
  WARN(draft << ": " << score.compiled << " of " << score.groups << " groups compile, " << score.instances
             << " instances, " << score.wrong << " judged wrongly");
  return score;
}

}  // namespace

TEST_CASE("the schema suite of draft 4 is judged as it says", "[constrain]") {
  const Score score = run("draft4", "http://json-schema.org/draft-04/schema#");
  CHECK(score.wrong == 0);
  CHECK(score.groups == 160);
  CHECK(score.compiled * 10 >= score.groups * 9);
}

TEST_CASE("the schema suite of draft 6 is judged as it says", "[constrain]") {
  const Score score = run("draft6", "http://json-schema.org/draft-06/schema#");
  CHECK(score.wrong == 0);
  CHECK(score.groups == 232);
  CHECK(score.compiled * 10 >= score.groups * 9);
}

TEST_CASE("the schema suite of draft 7 is judged as it says", "[constrain]") {
  const Score score = run("draft7", "http://json-schema.org/draft-07/schema#");
  CHECK(score.wrong == 0);
  CHECK(score.groups == 257);
  CHECK(score.compiled * 10 >= score.groups * 9);
}

TEST_CASE("the schema suite of draft 2020-12 is judged as it says", "[constrain]") {
  const Score score = run("draft2020-12", "https://json-schema.org/draft/2020-12/schema");
  CHECK(score.wrong == 0);
  CHECK(score.groups == 383);
  CHECK(score.compiled * 10 >= score.groups * 9);
}
