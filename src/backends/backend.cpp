#include "backends/backend.h"

#include "backends/cpu/cpu.h"
#include "backends/null/null.h"
#include "backends/ref/ref.h"
#include "core/error.h"

namespace ingle::backends {

std::unique_ptr<Backend> make_backend(std::string_view name, const BackendContext& context) {
  if (name == "cpu") return make_cpu_backend(context);
  if (name == "ref") return make_ref_backend(context);
  if (name == "null") return make_null_backend(context);
  fail(Code::not_found, "backend", format("'{}' is not known; known: cpu, ref, null", name));
}

}  // namespace ingle::backends
