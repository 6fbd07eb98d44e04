#include "ingle/memory.hpp"

#include <sys/mman.h>

#include <atomic>

#include "api/impl.h"
#include "core/checked_math.h"
#include "core/error.h"
#include "formats/folder.h"
#include "graph/expand.h"
#include "kv/sizes.h"
#include "models/architecture.h"
#include "quant/weight.h"

namespace ingle {
namespace {

// Gives address space that nobody has filled yet, and counts: so what will be asked for is found out by
// asking.
struct Counter {
  std::atomic<uint64_t> bytes{0};

  Allocator allocator() {
    return {[](size_t n, size_t, void* user) -> void* {
              void* memory = ::mmap(nullptr, std::max<size_t>(n, 1), PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
              if (memory == MAP_FAILED) return nullptr;
              static_cast<Counter*>(user)->bytes += n;
              return memory;
            },
            [](void* memory, size_t n, void* user) {
              ::munmap(memory, std::max<size_t>(n, 1));
              static_cast<Counter*>(user)->bytes -= n;
            },
            this};
  }
};

}  // namespace

MemoryPlan plan_memory(const Runtime& runtime, const std::string& path, const ModelOptions& model,
                       const SessionOptions& session) {
  Counter counter;
  backends::BackendContext context = runtime.impl()->backend_context();
  context.allocator = counter.allocator();
  context.log = {};
  const auto backend = backends::make_backend(model.backend, context);
  if (backend->name() != "cpu" && backend->name() != "ref" && backend->name() != "null")
    fail(Code::unsupported, "option backend",
         format("what a plug-in ({}) takes is not known", backend->name()));
  const formats::CheckpointPtr file = formats::open_checkpoint(path, quant::dtype_table());
  if (file->tensors().empty()) fail(Code::unsupported, file->name(), "holds no weights");
  auto plan = std::make_shared<backends::Plan>(
      graph::expand(models::build_plan(file, state_type_of(model.state_type, *backend)),
                    [&](const Op& op) { return backend->takes(op); }));
  const SessionOptions options = checked(session, *plan);

  MemoryPlan out;
  out.context = options.context;
  if (model.map)
    for (const formats::TensorInfo& t : file->tensors()) out.mapped_bytes += t.bytes;
  out.state_bytes = kv::state_bytes(plan->parts, options.context, options.prefill_chunk);
  for (const kv::PartSpec& part : plan->parts)
    if (part.kind == kv::PartKind::pages)
      out.token_bytes += static_cast<uint64_t>(part.page_bytes() / kv::kPageTokens);
  const std::unique_ptr<backends::Program> program = backend->prepare(plan, {{}, true});
  out.weight_bytes = program->weight_bytes();
  const uint64_t before = counter.bytes;
  const auto workspace = program->make_workspace(std::min(options.prefill_chunk, options.context), 1, 1);
  out.workspace_bytes = counter.bytes - before;
  return out;
}

}  // namespace ingle
