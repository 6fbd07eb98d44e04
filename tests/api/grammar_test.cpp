#include "support.h"

using namespace ingle;
using namespace ingle::tests;

namespace {

// Answers 'x', then whatever the grammar leaves: every byte has the same logit but 'x' and the end.
Model stubborn(const Runtime& runtime) {
  ScriptedModel script;
  std::vector<float> row(258, 0.0f);
  row['x'] = 5;
  row[256] = -5;
  script.logits.assign(64, row);
  return Model::scripted(runtime, script);
}

std::string answer(const Model& model, const Grammar& grammar, Finish* how = nullptr,
                   int64_t max_tokens = -1) {
  Session session(model);
  session.feed_text("q");
  Sampler greedy = Sampler::greedy();
  GenerateOptions options;
  options.grammar = grammar;
  options.max_tokens = max_tokens;
  session.begin(options);
  std::string text;
  for (;;) {
    const TokenEvent e = session.next(greedy);
    text += e.text;
    if (how) *how = e.finish;
    if (e.finish != Finish::none) return text;
  }
}

}  // namespace

TEST_CASE("an answer is held to its grammar, and ends with it", "[api]") {
  const Runtime runtime = one_thread();
  const Model model = stubborn(runtime);
  Finish how{};
  CHECK(answer(model, Grammar::regex("[a-c]{3}x?"), &how) == "aaax");
  CHECK(how == Finish::end);
  CHECK(answer(model, Grammar::json_schema(R"({"const": {"x": [1, "x"]}})", {false, true}), &how) ==
        R"({"x":[1,"x"]})");
  CHECK(how == Finish::end);
  CHECK(answer(model, Grammar::regex("x*"), &how, 5) == "xxxxx");
  CHECK(how == Finish::length);
}

TEST_CASE("a forked answer goes on within the same grammar", "[api]") {
  const Runtime runtime = one_thread();
  Session session(stubborn(runtime));
  session.feed_text("q");
  Sampler greedy = Sampler::greedy();
  GenerateOptions options;
  options.grammar = Grammar::regex("abx[de]{2}");
  session.begin(options);
  CHECK(session.next(greedy).text == "a");
  Session fork = session.fork();
  for (Session* each : {&session, &fork}) {
    std::string text;
    for (Finish how = Finish::none; how == Finish::none;) {
      const TokenEvent e = each->next(greedy);
      text += e.text;
      how = e.finish;
    }
    CHECK(text == "bxdd");
  }
}

TEST_CASE("what cannot be held or written is refused before the answer", "[api]") {
  const Runtime runtime = one_thread();
  const Model model = stubborn(runtime);
  CHECK(code_of([] { Grammar::json_schema(R"({"$ref": "other.json"})"); }) == Code::unsupported);
  CHECK(code_of([] { Grammar::regex("("); }) == Code::invalid_argument);
  CHECK(code_of([&] { answer(model, Grammar::json_schema("false")); }) == Code::invalid_argument);
  CHECK(Grammar::json().accepts(" [1, {\"a\": null}] "));
  CHECK_FALSE(Grammar::json().accepts("[1, ]"));
}
