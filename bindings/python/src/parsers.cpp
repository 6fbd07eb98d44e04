// Answers told apart: content, reasoning and tool calls.
#include "support.h"

namespace ingle_python {
namespace {

Parser make_parser(const Session& session, const py::dict& options) {
  const auto s = session.slot.get();
  const auto o = make_options("answer", options);
  Owned<ingle_parser> out;
  call([&](ingle_error** err) { return ingle_session_parser(s.get(), o.get(), out.out(), err); });
  Parser parser;
  parser.slot.set(std::move(out));
  return parser;
}

py::str feed(const Parser& parser, const std::string& piece) {
  const auto p = parser.slot.get();
  return text(call_text([&](ingle_text** out, ingle_error** err) {
    return ingle_parser_feed(p.get(), piece.data(), static_cast<int64_t>(piece.size()), out, err);
  }));
}

py::str finish(const Parser& parser) {
  const auto p = parser.slot.get();
  return text(
      call_text([&](ingle_text** out, ingle_error** err) { return ingle_parser_finish(p.get(), out, err); }));
}

py::str answer(const Parser& parser) {
  const auto p = parser.slot.get();
  return text(
      call_text([&](ingle_text** out, ingle_error** err) { return ingle_parser_answer(p.get(), out, err); }));
}

}  // namespace

void add_parsers(py::module_& m) {
  py::class_<Parser>(m, "Parser")
      .def(py::init(&make_parser), py::arg("session"), py::arg("options"))
      .def("feed", &feed, py::arg("text"))
      .def("finish", &finish)
      .def("answer", &answer);
}

}  // namespace ingle_python
