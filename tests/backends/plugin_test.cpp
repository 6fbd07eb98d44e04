// Plug-in libraries: how they are found, checked and refused, and what becomes of their failures.
#include "backends/plugin/plugin.h"

#include <filesystem>
#include <mutex>

#include "backends/made_plan.h"
#include "backends/plugin/find.h"

using namespace ingle;
using namespace ingle::tests;

namespace {

constexpr int64_t kWidth = 40, kVocab = 4;

std::string faulty(int fault) {
  return "plugin:" INGLE_TEST_PLUGINS "/libingle_backend_faulty" + std::to_string(fault) + ".so";
}

// Logits are the rows of a table by way of an identity matrix; token 3's row begins with 1000.
backends::Plan lookup_plan(bool scaled = false) {
  PlanMaker m;
  std::vector<float> table(kVocab * kWidth, 0.5f);
  table[3 * kWidth] = 1000;
  const Id x = m.buffer(kWidth);
  m.plan.ops.push_back(op::Embed{x, m.matrix(kVocab, kWidth, table), 1});
  if (scaled) m.plan.ops.push_back(op::Scale{x, x, 2});
  op::Head head{};
  head.x = x;
  head.w = {m.identity(kWidth)};
  head.scale = 1;
  m.plan.ops.push_back(head);
  m.plan.n_vocab = kWidth;
  return m.plan;
}

Error load_error(const std::string& backend) {
  return error_of([&] { Running(lookup_plan(), backend); });
}

}  // namespace

TEST_CASE("a plug-in that is not there is named with the places searched", "[backends]") {
  const Error missing = load_error("plugin:/no/such/folder/lib.so");
  CHECK(missing.code() == Code::not_found);
  CHECK(contains(missing.what(), "/no/such/folder/lib.so"));
  const Error unknown = load_error("nosuch");
  CHECK(unknown.code() == Code::not_found);
  CHECK(contains(unknown.what(), "libingle_backend_nosuch.so"));
  CHECK(contains(unknown.what(), INGLE_PLUGIN_FOLDER));
  CHECK(load_error("plugin:lib.so").code() == Code::invalid_argument);
  CHECK(load_error("plugin:").code() == Code::invalid_argument);
  for (const std::string odd : {"", "../eigen", "Eigen", "a/b"}) {
    CAPTURE(odd);
    CHECK(load_error(odd).code() == Code::not_found);
  }
  // A folder is no library, and a text is none.
  CHECK(load_error("plugin:" INGLE_TEST_PLUGINS "/.").code() == Code::not_found);
  const Error text = load_error("plugin:" INGLE_SOURCE_DIR "/README.md");
  CHECK(text.code() == Code::unsupported);
  CHECK(contains(text.what(), "cannot be loaded"));
}

TEST_CASE("a library that is no plug-in of this version is refused", "[backends]") {
  const std::pair<int, const char*> cases[] = {{1, "ingle_backend_entry"},
                                               {2, "does not speak version"},
                                               {3, "expected exactly"},
                                               {4, "bytes, expected"},
                                               {11, "lacks"},
                                               {12, "name"},
                                               {13, "f32"},
                                               {14, "run_rows"}};
  for (const auto& [fault, part] : cases) {
    CAPTURE(fault);
    const Error e = load_error(faulty(fault));
    CHECK(e.code() == Code::unsupported);
    CHECK(contains(e.what(), part));
    CHECK(contains(e.where(), "libingle_backend_faulty" + std::to_string(fault)));
  }
}

TEST_CASE("a plug-in that fails to begin says so in its own words", "[backends]") {
  const Error create = load_error(faulty(5));
  CHECK(create.code() == Code::io);
  CHECK(contains(create.what(), "no such device"));
  const Error refuses = load_error(faulty(6));
  CHECK(refuses.code() == Code::unsupported);
  CHECK(contains(refuses.what(), "rows of this width"));
  CHECK(contains(refuses.where(), "backend faulty, op 'head', tensor t1"));
  CHECK(load_error(faulty(7)).code() == Code::out_of_memory);
  CHECK(load_error(faulty(8)).code() == Code::io);
  const Error unbounded = load_error(faulty(15));
  CHECK(unbounded.code() == Code::io);
  CHECK(contains(unbounded.what(), std::string(504, 'x')));
  CHECK_FALSE(contains(unbounded.what(), std::string(505, 'x')));
}

TEST_CASE("a step in which a plug-in fails is failed, and the next one is not", "[backends]") {
  for (const int fault : {9, 10}) {  // of products, of operations on rows
    CAPTURE(fault);
    std::mutex mutex;
    std::string log;
    Running on(lookup_plan(fault == 10), faulty(fault), 2, {}, [&](LogLevel, std::string_view line) {
      const std::lock_guard lock(mutex);
      log += line;
    });
    kv::SequenceState a = on.state(), b = on.state();
    const auto first = on.step({{&a, {0, 1}, 2}});
    CHECK(first.status[0] == backends::StepStatus::ok);
    CHECK(first.logits[0] == (fault == 10 ? 1.0f : 0.5f));
    const auto broken = on.step({{&a, {2}, 1}, {&b, {1, 3, 0}, 3}});
    for (const auto status : broken.status) CHECK(status == backends::StepStatus::failed);
    CHECK(contains(log, "backend faulty"));
    CHECK(contains(log, "hung"));
    const auto after = on.step({{&b, {1, 2}, 2}});
    CHECK(after.status[0] == backends::StepStatus::ok);
    CHECK(after.logits == first.logits);
  }
}

TEST_CASE("a plug-in runs products, and the rows that it takes, and says so", "[backends]") {
  Running sample(lookup_plan(), plugin_backends().back());
  CHECK(contains(sample.program().kernels(), "sample_f32 × 1 (plain C"));
  CHECK(sample.program().weight_bytes() >= kWidth * kWidth * 4);
  Running good(lookup_plan(), faulty(0)), ref(lookup_plan(), "ref");
  kv::SequenceState a = good.state(), b = ref.state(), c = sample.state();
  const std::vector<int32_t> ids = {0, 3, 1};
  const auto expected = ref.step({{&b, ids, 3}});
  CHECK(good.step({{&a, ids, 3}}).logits == expected.logits);
  CHECK(sample.step({{&c, ids, 3}}).logits == expected.logits);
}

TEST_CASE("a report tells of each plug-in why it runs or does not", "[backends]") {
  const auto find = [](const std::vector<backends::PluginReport>& all, std::string_view name) {
    for (const auto& r : all)
      if (r.name == name) return r;
    throw std::runtime_error("no report");
  };
  const auto built = backends::report_plugins({INGLE_PLUGIN_FOLDER});
  for (const std::string& name : plugin_backends()) {
    if (name.find(':') != std::string::npos) continue;
    const backends::PluginReport r = find(built, name);
    CHECK(r.runs);
    CHECK_FALSE(r.about.empty());
    CHECK(std::filesystem::exists(r.path));
  }
  const auto odd = backends::report_plugins({INGLE_TEST_PLUGINS, "/no/such/folder"});
  CHECK(find(odd, "sample").runs);
  CHECK_FALSE(find(odd, "faulty3").runs);
  CHECK(contains(find(odd, "faulty3").about, "expected exactly"));
  CHECK_FALSE(find(odd, "eigen").runs);
  CHECK(contains(find(odd, "eigen").about, "/no/such/folder"));
  CHECK(backends::plugin_folders("/somewhere") == std::vector<std::string>{"/somewhere"});
  CHECK_FALSE(backends::plugin_folders("").empty());
}
