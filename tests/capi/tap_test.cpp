// Taps through the C ABI.
#include <map>
#include <vector>

#include "capi.h"

using namespace ingle::tests;

namespace {

struct Ear {
  std::map<int32_t, int64_t> widths;  // by point
  std::vector<int64_t> positions;
  std::vector<float> last;
  int64_t stop_at = INT64_MAX;
  int closed = 0;
};

int32_t hear(int32_t point, int64_t position, int32_t, const float* values, int64_t n, void* user) {
  auto& ear = *static_cast<Ear*>(user);
  ear.widths[point] = n;
  ear.positions.push_back(position);
  ear.last.assign(values, values + n);
  return position >= ear.stop_at ? 1 : 0;
}
void close_ear(void* user) { ++static_cast<Ear*>(user)->closed; }

ingle_tap tap_of(Ear& ear) {
  ingle_tap tap = INGLE_TAP_INIT;
  tap.hear = hear;
  tap.close = close_ear;
  tap.user = &ear;
  return tap;
}

Model load(const ingle_runtime* runtime) {
  Err err;
  Model model;
  REQUIRE_OK(ingle_model_load(runtime, model_path().c_str(), nullptr, nullptr, model.out(), err));
  return model;
}

}  // namespace

TEST_CASE("a tap hears what a session computes, and is closed once", "[capi]") {
  Err err;
  const Runtime runtime = make_runtime();
  const Model model = load(runtime);
  int64_t n_vocab = 0, n_embedding = 0;
  REQUIRE_OK(ingle_model_info_int(model, "n_vocab", &n_vocab, err));
  REQUIRE_OK(ingle_model_info_int(model, "n_embedding", &n_embedding, err));
  Ear ear, other;
  {
    const Session session = make_session(model);
    const ingle_tap tap = tap_of(ear), second = tap_of(other);
    const int32_t points[] = {INGLE_TAP_LOGITS, 0, INGLE_TAP_EMBEDDING, INGLE_TAP_FINAL_NORM};
    const int32_t ids[] = {3, 4, 5};
    REQUIRE_OK(ingle_session_tap(session, points, 4, &tap, err));
    REQUIRE_OK(ingle_session_feed_tokens(session, ids, 3, nullptr, err));
    CHECK(ear.positions == std::vector<int64_t>{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2});
    CHECK(ear.widths == std::map<int32_t, int64_t>{{INGLE_TAP_LOGITS, n_vocab},
                                                   {0, n_embedding},
                                                   {INGLE_TAP_EMBEDDING, n_embedding},
                                                   {INGLE_TAP_FINAL_NORM, n_embedding}});
    const float* row = nullptr;
    int64_t n = 0;
    REQUIRE_OK(ingle_session_logits(session, &row, &n, err));
    CHECK(ear.last == std::vector<float>(row, row + n));

    ear.stop_at = 4;
    CHECK_FAILS(ingle_session_feed_tokens(session, ids, 3, nullptr, err), INGLE_E_CANCELLED, "tap");
    CHECK(ear.positions.back() == 4);
    CHECK(ear.closed == 0);
    REQUIRE_OK(ingle_session_tap(session, points, 1, &second, err));
    CHECK(ear.closed == 1);
    REQUIRE_OK(ingle_session_feed_tokens(session, ids, 3, nullptr, err));
    CHECK(other.positions == std::vector<int64_t>{3, 4, 5});  // what was cancelled is not there
    REQUIRE_OK(ingle_session_tap(session, nullptr, 0, nullptr, err));
    CHECK(other.closed == 1);
    REQUIRE_OK(ingle_session_tap(session, points, 1, &second, err));
  }
  CHECK(ear.closed == 1);
  CHECK(other.closed == 2);
}

TEST_CASE("taps that cannot be are refused, and not closed", "[capi]") {
  Err err;
  const Runtime runtime = make_runtime();
  const Model model = load(runtime), scripted = make_scripted(runtime, R"({"text": "x"})");
  const Session session = make_session(model), script = make_session(scripted);
  Ear ear;
  ingle_tap tap = tap_of(ear);
  int32_t point = 1000;
  CHECK_FAILS(ingle_session_tap(session, &point, 1, &tap, err), INGLE_E_INVALID_ARGUMENT, "point 1000");
  point = 0;
  CHECK_FAILS(ingle_session_tap(script, &point, 1, &tap, err), INGLE_E_UNSUPPORTED, "logits alone");
  tap.reserved = 1;
  CHECK_FAILS(ingle_session_tap(session, &point, 1, &tap, err), INGLE_E_INVALID_ARGUMENT, "reserved");
  tap = tap_of(ear);
  tap.hear = nullptr;
  CHECK_FAILS(ingle_session_tap(session, &point, 1, &tap, err), INGLE_E_INVALID_ARGUMENT, "hear is NULL");
  CHECK(ear.closed == 0);
}
