// Opening GGUF checkpoints of one file or of several (PREFIX-00001-of-00003.gguf, …).
#include <algorithm>
#include <optional>

#include "core/checked_math.h"
#include "core/error.h"
#include "formats/gguf.h"
#include "formats/gguf_part.h"
#include "formats/gguf_wire.h"

namespace ingle::formats {
namespace gguf {
namespace {

constexpr uint64_t kMaxParts = 99999;  // five digits in the file names

const MetaValue* find_meta(const Part& part, std::string_view key) {
  const auto it =
      std::find_if(part.meta.begin(), part.meta.end(), [&](const auto& entry) { return entry.first == key; });
  return it == part.meta.end() ? nullptr : &it->second;
}

std::optional<uint64_t> find_count(const Part& part, const ByteSource& source, std::string_view key) {
  const MetaValue* value = find_meta(part, key);
  if (!value) return std::nullopt;
  if (const auto* u = std::get_if<uint64_t>(value)) return *u;
  const auto* i = std::get_if<int64_t>(value);
  if (i && *i >= 0) return static_cast<uint64_t>(*i);
  fail(Code::corrupt, format("{}, key {}", source.name(), quote(key)), "is not an integer of 0 or more");
}

// How many files the checkpoint has; 1 when it was never split.
uint64_t count_parts(const Part& part, const ByteSource& source) {
  const uint64_t count = find_count(part, source, kSplitCount).value_or(1);
  if (count > kMaxParts) {
    fail(Code::corrupt, format("{}, key {}", source.name(), quote(kSplitCount)),
         format("is {}, expected at most {}", count, kMaxParts));
  }
  return std::max<uint64_t>(count, 1);
}

std::string part_suffix(uint64_t index, uint64_t count) {
  return format("-{:05}-of-{:05}.gguf", index + 1, count);
}

// The path without the suffix that part `index` must have.
std::string prefix_of(const std::string& path, uint64_t index, uint64_t count) {
  const std::string suffix = part_suffix(index, count);
  if (path.ends_with(suffix)) return path.substr(0, path.size() - suffix.size());
  fail(Code::corrupt, path,
       format("is part {} of a checkpoint split into {}, but its name does not end in {}", index + 1, count,
              suffix),
       "give the files their original names again");
}

ByteSourcePtr open_source(const std::string& path, bool map) {
  return map ? open_mapped(path) : open_plain(path);
}

ByteSourcePtr open_sibling(const std::string& path, const std::string& first, uint64_t index, uint64_t count,
                           bool map) {
  try {
    return open_source(path, map);
  } catch (const Error& error) {
    if (error.code() != Code::not_found) throw;
    fail(Code::not_found, path, format("part {} of {} of {} is missing", index + 1, count, first),
         "all parts must lie in one folder");
  }
}

void check_split_keys(const Part& part, const ByteSource& source, uint64_t index, uint64_t count) {
  const auto no = find_count(part, source, kSplitNo);
  const auto parts = find_count(part, source, kSplitCount);
  if (!no || !parts) {
    fail(Code::corrupt, source.name(),
         format("has no {}, expected part {} of {}", no ? kSplitCount : kSplitNo, index + 1, count));
  }
  if (*no != index || *parts != count) {
    fail(Code::corrupt, source.name(),
         format("has split.no {} and split.count {}, expected {} and {}", *no, *parts, index, count));
  }
}

CheckpointPtr assemble(std::vector<ByteSourcePtr> sources, std::vector<Part> parts) {
  const Part& first = parts.front();
  if (parts.size() > 1) {
    uint64_t n_tensors = 0;
    for (size_t i = 0; i < parts.size(); ++i) {
      check_split_keys(parts[i], *sources[i], i, parts.size());
      n_tensors += parts[i].tensors.size();
    }
    const auto expected = find_count(first, *sources.front(), kSplitTensors);
    if (expected && *expected != n_tensors) {
      fail(Code::corrupt, format("{}, key {}", sources.front()->name(), quote(kSplitTensors)),
           format("is {}, but the {} parts hold {} tensors", *expected, parts.size(), n_tensors));
    }
  }
  std::vector<TensorInfo> tensors = std::move(parts.front().tensors);
  for (size_t i = 1; i < parts.size(); ++i) {
    std::move(parts[i].tensors.begin(), parts[i].tensors.end(), std::back_inserter(tensors));
  }
  return std::make_shared<BasicCheckpoint>(Naming::gguf, std::move(sources), std::move(tensors),
                                           std::move(parts.front().meta));
}

}  // namespace
}  // namespace gguf

bool looks_like_gguf(const ByteSource& source) {
  std::array<char, 4> magic{};
  if (source.size() < magic.size()) return false;
  source.read(0, std::as_writable_bytes(std::span(magic)));
  return std::string_view(magic.data(), magic.size()) == gguf::kMagic;
}

CheckpointPtr open_gguf(const std::string& path, const DTypeTable& types, bool map) {
  std::vector<ByteSourcePtr> sources{gguf::open_source(path, map)};
  std::vector<gguf::Part> parts;
  parts.push_back(gguf::read_part(*sources[0], types, 0));
  const uint64_t count = gguf::count_parts(parts[0], *sources[0]);
  const uint64_t index = gguf::find_count(parts[0], *sources[0], gguf::kSplitNo).value_or(0);
  if (index >= count) {
    fail(Code::corrupt, format("{}, key {}", path, quote(gguf::kSplitNo)),
         format("is {}, but the checkpoint has {} parts", index, count));
  }
  if (count > 1) {
    const std::string prefix = gguf::prefix_of(path, index, count);
    if (index != 0) {
      fail(Code::invalid_argument, path, format("is part {} of {} of a split checkpoint", index + 1, count),
           format("open the first part instead: {}", prefix + gguf::part_suffix(0, count)));
    }
    for (uint32_t i = 1; i < count; ++i) {
      const std::string sibling = prefix + gguf::part_suffix(i, count);
      sources.push_back(gguf::open_sibling(sibling, path, i, count, map));
      parts.push_back(gguf::read_part(*sources.back(), types, i));
      gguf::check_split_keys(parts.back(), *sources.back(), i, count);
    }
  }
  return gguf::assemble(std::move(sources), std::move(parts));
}

CheckpointPtr open_gguf(std::vector<ByteSourcePtr> sources, const DTypeTable& types) {
  if (sources.empty()) fail(Code::invalid_argument, "open_gguf", "no source was given");
  std::vector<gguf::Part> parts;
  for (const ByteSourcePtr& source : sources) {
    if (!source) fail(Code::invalid_argument, "open_gguf", format("source {} is null", parts.size()));
    parts.push_back(gguf::read_part(*source, types, static_cast<uint32_t>(parts.size())));
  }
  const uint64_t count = gguf::count_parts(parts[0], *sources[0]);
  if (count > 1 && count != sources.size()) {
    fail(Code::invalid_argument, sources[0]->name(),
         format("the checkpoint has {} parts, {} were given", count, sources.size()));
  }
  return gguf::assemble(std::move(sources), std::move(parts));
}

}  // namespace ingle::formats
