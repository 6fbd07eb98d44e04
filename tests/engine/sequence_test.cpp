// A sequence is after a failed feed what it was before, wherever it failed.
#include "engine/sequence.h"

#include "backends/scripted/scripted.h"
#include "golden/support.h"
#include "support/errors.h"

using namespace ingle;
using namespace ingle::tests;
using backends::StepStatus;

namespace {

constexpr int64_t kVocab = 16;
constexpr uint64_t kPlenty = UINT64_MAX;

// The scripted program, except that the n-th step from now fails, with its logits spoilt.
class Faulty final : public backends::Program {
 public:
  explicit Faulty(std::vector<int32_t> ids)
      : script_(backends::make_scripted_program({std::move(ids), {}, 0, kVocab, 4096})) {}
  mutable int fail_in = 0;  // 0: never
  mutable StepStatus how = StepStatus::numeric;
  mutable std::vector<int64_t> steps;  // tokens of each

  const backends::Plan& plan() const override { return script_->plan(); }
  uint64_t weight_bytes() const override { return 0; }
  std::string kernels() const override { return ""; }
  std::unique_ptr<backends::Workspace> make_workspace(int64_t t, int64_t w, int64_t s) const override {
    return script_->make_workspace(t, w, s);
  }
  void run(backends::Workspace& workspace, const backends::Batch& batch) const noexcept override {
    steps.push_back(static_cast<int64_t>(batch.slices[0].tokens.size()));
    script_->run(workspace, batch);
    if (fail_in == 0 || --fail_in > 0) return;
    batch.status[0] = how;
    for (int64_t r = 0; r < batch.slices[0].n_wanted; ++r)
      std::fill_n(batch.logits_row(r, kVocab), kVocab, std::nanf(""));
  }

 private:
  std::unique_ptr<backends::Program> script_;
};

struct Bench {
  explicit Bench(std::vector<int32_t> ids = {1, 2, 3, 4, 5, 6, 7, 8}, uint64_t budget = kPlenty)
      : program(std::make_shared<Faulty>(std::move(ids))),
        runner(program),
        pool(system_allocator(), program->plan().parts, budget),
        sequence(runner, pool) {}
  std::shared_ptr<Faulty> program;
  engine::Runner runner;
  kv::StatePool pool;
  engine::Sequence sequence;

  int32_t likely() { return argmax(sequence.logits()); }
  void feed(std::vector<int32_t> ids, const engine::FeedOptions& options = {}) {
    sequence.feed(ids, options);
  }
  // `act` fails with `code` and leaves everything as it was.
  template <class F>
  void check_unchanged(Code code, F act) {
    const std::vector<int32_t> tokens(sequence.tokens().begin(), sequence.tokens().end());
    const std::vector<float> logits(sequence.logits().begin(), sequence.logits().end());
    const bool had_logits = sequence.has_logits();
    const uint64_t bytes = pool.bytes_in_use();
    CHECK(error_of(act).code() == code);
    CHECK(std::equal(tokens.begin(), tokens.end(), sequence.tokens().begin(), sequence.tokens().end()));
    CHECK(sequence.has_logits() == had_logits);
    if (had_logits)
      CHECK(std::equal(logits.begin(), logits.end(), sequence.logits().begin(), sequence.logits().end()));
    CHECK(pool.bytes_in_use() == bytes);
  }
};

std::vector<int32_t> many(size_t n) { return std::vector<int32_t>(n, 9); }

}  // namespace

TEST_CASE("a sequence grows by what it is fed", "[engine]") {
  Bench b;
  CHECK_FALSE(b.sequence.has_logits());
  b.feed({});
  CHECK_FALSE(b.sequence.has_logits());
  b.feed({9, 9, 9});
  CHECK(b.sequence.has_logits());
  CHECK(b.sequence.length() == 3);
  CHECK(b.likely() == 1);
  b.feed({1});
  CHECK(b.likely() == 2);
  CHECK(std::vector<int32_t>(b.sequence.tokens().begin(), b.sequence.tokens().end()) ==
        std::vector<int32_t>{9, 9, 9, 1});
}

TEST_CASE("chunks are as long as asked, and progress hears of each", "[engine]") {
  Bench b;
  std::vector<std::pair<int64_t, int64_t>> told;
  engine::FeedOptions options;
  options.chunk = 4;
  options.progress = [&](int64_t done, int64_t total) {
    told.emplace_back(done, total);
    return true;
  };
  b.feed(many(10), options);
  CHECK(b.program->steps == std::vector<int64_t>{4, 4, 2});
  CHECK(told == std::vector<std::pair<int64_t, int64_t>>{{4, 10}, {8, 10}, {10, 10}});
  told.clear();
  b.feed({1}, options);  // also of a single token
  CHECK(told == std::vector<std::pair<int64_t, int64_t>>{{1, 1}});
}

TEST_CASE("every position's logits are handed over in order", "[engine]") {
  Bench b;
  std::vector<std::pair<int64_t, int32_t>> rows;
  engine::FeedOptions options;
  options.chunk = 2;
  options.row = [&](int64_t position, std::span<const float> logits) {
    rows.emplace_back(position, argmax(logits));
  };
  b.feed({9, 1, 2, 3, 9}, options);
  CHECK(rows == std::vector<std::pair<int64_t, int32_t>>{{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 1}});
  CHECK(b.likely() == 1);
  b.feed({1}, options);
  CHECK(rows.back() == std::pair<int64_t, int32_t>{5, 2});
  CHECK(b.likely() == 2);
}

TEST_CASE("a failed feed leaves the sequence as it was", "[engine]") {
  Bench b;
  SECTION("fresh") {}
  SECTION("in the middle of an answer") { b.feed({9, 9, 1, 2}); }
  SECTION("at the end of a page") { b.feed(many(32)); }
  SECTION("after a truncate, without logits") {
    b.feed(many(40));
    b.sequence.truncate(35);
  }
  engine::FeedOptions options;
  options.chunk = 16;
  for (const size_t n : {1u, 2u, 50u}) {
    CAPTURE(n);
    b.check_unchanged(Code::invalid_argument, [&] {
      std::vector<int32_t> ids = many(n);
      ids.back() = kVocab;
      b.feed(ids);
    });
    b.check_unchanged(Code::invalid_argument, [&] {
      std::vector<int32_t> ids = many(n);
      ids.back() = -1;
      b.feed(ids);
    });
    for (const int at : {1, n > 16 ? 2 : 1, n > 16 ? 4 : 1}) {
      for (const StepStatus how : {StepStatus::numeric, StepStatus::cancelled}) {
        CAPTURE(at);
        b.program->fail_in = at;
        b.program->how = how;
        b.check_unchanged(how == StepStatus::numeric ? Code::numeric : Code::cancelled,
                          [&] { b.feed(many(n), options); });
      }
    }
    engine::FeedOptions refused = options;
    refused.progress = [](int64_t done, int64_t total) { return done < total; };
    b.check_unchanged(Code::cancelled, [&] { b.feed(many(n), refused); });
    engine::FeedOptions thrower = options;
    thrower.row = [&, last = b.sequence.length() + static_cast<int64_t>(n) - 1](int64_t p,
                                                                                std::span<const float>) {
      if (p == last) throw Error(Code::io, "row", "the caller's own");
    };
    b.check_unchanged(Code::io, [&] { b.feed(many(n), thrower); });
  }
  // And goes on as if nothing had been.
  const int64_t before = b.sequence.length();
  b.feed({9, 1, 2});
  CHECK(b.likely() == 3);
  CHECK(b.sequence.length() == before + 3);
}

TEST_CASE("a cancel in the middle of a prefill ends it", "[engine]") {
  Bench b;
  b.feed({9});
  std::atomic<bool> cancel{false};
  engine::FeedOptions options;
  options.chunk = 8;
  options.cancel = &cancel;
  options.progress = [&](int64_t done, int64_t) {
    if (done >= 16) cancel = true;
    return true;
  };
  b.check_unchanged(Code::cancelled, [&] { b.feed(many(100), options); });
  CHECK(b.program->steps == std::vector<int64_t>{1, 8, 8});
  cancel = false;
  options.progress = {};
  b.feed({1}, options);
  CHECK(b.likely() == 2);
}

TEST_CASE("what does not fit the budget leaves the sequence as it was", "[engine]") {
  Bench b({1, 2, 3}, 5 * 32 * 2 * sizeof(float));  // five pages of 32 tokens
  b.feed(many(70));
  engine::FeedOptions options;
  options.chunk = 32;
  b.check_unchanged(Code::out_of_memory, [&] { b.feed(many(120), options); });
  b.check_unchanged(Code::out_of_memory, [&] { b.feed(many(4096)); });
  b.feed({1});
  CHECK(b.likely() == 2);
}

TEST_CASE("forked and truncated sequences go their own way", "[engine]") {
  Bench b;
  b.feed({9, 1, 2});
  engine::Sequence other = b.sequence.fork();
  CHECK(other.has_logits());
  CHECK(argmax(other.logits()) == 3);
  b.feed({3});
  const int32_t four = 9;
  other.feed({&four, 1}, {});
  CHECK(b.likely() == 4);
  CHECK(argmax(other.logits()) == 1);
  b.sequence.truncate(4);  // to where it is: nothing happens
  CHECK(b.sequence.has_logits());
  b.sequence.truncate(2);
  CHECK_FALSE(b.sequence.has_logits());
  CHECK(b.sequence.length() == 2);
  b.feed({2});
  CHECK(b.likely() == 3);
  b.check_unchanged(Code::invalid_argument, [&] { b.sequence.truncate(4); });
  b.check_unchanged(Code::invalid_argument, [&] { b.sequence.truncate(-1); });
  b.sequence.truncate(0);
  CHECK(b.sequence.length() == 0);
}
