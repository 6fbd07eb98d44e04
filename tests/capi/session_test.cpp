// Sessions on a scripted model: what the answer will be is known.
#include <algorithm>
#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include "capi.h"
#include "support/temp.h"

using namespace ingle::tests;

namespace {

struct Answer {
  std::string text;
  int32_t finish = 0;
  int events = 0;
};

Answer pull(ingle_session* session, ingle_sampler* sampler) {
  Err err;
  Answer answer;
  ingle_event event = INGLE_EVENT_INIT;
  while (event.finish == INGLE_FINISH_NONE) {
    REQUIRE_OK(ingle_session_next(session, sampler, &event, err));
    REQUIRE(event.text != nullptr);
    REQUIRE(event.text[event.text_length] == '\0');
    answer.text.append(event.text, event.text_length);
    ++answer.events;
  }
  answer.finish = event.finish;
  return answer;
}

struct Scripted {
  Runtime runtime = make_runtime();
  Model model;
  Sampler greedy = make_greedy();
  explicit Scripted(const std::string& json) : model(make_scripted(runtime, json)) {}
};

}  // namespace

TEST_CASE("an answer is pulled event by event", "[capi]") {
  Err err;
  const Scripted s(R"({"text": "Größe!"})");
  const Session session = make_session(s.model, "q");
  const Answer answer = pull(session, s.greedy);
  CHECK(answer.text == "Größe!");
  CHECK(answer.finish == INGLE_FINISH_END);
  CHECK(answer.events >= 9);  // a token is a byte here, and no event splits a character
  ingle_event event = INGLE_EVENT_INIT;
  CHECK_FAILS(ingle_session_next(session, s.greedy, &event, err), INGLE_E_INVALID_ARGUMENT, "ended");
  CHECK(event.id == -1);

  ingle_stats stats = INGLE_STATS_INIT;
  REQUIRE_OK(ingle_session_stats(session, &stats, err));
  CHECK(stats.prompt_tokens == 1);
  CHECK(stats.generated_tokens == 9);
  CHECK(stats.decode_ms >= 0);
}

TEST_CASE("nothing fed, nothing to tell", "[capi]") {
  Err err;
  const Scripted s(R"({"text": "x"})");
  const Session session = make_session(s.model);
  ingle_event event = INGLE_EVENT_INIT;
  const float* row = nullptr;
  int64_t n = 7;
  CHECK_FAILS(ingle_session_next(session, s.greedy, &event, err), INGLE_E_INVALID_ARGUMENT, "");
  CHECK_FAILS(ingle_session_logits(session, &row, &n, err), INGLE_E_INVALID_ARGUMENT, "");
  CHECK(n == 0);
}

TEST_CASE("stop strings end the answer and are no part of it", "[capi]") {
  Err err;
  const Scripted s(R"({"text": "one two three"})");
  for (const auto& [stop, text] : {std::pair{"two", "one "}, std::pair{" th", "one two"}}) {
    const Session session = make_session(s.model, "q");
    Options o;
    REQUIRE_OK(ingle_options_create("generate", o.out(), err));
    REQUIRE_OK(ingle_options_set_string(o, "stop", "never", -1, err));
    REQUIRE_OK(ingle_options_set_string(o, "stop", stop, -1, err));
    REQUIRE_OK(ingle_session_begin(session, o, err));
    const Answer answer = pull(session, s.greedy);
    CHECK(answer.text == text);
    CHECK(answer.finish == INGLE_FINISH_STOP);
  }
}

TEST_CASE("max_tokens and the context bound the answer", "[capi]") {
  Err err;
  const Scripted s(R"({"text": "abcdef", "context": 4})");
  const Session session = make_session(s.model, "q");
  REQUIRE_OK(ingle_session_begin(session, make_options("generate", R"({"max_tokens": 2})"), err));
  Answer answer = pull(session, s.greedy);
  CHECK(answer.text == "ab");
  CHECK(answer.finish == INGLE_FINISH_LENGTH);
  REQUIRE_OK(ingle_session_begin(session, nullptr, err));
  answer = pull(session, s.greedy);
  CHECK(answer.finish == INGLE_FINISH_CONTEXT);
  CHECK_FAILS(ingle_session_feed_text(session, "too long", -1, 0, nullptr, err), INGLE_E_CONTEXT_FULL,
              "8 tokens");
  Tokens tokens;
  REQUIRE_OK(ingle_session_tokens(session, tokens.out(), err));
  CHECK(ingle_tokens_length(tokens) == 4);  // nothing was added
}

TEST_CASE("events tell the likeliest tokens", "[capi]") {
  Err err;
  std::string row = "[[";
  for (int i = 0; i < 258; ++i)
    row += i == 0 ? "" : ",", row += i == 65 ? "3" : i == 66 ? "2.5" : i == 67 ? "null" : "0";
  const Scripted s("{\"logits\": " + row + "]]}");
  const Session session = make_session(s.model, "q");
  REQUIRE_OK(ingle_session_begin(session, make_options("generate", R"({"top_logprobs": 3})"), err));
  ingle_event event = INGLE_EVENT_INIT;
  REQUIRE_OK(ingle_session_next(session, s.greedy, &event, err));
  CHECK(event.id == 65);
  REQUIRE(event.n_top == 3);
  CHECK(event.top_ids[0] == 65);
  CHECK(event.top_ids[1] == 66);
  CHECK(event.top_ids[2] == 0);
  CHECK(event.top_logprobs[0] == event.logprob);
  CHECK(event.top_logprobs[0] - event.top_logprobs[1] == Approx(0.5).margin(1e-5));
  const float* logits = nullptr;
  int64_t n = 0;
  const Session other = make_session(s.model, "q");
  REQUIRE_OK(ingle_session_logits(other, &logits, &n, err));
  REQUIRE(n == 258);
  CHECK(logits[65] == 3.0f);
  CHECK(logits[67] == -INFINITY);
}

TEST_CASE("generate is begin and next in one", "[capi]") {
  Err err;
  const Scripted s(R"({"text": "abc"})");
  const Session session = make_session(s.model, "q");
  std::string heard;
  int32_t finish = -1;
  Text text;
  REQUIRE_OK(ingle_session_generate(
      session, s.greedy, nullptr,
      [](const ingle_event* e, void* user) {
        static_cast<std::string*>(user)->append(e->text, e->text_length);
        return int32_t{0};
      },
      &heard, &finish, text.out(), err));
  CHECK(heard == "abc");
  CHECK(str(text) == "abc");
  CHECK(finish == INGLE_FINISH_END);

  const Session stopped = make_session(s.model, "q");
  REQUIRE_OK(ingle_session_generate(
      stopped, s.greedy, nullptr, [](const ingle_event* e, void*) { return int32_t{e->text[0] == 'b'}; },
      nullptr, &finish, text.out(), err));
  CHECK(str(text) == "ab");
  CHECK(finish == INGLE_FINISH_CANCELLED);
  ingle_event event = INGLE_EVENT_INIT;
  CHECK_FAILS(ingle_session_next(stopped, s.greedy, &event, err), INGLE_E_INVALID_ARGUMENT, "ended");
}

TEST_CASE("one call at a time: a callback that calls back is told so", "[capi]") {
  Err err;
  const Scripted s(R"({"text": "abc"})");
  struct Seen {
    ingle_session* session;
    ingle_sampler* sampler;
    std::vector<ingle_code> codes;
  } seen{ingle_session_retain(make_session(s.model, "q")), s.greedy, {}};
  Text text;
  // The callback also gives the last reference back: the call in progress keeps the session alive.
  REQUIRE_OK(ingle_session_generate(
      seen.session, s.greedy, nullptr,
      [](const ingle_event*, void* user) {
        auto& all = *static_cast<Seen*>(user);
        if (!all.codes.empty()) return int32_t{0};
        ingle_event event = INGLE_EVENT_INIT;
        all.codes.push_back(ingle_session_next(all.session, all.sampler, &event, nullptr));
        all.codes.push_back(ingle_session_truncate(all.session, 0, nullptr));
        all.codes.push_back(ingle_sampler_accept(all.sampler, 1, nullptr));
        ingle_session_release(all.session);
        return int32_t{0};
      },
      &seen, nullptr, text.out(), err));
  CHECK(seen.codes == std::vector<ingle_code>{INGLE_E_BUSY, INGLE_E_BUSY, INGLE_E_BUSY});
  CHECK(str(text) == "abc");
}

TEST_CASE("a fork goes its own way", "[capi]") {
  Err err;
  const Scripted s(R"({"text": "abcdef"})");
  const Session session = make_session(s.model, "q");
  REQUIRE_OK(ingle_session_begin(session, make_options("generate", R"({"max_tokens": 3})"), err));
  CHECK(pull(session, s.greedy).text == "abc");
  Session fork;
  REQUIRE_OK(ingle_session_fork(session, fork.out(), err));
  REQUIRE_OK(ingle_session_begin(fork, nullptr, err));
  CHECK(pull(fork, s.greedy).text == "def");
  REQUIRE_OK(ingle_session_truncate(session, 1, err));
  Tokens tokens;
  REQUIRE_OK(ingle_session_tokens(session, tokens.out(), err));
  REQUIRE(ingle_tokens_length(tokens) == 1);
  CHECK(ingle_tokens_data(tokens)[0] == 'q');
  REQUIRE_OK(ingle_session_tokens(fork, tokens.out(), err));
  CHECK(ingle_tokens_length(tokens) == 7);
}

TEST_CASE("a session is saved, and loaded where it was", "[capi]") {
  Err err;
  const Scripted s(R"({"text": "abcdef"})");
  const TempDir dir;
  const std::string path = dir.path() + "/saved";
  const Session session = make_session(s.model, "q");
  REQUIRE_OK(ingle_session_begin(session, make_options("generate", R"({"max_tokens": 3})"), err));
  CHECK(pull(session, s.greedy).text == "abc");
  REQUIRE_OK(ingle_session_save(session, path.c_str(), err));
  Session loaded;
  REQUIRE_OK(ingle_session_load(s.model, path.c_str(), nullptr, loaded.out(), err));
  CHECK(pull(loaded, s.greedy).text == "def");
  CHECK_FAILS(ingle_session_load(s.model, path.c_str(), make_options("session", R"({"context": 2})"),
                                 loaded.out(), err),
              INGLE_E_CONTEXT_FULL, "the context 2");
  const Scripted other(R"({"text": "x"})");
  CHECK_FAILS(ingle_session_load(other.model, path.c_str(), nullptr, loaded.out(), err), INGLE_E_UNSUPPORTED,
              "another model");
  CHECK_FAILS(ingle_session_load(s.model, dir.write("no", "x").c_str(), nullptr, loaded.out(), err),
              INGLE_E_CORRUPT, "no");
  CHECK_FAILS(ingle_session_save(session, (dir.path() + "/none/saved").c_str(), err), INGLE_E_IO, "none");
}

TEST_CASE("score hands over each position's logits", "[capi]") {
  Err err;
  const Scripted s(R"({"text": "abc"})");
  const Session session = make_session(s.model, "q");
  const int32_t ids[] = {'a', 'b', 'c'};
  std::vector<int32_t> best;
  const auto row = [](int64_t, const float* logits, int64_t n, void* user) {
    static_cast<std::vector<int32_t>*>(user)->push_back(
        static_cast<int32_t>(std::max_element(logits, logits + n) - logits));
    return int32_t{0};
  };
  REQUIRE_OK(ingle_session_score(session, ids, 3, row, &best, err));
  CHECK(best == std::vector<int32_t>{'b', 'c', 256});

  const Session stopped = make_session(s.model, "q");
  const auto refuse = [](int64_t, const float*, int64_t, void*) { return int32_t{1}; };
  CHECK_FAILS(ingle_session_score(stopped, ids, 3, refuse, nullptr, err), INGLE_E_CANCELLED, "callback");
  Tokens tokens;
  REQUIRE_OK(ingle_session_tokens(stopped, tokens.out(), err));
  CHECK(ingle_tokens_length(tokens) == 1);
}

TEST_CASE("a conversation goes through the model's template", "[capi]") {
  Err err;
  const char* kTemplate =
      "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}{% if add_generation_prompt "
      "%}<assistant>{% endif %}";
  const Scripted s(std::string(R"({"text": "yes", "chat_template": ")") + kTemplate + "\"}");
  int32_t has = 0;
  REQUIRE_OK(ingle_model_has_chat_template(s.model, &has, err));
  CHECK(has == 1);
  Text text;
  REQUIRE_OK(ingle_model_chat_template(s.model, text.out(), err));
  CHECK(str(text) == kTemplate);
  const ingle_message hi = INGLE_MESSAGE("user", "hi");
  REQUIRE_OK(ingle_model_apply_chat_template(s.model, &hi, 1, 1, text.out(), err));
  CHECK(str(text) == "<user>hi<assistant>");
  REQUIRE_OK(ingle_model_apply_chat_template(s.model, &hi, 1, 0, text.out(), err));
  CHECK(str(text) == "<user>hi");

  const Session session = make_session(s.model), same = make_session(s.model);
  REQUIRE_OK(ingle_session_feed_chat(session, &hi, 1, nullptr, err));
  REQUIRE_OK(ingle_session_feed_chat_json(same, R"([{"role": "user", "content": "hi"}])", -1, nullptr, err));
  CHECK(pull(session, s.greedy).text == "yes");
  CHECK(pull(same, s.greedy).text == "yes");

  const Scripted bare(R"({"text": "yes"})");
  CHECK_FAILS(ingle_model_apply_chat_template(bare.model, &hi, 1, 1, text.out(), err), INGLE_E_UNSUPPORTED,
              "");
  CHECK_FAILS(ingle_session_feed_chat(make_session(bare.model), &hi, 1, nullptr, err), INGLE_E_UNSUPPORTED,
              "");
}

TEST_CASE("samplers with equal seeds agree, and clones with their originals", "[capi]") {
  Err err;
  const Options o = make_options("sampler", R"({"temperature": 1.5, "seed": 7, "top_k": 0})");
  Sampler one, two, clone;
  REQUIRE_OK(ingle_sampler_create(o, one.out(), err));
  REQUIRE_OK(ingle_sampler_create(o, two.out(), err));
  std::vector<float> row(100);
  for (size_t i = 0; i < row.size(); ++i) row[i] = static_cast<float>(i % 7);
  std::vector<int32_t> drawn;
  for (int i = 0; i < 20; ++i) {
    if (i == 10) REQUIRE_OK(ingle_sampler_clone(one, clone.out(), err));
    int32_t a = -1, b = -1;
    REQUIRE_OK(ingle_sampler_sample(one, row.data(), 100, &a, err));
    REQUIRE_OK(ingle_sampler_sample(two, row.data(), 100, &b, err));
    CHECK(a == b);
    REQUIRE_OK(ingle_sampler_accept(one, a, err));
    REQUIRE_OK(ingle_sampler_accept(two, b, err));
    drawn.push_back(a);
  }
  for (size_t i = 10; i < 20; ++i) {
    int32_t c = -1;
    REQUIRE_OK(ingle_sampler_sample(clone, row.data(), 100, &c, err));
    CHECK(c == drawn[i]);
    REQUIRE_OK(ingle_sampler_accept(clone, c, err));
  }
  CHECK(std::set<int32_t>(drawn.begin(), drawn.end()).size() > 1);
  Text text;
  REQUIRE_OK(ingle_sampler_describe(one, text.out(), err));
  CHECK(contains(str(text), "temperature"));
}

TEST_CASE("cancel from another thread ends an answer", "[capi][concurrent]") {
  Err err;
  const Scripted s(R"({"text": "x", "context": 1000000})");
  const Session session = make_session(s.model, "q");
  struct Shared {
    std::atomic<bool> going{false}, cancelled{false};
  } shared;
  std::thread other([&] {
    while (!shared.going) std::this_thread::yield();
    ingle_session_cancel(session, nullptr);
    shared.cancelled = true;
  });
  const Options forever = make_options("generate", R"({"ignore_end": true})");
  int32_t finish = 0;
  // Goes on until the cancel has come, and then only as long as the cancel takes to be noticed.
  const ingle_code code = ingle_session_generate(
      session, s.greedy, forever,
      [](const ingle_event*, void* user) {
        auto& both = *static_cast<Shared*>(user);
        both.going = true;
        while (!both.cancelled) std::this_thread::yield();
        return int32_t{0};
      },
      &shared, &finish, nullptr, err);
  other.join();
  REQUIRE(code == INGLE_OK);
  CHECK(finish == INGLE_FINISH_CANCELLED);
  // The session goes on.
  REQUIRE_OK(ingle_session_begin(session, make_options("generate", R"({"max_tokens": 1})"), err));
  CHECK(pull(session, s.greedy).finish != INGLE_FINISH_CANCELLED);
}

TEST_CASE("cancel from another thread ends a prefill and leaves the context as it was",
          "[capi][concurrent]") {
  Err err;
  const Scripted s(R"({"text": "x", "context": 100000})");
  Session session;
  REQUIRE_OK(
      ingle_session_create(s.model, make_options("session", R"({"prefill_chunk": 16})"), session.out(), err));
  REQUIRE_OK(ingle_session_feed_text(session, "before", -1, 0, nullptr, err));
  std::atomic<bool> going{false}, cancelled{false};
  std::thread other([&] {
    while (!going) std::this_thread::yield();
    ingle_session_cancel(session, nullptr);
    cancelled = true;
  });
  std::pair<std::atomic<bool>*, std::atomic<bool>*> both{&going, &cancelled};
  ingle_progress progress = INGLE_PROGRESS_INIT;
  progress.user = &both;
  progress.report = [](double fraction, void* user) {
    auto& [here, there] = *static_cast<decltype(both)*>(user);
    *here = true;
    while (!*there) std::this_thread::yield();
    return int32_t{fraction >= 1.0};  // must not come this far
  };
  const std::string prompt(50000, 'p');
  const ingle_code code = ingle_session_feed_text(session, prompt.c_str(), -1, 0, &progress, err);
  other.join();
  CHECK(code == INGLE_E_CANCELLED);
  Tokens tokens;
  REQUIRE_OK(ingle_session_tokens(session, tokens.out(), err));
  CHECK(ingle_tokens_length(tokens) == 6);
  REQUIRE_OK(ingle_session_feed_text(session, "after", -1, 0, nullptr, err));
}

TEST_CASE("a progress callback cancels a prefill", "[capi]") {
  Err err;
  const Scripted s(R"({"text": "x"})");
  Session session;
  REQUIRE_OK(
      ingle_session_create(s.model, make_options("session", R"({"prefill_chunk": 16})"), session.out(), err));
  std::vector<double> heard;
  ingle_progress progress = INGLE_PROGRESS_INIT;
  progress.user = &heard;
  progress.report = [](double fraction, void* user) {
    static_cast<std::vector<double>*>(user)->push_back(fraction);
    return int32_t{fraction > 0.4};
  };
  const std::string prompt(64, 'p');
  CHECK_FAILS(ingle_session_feed_text(session, prompt.c_str(), -1, 0, &progress, err), INGLE_E_CANCELLED, "");
  CHECK(heard == std::vector<double>{0.25, 0.5});
  Tokens tokens;
  REQUIRE_OK(ingle_session_tokens(session, tokens.out(), err));
  CHECK(ingle_tokens_length(tokens) == 0);
}
