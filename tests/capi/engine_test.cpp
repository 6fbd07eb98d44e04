// Engines through the C ABI, on a scripted model: what the answers are is known.
#include <poll.h>

#include <atomic>
#include <map>
#include <thread>
#include <vector>

#include "capi.h"

using namespace ingle::tests;

namespace {

using Engine = Owned<ingle_engine, ingle_engine_release>;

struct Told {
  std::string text;
  int32_t finish = 0;
  ingle_code failure = INGLE_OK;
};

struct Rig {
  Runtime runtime = make_runtime();
  Model model;
  Engine engine;
  Options greedy = make_options("sampler", R"({"temperature": 0})");

  Rig(const std::string& script, const std::string& options, const ingle_listener* listener = nullptr)
      : model(make_scripted(runtime, script)) {
    Err err;
    REQUIRE_OK(ingle_engine_create(model, make_options("engine", options), listener, engine.out(), err));
  }
  ingle_request ask(const char* text) const {
    ingle_request r = INGLE_REQUEST_INIT;
    r.text = text;
    r.sampler = greedy;
    return r;
  }
  uint64_t submit(const ingle_request& r) const {
    Err err;
    uint64_t id = 0;
    REQUIRE_OK(ingle_engine_submit(engine, &r, &id, err));
    REQUIRE(id != 0);
    return id;
  }
  std::map<uint64_t, Told> pull(int64_t timeout_ms = -1) const {
    Err err;
    std::map<uint64_t, Told> all;
    for (;;) {
      ingle_event event = INGLE_EVENT_INIT;
      ingle_error* failure = nullptr;
      uint64_t id = 0;
      REQUIRE_OK(ingle_engine_next(engine, timeout_ms, &id, &event, &failure, err));
      if (id == 0) return all;
      CHECK(event.text[event.text_length] == '\0');
      all[id].text.append(event.text, event.text_length);
      all[id].finish = event.finish;
      all[id].failure = ingle_error_code(failure);
      CHECK((failure != nullptr) == (event.finish == INGLE_FINISH_ERROR));
      ingle_error_release(failure);
    }
  }
  void step_to_the_end() const {
    Err err;
    int32_t more = 1;
    while (more) REQUIRE_OK(ingle_engine_step(engine, 0, &more, err));
  }
};

const std::string kByHand = R"({"own_thread": 0, "state_bytes": 1000000})";

}  // namespace

TEST_CASE("requests of each kind get their answers", "[capi]") {
  Rig rig(R"({"text": "Größe!", "chat_template": "{{ messages[0].content }}"})", kByHand);
  const uint64_t text = rig.submit(rig.ask("hi"));
  ingle_request r = rig.ask(nullptr);
  const int32_t ids[] = {'h', 'i'};
  r.ids = ids;
  r.n_ids = 2;
  const uint64_t by_id = rig.submit(r);
  r = rig.ask(nullptr);
  const ingle_message message = INGLE_MESSAGE("user", "hi");
  r.messages = &message;
  r.n_messages = 1;
  const uint64_t chat = rig.submit(r);
  r = rig.ask(nullptr);
  r.chat = R"([{"role": "user", "content": "hi"}] and more)";
  r.text_length = 35;
  const uint64_t json = rig.submit(r);
  const Options generate = make_options("generate", R"({"max_tokens": 2, "top_logprobs": 2})");
  r = rig.ask("hi there");
  r.text_length = 2;
  r.generate = generate;
  const uint64_t cut = rig.submit(r);
  rig.step_to_the_end();
  auto all = rig.pull();
  REQUIRE(all.size() == 5);
  for (const uint64_t id : {text, by_id, chat, json}) {
    CHECK(all[id].text == "Größe!");
    CHECK(all[id].finish == INGLE_FINISH_END);
  }
  CHECK(all[cut].text == "Gr");
  CHECK(all[cut].finish == INGLE_FINISH_LENGTH);

  Err err;
  Text stats;
  REQUIRE_OK(ingle_engine_stats(rig.engine, stats.out(), err));
  CHECK(contains(str(stats), "\"submitted\":5"));
  CHECK(contains(str(stats), "\"length\":1"));
  CHECK(contains(str(stats), "\"first_token_s\":{\"bounds\":"));
}

TEST_CASE("requests stop and end where each was told to", "[capi]") {
  Rig rig(R"({"text": "ab<END>cd"})", kByHand);
  const char* asked[] = {R"({"max_tokens": 0})",
                         R"({"max_tokens": 1})",
                         R"({"max_tokens": 2})",
                         R"({"stop": ["<END>"], "include_stop": 1})",
                         R"({"stop": ["<END>"]})",
                         R"({"stop_tokens": [69]})",
                         R"({"stop": ["a"], "top_logprobs": 10})"};
  const char* texts[] = {"", "a", "ab", "ab<END>", "ab", "ab<", ""};
  std::vector<Options> options;
  std::vector<uint64_t> ids;
  for (const char* json : asked) {
    options.push_back(make_options("generate", json));
    ingle_request r = rig.ask("q");
    r.generate = options.back();
    ids.push_back(rig.submit(r));
  }
  rig.step_to_the_end();
  auto all = rig.pull();
  REQUIRE(all.size() == ids.size());
  for (size_t i = 0; i < ids.size(); ++i) {
    CAPTURE(asked[i]);
    CHECK(all[ids[i]].text == texts[i]);
    CHECK(all[ids[i]].finish == (i < 3 ? INGLE_FINISH_LENGTH : INGLE_FINISH_STOP));
  }
}

TEST_CASE("requests that make no sense are refused", "[capi]") {
  Rig rig(R"({"text": "x"})", kByHand);
  Err err;
  uint64_t id = 7;
  ingle_request r = INGLE_REQUEST_INIT;
  CHECK_FAILS(ingle_engine_submit(rig.engine, &r, &id, err), INGLE_E_INVALID_ARGUMENT, "one of ids");
  CHECK(id == 0);
  r.text = "x";
  const int32_t ids[] = {1};
  r.ids = ids;
  CHECK_FAILS(ingle_engine_submit(rig.engine, &r, &id, err), INGLE_E_INVALID_ARGUMENT, "one of ids");
  r.text = nullptr;
  CHECK_FAILS(ingle_engine_submit(rig.engine, &r, &id, err), INGLE_E_INVALID_ARGUMENT, "prompt");
  r = rig.ask("x");
  r.flags = 4;
  CHECK_FAILS(ingle_engine_submit(rig.engine, &r, &id, err), INGLE_E_INVALID_ARGUMENT, "flags");
  r = rig.ask("x");
  r.struct_size = 8;
  CHECK_FAILS(ingle_engine_submit(rig.engine, &r, &id, err), INGLE_E_INVALID_ARGUMENT, "request");
  r = rig.ask("x");
  r.generate = rig.greedy;
  CHECK_FAILS(ingle_engine_submit(rig.engine, &r, &id, err), INGLE_E_INVALID_ARGUMENT, "sampler options");
  const ingle_message message = INGLE_MESSAGE("user", "hi");
  r = rig.ask(nullptr);
  r.messages = &message;
  r.n_messages = 1;
  CHECK_FAILS(ingle_engine_submit(rig.engine, &r, &id, err), INGLE_E_UNSUPPORTED, "template");

  ingle_event event = INGLE_EVENT_INIT;
  int32_t number = 7;
  CHECK_FAILS(ingle_engine_next(rig.engine, -2, &id, &event, nullptr, err), INGLE_E_INVALID_ARGUMENT,
              "timeout_ms");
  CHECK_FAILS(ingle_engine_step(rig.engine, -1, &number, err), INGLE_E_INVALID_ARGUMENT, "seconds");
  CHECK_FAILS(ingle_engine_pause(rig.engine, 2, err), INGLE_E_INVALID_ARGUMENT, "paused");
  Engine other;
  CHECK_FAILS(ingle_engine_create(rig.model, make_options("engine", R"({"context": 100000})"), nullptr,
                                  other.out(), err),
              INGLE_E_INVALID_ARGUMENT, "context");
  ingle_listener listener = INGLE_LISTENER_INIT;
  CHECK_FAILS(ingle_engine_create(rig.model, nullptr, &listener, other.out(), err), INGLE_E_INVALID_ARGUMENT,
              "hear");
}

TEST_CASE("a full queue is busy, a cancel is heard, a failure has an error", "[capi]") {
  Rig rig(R"({"text": "abcdefgh"})", R"({"own_thread": 0, "state_bytes": 1000000, "max_queued": 2})");
  Err err;
  const uint64_t first = rig.submit(rig.ask("x"));
  const uint64_t second = rig.submit(rig.ask("y"));
  uint64_t id = 7;
  const ingle_request r = rig.ask("z");
  CHECK_FAILS(ingle_engine_submit(rig.engine, &r, &id, err), INGLE_E_BUSY, "wait");
  CHECK(contains(err.hint(), "seconds"));
  int32_t more = 0, found = 0;
  REQUIRE_OK(ingle_engine_step(rig.engine, 0, &more, err));
  CHECK(more == 1);
  REQUIRE_OK(ingle_engine_cancel(rig.engine, first, &found, err));
  CHECK(found == 1);
  rig.step_to_the_end();
  auto all = rig.pull();
  CHECK(all[first].finish == INGLE_FINISH_CANCELLED);
  CHECK(all[first].text == "a");
  CHECK(all[second].text == "abcdefgh");
  REQUIRE_OK(ingle_engine_cancel(rig.engine, first, &found, err));
  CHECK(found == 0);
  REQUIRE_OK(ingle_engine_cancel(rig.engine, first, nullptr, err));

  std::string rows = "[[";
  for (int i = 0; i < 258; ++i) rows += i ? ",null" : "null";  // no id can come
  Rig bad(R"({"logits": )" + rows + "]]}", kByHand);
  const uint64_t fails = bad.submit(bad.ask("x"));
  bad.step_to_the_end();
  all = bad.pull();
  CHECK(all[fails].finish == INGLE_FINISH_ERROR);
  CHECK(all[fails].failure == INGLE_E_NUMERIC);
}

TEST_CASE("pause, drain and a deadline", "[capi]") {
  Rig rig(R"({"text": "abc"})", kByHand);
  Err err;
  const Options soon = make_options("request", R"({"deadline_s": 0.000001, "band": 0, "tenant": "t"})");
  ingle_request r = rig.ask("x");
  r.scheduling = soon;
  const uint64_t late = rig.submit(r), other = rig.submit(rig.ask("x"));
  REQUIRE_OK(ingle_engine_pause(rig.engine, 1, err));
  int32_t done = 7;
  REQUIRE_OK(ingle_engine_drain(rig.engine, 0, &done, err));
  CHECK(done == 0);
  uint64_t id = 0;
  CHECK_FAILS(ingle_engine_submit(rig.engine, &r, &id, err), INGLE_E_BUSY, "drains");
  REQUIRE_OK(ingle_engine_pause(rig.engine, 0, err));
  REQUIRE_OK(ingle_engine_drain(rig.engine, -1, &done, err));
  CHECK(done == 1);
  auto all = rig.pull(0);
  CHECK(all[late].finish == INGLE_FINISH_DEADLINE);
  CHECK(all[other].text == "abc");
}

TEST_CASE("an engine with a thread is pulled by its descriptor", "[capi][concurrent]") {
  Rig rig(R"({"text": "abc"})", R"({"state_bytes": 1000000})");
  Err err;
  int32_t descriptor = -1;
  REQUIRE_OK(ingle_engine_descriptor(rig.engine, &descriptor, err));
  pollfd poller{descriptor, POLLIN, 0};
  CHECK(poll(&poller, 1, 0) == 0);
  const uint64_t id = rig.submit(rig.ask("x"));
  CHECK(poll(&poller, 1, 10000) == 1);
  CHECK(rig.pull()[id].text == "abc");
  int32_t more = 0;
  CHECK_FAILS(ingle_engine_step(rig.engine, 0, &more, err), INGLE_E_INVALID_ARGUMENT, "thread");
  rig.runtime.reset();  // any order
}

namespace {

struct Ear {
  std::map<uint64_t, Told> all;
  std::atomic<int> ended{0}, closed{0};
  ingle_engine* to_release = nullptr;
  std::atomic<bool> released{false};

  ingle_listener listener() {
    ingle_listener l = INGLE_LISTENER_INIT;
    l.user = this;
    l.hear = [](uint64_t id, const ingle_event* e, const ingle_error* failure, void* user) {
      auto& ear = *static_cast<Ear*>(user);
      ear.all[id].text.append(e->text, e->text_length);
      ear.all[id].failure = ingle_error_code(failure);
      if (e->finish != INGLE_FINISH_NONE) ++ear.ended;
      if (ear.to_release && !ear.released.exchange(true)) ingle_engine_release(ear.to_release);
    };
    l.close = [](void* user) { ++static_cast<Ear*>(user)->closed; };
    return l;
  }
};

}  // namespace

TEST_CASE("a listener hears all and is closed once", "[capi][concurrent]") {
  Ear ear;
  const ingle_listener listener = ear.listener();
  {
    Rig rig(R"({"text": "abc"})", R"({"state_bytes": 1000000})", &listener);
    Err err;
    for (int i = 0; i < 10; ++i) rig.submit(rig.ask("x"));
    uint64_t id = 0;
    ingle_event event = INGLE_EVENT_INIT;
    CHECK_FAILS(ingle_engine_next(rig.engine, 0, &id, &event, nullptr, err), INGLE_E_INVALID_ARGUMENT, "");
    int32_t done = 0;
    REQUIRE_OK(ingle_engine_drain(rig.engine, -1, &done, err));
    CHECK(done == 1);
    CHECK(ear.closed == 0);
  }
  CHECK(ear.ended == 10);
  CHECK(ear.all.size() == 10);
  for (const auto& [id, told] : ear.all) CHECK(told.text == "abc");
  CHECK(ear.closed == 1);
}

TEST_CASE("an engine may be released from its listener", "[capi][concurrent]") {
  Ear ear;
  const ingle_listener listener = ear.listener();
  const Runtime runtime = make_runtime();
  {
    Err err;
    const Model model = make_scripted(runtime, R"({"text": "abcdefgh"})");
    const Options options = make_options("engine", R"({"state_bytes": 1000000})");
    ingle_engine* engine = nullptr;
    REQUIRE_OK(ingle_engine_create(model, options, &listener, &engine, err));
    ear.to_release = engine;
    ingle_request r = INGLE_REQUEST_INIT;
    r.text = "x";
    uint64_t id = 0;
    REQUIRE_OK(ingle_engine_submit(engine, &r, &id, err));
  }
  for (int i = 0; i < 2000 && ear.closed == 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  CHECK(ear.released);
  CHECK(ear.closed == 1);
}
