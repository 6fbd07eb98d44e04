#include "guard.h"
#include "host.h"

using namespace ingle::capi;

namespace {

Fields cache_fields(const ingle::CacheReport& cache) {
  return {{"folder", cache.folder}, {"files", cache.files}, {"bytes", static_cast<int64_t>(cache.bytes)}};
}

}  // namespace

ingle_code ingle_runtime_create(const ingle_options* options, const ingle_allocator* allocator,
                                const ingle_logger* logger, ingle_runtime** out, ingle_error** err) {
  return guard(err, [&] {
    auto& result = out_argument(out, "out");
    auto wanted = options_argument<ingle::RuntimeOptions>(options);
    HostPtr host = lend(allocator, logger, wanted);
    result = new ingle_runtime(host, ingle::Runtime(wanted));
    host->lent = true;
  });
}
ingle_runtime* ingle_runtime_retain(ingle_runtime* runtime) { return retain(runtime); }
void ingle_runtime_release(ingle_runtime* runtime) { release(runtime); }

ingle_code ingle_runtime_doctor(const ingle_runtime* runtime, int32_t self_test, ingle_text** out,
                                ingle_error** err) {
  return guard(err, [&] {
    auto& result = out_argument(out, "out");
    const ingle::Runtime& r = need(runtime, "runtime").runtime;
    const bool test = flag_argument(self_test, "self_test");
    List backends, kernels;
    for (const std::string& name : r.backends()) backends.emplace_back(name);
    for (const ingle::KernelReport& k : r.kernels())
      kernels.emplace_back(Fields{{"name", k.name}, {"can_run", k.can_run}, {"reason", k.reason}});
    Fields report{{"version", std::string(ingle::version())},
                  {"processor", r.processor()},
                  {"threads", static_cast<int64_t>(r.threads())},
                  {"backends", std::move(backends)},
                  {"kernels", std::move(kernels)},
                  {"cache", cache_fields(r.cache())}};
    if (test) {
      report.emplace_back("self_test", r.self_test());
      List plugins;
      for (const ingle::PluginReport& p : r.plugins())
        plugins.emplace_back(
            Fields{{"name", p.name}, {"path", p.path}, {"can_run", p.can_run}, {"about", p.about}});
      report.emplace_back("plugins", std::move(plugins));
    }
    result = new ingle_text(write_json(report));
  });
}
