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

ingle_code ingle_quantize(const ingle_runtime* runtime, const char* from, const char* to, const char* type,
                          const ingle_progress* progress, ingle_error** err) {
  return guard(err, [&] {
    const Kept r(runtime, "runtime");
    ingle::quantize(r->runtime, string_argument(from, "from"), string_argument(to, "to"),
                    string_argument(type, "type"), load_progress(progress));
  });
}
