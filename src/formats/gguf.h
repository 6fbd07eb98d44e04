// GGUF versions 2 and 3 (the format's specification: ggml-org/ggml, docs/gguf.md), split files included.
#pragma once
#include <functional>

#include "formats/checkpoint.h"

namespace ingle::formats {

bool looks_like_gguf(const ByteSource& source);

// Opens `path` (mapped, or with plain reads) and, when it is the first of a split checkpoint, its siblings
// beside it. Everything is validated before anything is allocated for it. A file without tensors (vocabulary
// only) is fine.
CheckpointPtr open_gguf(const std::string& path, const DTypeTable& types, bool map = true);
// `sources` are the parts in order.
CheckpointPtr open_gguf(std::vector<ByteSourcePtr> sources, const DTypeTable& types);

// Writes GGUF version 3. Tensors are streamed: `bytes_of_tensor(i, out)` is called in order and appends
// tensor i.
struct GgufTensor {
  std::string name;
  DType type;
  Shape shape;
};
using GgufMeta = std::vector<std::pair<std::string, MetaValue>>;
// To be used for copies: where a vector's or string's own copy throws, libstdc++ 12 destroys the half-made
// variant as if it were whole.
MetaValue copy_of(const MetaValue& value);
void write_gguf(const std::string& path, const GgufMeta& meta, std::span<const GgufTensor> tensors,
                const DTypeTable& types,
                const std::function<void(size_t i, std::vector<std::byte>& out)>& bytes_of_tensor);

}  // namespace ingle::formats
