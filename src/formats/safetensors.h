// safetensors, one file (huggingface/safetensors, the README's format section).
#pragma once
#include "formats/checkpoint.h"

namespace ingle::formats {

CheckpointPtr open_safetensors(const std::string& path, const DTypeTable& types, bool map = true);
CheckpointPtr open_safetensors(ByteSourcePtr source, const DTypeTable& types);

}  // namespace ingle::formats
