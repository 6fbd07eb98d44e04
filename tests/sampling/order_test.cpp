// Which stages make a chain, in which order, and stages of a host's own.
#include <stdexcept>

#include "sampling/support.h"

using namespace ingle;
using namespace ingle::sampling;

namespace {

SamplerParams everything() {
  SamplerParams p;
  p.banned_tokens = {1};
  p.min_tokens = 2;
  p.end_tokens = {0};
  p.logit_bias = {{3, 1.0f}};
  p.no_repeat_ngram = 3;
  p.repeat_penalty = 1.1f;
  p.dry_multiplier = 0.8f;
  p.top_n_sigma = 2;
  p.typical_p = 0.9f;
  p.tfs_z = 0.9f;
  p.top_a = 0.1f;
  p.xtc_probability = 0.5f;
  p.smoothing_factor = 0.2f;
  return p;
}

CustomStage raise(std::string name, TokenId wanted, float by) {
  return {std::move(name),
          [=](std::span<const TokenId>, std::span<const TokenId> ids, std::span<float> logits) {
            for (size_t i = 0; i < ids.size(); ++i)
              if (ids[i] == wanted) logits[i] += by;
          }};
}

template <class F>
SamplerParams with_custom(F f) {
  SamplerParams p;
  p.custom = {{"mine", f}};
  return p;
}

Error refused(const SamplerParams& p) {
  return error_of([&] { Chain s(p); });
}

}  // namespace

TEST_CASE("every stage has its place in the default order", "[sampling]") {
  SamplerParams p = everything();
  p.custom = {raise("mine", 1, 1), raise("other", 1, 1)};
  CHECK(Chain(p).describe() ==
        "banned_tokens > min_tokens > logit_bias > no_repeat_ngram > penalties > dry > mine > other > "
        "top_n_sigma > "
        "top_k > typical_p > tail_free > top_a > top_p > min_p > xtc > temperature > smoothing > draw");
  p.dynatemp_range = 0.5f;
  CHECK(Chain(p).describe().find(" > xtc > dynamic_temperature > smoothing > draw") != std::string::npos);
  p.temperature = 0;
  p.dynatemp_range = 0;
  CHECK(
      Chain(p).describe() ==
      "banned_tokens > min_tokens > logit_bias > no_repeat_ngram > penalties > dry > mine > other > greedy");
  SamplerParams m;
  m.mirostat = 1;
  CHECK(Chain(m).describe() == "temperature > mirostat_1");
  m.mirostat = 2;
  m.repeat_penalty = 1.2f;
  CHECK(Chain(m).describe() == "penalties > temperature > mirostat_2");
  SamplerParams a;
  a.adaptive_target = 0.5f;
  CHECK(Chain(a).describe() == "top_k > top_p > min_p > temperature > adaptive_p");
}

TEST_CASE("an order is followed, and can be taken from what is printed", "[sampling]") {
  SamplerParams p;
  p.order = {"temperature", "top_p", "xtc"};
  CHECK(Chain(p).describe() ==
        "temperature > top_p > draw");  // xtc is off; top_k and min_p only by default on
  p.order = {"min_p", "top_k", "draw"};
  p.temperature = 1;
  CHECK(Chain(p).describe() == "min_p > top_k > draw");
  p = everything();
  p.order = {"smoothing",       "temperature", "xtc",        "min_p",        "top_p", "top_a",
             "tail_free",       "typical_p",   "top_k",      "top_n_sigma",  "dry",   "penalties",
             "no_repeat_ngram", "logit_bias",  "min_tokens", "banned_tokens"};
  CHECK(Chain(p).describe() ==
        "smoothing > temperature > xtc > min_p > top_p > top_a > tail_free > typical_p > top_k > top_n_sigma "
        "> dry > "
        "penalties > no_repeat_ngram > logit_bias > min_tokens > banned_tokens > draw");

  // The order matters: top-k before or after a bias.
  SamplerParams q;
  q.temperature = 0;
  q.top_k = 1;
  q.logit_bias = {{2, 10.0f}};
  const Row row = {1.0f, 5.0f, 2.0f};
  q.order = {"logit_bias", "top_k"};
  CHECK(Chain(q).sample(row) == 2);
  q.order = {"top_k", "logit_bias"};
  CHECK(Chain(q).sample(row) == 1);

  SamplerParams m;
  m.mirostat = 2;
  m.order = {"top_k", "temperature"};
  CHECK(Chain(m).describe() == "top_k > temperature > mirostat_2");
}

TEST_CASE("an order that cannot be followed is refused", "[sampling]") {
  SamplerParams p;
  p.order = {"topk"};
  CHECK(refused(p).code() == Code::not_found);
  CHECK(refused(p).where() == "order");
  CHECK(refused(p).hint() == "did you mean \"top_k\"?");
  p.order = {"top_k", "top_p", "top_k"};
  CHECK(refused(p).code() == Code::invalid_argument);
  p.order = {"draw", "top_k"};  // the choice is the last
  CHECK(refused(p).code() == Code::not_found);
  p.order = {"top_k", "greedy"};
  CHECK(refused(p).code() == Code::not_found);
  p.order = {"top_k"};
  p.xtc_probability = 0.5f;
  CHECK(refused(p).message() == "leaves out the stage xtc, whose option is set");
  p.order = {"xtc", "top_k"};
  p.temperature = 0.3f;
  CHECK(refused(p).message() == "leaves out the stage temperature, whose option is set");
  SamplerParams m;
  m.mirostat = 1;
  m.top_p = 0.5f;
  CHECK(refused(m).where() == "mirostat");
  CHECK(refused(m).message().find("top_p") != std::string::npos);
  m.top_p = SamplerParams{}.top_p;
  m.temperature = 0;
  CHECK(refused(m).where() == "mirostat");
  m.temperature = 1;
  m.adaptive_target = 0.5f;
  CHECK(refused(m).where() == "mirostat");
  m.mirostat = 0;
  m.temperature = 0;
  CHECK(refused(m).where() == "adaptive_target");
  SamplerParams e;
  e.min_tokens = 3;
  CHECK(refused(e).where() == "min_tokens");
}

TEST_CASE("hard bans are held under every way to choose", "[sampling]") {
  for (int way = 0; way < 5; ++way) {
    SamplerParams p;
    p.banned_tokens = {0, 7};
    p.min_tokens = 5;
    p.end_tokens = {3};
    if (way == 0) p.temperature = 0;
    if (way == 1 || way == 2) p.mirostat = way;
    if (way == 3) p.adaptive_target = 0.4f;
    Chain s(p);
    CAPTURE(s.describe());
    Row row(10, 1.0f);
    row[0] = row[7] = row[3] = 9.0f;
    for (int i = 0; i < 40; ++i) {
      const int32_t id = s.sample(row);
      CHECK(id != 0);
      CHECK(id != 7);
      if (i < 5) CHECK(id != 3);
      s.accept(id);
    }
    CHECK(error_of([&] { s.sample(Row{1.0f}); }).code() == Code::numeric);  // the only id is banned
    CHECK(error_of([&] { s.sample(Row{1.0f}); }).message().find("stage banned_tokens") != std::string::npos);
  }
}

TEST_CASE("a host's stage changes logits and removes ids", "[sampling]") {
  SamplerParams p;
  p.temperature = 0;
  p.custom = {raise("up", 2, 10)};
  CHECK(Chain(p).sample(Row{1.0f, 5.0f, 2.0f}) == 2);
  p.custom.push_back(
      {"no_two", [](std::span<const TokenId>, std::span<const TokenId> ids, std::span<float> logits) {
         for (size_t i = 0; i < ids.size(); ++i)
           if (ids[i] == 2) logits[i] = kBan;
       }});
  CHECK(Chain(p).describe() == "up > no_two > greedy");
  CHECK(Chain(p).sample(Row{1.0f, 5.0f, 2.0f}) == 1);
  p.order = {"no_two", "up"};
  CHECK(Chain(p).describe() == "no_two > up > greedy");
  p.order = {"up"};
  CHECK(refused(p).message() == "leaves out the stage no_two, whose option is set");
}

TEST_CASE("a host's stage sees what was accepted, through rollbacks and copies", "[sampling]") {
  SamplerParams p = with_custom(
      [](std::span<const TokenId> accepted, std::span<const TokenId> ids, std::span<float> logits) {
        for (size_t i = 0; i < ids.size(); ++i)
          if (ids[i] == static_cast<TokenId>(accepted.size())) logits[i] += 100;
      });
  p.temperature = 0;
  Chain s(p);
  const Row row(10, 0.0f);
  for (int i = 0; i < 6; ++i) {
    CHECK(s.sample(row) == i);
    s.accept(9);
  }
  Chain copy = s;
  s.rollback(4);
  CHECK(s.sample(row) == 2);
  CHECK(copy.sample(row) == 6);
}

TEST_CASE("a host's stage that fails is an error, and the sampler goes on", "[sampling]") {
  const Row row = {1.0f, 5.0f, 2.0f};
  int failing = 0;
  SamplerParams p =
      with_custom([&](std::span<const TokenId>, std::span<const TokenId>, std::span<float> logits) {
        if (failing == 1) throw std::runtime_error("out of luck");
        if (failing == 2) throw Error(Code::io, "their place", "their error");
        if (failing == 3) throw 7;
        if (failing == 4) logits[2] = std::nanf("");
        if (failing == 5) logits[0] = std::numeric_limits<float>::infinity();
        if (failing == 6) std::fill(logits.begin(), logits.end(), kBan);
        if (failing == 7) throw std::bad_alloc();
      });
  p.temperature = 0;
  Chain s(p);
  const auto fails = [&](int how) {
    failing = how;
    const Error e = error_of([&] { s.sample(row); });
    failing = 0;
    CHECK(s.sample(row) == 1);
    return e;
  };
  CHECK(fails(1).code() == Code::invalid_argument);
  CHECK(fails(1).where() == "sampler stage mine");
  CHECK(fails(1).message().find("out of luck") != std::string::npos);
  CHECK(fails(2).code() == Code::io);
  CHECK(fails(3).code() == Code::invalid_argument);
  CHECK(fails(4).code() == Code::numeric);
  CHECK(fails(4).message().find("id 2") != std::string::npos);
  CHECK(fails(5).code() == Code::numeric);
  CHECK(fails(6).code() == Code::numeric);
  failing = 7;
  CHECK_THROWS_AS(s.sample(row), std::bad_alloc);
}

TEST_CASE("a host's stages are checked", "[sampling]") {
  for (const std::string& name : {std::string(), std::string("Über"), std::string("a,b"),
                                  std::string(65, 'x'), std::string("top_k"), std::string("twice")}) {
    CAPTURE(name);
    SamplerParams p;
    p.custom = {raise("twice", 1, 1), raise(name, 1, 1)};
    CHECK(refused(p).where() == "custom");
  }
  SamplerParams p;
  p.custom = {{"nothing", {}}};
  CHECK(refused(p).where() == "custom");
}
