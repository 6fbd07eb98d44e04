// A Runtime holds what models share: threads, allocator, log, and what was found out about the processor.
// Nothing in Ingle is process-wide; two runtimes in one process do not know of each other.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ingle/error.hpp"

namespace ingle {

enum class LogLevel : int32_t { debug = 0, info = 1, warning = 2, error = 3 };

struct RuntimeOptions {
  int threads = 0;  // 1 to 256; 0: one per core that this process may use
  std::string
      kernel;  // force kernels by ISA or full name ("avx2", "plain"); empty: the best that the processor has
  std::string
      plugin_folder;  // where backend plug-ins lie; empty: beside the library, and where it installs them
  // Where packed weights are kept, so that the next load of a model maps them instead of packing them anew.
  // The folder is made when it is first written to. Empty: nowhere. What is mapped does not come from
  // `allocate`. (docs/contracts/weight-cache.md)
  std::string cache_folder;
  uint64_t cache_bytes = uint64_t{8} << 30;             // of all its files; the least recently used go
  uint64_t cache_least_bytes = uint64_t{64} << 20;      // models whose packed weights take less are not kept
  std::function<void(LogLevel, std::string_view)> log;  // called on any thread; empty: silence
  // A host's own memory for weights, states and workspaces; both called from any thread. Null: the system's.
  void* (*allocate)(size_t bytes, size_t alignment, void* user) = nullptr;
  void (*release)(void* memory, size_t bytes, void* user) = nullptr;
  void* allocator_user = nullptr;
};

struct KernelReport {
  std::string name;  // "q4_k_q8_gemm_avx512vnni_r16"
  bool can_run;
  std::string reason;  // why not, when it cannot
};

struct PluginReport {
  std::string name, path;  // "openblas"; of its library, empty when there is none
  bool can_run = false;
  std::string about;  // the plug-in's own words, or why it does not run
};

// What the cache of packed weights holds.
struct CacheReport {
  std::string folder;  // empty: there is no cache
  int64_t files = 0;
  uint64_t bytes = 0;
};

class Runtime {
 public:
  explicit Runtime(
      const RuntimeOptions& options = {});  // throws: a forced kernel that the machine cannot run, …
  int threads() const;
  std::string processor() const;              // brand and the instruction sets in use
  std::vector<KernelReport> kernels() const;  // all of them, in order of preference
  std::vector<std::string> backends() const;  // "cpu", "ref", "null"
  // The backend plug-ins of this project, and any other in the plug-in folder. Each is loaded to see whether
  // it runs, and stays in the process.
  std::vector<PluginReport> plugins() const;
  CacheReport cache() const;
  // Removes all files of the cache that nobody is writing, and says what they were. Models that were loaded
  // from them are not disturbed.
  CacheReport clear_cache() const;
  // Runs every kernel that the machine has against its oracle on small random inputs; an empty string when
  // all agree, else what differed.
  std::string self_test() const;

  struct Impl;
  const std::shared_ptr<Impl>& impl() const { return impl_; }

 private:
  std::shared_ptr<Impl> impl_;
};

const char* version() noexcept;  // "0.1.0"

}  // namespace ingle
