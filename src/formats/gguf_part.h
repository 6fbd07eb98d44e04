// One file of a GGUF checkpoint, parsed and validated.
#pragma once
#include "formats/basic_checkpoint.h"

namespace ingle::formats::gguf {

// The tables; offsets are absolute. The tensors' data is not touched.
struct Part {
  MetaList meta;
  std::vector<TensorInfo> tensors;
};

// `index` becomes the tensors' `source`. Throws Code::corrupt or Code::unsupported.
Part read_part(const ByteSource& source, const DTypeTable& types, uint32_t index);

}  // namespace ingle::formats::gguf
