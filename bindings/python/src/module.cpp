// The extension module ingle._ingle: the C API as Python objects. The package around it is what users see.
#include "support.h"

namespace ingle_python {
namespace {

py::str describe_options(const std::string& kind) {
  return text(call_text(
      [&](ingle_text** out, ingle_error** err) { return ingle_options_describe(kind.c_str(), out, err); }));
}

py::str inspect(const std::string& path) {
  return text(
      call_text([&](ingle_text** out, ingle_error** err) { return ingle_inspect(path.c_str(), out, err); }));
}

py::str plan_memory(const Runtime& runtime, const std::string& path, const py::dict& model,
                    const py::dict& session) {
  const auto r = runtime.slot.get();
  const auto m = make_options("model", model), s = make_options("session", session);
  return text(call_text([&](ingle_text** out, ingle_error** err) {
    return ingle_plan_memory(r.get(), path.c_str(), m.get(), s.get(), out, err);
  }));
}

void quantize(const Runtime& runtime, const std::string& from, const std::string& to, const std::string& type,
              const py::object& report) {
  const auto r = runtime.slot.get();
  call_long(
      [&](const ingle_progress* p, ingle_error** err) {
        return ingle_quantize(r.get(), from.c_str(), to.c_str(), type.c_str(), p, err);
      },
      report, [] {}, [] {});
}

}  // namespace
}  // namespace ingle_python

PYBIND11_MODULE(_ingle, m) {
  using namespace ingle_python;
  m.def("version", [] { return ingle_version(); });
  m.def(
      "code_name", [](int32_t code) { return ingle_code_name(code); }, py::arg("code"));
  m.def("describe_options", &describe_options, py::arg("kind"));
  m.def("inspect", &inspect, py::arg("path"));
  m.def("plan_memory", &plan_memory, py::arg("runtime"), py::arg("path"), py::arg("model"),
        py::arg("session"));
  m.def("quantize", &quantize, py::arg("runtime"), py::arg("source"), py::arg("target"), py::arg("type"),
        py::arg("progress"));
  add_models(m);
  add_sessions(m);
  add_parsers(m);
  add_engines(m);
}
