// Stop patterns, phrases that must not come up, and tokens taken without sampling.
#include <map>

#include "support.h"

using namespace ingle;
using namespace ingle::tests;

namespace {

struct Told {
  std::string text;
  std::vector<TokenId> ids;
  Finish how = Finish::none;
};

Told answer(Session& session, const GenerateOptions& options, Sampler sampler = Sampler::greedy()) {
  session.begin(options);
  Told out;
  while (out.how == Finish::none) {
    const TokenEvent e = session.next(sampler);
    out.text += e.text;
    if (e.id >= 0) out.ids.push_back(e.id);
    out.how = e.finish;
  }
  return out;
}

// Its answer is `text`; where that is refused, the letters of `others` in their order, and then `text` anew.
Model with_others(const Runtime& runtime, const std::string& text, const std::string& others) {
  ScriptedModel script;
  for (const char c : text) {
    std::vector<float> row(258, -20.0f);
    row[static_cast<unsigned char>(c)] = 10;
    for (size_t i = 0; i < others.size(); ++i)
      if (others[i] != c) row[static_cast<unsigned char>(others[i])] = 5.0f - static_cast<float>(i);
    script.logits.push_back(std::move(row));
  }
  script.logits.emplace_back(258, -20.0f);
  script.logits.back()[256] = 10;
  return Model::scripted(runtime, script);
}

std::vector<TokenId> all(const Session& session) {
  return {session.tokens().begin(), session.tokens().end()};
}

}  // namespace

TEST_CASE("an answer ends where a pattern has matched, across tokens", "[api]") {
  const Runtime runtime = one_thread();
  const Model model = scripted(runtime, "Total: 12 apples\n\n\nEnd 345.");
  const auto text = [&](std::vector<std::string> patterns, std::vector<std::string> stops = {}) {
    Session session(model);
    session.feed_text("q");
    GenerateOptions options;
    options.stop_patterns = std::move(patterns);
    options.stop = std::move(stops);
    return answer(session, options).text;
  };
  CHECK(text({"\\n\\n+"}) == "Total: 12 apples");
  CHECK(text({"[0-9]{3}"}) == "Total: 12 apples\n\n\nEnd ");
  CHECK(text({"[0-9]{4}"}) == "Total: 12 apples\n\n\nEnd 345.");
  CHECK(text({"[0-9]{3}", "apples?"}) == "Total: 12 ");
  CHECK(text({"apples"}, {"12"}) == "Total: ");
  CHECK(text({"12 a.*s"}, {"les"}) == "Total: ");  // both end here; the longer one counts
  GenerateOptions options;
  Session session(model);
  for (const char* wrong : {"", "(", "a*", "\\bx"}) {
    options.stop_patterns = {wrong};
    CHECK(code_of([&] { session.begin(options); }) != Code::ok);
  }
}

TEST_CASE("a banned phrase never comes up: the answer goes back to where it began", "[api]") {
  const Runtime runtime = one_thread();
  const Model model = with_others(runtime, "I am a test of it", "xyz");
  Session session(model);
  session.feed_text("q");
  GenerateOptions options;
  options.banned_phrases = {"test", "am I"};
  options.max_tokens = 12;
  const Told told = answer(session, options);
  CHECK(told.text == "I am a xI am");
  CHECK(told.how == Finish::length);
  CHECK(told.ids == bytes_of(told.text));
  std::vector<TokenId> held = model.tokenizer().encode("q", {false, true});
  held.insert(held.end(), told.ids.begin(), told.ids.end());
  CHECK(all(session) == held);
  // Two at one place; overlapping ones; one that the end saves.
  const auto text = [&](const char* script, std::vector<std::string> phrases) {
    Session s(with_others(runtime, script, "xyz"));
    s.feed_text("q");
    GenerateOptions o;
    o.banned_phrases = std::move(phrases);
    o.max_tokens = 6;
    return answer(s, o).text;
  };
  CHECK(text("abcd", {"abc", "xbc"}) == "xxxxab");
  CHECK(text("abcd", {"ab", "xx"}) == "xyxyxa");
  CHECK(text("abcd", {"d"}) == "abcxab");
  CHECK(text("abcd", {"abcde"}) == "abcd");
  CHECK(text("abcd", {"abcd"}) == "xxxabc");
}

TEST_CASE("where no token is left, a banned phrase costs the token before too", "[api]") {
  const Runtime runtime = one_thread();
  ScriptedModel script;
  script.logits.assign(2, std::vector<float>(258, -INFINITY));
  script.logits[0]['a'] = 10;
  script.logits[0]['b'] = 5;
  script.logits[1]['c'] = 10;
  Session session(Model::scripted(runtime, script));
  session.feed_text("q");
  GenerateOptions options;
  options.max_tokens = 2;
  options.banned_phrases = {"c", "ax"};  // the latter holds "a" back
  CHECK(answer(session, options).text == "ba");
}

TEST_CASE("banned phrases leave no trace in the session, and stops see what is told", "[api]") {
  const Runtime runtime = one_thread();
  const Model model = with_others(runtime, "abcdefgh", "xyz");
  GenerateOptions options;
  options.banned_phrases = {"bcdefgz"};  // looks far ahead
  Sampler greedy = Sampler::greedy();
  Session session(model);
  session.feed(bytes_of("q"));
  session.begin(options);
  CHECK(session.next(greedy).text == "a");
  CHECK(session.next(greedy).text == "b");  // certain only when "z" did not follow
  CHECK(all(session) == bytes_of("qab"));
  Session fork = session.fork();
  CHECK(fork.next(greedy).text == "c");
  session.begin({});
  CHECK(session.next(greedy).text == "c");
  CHECK(all(session) == bytes_of("qabc"));
  options.stop = {"de"};
  const Told stopped = answer(session, options);
  CHECK(stopped.text == "");
  CHECK(stopped.how == Finish::stop);
  CHECK(all(session) == bytes_of("qabcde"));
  options.stop.clear();
  options.max_tokens = 2;
  Session short_one(model);
  short_one.feed(bytes_of("q"));
  CHECK(answer(short_one, options).text == "ab");
  CHECK(all(short_one) == bytes_of("qab"));
}

TEST_CASE("with chance, an answer without banned phrases is the same each time, and has none", "[api]") {
  const Runtime runtime = one_thread();
  ScriptedModel script;
  script.logits.assign(60, std::vector<float>(258, -INFINITY));
  for (auto& row : script.logits)
    for (const char c : {'a', 'b', 'c'}) row[static_cast<unsigned char>(c)] = 0;
  const Model model = Model::scripted(runtime, script);
  GenerateOptions options;
  options.banned_phrases = {"ab", "cc", "bba", "ca"};
  options.max_tokens = 60;
  SamplerOptions chance;
  chance.temperature = 1;
  int n_seeds = 0;
  for (uint64_t seed = 0; seed < 10; ++seed) {
    chance.seed = seed;
    std::string texts[2];
    for (std::string& text : texts) {
      Session session(model);
      session.feed_text("q");
      text = answer(session, options, Sampler(chance)).text;
    }
    CHECK(texts[0] == texts[1]);
    CHECK(texts[0].size() == 60);
    for (const std::string& phrase : options.banned_phrases)
      CHECK(texts[0].find(phrase) == std::string::npos);
    n_seeds += texts[0].find("bb") != std::string::npos;
  }
  CHECK(n_seeds > 0);
}

TEST_CASE("when every token leads to a banned phrase, the call says so", "[api]") {
  const Runtime runtime = one_thread();
  const Model model = scripted(runtime, "abc");
  Session session(model);
  session.feed_text("q");
  GenerateOptions options;
  options.grammar = Grammar::regex("abc");
  options.banned_phrases = {"b"};
  session.begin(options);
  Sampler greedy = Sampler::greedy();
  CHECK(session.next(greedy).text == "a");
  CHECK(code_of([&] { session.next(greedy); }) == Code::unsupported);
  options.banned_phrases = {""};
  CHECK(code_of([&] { session.begin(options); }) == Code::invalid_argument);
  options.banned_phrases = {"x"};
  options.jump_ahead = true;
  CHECK(code_of([&] { session.begin(options); }) == Code::unsupported);
  options.jump_ahead = false;
  session.begin(options);
  const std::vector<float> row(258, 0.0f);
  CHECK(code_of([&] { session.next(greedy, row); }) == Code::unsupported);
}

TEST_CASE("banned phrases hold on a model with windows and a state of its own", "[api]") {
  const Runtime runtime = one_thread();
  const Model model = Model::load(runtime, tiny_model());
  Session plain(model), without(model);
  GenerateOptions options;
  options.max_tokens = 12;
  options.ignore_end = true;
  for (Session* s : {&plain, &without}) s->feed_text("Once upon a time");
  const Told first = answer(plain, options);
  REQUIRE(first.text.size() > 6);
  const std::string phrase = first.text.substr(first.text.size() / 2, 3);
  options.banned_phrases = {phrase};
  const Told second = answer(without, options);
  CHECK(second.text.find(phrase) == std::string::npos);
  CHECK(second.ids.size() == first.ids.size());
  // Fed afresh, what it holds leads to the same logits.
  Session again(model);
  again.feed(without.tokens());
  const auto a = without.logits(), b = again.logits();
  CHECK(std::equal(a.begin(), a.end(), b.begin(), b.end()));
}

TEST_CASE("what the grammar leaves no choice about is taken in the tokenizer's own tokens", "[api]") {
  const Runtime runtime = one_thread();
  const Model model = Model::load(runtime, tiny_model());
  GenerateOptions options;
  const std::string forced = "{\"the name\": \"the quick brown fox\", \"n\": ";
  options.grammar = Grammar::gbnf(
      "root ::= " + std::string("\"{\\\"the name\\\": \\\"the quick brown fox\\\", \\\"n\\\": \"") +
      " [0-9] \"}\"");
  std::map<bool, Told> told;
  for (const bool jump : {false, true}) {
    options.jump_ahead = jump;
    Session session(model);
    session.feed_text("q");
    told[jump] = answer(session, options);
    CHECK(told[jump].text.substr(0, forced.size()) == forced);
    CHECK(told[jump].how == Finish::end);
    std::vector<TokenId> held = model.tokenizer().encode("q");
    held.insert(held.end(), told[jump].ids.begin(), told[jump].ids.end());
    CHECK(all(session) == held);
    Session again(model);
    again.feed(held);
    const auto a = session.logits(), b = again.logits();
    CHECK(std::equal(a.begin(), a.end(), b.begin(), b.end()));
  }
  // The tokenizer's own, but for the last of the forced ones and what follows.
  std::vector<TokenId> own = model.tokenizer().encode(forced);
  own.pop_back();
  REQUIRE(told[true].ids.size() >= own.size());
  CHECK(std::equal(own.begin(), own.end(), told[true].ids.begin()));
  // Left in the middle, the session holds what was told.
  options.jump_ahead = true;
  Session session(model);
  session.feed_text("q");
  session.begin(options);
  Sampler greedy = Sampler::greedy();
  session.next(greedy);
  session.next(greedy);
  CHECK(session.tokens().size() == model.tokenizer().encode("q").size() + 2);
  session.feed_text("!");
  Session again(model);
  again.feed(session.tokens());
  const auto a = session.logits(), b = again.logits();
  CHECK(std::equal(a.begin(), a.end(), b.begin(), b.end()));
  options.max_tokens = 3;
  Session few(model);
  few.feed_text("q");
  CHECK(answer(few, options).ids.size() == 3);
}
