#include "backends/backend.h"

#include "backends/cpu/cpu.h"
#include "backends/null/null.h"
#include "backends/plugin/find.h"
#include "backends/ref/ref.h"

namespace ingle::backends {

std::unique_ptr<Backend> make_backend(std::string_view name, const BackendContext& context) {
  if (name == "cpu") return make_cpu_backend(context);
  if (name == "ref") return make_ref_backend(context);
  if (name == "null") return make_null_backend(context);
  const std::string path = find_plugin(name, plugin_folders(context.plugin_folder));
  return make_plugin_backend(context, Plugin::load(path, context.pool->size(), context.log));
}

}  // namespace ingle::backends
