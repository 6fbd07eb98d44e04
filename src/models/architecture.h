// An architecture: the names that files give it, and how its plan is built. One file each under arch/.
#pragma once
#include <memory>
#include <span>
#include <string_view>

#include "backends/plan.h"
#include "models/blocks.h"

namespace ingle::models {

struct Architecture {
  // What files call it, several names separated by spaces, empty where a container never holds it: GGUF's
  // `general.architecture`, and `model_type` of Hugging Face's config.json.
  std::string_view gguf, hugging_face;
  std::string_view about;
  backends::Plan (*build)(graph::GraphBuilder& builder, const Config& config);
};

std::span<const Architecture* const> all_architectures();  // arch/list.cpp

// The plan of a checkpoint. Throws Code::unsupported naming the architecture when it is not in the list.
backends::Plan build_plan(const formats::CheckpointPtr& checkpoint, kv::StateType state_type);

}  // namespace ingle::models
