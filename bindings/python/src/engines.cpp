// Engine: many requests at once.
#include <pybind11/stl.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "support.h"

namespace ingle_python {
namespace {

using Ids = std::vector<int32_t>;

Engine make_engine(const Model& model, const py::dict& options) {
  const auto m = model.slot.get();
  const auto o = make_options("engine", options);
  Owned<ingle_engine> out;
  call([&](ingle_error** err) { return ingle_engine_create(m.get(), o.get(), nullptr, out.out(), err); });
  Engine engine;
  engine.keep = model.keep;
  engine.slot.set(std::move(out));
  return engine;
}

// What all kinds of prompts have: options and the call itself. `set` writes the prompt.
template <class Set>
uint64_t submit(const Engine& engine, const py::dict& sampler, const py::dict& generate,
                const py::dict& scheduling, Set set) {
  const auto e = engine.slot.get();
  const auto s = make_options("sampler", sampler, engine.raised), g = make_options("generate", generate),
             r = make_options("request", scheduling);
  ingle_request request = INGLE_REQUEST_INIT;
  request.sampler = s.get();
  request.generate = g.get();
  request.scheduling = r.get();
  set(request);
  uint64_t id = 0;
  call([&](ingle_error** err) { return ingle_engine_submit(e.get(), &request, &id, err); });
  return id;
}

uint64_t submit_tokens(const Engine& engine, const Ids& ids, const py::dict& sampler,
                       const py::dict& generate, const py::dict& scheduling) {
  constexpr int32_t kNothing = 0;
  return submit(engine, sampler, generate, scheduling, [&](ingle_request& r) {
    r.ids = ids.empty() ? &kNothing : ids.data();
    r.n_ids = static_cast<int64_t>(ids.size());
  });
}

uint64_t submit_text(const Engine& engine, const std::string& text, bool parse_special, bool add_special,
                     const py::dict& sampler, const py::dict& generate, const py::dict& scheduling) {
  return submit(engine, sampler, generate, scheduling, [&](ingle_request& r) {
    r.flags = (parse_special ? INGLE_PARSE_SPECIAL : 0) | (add_special ? INGLE_ADD_SPECIAL : 0);
    r.text = text.data();
    r.text_length = static_cast<int64_t>(text.size());
  });
}

uint64_t submit_chat(const Engine& engine, const std::string& json, const py::dict& sampler,
                     const py::dict& generate, const py::dict& scheduling) {
  return submit(engine, sampler, generate, scheduling, [&](ingle_request& r) {
    r.chat = json.data();
    r.text_length = static_cast<int64_t>(json.size());
  });
}

// Between looks for signals.
constexpr int64_t kSliceMs = 50;

// f(timeout_ms) until it is true or so many milliseconds (-1: no end) are over, with an eye on Ctrl-C.
template <class F>
bool wait(int64_t timeout_ms, F f) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  for (;;) {
    const int64_t waited =
        std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start).count();
    const int64_t left = timeout_ms < 0 ? kSliceMs : std::max<int64_t>(timeout_ms - waited, 0);
    if (f(std::min(left, kSliceMs))) return true;
    if (timeout_ms >= 0 && left <= kSliceMs) return false;
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  }
}

// None, or (request, event, error or None).
py::object next(const Engine& engine, int64_t timeout_ms) {
  const auto e = engine.slot.get();
  uint64_t request = 0;
  Event event;
  Error failure;
  const bool found = wait(timeout_ms, [&](int64_t slice) {
    ingle_event told = INGLE_EVENT_INIT;
    Error error;
    ingle_code code;
    {
      const py::gil_scoped_release no_gil;
      code = ingle_engine_next(e.get(), slice, &request, &told, failure.out(), error.out());
      if (code == INGLE_OK && request != 0) event = Event(told);
    }
    check(code, error);
    return request != 0;
  });
  if (!found) return py::none();
  py::object died_of = failure ? exception(failure) : py::none();
  if (failure && engine.raised->error) {  // by a stage, which the request died of
    died_of.attr("__cause__") = engine.raised->error->value();
    engine.raised->error.reset();
  }
  return py::make_tuple(request, event.tuple(), died_of);
}

bool drain(const Engine& engine, int64_t timeout_ms) {
  const auto e = engine.slot.get();
  return wait(timeout_ms, [&](int64_t slice) {
    int32_t done = 0;
    call([&](ingle_error** err) { return ingle_engine_drain(e.get(), slice, &done, err); });
    return done != 0;
  });
}

bool cancel(const Engine& engine, uint64_t request) {
  const auto e = engine.slot.get();
  int32_t found = 0;
  call([&](ingle_error** err) { return ingle_engine_cancel(e.get(), request, &found, err); });
  return found != 0;
}

bool step(const Engine& engine, double seconds) {
  const auto e = engine.slot.get();
  int32_t more = 0;
  call([&](ingle_error** err) { return ingle_engine_step(e.get(), seconds, &more, err); });
  return more != 0;
}

void pause(const Engine& engine, bool paused) {
  const auto e = engine.slot.get();
  call([&](ingle_error** err) { return ingle_engine_pause(e.get(), paused ? 1 : 0, err); });
}

int32_t descriptor(const Engine& engine) {
  const auto e = engine.slot.get();
  int32_t out = -1;
  call([&](ingle_error** err) { return ingle_engine_descriptor(e.get(), &out, err); });
  return out;
}

py::str stats(const Engine& engine) {
  const auto e = engine.slot.get();
  return text(
      call_text([&](ingle_text** out, ingle_error** err) { return ingle_engine_stats(e.get(), out, err); }));
}

}  // namespace

void add_engines(py::module_& m) {
  py::class_<Engine>(m, "Engine")
      .def(py::init(&make_engine), py::arg("model"), py::arg("options"))
      .def("submit_tokens", &submit_tokens, py::arg("ids"), py::arg("sampler"), py::arg("generate"),
           py::arg("scheduling"))
      .def("submit_text", &submit_text, py::arg("text"), py::arg("parse_special"), py::arg("add_special"),
           py::arg("sampler"), py::arg("generate"), py::arg("scheduling"))
      .def("submit_chat", &submit_chat, py::arg("messages_json"), py::arg("sampler"), py::arg("generate"),
           py::arg("scheduling"))
      .def("next", &next, py::arg("timeout_ms"))
      .def("cancel", &cancel, py::arg("request"))
      .def("step", &step, py::arg("seconds"))
      .def("pause", &pause, py::arg("paused"))
      .def("drain", &drain, py::arg("timeout_ms"))
      .def("descriptor", &descriptor)
      .def("stats", &stats)
      .def("close", [](Engine& self) { self.slot.close(); })
      .def("closed", [](const Engine& self) { return self.slot.closed(); });
}

}  // namespace ingle_python
