// A model's folder as Hugging Face lays it out: config.json, and weights in model.safetensors or in the
// shards that model.safetensors.index.json lists.
#pragma once
#include "formats/checkpoint.h"

namespace ingle::formats {

struct FolderOptions {
  bool map = true;
  std::string config = "config.json";  // file name of the configuration
};

// Metadata: the keys of the configuration, nested ones joined by dots ("rope_parameters.rope_theta"); those
// of generation_config.json, where there is one, under "generation_config.". Other files of the folder are
// `Checkpoint::companion`. Of a model with several parts it is the one for text (text_part.h). A folder
// without weights has no tensors. Throws naming the file, shard or tensor.
CheckpointPtr open_folder(const std::string& path, const DTypeTable& types,
                          const FolderOptions& options = {});

// A model wherever it stands: a folder, or a GGUF file.
CheckpointPtr open_checkpoint(const std::string& path, const DTypeTable& types, bool map = true);

}  // namespace ingle::formats
