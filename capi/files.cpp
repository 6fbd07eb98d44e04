#include "arguments.h"
#include "guard.h"
#include "handles.h"

using namespace ingle::capi;

ingle_code ingle_inspect(const char* path, ingle_text** out, ingle_error** err) {
  return guard(err, [&] {
    auto& result = out_argument(out, "out");
    const ingle::FileReport report = ingle::inspect(string_argument(path, "path"));
    Fields metadata;
    for (const auto& [key, value] : report.metadata) metadata.emplace_back(key, value);
    List tensors;
    for (const ingle::FileTensor& t : report.tensors) {
      List shape;
      for (const int64_t n : t.shape) shape.emplace_back(n);
      tensors.emplace_back(Fields{{"name", t.name},
                                  {"type", t.type},
                                  {"shape", std::move(shape)},
                                  {"bytes", static_cast<int64_t>(t.bytes)}});
    }
    result = new ingle_text(write_json(Fields{{"container", report.container},
                                              {"metadata", std::move(metadata)},
                                              {"tensors", std::move(tensors)}}));
  });
}

ingle_code ingle_plan_memory(const ingle_runtime* runtime, const char* path, const ingle_options* model,
                             const ingle_options* session, ingle_text** out, ingle_error** err) {
  return guard(err, [&] {
    auto& result = out_argument(out, "out");
    const Kept r(runtime, "runtime");
    const ingle::MemoryPlan plan = ingle::plan_memory(r->runtime, string_argument(path, "path"),
                                                      options_argument<ingle::ModelOptions>(model),
                                                      options_argument<ingle::SessionOptions>(session));
    const auto n = [](uint64_t v) { return static_cast<int64_t>(v); };
    result = new ingle_text(write_json(Fields{{"context", plan.context},
                                              {"weight_bytes", n(plan.weight_bytes)},
                                              {"state_bytes", n(plan.state_bytes)},
                                              {"token_bytes", n(plan.token_bytes)},
                                              {"workspace_bytes", n(plan.workspace_bytes)},
                                              {"mapped_bytes", n(plan.mapped_bytes)},
                                              {"total_bytes", n(plan.total())}}));
  });
}

ingle_code ingle_quantize(const ingle_runtime* runtime, const char* from, const char* to, const char* type,
                          const ingle_progress* progress, ingle_error** err) {
  return guard(err, [&] {
    const Kept r(runtime, "runtime");
    ingle::quantize(r->runtime, string_argument(from, "from"), string_argument(to, "to"),
                    string_argument(type, "type"), load_progress(progress));
  });
}
