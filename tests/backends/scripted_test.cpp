// The scripted program: what it answers, and that its place in the script is part of the sequence's state.
#include <limits>

#include "backends/scripted/scripted.h"
#include "kv/state.h"
#include "support/catch.h"
#include "support/errors.h"

using namespace ingle;
using namespace ingle::tests;
using backends::Script;
using backends::StepStatus;

namespace {

constexpr int64_t kVocab = 9;
constexpr int32_t kEnd = 8;

struct Playing {
  explicit Playing(Script script)
      : program(backends::make_scripted_program(std::move(script))),
        pool(system_allocator(), program->plan().parts, UINT64_MAX),
        workspace(program->make_workspace(64, 64, 4)) {}
  // Logits of the last n_wanted positions.
  std::vector<float> feed(kv::SequenceState& state, std::vector<int32_t> ids, int64_t n_wanted = 1,
                          StepStatus expected = StepStatus::ok, const std::atomic<bool>* cancel = nullptr) {
    const auto n = static_cast<int64_t>(ids.size());
    state.reserve(n);
    backends::Slice slice{&state, state.length(), ids, n_wanted};
    StepStatus status{};
    std::vector<float> logits(static_cast<size_t>(n_wanted * kVocab));
    program->run(*workspace, {{&slice, 1}, {&status, 1}, logits.data(), cancel});
    CHECK(status == expected);
    state.commit(n);
    return logits;
  }
  int32_t next(kv::SequenceState& state, std::vector<int32_t> ids) {
    const std::vector<float> l = feed(state, std::move(ids));
    return static_cast<int32_t>(std::max_element(l.begin(), l.end()) - l.begin());
  }
  std::unique_ptr<backends::Program> program;
  kv::StatePool pool;
  std::unique_ptr<backends::Workspace> workspace;
};

Script ids_script(std::vector<int32_t> ids) { return {std::move(ids), {}, kEnd, kVocab, 100}; }

}  // namespace

TEST_CASE("a script's ids follow any prompt, then the end", "[backends]") {
  Playing p(ids_script({5, 3, 5}));
  kv::SequenceState s(p.pool);
  CHECK(p.next(s, {1, 2, 4, 7}) == 5);
  CHECK(p.next(s, {5}) == 3);
  CHECK(p.next(s, {3}) == 5);
  CHECK(p.next(s, {5}) == kEnd);
  // Another token than the script's starts it over.
  CHECK(p.next(s, {0}) == 5);
  // Chunks do not matter, and each position has its own logits.
  kv::SequenceState t(p.pool);
  const std::vector<float> all = p.feed(t, {1, 5, 3}, 3);
  CHECK(all[0 * kVocab + 5] > all[0 * kVocab + 3]);
  CHECK(all[1 * kVocab + 3] > all[1 * kVocab + 5]);
  CHECK(all[2 * kVocab + 5] > all[2 * kVocab + 3]);
}

TEST_CASE("forks and truncated sequences keep their own place in a script", "[backends]") {
  Playing p(ids_script({1, 2, 3, 4}));
  kv::SequenceState a(p.pool);
  CHECK(p.next(a, {7}) == 1);
  CHECK(p.next(a, {1}) == 2);
  kv::SequenceState b = a.fork();
  CHECK(p.next(a, {2}) == 3);
  CHECK(p.next(a, {3}) == 4);
  CHECK(p.next(b, {2}) == 3);
  a.truncate(2);
  CHECK(p.next(a, {2}) == 3);
  a.truncate(0);
  CHECK(p.next(a, {2}) == 1);
}

TEST_CASE("a script of logits gives them row by row", "[backends]") {
  std::vector<std::vector<float>> rows(2, std::vector<float>(kVocab, 0.5f));
  rows[0][4] = 2;
  rows[1][6] = 3;
  rows[1][0] = -std::numeric_limits<float>::infinity();  // an id that cannot be
  Playing p({{}, rows, kEnd, kVocab, 100});
  kv::SequenceState s(p.pool);
  CHECK(p.feed(s, {1, 1}) == rows[0]);
  CHECK(p.feed(s, {4}) == rows[1]);
  CHECK(p.next(s, {6}) == kEnd);
}

TEST_CASE("a script's NaN and a cancel are statuses", "[backends]") {
  Playing p({{}, {std::vector<float>(kVocab, std::nanf(""))}, kEnd, kVocab, 100});
  kv::SequenceState s(p.pool);
  p.feed(s, {1}, 1, StepStatus::numeric);
  const std::atomic<bool> cancel{true};
  p.feed(s, {1}, 1, StepStatus::cancelled, &cancel);
}

TEST_CASE("scripts that cannot be are refused", "[backends]") {
  const auto refused = [](Script s) {
    const Error e = error_of([&] { backends::make_scripted_program(std::move(s)); });
    CHECK(e.code() == Code::invalid_argument);
    return std::string(e.what());
  };
  CHECK(contains(refused(ids_script({1, 9})), "9"));
  CHECK(contains(refused(ids_script({-1})), "-1"));
  CHECK(contains(refused({{}, {{1, 2}}, kEnd, kVocab, 100}), "has 2 logits"));
  CHECK(contains(refused({{1}, {std::vector<float>(kVocab)}, kEnd, kVocab, 100}), "both"));
  CHECK(contains(refused({{1}, {}, 9, kVocab, 100}), "9"));
  CHECK(contains(refused({{}, {}, 0, 0, 100}), "0"));
}
