#include "models/architecture.h"

#include <algorithm>

#include "core/error.h"
#include "quant/joined.h"

namespace ingle::models {
namespace {

// Is `name` one of the names in `list`, which spaces separate?
bool is_listed(std::string_view list, std::string_view name) {
  while (!list.empty()) {
    const size_t space = std::min(list.find(' '), list.size());
    if (list.substr(0, space) == name) return true;
    list.remove_prefix(std::min(space + 1, list.size()));
  }
  return false;
}

}  // namespace

backends::Plan build_plan(const formats::CheckpointPtr& checkpoint, kv::StateType state_type) {
  const bool gguf = checkpoint->naming() == formats::Naming::gguf;
  const char* key = gguf ? "general.architecture" : "model_type";
  const std::string& name = checkpoint->need_string(key);
  std::string known;
  for (const Architecture* a : all_architectures()) {
    const std::string_view names = gguf ? a->gguf : a->hugging_face;
    if (is_listed(names, name)) {
      const formats::CheckpointPtr whole = quant::join_scales(checkpoint);
      const Config config(*whole);
      graph::GraphBuilder builder(whole, state_type);
      return a->build(builder, config);
    }
    if (!names.empty() && !known.empty()) known += ' ';
    known += names;
  }
  fail(Code::unsupported, checkpoint->name() + ", key " + key,
       format("architecture '{}' is not known; known: {}", name, known));
}

}  // namespace ingle::models
