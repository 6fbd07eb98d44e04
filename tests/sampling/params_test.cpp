#include "sampling/support.h"

using namespace ingle;
using namespace ingle::sampling;

TEST_CASE("the table's defaults are those of the struct", "[sampling]") {
  const SamplerParams p;
  REQUIRE(param_table().size() == 35);
  for (const ParamInfo& info : param_table()) {
    CAPTURE(info.key);
    CHECK(!info.help.empty());
    if (info.type.starts_with("list")) {
      CHECK(error_of([&] { get_param(p, info.key); }).code() == Code::invalid_argument);
      continue;
    }
    CHECK(get_param(p, info.key) == info.initial);
    CHECK(info.low <= info.initial);
    CHECK(info.initial <= info.high);
    CHECK((info.type == "int" || info.type == "float"));
  }
  validate(p, 10);
}

TEST_CASE("each parameter takes its whole range and nothing beyond", "[sampling]") {
  for (const ParamInfo& info : param_table()) {
    CAPTURE(info.key);
    if (info.type.starts_with("list")) continue;
    SamplerParams p;
    for (const double good : {info.low, info.high, info.initial}) {
      set_param(p, info.key, good);
      CHECK(get_param(p, info.key) == good);
      validate(p, 10);
    }
    constexpr double inf = std::numeric_limits<double>::infinity();
    for (const double bad : {std::nan(""), inf, -inf, std::nextafter(info.low, -inf), info.high * 1.01 + 1}) {
      const Error e = error_of([&] { set_param(p, info.key, bad); });
      CHECK(e.code() == Code::invalid_argument);
      CHECK(e.where() == info.key);
      CHECK(get_param(p, info.key) == info.initial);
    }
    if (info.type == "int")
      CHECK(error_of([&] { set_param(p, info.key, 1.5); }).code() == Code::invalid_argument);
  }
}

TEST_CASE("lists are set whole and checked", "[sampling]") {
  size_t n = 0;
  for (const ParamInfo& info : param_table()) {
    if (info.type != "list of ids") continue;
    CAPTURE(info.key);
    ++n;
    SamplerParams p;
    const int32_t last = static_cast<int32_t>(info.high);
    set_param(p, info.key, std::vector<int32_t>{0, 7, last});
    validate(p, kMaxVocab);
    CHECK(error_of([&] { validate(p, kMaxVocab - 1); }).where() == info.key);
    for (const std::vector<int32_t>& bad : {std::vector<int32_t>{-1}, {last + 1}, {4, 5, 4}}) {
      const Error e = error_of([&] { set_param(p, info.key, bad); });
      CHECK(e.code() == Code::invalid_argument);
      CHECK(e.where() == info.key);
    }
    validate(p, kMaxVocab);
    CHECK(error_of([&] { set_param(p, info.key, 1.0); }).code() == Code::invalid_argument);
    set_param(p, info.key, std::vector<int32_t>{});
    validate(p, 1);
  }
  CHECK(n == 3);
  SamplerParams p;
  set_param(p, "banned_tokens", std::vector<int32_t>{9, 8});
  CHECK(p.banned_tokens == std::vector<int32_t>{9, 8});
  set_param(p, "order", std::vector<std::string>{"top_k"});
  CHECK(p.order == std::vector<std::string>{"top_k"});
  CHECK(error_of([&] { set_param(p, "order", 1.0); }).code() == Code::invalid_argument);
  CHECK(error_of([&] { set_param(p, "top_k", std::vector<std::string>{"x"}); }).code() ==
        Code::invalid_argument);
  CHECK(error_of([&] { set_param(p, "top_k", std::vector<int32_t>{1}); }).code() == Code::invalid_argument);
  CHECK(error_of([&] { set_param(p, "dry_braekers", std::vector<int32_t>{1}); }).hint() ==
        "did you mean \"dry_breakers\"?");
}

TEST_CASE("an unknown key names the one that was meant", "[sampling]") {
  SamplerParams p;
  const auto hint = [&](std::string_view key) {
    const Error e = error_of([&] { set_param(p, key, 0); });
    CHECK(e.code() == Code::not_found);
    return e.hint();
  };
  CHECK(hint("top-k") == "did you mean \"top_k\"?");
  CHECK(hint("temprature") == "did you mean \"temperature\"?");
  CHECK(hint("temp") == "did you mean \"temperature\"?");
  CHECK(hint("repetition_penalty") == "did you mean \"repeat_penalty\"?");
  CHECK(hint("banana").empty());
  CHECK(hint("").empty());
  const Error e = error_of([&] { get_param(p, std::string(1 << 20, 'x')); });
  CHECK(e.message().size() < 200);
}

TEST_CASE("validate names what is wrong", "[sampling]") {
  const auto where = [](auto change) {
    SamplerParams p;
    change(p);
    const Error e = error_of([&] { validate(p, 100); });
    CHECK(e.code() == Code::invalid_argument);
    return e.where();
  };
  CHECK(where([](SamplerParams& p) { p.temperature = -1; }) == "temperature");
  CHECK(where([](SamplerParams& p) { p.temperature = std::nanf(""); }) == "temperature");
  CHECK(where([](SamplerParams& p) { p.top_k = -1; }) == "top_k");
  CHECK(where([](SamplerParams& p) { p.top_p = 1.5f; }) == "top_p");
  CHECK(where([](SamplerParams& p) { p.min_p = -0.1f; }) == "min_p");
  CHECK(where([](SamplerParams& p) { p.repeat_penalty = 0; }) == "repeat_penalty");
  CHECK(where([](SamplerParams& p) { p.penalty_window = -5; }) == "penalty_window");
  CHECK(where([](SamplerParams& p) { p.logit_bias = {{100, 1.0f}}; }) == "logit_bias");
  CHECK(where([](SamplerParams& p) { p.logit_bias = {{-1, 1.0f}}; }) == "logit_bias");
  CHECK(where([](SamplerParams& p) { p.logit_bias = {{5, std::nanf("")}}; }) == "logit_bias");
  CHECK(where([](SamplerParams& p) { p.logit_bias = {{5, -kBan}}; }) == "logit_bias");
  CHECK(where([](SamplerParams& p) { p.logit_bias = {{5, 1.0f}, {6, 1.0f}, {5, 2.0f}}; }) == "logit_bias");
  SamplerParams p;
  p.top_p = 2;
  CHECK(error_of([&] { Chain sampler(p); }).where() == "top_p");
  p = {};
  p.seed = UINT64_MAX;
  p.logit_bias = {{5, 1.0f}, {99, kBan}};
  validate(p, 100);
  CHECK(error_of([&] { validate(p, 0); }).code() == Code::invalid_argument);
  CHECK(error_of([&] { validate(p, kMaxVocab + 1); }).code() == Code::invalid_argument);
}
