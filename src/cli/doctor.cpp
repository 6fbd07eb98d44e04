#include <unistd.h>

#include <cstdio>

#include "common.h"
#include "json_out.h"

namespace ingle::cli {
namespace {

int64_t memory_bytes() {
  const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  return pages < 0 || size < 0 ? 0 : static_cast<int64_t>(pages) * size;
}

void print_text(const Runtime& runtime, const std::string& failure) {
  std::printf("ingle %s\nprocessor: %s\nthreads: %d\nmemory: %.1f GB\nbackends:", version(),
              printable(runtime.processor()).c_str(), runtime.threads(),
              static_cast<double>(memory_bytes()) / 1e9);
  for (const std::string& b : runtime.backends()) std::printf(" %s", b.c_str());
  std::puts("\nbackend plug-ins:");
  for (const PluginReport& p : runtime.plugins())
    std::printf("  %-10s %s%s\n", printable(p.name).c_str(),
                p.can_run ? "" : "not: ", printable(p.about).c_str());
  const CacheReport cache = runtime.cache();
  std::printf("packed weights: %s", cache.folder.empty() ? "not kept" : printable(cache.folder).c_str());
  if (!cache.folder.empty())
    std::printf(", %lld files, %.1f MB", static_cast<long long>(cache.files),
                static_cast<double>(cache.bytes) / 1e6);
  std::puts("\nkernels:");
  for (const KernelReport& k : runtime.kernels())
    std::printf("  %-40s %s\n", k.name.c_str(), k.can_run ? "runs" : k.reason.c_str());
  std::printf("self-test: %s\n", failure.empty() ? "ok" : failure.c_str());
}

void print_as_json(const Runtime& runtime, const std::string& failure) {
  Json kernels = Json::array();
  for (const KernelReport& k : runtime.kernels())
    kernels.push_back({{"name", k.name}, {"runs", k.can_run}, {"reason", k.reason}});
  Json plugins = Json::array();
  for (const PluginReport& p : runtime.plugins())
    plugins.push_back({{"name", p.name}, {"path", p.path}, {"runs", p.can_run}, {"about", p.about}});
  const CacheReport cache = runtime.cache();
  print_json({{"version", version()},
              {"processor", runtime.processor()},
              {"threads", runtime.threads()},
              {"memory_bytes", memory_bytes()},
              {"backends", runtime.backends()},
              {"plugins", plugins},
              {"cache", {{"folder", cache.folder}, {"files", cache.files}, {"bytes", cache.bytes}}},
              {"kernels", kernels},
              {"self_test", failure.empty() ? "ok" : failure}});
}

int clear_cache(const Runtime& runtime, const Common& common) {
  const CacheReport gone = runtime.clear_cache();
  if (common.json)
    print_json({{"folder", gone.folder}, {"files", gone.files}, {"bytes", gone.bytes}});
  else
    std::printf("removed %lld files, %.1f MB\n", static_cast<long long>(gone.files),
                static_cast<double>(gone.bytes) / 1e6);
  return kOk;
}

}  // namespace

void add_doctor(Command app, Commands& commands) {
  auto common = std::make_shared<Common>();
  Command c = app.command("doctor", "The machine, the backends and kernels that run on it, and a self-test");
  add_json(c, common->json);
  add_common(c, *common);
  add_cache(c, *common);
  auto clear = std::make_shared<bool>(false);
  c.flag("--clear-cache", *clear, "Remove the packed weights that are kept, and do nothing else");
  c.footer(
      "Examples:\n  ingle doctor\n  ingle doctor --json\n  ingle doctor --kernel avx2\n  ingle doctor "
      "--clear-cache");
  commands.emplace_back(c, [common, clear] {
    const auto runtime = make_runtime(*common);
    if (*clear) return clear_cache(*runtime, *common);
    const std::string failure = runtime->self_test();
    if (common->json)
      print_as_json(*runtime, failure);
    else
      print_text(*runtime, failure);
    return static_cast<int>(failure.empty() ? kOk : kCheckFailed);
  });
}

}  // namespace ingle::cli
