#include "capi.h"

using namespace ingle::tests;

TEST_CASE("options are set by key and checked", "[capi]") {
  Err err;
  Options o;
  REQUIRE_OK(ingle_options_create("generate", o.out(), err));
  REQUIRE_OK(ingle_options_set_int(o, "max_tokens", 0, err));
  REQUIRE_OK(ingle_options_set_int(o, "max_tokens", -1, err));
  REQUIRE_OK(ingle_options_set_float(o, "top_logprobs", 3.0, err));
  REQUIRE_OK(ingle_options_set_int(o, "ignore_end", 1, err));
  REQUIRE_OK(ingle_options_set_string(o, "stop", "END", -1, err));
  REQUIRE_OK(ingle_options_set_string(o, "stop", "a\0b", 3, err));

  CHECK_FAILS(ingle_options_set_int(o, "max_tokens", -2, err), INGLE_E_INVALID_ARGUMENT, "max_tokens");
  CHECK_FAILS(ingle_options_set_int(o, "top_logprobs", 65, err), INGLE_E_INVALID_ARGUMENT,
              "expected 0 to 64");
  CHECK_FAILS(ingle_options_set_float(o, "top_logprobs", 2.5, err), INGLE_E_INVALID_ARGUMENT, "whole");
  CHECK_FAILS(ingle_options_set_int(o, "ignore_end", 2, err), INGLE_E_INVALID_ARGUMENT, "ignore_end");
  CHECK_FAILS(ingle_options_set_string(o, "stop", "", 0, err), INGLE_E_INVALID_ARGUMENT, "stop");
  CHECK_FAILS(ingle_options_set_string(o, "stop", std::string(257, 'x').c_str(), -1, err),
              INGLE_E_INVALID_ARGUMENT, "257 bytes");
  CHECK_FAILS(ingle_options_set_string(o, "max_tokens", "7", -1, err), INGLE_E_INVALID_ARGUMENT,
              "max_tokens");
  CHECK_FAILS(ingle_options_set_int(o, "stop", 7, err), INGLE_E_INVALID_ARGUMENT, "stop");
  for (int i = 0; i < 14; ++i) REQUIRE_OK(ingle_options_set_string(o, "stop", "more", -1, err));
  CHECK_FAILS(ingle_options_set_string(o, "stop", "the 17th", -1, err), INGLE_E_INVALID_ARGUMENT,
              "at most 16");
}

TEST_CASE("an unknown key is an error that suggests the nearest", "[capi]") {
  Err err;
  Options o;
  REQUIRE_OK(ingle_options_create("sampler", o.out(), err));
  CHECK_FAILS(ingle_options_set_float(o, "temprature", 1, err), INGLE_E_NOT_FOUND, "temprature");
  CHECK(err.hint() == "did you mean \"temperature\"?");
  CHECK_FAILS(ingle_options_set_int(o, "xyzzy", 1, err), INGLE_E_NOT_FOUND, "xyzzy");
  CHECK(err.hint().empty());
  CHECK_FAILS(ingle_options_set_json(o, R"({"temperature": 1, "tok_p": 1})", -1, err), INGLE_E_NOT_FOUND,
              "tok_p");
  CHECK(err.hint() == "did you mean \"top_p\"?");
  CHECK_FAILS(ingle_options_create("samplers", o.out(), err), INGLE_E_NOT_FOUND, "samplers");
  CHECK(err.hint() == "did you mean \"sampler\"?");
}

TEST_CASE("numbers that are none are refused", "[capi]") {
  Err err;
  Options o;
  REQUIRE_OK(ingle_options_create("sampler", o.out(), err));
  for (const double bad : {NAN, INFINITY, -INFINITY}) {
    CHECK_FAILS(ingle_options_set_float(o, "temperature", bad, err), INGLE_E_INVALID_ARGUMENT, "temperature");
    CHECK_FAILS(ingle_options_set_float(o, "top_k", bad, err), INGLE_E_INVALID_ARGUMENT, "top_k");
  }
  CHECK_FAILS(ingle_options_set_float(o, "top_p", 1.01, err), INGLE_E_INVALID_ARGUMENT, "top_p");
  CHECK_FAILS(ingle_options_set_float(o, "min_p", -0.01, err), INGLE_E_INVALID_ARGUMENT, "min_p");
  CHECK_FAILS(ingle_options_set_int(o, "seed", -1, err), INGLE_E_INVALID_ARGUMENT, "seed");
  REQUIRE_OK(ingle_options_set_int(o, "seed", INT64_MAX, err));
  REQUIRE_OK(ingle_options_set_int(o, "temperature", 0, err));
}

TEST_CASE("JSON options are all set, or none", "[capi]") {
  Err err;
  Options o;
  REQUIRE_OK(ingle_options_create("sampler", o.out(), err));
  REQUIRE_OK(ingle_options_set_json(o, R"({"temperature": 0})", -1, err));
  Sampler before, after;
  Text described_before, described_after;
  REQUIRE_OK(ingle_sampler_create(o, before.out(), err));
  REQUIRE_OK(ingle_sampler_describe(before, described_before.out(), err));
  CHECK_FAILS(ingle_options_set_json(o, R"({"temperature": 1, "top_k": -1})", -1, err),
              INGLE_E_INVALID_ARGUMENT, "top_k");
  REQUIRE_OK(ingle_sampler_create(o, after.out(), err));
  REQUIRE_OK(ingle_sampler_describe(after, described_after.out(), err));
  CHECK(str(described_before) == str(described_after));

  REQUIRE_OK(ingle_options_set_json(
      o, R"( {"logit_bias": {"17": -1.5, "18": null}, "seed": 9223372036854775807} )", -1, err));
  for (const char* bad :
       {"", "{", "[]", "17", "{\"seed\": 1} x", "{\"seed\": 18446744073709551615}",
        "{\"seed\": 1, \"seed\": 2}", "{\"seed\": \"1\"}", "{\"seed\": null}", "{\"logit_bias\": {\"x\": 1}}",
        "{\"logit_bias\": {\"-1\": 1}}", "{\"logit_bias\": {\"1\": 1e300}}", "{\"logit_bias\": []}",
        "{\"seed\": true}", "{\"seed\": \"\xff\"}"}) {
    INFO(bad);
    CHECK_FAILS(ingle_options_set_json(o, bad, -1, err), INGLE_E_INVALID_ARGUMENT, "");
    CHECK_FALSE(err.message().empty());
  }
  const std::string deep = "{\"seed\": " + std::string(100000, '[') + std::string(100000, ']') + "}";
  CHECK_FAILS(ingle_options_set_json(o, deep.c_str(), -1, err), INGLE_E_INVALID_ARGUMENT, "levels deep");
}

TEST_CASE("options of one kind do not pass for another", "[capi]") {
  Err err;
  const Options sampler = make_options("sampler", "{}"), session = make_options("session", "{}");
  const Runtime runtime = make_runtime();
  const Model model = make_scripted(runtime, R"({"text": "x"})");
  Sampler s;
  CHECK_FAILS(ingle_sampler_create(session, s.out(), err), INGLE_E_INVALID_ARGUMENT,
              "expected sampler options");
  Session c;
  CHECK_FAILS(ingle_session_create(model, sampler, c.out(), err), INGLE_E_INVALID_ARGUMENT,
              "expected session options");
}

TEST_CASE("the options of each kind are described", "[capi]") {
  Err err;
  const std::pair<const char*, const char*> kinds[] = {
      {"runtime", "\"threads\""}, {"model", "\"map\""},           {"script", "\"chat_template\""},
      {"session", "\"context\""}, {"sampler", "\"temperature\""}, {"generate", "\"stop\""},
      {"beams", "\"diversity\""}};
  for (const auto& [kind, key] : kinds) {
    Text text;
    REQUIRE_OK(ingle_options_describe(kind, text.out(), err));
    CHECK(contains(str(text), key));
    CHECK(contains(str(text), "\"default\""));
  }
  Text text;
  CHECK_FAILS(ingle_options_describe("nothing", text.out(), err), INGLE_E_NOT_FOUND, "kind");
}

TEST_CASE("zero is a value, not the default", "[capi]") {
  Err err;
  const Runtime runtime = make_runtime();
  const Model model = make_scripted(runtime, R"({"text": "abc"})");
  const Session session = make_session(model, "q");
  const Sampler greedy = make_greedy();
  const Options none = make_options("generate", R"({"max_tokens": 0})");
  int32_t finish = 0;
  Text text;
  REQUIRE_OK(ingle_session_generate(session, greedy, none, nullptr, nullptr, &finish, text.out(), err));
  CHECK(finish == INGLE_FINISH_LENGTH);
  CHECK(str(text).empty());
}
