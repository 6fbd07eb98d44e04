// Checkpoints whose scales are tensors of their own, beside the codes: FP8 (DeepSeek, compressed-tensors) and
// the MXFP4 experts of gpt-oss.
#pragma once
#include "formats/checkpoint.h"

namespace ingle::quant {

// The same checkpoint with codes and scales as one tensor each; `file` itself where it has none. FP8 weights
// with "weight_scale_inv" or "weight_scale" (of the tensor, of each row, or of blocks as
// quantization_config's `weight_block_size` says, 128 x 128 else) come as f32, exactly; "NAME_blocks" with
// "NAME_scales" as NAME in mxfp4. Scales of activations ("input_scale") are left out: activations are not
// rounded so here. Throws Code::corrupt naming the tensor when scales do not fit their codes.
formats::CheckpointPtr join_scales(formats::CheckpointPtr file);

}  // namespace ingle::quant
