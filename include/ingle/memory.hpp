// What a model and a session would take of memory, told before anything is loaded.
#pragma once
#include <cstdint>
#include <string>

#include "ingle/session.hpp"

namespace ingle {

struct MemoryPlan {
  int64_t context = 0;           // tokens that the state is for
  uint64_t weight_bytes = 0;     // packed, from the allocator
  uint64_t state_bytes = 0;      // of one session that holds `context` tokens, fed at once and answered
  uint64_t token_bytes = 0;      // what one more token adds to the state, once windows are full
  uint64_t workspace_bytes = 0;  // of steps, shared by the model's sessions
  uint64_t mapped_bytes = 0;     // of the files; the system drops them when it needs memory, 0 without `map`
  uint64_t total() const { return weight_bytes + state_bytes + workspace_bytes; }
};

// Reads the file's header; no weight is read or packed. What the runtime's allocator will count at its peak
// is total(), within 5 %. The options are those that the model and its session will be made with. Throws as
// Model::load and Session do.
MemoryPlan plan_memory(const Runtime& runtime, const std::string& path, const ModelOptions& model = {},
                       const SessionOptions& session = {});

}  // namespace ingle
