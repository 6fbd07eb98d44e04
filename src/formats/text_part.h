// Checkpoints that hold several models side by side, of which one writes text.
#pragma once
#include "formats/basic_checkpoint.h"

namespace ingle::formats {

// Where a configuration has a `text_config`, its keys stand for the whole, and the tensors of the text model
// go by the names that they have when it stands alone. Those of the other parts (images, sound) are left out,
// and their names become the key "other_parts". Nothing changes where there is no `text_config`.
void take_text_part(MetaList& meta, std::vector<TensorInfo>& tensors);

}  // namespace ingle::formats
