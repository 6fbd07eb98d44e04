#include "core/dtypes.h"

#include <algorithm>

#include "core/checked_math.h"

namespace ingle {
namespace {

template <class Match>
const DTypeInfo* find_if(std::span<const DTypeInfo> rows, Match match) {
  const auto it = std::find_if(rows.begin(), rows.end(), match);
  return it == rows.end() ? nullptr : &*it;
}

}  // namespace

const DTypeInfo* DTypeTable::find(DType type) const {
  return find_if(rows_, [&](const DTypeInfo& r) { return r.type == type; });
}
const DTypeInfo* DTypeTable::find_ggml(int64_t id) const {
  return id < 0 ? nullptr : find_if(rows_, [&](const DTypeInfo& r) { return r.ggml_id == id; });
}
const DTypeInfo* DTypeTable::find_safetensors(std::string_view name) const {
  return name.empty() ? nullptr : find_if(rows_, [&](const DTypeInfo& r) { return r.safetensors == name; });
}
const DTypeInfo* DTypeTable::find_name(std::string_view name) const {
  return find_if(rows_, [&](const DTypeInfo& r) { return r.name == name; });
}

std::optional<uint64_t> bytes_of(const DTypeInfo& info, uint64_t n) {
  if (n % info.block_elems != 0) return std::nullopt;
  return checked_mul(n / info.block_elems, info.block_bytes);
}

}  // namespace ingle
