// Packed weights that are kept in a file from one load to the next.
#include "backends/cache/folder.h"
#include "backends/cpu/program.h"
#include "core/error.h"

namespace ingle::backends {
namespace {

void add_text(Sha256& digest, std::string_view text) {
  digest.add_value(uint64_t{text.size()}).add(std::as_bytes(std::span(text)));
}

// What decides a weight's packed bytes, the values of its tensor aside. Of the kernel only the layout does,
// so that processors which share one share files too.
void add_weight(Sha256& digest, const PlanWeight& w, const kernels::PackedWeight& packed) {
  const formats::TensorInfo& t = *w.tensor;
  add_text(digest, t.name);
  digest.add_value(t.type).add_value(t.bytes).add_value(t.offset).add_value(t.source);
  digest.add_value(int64_t{t.shape.rank()});
  for (int i = 0; i < t.shape.rank(); ++i) digest.add_value(t.shape[i]);
  digest.add_value(w.rows).add_value(w.cols).add_value(w.start).add_value(w.step);
  digest.add_value(w.first_row).add_value(w.slice_rows).add_value(w.transposed);
  digest.add_value(uint64_t{w.source_rows.size()}).add(std::as_bytes(std::span(w.source_rows)));
  add_text(digest, packed.format->name);
  digest.add_value(packed.row->layout);
}

// A buffer over bytes that somebody else holds. They are mapped for reading, and nobody writes to packed
// weights.
Buffer lend(const std::byte* bytes, uint64_t size) {
  const Allocator lent = {[](size_t, size_t, void* user) { return user; }, [](void*, size_t, void*) {},
                          const_cast<std::byte*>(bytes)};
  return {lent, static_cast<size_t>(size)};
}

}  // namespace

std::optional<CacheLayout> CpuProgram::cache_layout(const PrepareOptions& options) const {
  const std::vector<FileStamp> stamps = plan_->checkpoint->stamps();
  if (context_.cache.folder.empty() || stamps.empty() || plugin_ || options.sizes_only) return std::nullopt;
  Sha256 digest;
  add_text(digest, "packed weights");
  digest.add_value(kCacheVersion).add_value(kernels::kPackingVersion).add(options.content);
  for (const FileStamp& s : stamps) digest.add_value(s.bytes).add_value(s.changed_ns);
  std::vector<uint64_t> sizes;
  for (size_t i = 0; i < packed_.size(); ++i) {
    if (!packed_[i]) continue;
    const kernels::PackedWeight& p = *packed_[i];
    digest.add_value(uint64_t{i});
    add_weight(digest, plan_->weights[i], p);
    sizes.push_back(kernels::packed_bytes(*p.row, *p.format, p.n, p.k));
  }
  CacheLayout layout(digest.finish(), sizes);
  if (layout.file_bytes() < context_.cache.least_bytes) return std::nullopt;
  return layout;
}

void CpuProgram::take_from_cache(const CacheLayout& layout) {
  cache_ = CacheFolder(context_.cache, context_.log, *context_.pool).open(layout);
  size_t n = 0;
  for (auto& w : packed_)
    if (w && cache_) {
      w->data = lend(cache_->mapped() + layout.offset(n), layout.size(n));
      ++n;
    }
}

bool CpuProgram::keep_in_cache(const CacheLayout& layout, const std::function<bool(int64_t)>& written) const {
  std::vector<std::span<const std::byte>> weights;
  for (const auto& w : packed_)
    if (w) weights.emplace_back(w->data.data(), w->data.size());
  return CacheFolder(context_.cache, context_.log, *context_.pool)
      .write(layout, weights, [&](uint64_t bytes) { return written(static_cast<int64_t>(bytes)); });
}

}  // namespace ingle::backends
