// Stages of a C host's own, guidance and beams through the C ABI.
#include <cmath>
#include <vector>

#include "capi.h"

using namespace ingle::tests;

namespace {

struct Host {
  int32_t code = 0;
  float value = 0;
  int closed = 0;
  std::vector<int64_t> seen;
};

int32_t INGLE_CALL apply(const int32_t*, int64_t n_accepted, const int32_t* ids, float* logits, int64_t n,
                         void* user) {
  auto& host = *static_cast<Host*>(user);
  host.seen.push_back(n_accepted);
  for (int64_t i = 0; i < n; ++i)
    if (ids[i] == 1) logits[i] = host.value;
  return host.code;
}
void INGLE_CALL close_host(void* user) { ++static_cast<Host*>(user)->closed; }

ingle_stage stage_of(Host& host) {
  ingle_stage stage = INGLE_STAGE_INIT;
  stage.name = "mine";
  stage.apply = apply;
  stage.close = close_host;
  stage.user = &host;
  return stage;
}

}  // namespace

TEST_CASE("a host's stage works, fails by a code, and is closed once", "[capi]") {
  Err err;
  Host host;
  const float row[] = {1.0f, 2.0f, 3.0f};
  int32_t id = -1;
  {
    Options o = make_options("sampler", R"({"temperature": 0})");
    const ingle_stage stage = stage_of(host);
    REQUIRE_OK(ingle_options_add_stage(o, &stage, err));
    Sampler sampler, copy;
    REQUIRE_OK(ingle_sampler_create(o, sampler.out(), err));
    o.reset();
    Text text;
    REQUIRE_OK(ingle_sampler_describe(sampler, text.out(), err));
    CHECK(str(text) == "mine > greedy");
    host.value = 9;
    REQUIRE_OK(ingle_sampler_sample(sampler, row, 3, &id, err));
    CHECK(id == 1);
    host.value = -INFINITY;
    REQUIRE_OK(ingle_sampler_accept(sampler, 0, err));
    REQUIRE_OK(ingle_sampler_sample(sampler, row, 3, &id, err));
    CHECK(id == 2);
    CHECK(host.seen == std::vector<int64_t>{0, 1});
    for (const float bad : {NAN, INFINITY}) {
      host.value = bad;
      CHECK_FAILS(ingle_sampler_sample(sampler, row, 3, &id, err), INGLE_E_NUMERIC, "mine");
    }
    host.value = 0;
    host.code = -5;
    CHECK_FAILS(ingle_sampler_sample(sampler, row, 3, &id, err), INGLE_E_INVALID_ARGUMENT, "returned -5");
    host.code = 0;
    REQUIRE_OK(ingle_sampler_clone(sampler, copy.out(), err));
    CHECK(host.closed == 0);
  }
  CHECK(host.closed == 1);
}

TEST_CASE("a stage that cannot be is refused, and not closed", "[capi]") {
  Err err;
  Host host;
  {
    const Options o = make_options("sampler", "{}"), other = make_options("session", "{}");
    ingle_stage stage = stage_of(host);
    CHECK_FAILS(ingle_options_add_stage(other, &stage, err), INGLE_E_INVALID_ARGUMENT,
                "expected sampler options");
    stage.name = nullptr;
    CHECK_FAILS(ingle_options_add_stage(o, &stage, err), INGLE_E_INVALID_ARGUMENT, "name is NULL");
    stage = stage_of(host);
    stage.apply = nullptr;
    CHECK_FAILS(ingle_options_add_stage(o, &stage, err), INGLE_E_INVALID_ARGUMENT, "apply is NULL");
    stage = stage_of(host);
    stage.struct_size = 8;
    CHECK_FAILS(ingle_options_add_stage(o, &stage, err), INGLE_E_INVALID_ARGUMENT, "stage");
    CHECK(host.closed == 0);
    stage = stage_of(host);
    stage.name = "top_k";
    REQUIRE_OK(ingle_options_add_stage(o, &stage, err));
    Sampler sampler;
    CHECK_FAILS(ingle_sampler_create(o, sampler.out(), err), INGLE_E_INVALID_ARGUMENT, "top_k");
  }
  CHECK(host.closed == 1);
}

TEST_CASE("lists and the order are set as lists, or as text", "[capi]") {
  Err err;
  Options o = make_options("sampler", R"({"banned_tokens": [1, 2], "order": ["top_k", "banned_tokens"]})");
  Sampler sampler;
  Text text;
  REQUIRE_OK(ingle_sampler_create(o, sampler.out(), err));
  REQUIRE_OK(ingle_sampler_describe(sampler, text.out(), err));
  CHECK(str(text) == "top_k > banned_tokens > draw");
  REQUIRE_OK(ingle_options_set_string(o, "order", "banned_tokens,min_p", -1, err));
  REQUIRE_OK(ingle_sampler_create(o, sampler.out(), err));
  REQUIRE_OK(ingle_sampler_describe(sampler, text.out(), err));
  CHECK(str(text) == "banned_tokens > min_p > draw");
  REQUIRE_OK(ingle_options_set_string(o, "order", "top_q,banned_tokens", -1, err));
  CHECK_FAILS(ingle_sampler_create(o, sampler.out(), err), INGLE_E_NOT_FOUND, "order");
  for (const char* bad :
       {R"({"banned_tokens": [-1]})", R"({"banned_tokens": [1, 1]})", R"({"banned_tokens": 1})",
        R"({"banned_tokens": ["1"]})", R"({"banned_tokens": [2097152]})", R"({"order": [1]})",
        R"({"order": 1})", R"({"xtc_probability": 1.5})", R"({"mirostat": 3})", R"({"mirostat": 1.5})"}) {
    INFO(bad);
    CHECK_FAILS(ingle_options_set_json(o, bad, -1, err), INGLE_E_INVALID_ARGUMENT, "");
  }
}

TEST_CASE("guidance and beams", "[capi]") {
  Err err;
  const Runtime runtime = make_runtime();
  const Model model = make_scripted(runtime, R"({"text": "abc"})");
  const Session session = make_session(model, "q"), negative = make_session(model, "n");
  const Sampler greedy = make_greedy();
  Text text;
  REQUIRE_OK(ingle_session_beam_search(session, nullptr, text.out(), err));
  CHECK(contains(str(text), R"("text":"abc")"));
  const Options o =
      make_options("beams", R"({"beams": 2, "results": 2, "max_tokens": 2, "length_penalty": 0.5})");
  REQUIRE_OK(ingle_session_beam_search(session, o, text.out(), err));
  CHECK(contains(str(text), R"("text":"ab")"));
  CHECK(contains(str(text), R"("finish":3)"));
  CHECK_FAILS(ingle_session_beam_search(session, make_options("beams", R"({"groups": 3})"), text.out(), err),
              INGLE_E_INVALID_ARGUMENT, "groups");
  Options options;
  REQUIRE_OK(ingle_options_create("beams", options.out(), err));
  CHECK_FAILS(ingle_options_set_float(options, "diversity", NAN, err), INGLE_E_INVALID_ARGUMENT, "diversity");

  ingle_event event = INGLE_EVENT_INIT;
  REQUIRE_OK(ingle_session_next_guided(session, negative, 2, greedy, &event, err));
  CHECK(event.id == 'a');
  REQUIRE_OK(ingle_session_next_guided(session, negative, 2, greedy, &event, err));
  CHECK(event.id == 'b');
  Tokens tokens;
  REQUIRE_OK(ingle_session_tokens(negative, tokens.out(), err));
  CHECK(ingle_tokens_length(tokens) == 3);
  CHECK_FAILS(ingle_session_next_guided(session, session, 2, greedy, &event, err), INGLE_E_INVALID_ARGUMENT,
              "negative");
  CHECK_FAILS(ingle_session_next_guided(session, negative, NAN, greedy, &event, err),
              INGLE_E_INVALID_ARGUMENT, "scale");

  Tokenizer tokenizer;
  REQUIRE_OK(ingle_model_tokenizer(model, tokenizer.out(), err));
  REQUIRE_OK(ingle_tokenizer_end_tokens(tokenizer, tokens.out(), err));
  REQUIRE(ingle_tokens_length(tokens) == 1);
  CHECK(ingle_tokens_data(tokens)[0] == 256);
  REQUIRE_OK(ingle_tokenizer_tokens_with(tokenizer, "a", -1, tokens.out(), err));
  CHECK(ingle_tokens_data(tokens)[0] == 'a');
  CHECK_FAILS(ingle_tokenizer_tokens_with(tokenizer, "ab", -1, tokens.out(), err), INGLE_E_NOT_FOUND,
              "holds");
}

TEST_CASE("no option of a sampler lets NaN or an infinity in", "[capi]") {
  Err err;
  const char* keys[] = {"temperature",      "top_k",           "top_p",          "min_p",
                        "min_keep",         "typical_p",       "repeat_penalty", "frequency_penalty",
                        "presence_penalty", "penalty_window",  "seed",           "min_tokens",
                        "no_repeat_ngram",  "dry_multiplier",  "dry_base",       "dry_allowed_length",
                        "dry_last_n",       "top_n_sigma",     "tfs_z",          "top_a",
                        "xtc_probability",  "xtc_threshold",   "dynatemp_range", "dynatemp_exponent",
                        "smoothing_factor", "smoothing_curve", "mirostat",       "mirostat_tau",
                        "mirostat_eta",     "adaptive_target", "adaptive_decay"};
  Options o;
  REQUIRE_OK(ingle_options_create("sampler", o.out(), err));
  for (const char* key : keys) {
    for (const double bad : {static_cast<double>(NAN), static_cast<double>(-NAN),
                             static_cast<double>(INFINITY), static_cast<double>(-INFINITY), 1e300, -1e300})
      CHECK_FAILS(ingle_options_set_float(o, key, bad, err), INGLE_E_INVALID_ARGUMENT, key);
    CHECK_FAILS(ingle_options_set_string(o, key, "1", -1, err), INGLE_E_INVALID_ARGUMENT, key);
  }
  Sampler sampler;
  Text text;
  REQUIRE_OK(ingle_options_set_float(o, "temperature", -0.0, err));  // is 0
  REQUIRE_OK(ingle_sampler_create(o, sampler.out(), err));
  REQUIRE_OK(ingle_sampler_describe(sampler, text.out(), err));
  CHECK(str(text) == "greedy");
  REQUIRE_OK(ingle_options_describe("sampler", text.out(), err));
  size_t n = 0;  // each number of the table was tried
  for (const char* type : {"\"float\"", "\"int\""})
    for (size_t at = 0; (at = str(text).find(type, at)) != std::string::npos; ++at) ++n;
  CHECK(n == std::size(keys));
}
