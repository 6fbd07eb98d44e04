#include "ingle/runtime.hpp"

#include "api/impl.h"
#include "backends/cache/folder.h"
#include "backends/plugin/find.h"
#include "core/error.h"
#include "kernels/matmul.h"
#include "kernels/self_test.h"
#include "kernels/vec.h"

namespace ingle {
namespace {

constexpr int kMaxThreads = 256;

std::string instruction_sets(const CpuFeatures& cpu) {
  std::string text;
  const auto add = [&](bool present, const char* name) {
    if (present) text += (text.empty() ? "" : ", ") + std::string(name);
  };
  add(cpu.avx2, "AVX2");
  add(cpu.avx512, "AVX-512");
  add(cpu.avx512_vnni, "VNNI");
  add(cpu.avx512_bf16, "BF16");
  add(cpu.avx_vnni, "AVX-VNNI");
  add(cpu.neon, "NEON");
  add(cpu.dotprod, "dot products");
  add(cpu.i8mm, "I8MM");
  return text.empty() ? "baseline" : text;
}

}  // namespace

Runtime::Runtime(const RuntimeOptions& options) : impl_(std::make_shared<Impl>()) {
  if (options.threads < 0 || options.threads > kMaxThreads)
    fail(Code::invalid_argument, "option threads",
         format("is {}, expected 0 to {}", options.threads, kMaxThreads));
  if (!options.allocate != !options.release)
    fail(Code::invalid_argument, "option allocate", "allocate and release go together: give both or neither");
  impl_->cpu = detect_cpu();
  impl_->forced_kernel = options.kernel;
  impl_->plugin_folder = options.plugin_folder;
  impl_->cache = {options.cache_folder, options.cache_bytes, options.cache_least_bytes};
  if (options.allocate) impl_->allocator = {options.allocate, options.release, options.allocator_user};
  impl_->log = options.log;
  kernels::select_vec(impl_->cpu, options.kernel);  // throws when the machine cannot run what is forced
  impl_->pool = std::make_unique<ThreadPool>(options.threads ? options.threads : impl_->cpu.logical_cores);
}

int Runtime::threads() const { return impl_->pool->size(); }

std::string Runtime::processor() const { return impl_->cpu.name + " (" + instruction_sets(impl_->cpu) + ")"; }

std::vector<KernelReport> Runtime::kernels() const {
  std::vector<KernelReport> out;
  for (const kernels::MatmulRow* row : kernels::all_matmul_rows()) {
    const bool can = kernels::can_run(*row, impl_->cpu);
    out.push_back({row->name, can, can ? "" : format("the processor has no {}", row->isa)});
  }
  return out;
}

std::vector<std::string> Runtime::backends() const { return {"cpu", "ref", "null"}; }

std::vector<PluginReport> Runtime::plugins() const {
  std::vector<PluginReport> out;
  for (backends::PluginReport& r : backends::report_plugins(backends::plugin_folders(impl_->plugin_folder)))
    out.push_back({std::move(r.name), std::move(r.path), r.runs, std::move(r.about)});
  return out;
}

CacheReport Runtime::cache() const {
  return impl_->cache.folder.empty() ? CacheReport() : backends::report_cache(impl_->cache.folder);
}

CacheReport Runtime::clear_cache() const {
  return impl_->cache.folder.empty() ? CacheReport() : backends::clear_cache(impl_->cache.folder);
}

std::string Runtime::self_test() const { return kernels::self_test(impl_->cpu); }

const char* version() noexcept { return "0.1.0"; }

}  // namespace ingle
