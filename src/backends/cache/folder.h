// The folder of packed weights: a file for each model, named by its key. Whatever goes wrong with it means
// that weights are packed as if it were not there, and a line in the log.
#pragma once
#include <functional>

#include "backends/backend.h"
#include "backends/cache/file.h"

namespace ingle::backends {

class CacheFolder {
 public:
  // `settings`, `log` and `pool` outlive it.
  CacheFolder(const CacheSettings& settings, const LogSink& log, ThreadPool& pool)
      : settings_(settings), log_(log), pool_(pool) {}

  // The mapped file, whose weights stand where `layout` says; null: there is none that can be trusted. It is
  // read in full unless it is known to be right (CacheSeal).
  ByteSourcePtr open(const CacheLayout& layout) const;
  // Keeps the weights if it can; others that were not used for longer may go. `written` is told bytes, and
  // may give false: then false is returned, and nothing stays.
  bool write(const CacheLayout& layout, CacheWeights weights,
             const std::function<bool(uint64_t bytes)>& written) const;

 private:
  void say(LogLevel level, const std::string& text) const;
  bool write_file(const std::string& path, const CacheLayout& layout, CacheWeights weights,
                  const std::function<bool(uint64_t bytes)>& written) const;
  const CacheSettings& settings_;
  const LogSink& log_;
  ThreadPool& pool_;
};

// The cache's files in a folder; what else lies there is left alone. A folder that cannot be read is empty.
CacheReport report_cache(const std::string& folder);
CacheReport clear_cache(const std::string& folder);  // removes them, and says what they were

}  // namespace ingle::backends
