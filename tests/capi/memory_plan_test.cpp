// The memory plan through the C ABI, against what the host's own allocator counts.
#include <atomic>
#include <cstdlib>
#include <string>
#include <vector>

#include "capi.h"

using namespace ingle::tests;

namespace {

// Of a flat object of numbers.
int64_t number_in(const std::string& json, const std::string& key) {
  const size_t at = json.find("\"" + key + "\":");
  REQUIRE(at != std::string::npos);
  return std::stoll(json.substr(at + key.size() + 3));
}

std::string plan_of(const ingle_runtime* runtime, const std::string& model, const std::string& session) {
  Err err;
  Text text;
  REQUIRE_OK(ingle_plan_memory(runtime, model_path().c_str(), make_options("model", model),
                               make_options("session", session), text.out(), err));
  return str(text);
}

struct Peak {
  std::atomic<int64_t> live{0}, most{0};
  ingle_allocator allocator() {
    ingle_allocator a = INGLE_ALLOCATOR_INIT;
    a.user = this;
    a.allocate = [](uint64_t bytes, uint64_t alignment, void* user) -> void* {
      auto& p = *static_cast<Peak*>(user);
      const int64_t now = p.live += static_cast<int64_t>(bytes);
      for (int64_t peak = p.most; now > peak && !p.most.compare_exchange_weak(peak, now);) {
      }
      return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    };
    a.release = [](void* memory, uint64_t bytes, void* user) {
      static_cast<Peak*>(user)->live -= static_cast<int64_t>(bytes);
      std::free(memory);
    };
    return a;
  }
};

}  // namespace

TEST_CASE("a memory plan is what the host's allocator then counts", "[capi]") {
  Err err;
  Peak peak;
  const ingle_allocator allocator = peak.allocator();
  Runtime runtime;
  REQUIRE_OK(ingle_runtime_create(make_options("runtime", R"({"threads": 2})"), &allocator, nullptr,
                                  runtime.out(), err));
  const char* const session_options = R"({"context": 96, "prefill_chunk": 32})";
  for (const char* model_options : {"{}", R"({"backend": "ref"})", R"({"state_type": "f32", "map": 0})"}) {
    CAPTURE(model_options);
    peak.most = 0;
    const std::string plan = plan_of(runtime, model_options, session_options);
    CHECK(peak.most == 0);  // nothing was loaded
    CHECK(number_in(plan, "context") == 96);
    const int64_t total = number_in(plan, "total_bytes");
    CHECK(total == number_in(plan, "weight_bytes") + number_in(plan, "state_bytes") +
                       number_in(plan, "workspace_bytes"));
    Model model;
    REQUIRE_OK(ingle_model_load(runtime, model_path().c_str(), make_options("model", model_options), nullptr,
                                model.out(), err));
    Session session;
    REQUIRE_OK(ingle_session_create(model, make_options("session", session_options), session.out(), err));
    const std::vector<int32_t> ids(95, 5);
    REQUIRE_OK(ingle_session_feed_tokens(session, ids.data(), 95, nullptr, err));
    CHECK(static_cast<double>(peak.most) <= 1.05 * static_cast<double>(total));
    CHECK(static_cast<double>(peak.most) >= 0.95 * static_cast<double>(total));
  }
}

TEST_CASE("a memory plan of what cannot be is refused", "[capi]") {
  Err err;
  const Runtime runtime = make_runtime();
  const Options wrong = make_options("sampler", "{}");
  Text text;
  CHECK(number_in(plan_of(runtime, R"({"state_type": "f32"})", R"({"context": 64})"), "state_bytes") ==
        2 * number_in(plan_of(runtime, "{}", R"({"context": 64})"), "state_bytes"));
  CHECK_FAILS(ingle_plan_memory(runtime, "/no/such/file", nullptr, nullptr, text.out(), err),
              INGLE_E_NOT_FOUND, "/no/such/file");
  CHECK_FAILS(ingle_plan_memory(runtime, model_path().c_str(), wrong, nullptr, text.out(), err),
              INGLE_E_INVALID_ARGUMENT, "sampler");
  CHECK_FAILS(ingle_plan_memory(runtime, model_path().c_str(), nullptr,
                                make_options("session", R"({"context": 129})"), text.out(), err),
              INGLE_E_INVALID_ARGUMENT, "context");
  CHECK_FAILS(ingle_plan_memory(runtime, model_path().c_str(),
                                make_options("model", R"({"backend": "none"})"), nullptr, text.out(), err),
              INGLE_E_NOT_FOUND, "none");
}
