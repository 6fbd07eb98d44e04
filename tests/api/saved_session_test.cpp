// Sessions saved and loaded: the answer goes on with the same bits, and no file can do harm.
#include "api/saved_session.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "api/support.h"
#include "support/errors.h"
#include "support/temp.h"

// Bytes of this program, which memory_test.cpp counts.
extern std::atomic<int64_t> n_live, n_peak;

using namespace ingle;
using namespace ingle::tests;

namespace {

std::vector<TokenId> some_ids(size_t n, int64_t n_vocab) {
  std::mt19937 random(7);
  std::vector<TokenId> ids;
  while (ids.size() < n) ids.push_back(static_cast<TokenId>(random() % static_cast<uint32_t>(n_vocab)));
  return ids;
}

std::vector<float> row_of(const Session& s) { return {s.logits().begin(), s.logits().end()}; }

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

GenerateOptions without_end() {
  GenerateOptions o;
  o.ignore_end = true;
  return o;
}

// Ids and logits of the next n greedy tokens.
std::vector<std::vector<float>> go_on(Session& s, int n) {
  Sampler greedy = Sampler::greedy();
  s.begin(without_end());
  std::vector<std::vector<float>> rows;
  for (int i = 0; i < n; ++i) {
    s.next(greedy);
    rows.push_back(row_of(s));
  }
  return rows;
}

void check_same_future(Session& a, Session& b) {
  REQUIRE(std::ranges::equal(a.tokens(), b.tokens()));
  const auto rows_a = go_on(a, 6), rows_b = go_on(b, 6);
  for (size_t i = 0; i < rows_a.size(); ++i) CHECK(same_bits(rows_a[i], rows_b[i]));
  CHECK(std::ranges::equal(a.tokens(), b.tokens()));
}

Session small_session(const Model& model) {
  Session s(model);
  s.feed_text("ab");
  Sampler greedy = Sampler::greedy();
  s.next(greedy);  // leaves a pending token
  return s;
}

std::string file_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Loads, and goes on; false for an error that says what is wrong with the file.
bool survives(const Model& model, const std::string& bytes) {
  try {
    Session s = loaded(model, bytes);
    Sampler greedy = Sampler::greedy();
    s.feed_text("x");
    for (int i = 0; i < 3; ++i) s.next(greedy);
    return true;
  } catch (const Error& e) {
    REQUIRE_FALSE(e.message().empty());
    REQUIRE(e.code() != Code::internal);
    return false;
  }
}

}  // namespace

TEST_CASE("a loaded session goes on with the bits of the saved one", "[api]") {
  // Full attention; a window; a recurrence; convolutions beside attention; both kinds of layers.
  const auto name =
      GENERATE(as<std::string>(), "models/qwen2-q8_0.gguf", "models/gemma3_text/model-f32.gguf",
               "golden/arch/mamba", "golden/arch/lfm2", "golden/arch/falcon_h1", "golden/arch/qwen3_5_text");
  ModelOptions options;
  options.state_type = GENERATE(as<std::string>(), "", "q4");
  CAPTURE(name, options.state_type);
  const Model model = Model::load(one_thread(), data_path(name), options);
  Session s(model);
  const auto n = std::min<size_t>(75, static_cast<size_t>(model.info().n_context) - 24);
  s.feed(some_ids(n, model.info().n_vocab));
  SECTION("after a prompt") {
    Session back = loaded(model, saved(s));
    CHECK(same_bits(row_of(s), row_of(back)));
    check_same_future(s, back);
  }
  SECTION("within an answer, with a token that is not computed yet") {
    go_on(s, 3);
    Sampler greedy = Sampler::greedy();
    s.begin(without_end());
    s.next(greedy);
    Session back = loaded(model, saved(s));
    check_same_future(s, back);
  }
  SECTION("after a truncate, without logits") {
    s.truncate(static_cast<int64_t>(n) - 1);
    Session back = loaded(model, saved(s));
    CHECK(code_of([&] { back.logits(); }) == Code::invalid_argument);
    s.feed(some_ids(5, model.info().n_vocab));
    back.feed(some_ids(5, model.info().n_vocab));
    check_same_future(s, back);
  }
  SECTION("empty") {
    Session back = loaded(model, saved(Session(model)));
    CHECK(back.tokens().empty());
    back.feed(some_ids(n, model.info().n_vocab));
    check_same_future(s, back);
  }
}

TEST_CASE("a session in a file", "[api]") {
  const Model model = scripted(one_thread(), "abcdefgh");
  const TempDir dir;
  const std::string path = dir.path() + "/a.session";
  Session s = small_session(model);
  s.save(path);
  CHECK(file_bytes(path) == saved(s));
  Session back = Session::load(model, path);
  check_same_future(s, back);
  CHECK(code_of([&] { Session::load(model, dir.path() + "/none"); }) == Code::not_found);
  CHECK(code_of([&] { Session::load(model, dir.path()); }) == Code::io);
  const Error e = error_of([&] { Session::load(model, dir.write("more", file_bytes(path) + "x")); });
  CHECK(e.code() == Code::corrupt);
  CHECK(contains(e.message(), "1 bytes after its end"));
  CHECK(contains(e.where(), "more"));
}

TEST_CASE("a session of another model, backend, vocabulary, version or of too many tokens is refused",
          "[api]") {
  const Runtime runtime = one_thread();
  const Model model = scripted(runtime, "abcdefgh");
  Session s = small_session(model);
  const std::string good = saved(s);
  CHECK(error_of([&] { loaded(scripted(runtime, "abcdefgX"), good); }).code() == Code::unsupported);
  const Model tiny = Model::load(runtime, tiny_model());
  CHECK(error_of([&] { loaded(tiny, good); }).code() == Code::unsupported);
  ModelOptions ref;
  ref.backend = "ref";
  const Error e = error_of([&] { loaded(Model::load(runtime, tiny_model(), ref), saved(Session(tiny))); });
  CHECK(e.code() == Code::unsupported);
  CHECK(contains(e.message(), "backend"));
  ModelOptions wide;
  wide.state_type = "f32";
  const Error f = error_of([&] { loaded(Model::load(runtime, tiny_model(), wide), saved(Session(tiny))); });
  CHECK(f.code() == Code::unsupported);
  CHECK(contains(f.message(), "f32"));
  SessionOptions narrow;
  narrow.context = 2;
  CHECK(error_of([&] { loaded(model, good, narrow); }).code() == Code::context_full);
  std::string newer = good;
  newer[8] = 9;
  CHECK(contains(error_of([&] { loaded(model, newer); }).message(), "version 9"));
  CHECK(contains(error_of([&] { loaded(model, "GGUF" + good); }).message(), "does not begin"));
}

TEST_CASE("the same model read without mapping has the same sessions", "[api]") {
  const Runtime runtime = one_thread();
  ModelOptions plain;
  plain.map = false;
  const Model a = Model::load(runtime, tiny_model()), b = Model::load(runtime, tiny_model(), plain);
  Session s(a);
  s.feed(some_ids(20, a.info().n_vocab));
  Session back = loaded(b, saved(s));
  check_same_future(s, back);
}

TEST_CASE("every truncation and every flipped bit of a saved session is an error", "[api]") {
  const Model model = scripted(one_thread(), "abcdefgh");
  Session s = small_session(model);
  const std::string good = saved(s);
  REQUIRE(survives(model, good));
  for (size_t n = 0; n < good.size(); ++n) REQUIRE_FALSE(survives(model, good.substr(0, n)));
  for (size_t bit = 0; bit < 8 * good.size(); ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
    CAPTURE(bit);
    REQUIRE_FALSE(survives(model, bad));
  }
  REQUIRE(survives(model, good));
}

// Sealed again, so that the checksums do not stop them.
TEST_CASE("a saved session whose content was changed is an error or a session", "[api]") {
  const Model model = scripted(one_thread(), "abcdefgh");
  Session s = small_session(model);
  const std::string good = saved(s);
  std::mt19937 random(11);
  const auto pick = [&](size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random); };
  static constexpr uint64_t kOdd[] = {0,     1,          2,          31,         32,
                                      33,    255,        256,        4096,       1u << 31,
                                      ~0ull, ~0ull >> 1, 1ull << 40, 1ull << 62, 0x7F80000000000000ull};
  int fine = 0, refused = 0;
  for (int i = 0; i < 10000; ++i) {
    std::string bad = good;
    for (size_t edits = 1 + pick(3); edits > 0; --edits) {
      const std::vector<RecordPlace> places = records_of(bad);
      if (places.empty()) break;
      const RecordPlace r = places[pick(places.size())];
      const size_t n = r.end - r.payload;
      switch (pick(6)) {
        case 0:  // a field
        case 1:
          if (n >= 8) {
            const uint64_t v = kOdd[pick(std::size(kOdd))];
            std::memcpy(bad.data() + r.payload + pick(n / 8) * 8, &v, 8);
          }
          break;
        case 2:  // a length
          std::memcpy(bad.data() + r.header + 8, &kOdd[pick(std::size(kOdd))], 8);
          break;
        case 3:  // a record twice
          bad.insert(r.end, bad.substr(r.header, r.end - r.header));
          break;
        case 4:  // a record gone
          bad.erase(r.header, r.end - r.header);
          break;
        default:  // another tag
          bad[r.header + pick(4)] = static_cast<char>(pick(256));
      }
    }
    seal(bad);
    const int64_t before = n_live;
    n_peak = before;
    (survives(model, bad) ? fine : refused) += 1;
    REQUIRE(n_peak - before <= static_cast<int64_t>(bad.size()) + (64 << 20));
    REQUIRE(n_live - before < (1 << 20));
  }
  WARN("mutants of a saved session: " << refused << " refused, " << fine << " loaded");
  CHECK(fine > 0);
  CHECK(refused > 5000);
}

TEST_CASE("a session that cannot be written leaves the old file and nothing else", "[api]") {
  const Model model = scripted(one_thread(), "abcdefgh");
  const TempDir dir;
  const std::string path = dir.path() + "/a.session";
  Session s = small_session(model);
  s.save(path);
  const std::string old = file_bytes(path);
  Session longer(model);
  longer.feed_text(std::string(500, 'x'));
  SECTION("because the disk is full") {
    const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
    rlimit before{};
    REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
    for (const rlim_t most : {0, 100, 3000}) {
      const rlimit now{most, before.rlim_max};
      REQUIRE(setrlimit(RLIMIT_FSIZE, &now) == 0);
      const Code code = code_of([&] { longer.save(path); });
      REQUIRE(setrlimit(RLIMIT_FSIZE, &before) == 0);
      CHECK(code == Code::io);
      CHECK(file_bytes(path) == old);
    }
    std::signal(SIGXFSZ, old_handler);
  }
  SECTION("because the sink refuses") {
    for (int64_t k = 0;; ++k) {
      int64_t left = k;
      const Code code = code_of([&] { longer.save([&](std::span<const std::byte>) { return left-- > 0; }); });
      if (code == Code::ok) break;
      CHECK(code == Code::io);
      REQUIRE(k < 100);
    }
    CHECK(code_of([&] { longer.save(Session::Sink{}); }) == Code::invalid_argument);
  }
  SECTION("because there is no such folder") {
    CHECK(code_of([&] { longer.save(dir.path() + "/none/a.session"); }) == Code::io);
  }
  CHECK(std::distance(std::filesystem::directory_iterator(dir.path()), {}) == 1);
  check_same_future(longer, *std::make_unique<Session>(longer.fork()));
}
