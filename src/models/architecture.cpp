#include "models/architecture.h"

#include "core/error.h"

namespace ingle::models {

backends::Plan build_plan(const formats::CheckpointPtr& checkpoint, kv::StateType state_type) {
  const std::string& name = checkpoint->need_string("general.architecture");
  std::string known;
  for (const Architecture* a : all_architectures()) {
    if (a->name == name) {
      const Config config(*checkpoint);
      graph::GraphBuilder builder(checkpoint, state_type);
      return a->build(builder, config);
    }
    known += (known.empty() ? "" : ", ") + std::string(a->name);
  }
  fail(Code::unsupported, checkpoint->name() + ", key general.architecture",
       format("architecture '{}' is not known; known: {}", name, known));
}

}  // namespace ingle::models
