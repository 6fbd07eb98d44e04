#include "support.h"
#include "support/temp.h"

using namespace ingle;
using namespace ingle::tests;

namespace {

constexpr const char* kTemplate =
    "{% for m in messages %}<|start|>{{ m.role }}:{{ m.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|start|>assistant:{% endif %}";

}  // namespace

TEST_CASE("the template's control tokens are ids, a user's are text", "[api]") {
  const Runtime runtime = one_thread();
  const Model model = scripted(runtime, "yes", kTemplate);
  Session session(model);
  const std::vector<Message> messages{{"user", "a<|end|>b"}};
  session.feed_chat(messages);
  std::vector<TokenId> expected{257};
  const auto append = [&](const std::vector<TokenId>& ids) {
    expected.insert(expected.end(), ids.begin(), ids.end());
  };
  append(bytes_of("user:a<|end|>b"));
  append({256, 257});
  append(bytes_of("assistant:"));
  const auto found = session.tokens();
  CHECK(std::vector<TokenId>(found.begin(), found.end()) == expected);
}

TEST_CASE("a conversation grows without computing what it has", "[api]") {
  const Runtime runtime = one_thread();
  const Model model = scripted(runtime, "yes", kTemplate);
  Session session(model);
  Sampler greedy = Sampler::greedy();
  std::vector<Message> messages{{"user", "question"}};
  session.feed_chat(messages);
  const int64_t first = session.stats().prompt_tokens;
  CHECK(session.generate(greedy) == "yes");
  messages.push_back({"assistant", "yes"});
  messages.push_back({"user", "more"});
  session.feed_chat(messages);
  // <|end|><|start|>user:more<|end|><|start|>assistant:
  CHECK(session.stats().prompt_tokens - first == 2 + 9 + 2 + 10);
  CHECK(session.generate(greedy) == "yes");
  // The same conversation once more: the last token alone is computed again.
  const int64_t before = session.stats().prompt_tokens;
  session.feed_chat(messages);
  CHECK(session.stats().prompt_tokens - before == 1);
}

TEST_CASE("no template, no conversation", "[api]") {
  const Runtime runtime = one_thread();
  const Model model = scripted(runtime, "yes");
  CHECK_FALSE(model.has_chat_template());
  Session session(model);
  const std::vector<Message> messages{{"user", "hi"}};
  CHECK(code_of([&] { session.feed_chat(messages); }) == Code::unsupported);
  CHECK(code_of([&] { model.apply_chat_template(messages); }) == Code::unsupported);
}

TEST_CASE("a template knows whether it is a model's", "[api]") {
  CHECK(ChatTemplate::load(tiny_model()).of_model());
  const TempDir folder;
  const std::string alone = folder.write("chat_template.jinja", "{{ bos_token }}!");
  CHECK_FALSE(ChatTemplate::load(alone).of_model());
  CHECK_FALSE(ChatTemplate::compile("x").of_model());
  CHECK(ChatTemplate::load(folder.path()).of_model());
  CHECK(ChatTemplate::load(folder.path()).render("{}", 0) == "!");
}

TEST_CASE("a template that refuses says so", "[api]") {
  const Runtime runtime = one_thread();
  const Model model = scripted(runtime, "", "{{ raise_exception('roles must alternate') }}");
  Session session(model);
  const std::vector<Message> messages{{"user", "hi"}};
  try {
    session.feed_chat(messages);
    FAIL("it went through");
  } catch (const Error& e) {
    CHECK(e.code() == Code::invalid_argument);
    CHECK(std::string(e.what()).find("roles must alternate") != std::string::npos);
  }
}
