#include "core/random.h"
#include "sampling/support.h"

using namespace ingle;
using namespace ingle::sampling;

namespace {

std::vector<int32_t> generate(Chain& s, int n, uint32_t first = 0) {
  std::vector<int32_t> ids;
  for (int i = 0; i < n; ++i) {
    ids.push_back(s.sample(random_row(first + static_cast<uint32_t>(i), 500, 3)));
    s.accept(ids.back());
  }
  return ids;
}

SamplerParams lively() {
  SamplerParams p;
  p.temperature = 1.4f;
  p.top_k = 100;
  p.min_p = 0.001f;
  p.repeat_penalty = 1.1f;
  p.presence_penalty = 0.3f;
  p.seed = 17;
  return p;
}

class Nothing final : public Stage {
 public:
  std::string_view name() const override { return "nothing"; }
  void apply(Candidates& c) override { c.list.clear(); }
  StagePtr clone() const override { return std::make_unique<Nothing>(); }
};

std::vector<StagePtr> chain_of(StagePtr a, StagePtr b = nullptr) {
  std::vector<StagePtr> chain;
  chain.push_back(std::move(a));
  if (b) chain.push_back(std::move(b));
  return chain;
}

}  // namespace

TEST_CASE("the default chain is in order, without what is off", "[sampling]") {
  CHECK(Chain(SamplerParams{}).describe() == "top_k > top_p > min_p > temperature > draw");
  SamplerParams p = lively();
  p.logit_bias = {{3, 1.0f}};
  p.typical_p = 0.9f;
  CHECK(Chain(p).describe() ==
        "logit_bias > penalties > top_k > typical_p > top_p > min_p > temperature > draw");
  p.temperature = 0;
  CHECK(Chain(p).describe() == "logit_bias > penalties > greedy");
  p.penalty_window = 0;
  p.logit_bias.clear();
  CHECK(Chain(p).describe() == "greedy");
}

TEST_CASE("temperature 0 takes the likeliest after bias and penalties", "[sampling]") {
  SamplerParams p;
  p.temperature = 0;
  Chain plain(p);
  CHECK(plain.sample(Row{1.0f, 5.0f, 5.0f, kBan}) == 1);
  p.logit_bias = {{0, 10.0f}, {2, kBan}};
  p.presence_penalty = 8;
  Chain s(p);
  const Row row = {1.0f, 5.0f, 5.0f, kBan};
  CHECK(s.sample(row) == 0);
  s.accept(0);
  CHECK(s.sample(row) == 1);
  s.rollback(1);
  CHECK(s.sample(row) == 0);
}

TEST_CASE("the default chain equals its formulas one after the other", "[sampling]") {
  SamplerParams p;
  p.seed = 5;
  for (uint32_t i = 0; i < 50; ++i) {
    const Row row = random_row(i, 3000, static_cast<int>(i % 3));
    auto list = sorted_list(row);
    list.resize(40);
    auto w = weights_of(list);
    double total = 0, sum = 0;
    for (const uint64_t x : w) total += static_cast<double>(x);
    size_t n = 0;
    while (sum < static_cast<double>(p.top_p) * total) sum += static_cast<double>(w[n++]);
    list.resize(n);
    while (list.back().logit < list[0].logit + std::log(static_cast<double>(p.min_p))) list.pop_back();
    const double max = list[0].logit;
    for (Candidate& c : list) c.logit = static_cast<float>((c.logit - max) / p.temperature);
    w = weights_of(list);
    uint64_t whole = 0;
    for (const uint64_t x : w) whole += x;
    auto point = static_cast<uint64_t>(static_cast<double>(uniform(5, 0)) * static_cast<double>(whole));
    size_t k = 0;
    while (point >= w[k]) point -= w[k++];
    Chain s(p);
    REQUIRE(s.sample(row) == list[k].id);
  }
}

TEST_CASE("equal seeds give equal text, others do not", "[sampling]") {
  SamplerParams p = lively();
  Chain a(p), b(p);
  const auto text = generate(a, 50);
  CHECK(generate(b, 50) == text);
  p.seed = 18;
  Chain c(p);
  CHECK(generate(c, 50) != text);
}

TEST_CASE("a rollback, and a copy, continue as if nothing had been", "[sampling]") {
  Chain s(lively());
  for (const int32_t id : {4, 8, 15, 16, 23, 42}) s.accept(id);  // a prompt
  const auto text = generate(s, 60);
  const Chain copy = s;
  s.rollback(40);
  CHECK(generate(s, 40, 20) == std::vector<int32_t>(text.begin() + 20, text.end()));
  Chain continued = copy;
  continued = copy;
  CHECK(generate(continued, 10, 60) == generate(s, 10, 60));
  continued.rollback(76);
  CHECK(error_of([&] { continued.rollback(1); }).code() == Code::invalid_argument);
  CHECK(error_of([&] { s.rollback(-1); }).code() == Code::invalid_argument);
  CHECK(error_of([&] { s.accept(-1); }).code() == Code::invalid_argument);
  CHECK(error_of([&] { s.accept(static_cast<int32_t>(kMaxVocab)); }).code() == Code::invalid_argument);
}

TEST_CASE("another sequence's steps in between change nothing", "[sampling]") {
  Chain a(lively()), alone(lively()), b(SamplerParams{});
  for (int i = 0; i < 30; ++i) {
    const Row row = random_row(static_cast<uint32_t>(i), 300, 0);
    const int32_t id = a.sample(row);
    b.accept(b.sample(row));
    REQUIRE(alone.sample(row) == id);
    a.accept(id);
    alone.accept(id);
  }
}

TEST_CASE("a bad row is an error, in every chain", "[sampling]") {
  SamplerParams greedy;
  greedy.temperature = 0;
  for (const SamplerParams& p : {SamplerParams{}, greedy, lively()}) {
    Chain s(p);
    const auto code = [&](const Row& row) { return error_of([&] { s.sample(row); }).code(); };
    CHECK(code({}) == Code::invalid_argument);
    CHECK(code(Row(40, kBan)) == Code::numeric);
    for (const float bad : {std::nanf(""), -std::nanf(""), -kBan}) {
      Row row(100, 1.0f);
      row[77] = bad;
      const Error e = error_of([&] { s.sample(row); });
      CHECK(e.code() == Code::numeric);
      CHECK(e.message().find("77") != std::string::npos);
    }
    Row one(100, kBan);
    one[60] = -5.0f;
    CHECK(s.sample(one) == 60);  // and the sampler is as good as before
  }
}

TEST_CASE("bias that bans all is an error", "[sampling]") {
  SamplerParams p;
  p.logit_bias = {{0, kBan}, {1, kBan}};
  Chain s(p);
  const Error e = error_of([&] { s.sample(Row{1.0f, 2.0f}); });
  CHECK(e.code() == Code::numeric);
  CHECK(e.message().find("logit_bias") != std::string::npos);
}

TEST_CASE("chains of one's own are checked", "[sampling]") {
  CHECK(error_of([] { Chain s(std::vector<StagePtr>{}); }).code() == Code::invalid_argument);
  std::vector<StagePtr> with_null(1);
  CHECK(error_of([&] { Chain s(std::move(with_null)); }).code() == Code::invalid_argument);
  Chain empty(chain_of(std::make_unique<Nothing>(), make_greedy()));
  CHECK(error_of([&] { empty.sample(Row{1.0f}); }).code() == Code::numeric);
  Chain undecided(chain_of(make_top_k(3)));
  CHECK(error_of([&] { undecided.sample(Row{1.0f}); }).code() == Code::invalid_argument);
  Chain mixed(chain_of(make_temperature(0.1f), make_greedy()));
  CHECK(mixed.sample(Row{1.0f, 3.0f}) == 1);
}
