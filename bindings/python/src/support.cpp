#include "support.h"

#include <pybind11/stl.h>

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>

namespace ingle_python {
namespace {

py::object exceptions() { return py::module_::import("ingle.errors").attr("make"); }

py::object made(ingle_code code, const char* where, const char* message, const char* hint) {
  return exceptions()(code, py::bytes(where).attr("decode")("utf-8", "replace"),
                      py::bytes(message).attr("decode")("utf-8", "replace"),
                      py::bytes(hint).attr("decode")("utf-8", "replace"));
}

[[noreturn]] void raise(ingle_code code, const char* where, const char* message, const char* hint) {
  const py::object error = made(code, where, message, hint);
  PyErr_SetObject(py::type::handle_of(error).ptr(), error.ptr());
  throw py::error_already_set();
}

void set_option(ingle_options* options, const std::string& key, const py::handle& value) {
  Error error;
  ingle_code code;
  if (key == "grammar" && py::hasattr(value, "_handle")) {  // an ingle.Grammar, which no JSON could stand for
    const auto grammar = value.attr("_handle").cast<const Grammar&>().slot.get();
    return check(ingle_options_set_grammar(options, grammar.get(), error.out()), error);
  }
  if (PyIndex_Check(value.ptr())) {
    const py::object whole = py::reinterpret_steal<py::object>(PyNumber_Index(value.ptr()));
    if (!whole) throw py::error_already_set();
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(whole.ptr(), &overflow);
    if (number == -1 && PyErr_Occurred()) throw py::error_already_set();
    if (overflow) raise(INGLE_E_INVALID_ARGUMENT, key.c_str(), "the number does not fit 64 bits", "");
    code = ingle_options_set_int(options, key.c_str(), number, error.out());
  } else if (PyUnicode_Check(value.ptr())) {
    const auto string = value.cast<std::string>();
    code = ingle_options_set_string(options, key.c_str(), string.data(), static_cast<int64_t>(string.size()),
                                    error.out());
  } else if (PyNumber_Check(value.ptr())) {
    const double number = PyFloat_AsDouble(value.ptr());
    if (number == -1 && PyErr_Occurred()) throw py::error_already_set();
    code = ingle_options_set_float(options, key.c_str(), number, error.out());
  } else {
    py::dict one;
    one[py::str(key)] = value;
    const auto json = py::module_::import("ingle._options").attr("to_json")(one).cast<std::string>();
    code = ingle_options_set_json(options, json.data(), static_cast<int64_t>(json.size()), error.out());
  }
  check(code, error);
}

bool interpreter_ends() {
#if PY_VERSION_HEX >= 0x030D0000
  return Py_IsFinalizing() != 0;
#else
  return _Py_IsFinalizing() != 0;
#endif
}

// ---- A sampler's stage in Python ----

struct Stage {
  py::object apply;
  RaisedPtr raised;
};

py::object view(const py::object& bytes, const char* format) {
  const py::object v = py::reinterpret_steal<py::object>(PyMemoryView_FromObject(bytes.ptr()));
  if (!v) throw py::error_already_set();
  return v.attr("cast")(format);
}
template <class T>
py::object copy_of(const T* data, int64_t n, const char* format) {
  return view(py::bytes(reinterpret_cast<const char*>(data), static_cast<size_t>(n) * sizeof(T)), format);
}

// Python gets copies, so that what it keeps of them stays right, and what it made of the logits comes back.
int32_t apply_stage(const int32_t* accepted, int64_t n_accepted, const int32_t* ids, float* logits, int64_t n,
                    void* user) {
  const auto& stage = *static_cast<const Stage*>(user);
  return into_python(*stage.raised, [&] {
    const auto n_bytes = static_cast<size_t>(n) * sizeof(float);
    const py::bytearray changed(reinterpret_cast<const char*>(logits), n_bytes);
    stage.apply(view(changed, "f"), copy_of(ids, n, "i"), copy_of(accepted, n_accepted, "i"));
    std::memcpy(logits, PyByteArray_AS_STRING(changed.ptr()), n_bytes);  // a view forbids to resize it
  });
}

void close_stage(void* user) {
  if (interpreter_ends()) return;
  const py::gil_scoped_acquire gil;
  delete static_cast<Stage*>(user);
}

void add_stages(ingle_options* options, const py::dict& stages, const RaisedPtr& raised) {
  for (const auto& [name, apply] : stages) {
    const auto called = name.cast<std::string>();
    auto kept = std::make_unique<Stage>(Stage{py::reinterpret_borrow<py::object>(apply), raised});
    ingle_stage stage = INGLE_STAGE_INIT;
    stage.name = called.c_str();
    stage.apply = apply_stage;
    stage.close = close_stage;
    stage.user = kept.get();
    Error error;
    check(ingle_options_add_stage(options, &stage, error.out()), error);
    (void)kept.release();  // the options' now
  }
}

// What the two threads of a long call tell each other.
struct Shared {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false, stop = false;
  double fraction = 0;  // what the call said last
};

int32_t hear(double fraction, void* user) {
  auto& shared = *static_cast<Shared*>(user);
  const std::lock_guard lock(shared.mutex);
  shared.fraction = fraction;
  shared.changed.notify_one();
  return shared.stop ? 1 : 0;
}

}  // namespace

py::object exception(const Error& error) {
  return made(ingle_error_code(error.get()), ingle_error_where(error.get()), ingle_error_message(error.get()),
              ingle_error_hint(error.get()));
}

Event::Event(const ingle_event& e)
    : id(e.id),
      finish(e.finish),
      logprob(e.logprob),
      time_ms(e.time_ms),
      text(e.text, static_cast<size_t>(e.text_length)) {
  for (uint64_t i = 0; i < e.n_top; ++i) top.emplace_back(e.top_ids[i], e.top_logprobs[i]);
}

py::tuple Event::tuple() const {
  PyObject* decoded = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
  if (!decoded) throw py::error_already_set();
  return py::make_tuple(id, logprob, py::reinterpret_steal<py::str>(decoded), finish, time_ms, top);
}

int32_t into_python(Raised& raised, const std::function<void()>& f) noexcept {
  if (interpreter_ends()) return 1;
  const py::gil_scoped_acquire gil;
  if (raised.error) return 1;
  try {
    f();
    return 0;
  } catch (py::error_already_set& e) {
    raised.keep(e);
  } catch (const std::exception& e) {  // of the conversions
    try {
      PyErr_SetString(PyExc_TypeError, e.what());
      throw py::error_already_set();
    } catch (py::error_already_set& made_of_it) {
      raised.keep(made_of_it);
    }
  }
  return 1;
}

void check(ingle_code code, const Error& error) {
  if (code == INGLE_OK) return;
  raise(code, ingle_error_where(error.get()), ingle_error_message(error.get()),
        ingle_error_hint(error.get()));
}

void refuse_closed(const char* what) {
  raise(INGLE_E_INVALID_ARGUMENT, what, "was closed", "make a new one");
}

void call_long(const LongCall& f, const py::object& report, const std::function<void()>& cancel,
               const std::function<void()>& after) {
  constexpr std::chrono::milliseconds kBetweenSignals(20);
  Shared shared;
  ingle_progress progress = INGLE_PROGRESS_INIT;
  progress.report = hear;
  progress.user = &shared;
  Error error;
  ingle_code code = INGLE_OK;
  std::optional<py::error_already_set> raised;
  std::thread worker;
  try {
    worker = std::thread([&] {
      const ingle_code result = f(&progress, error.out());
      const std::lock_guard lock(shared.mutex);
      code = result;
      shared.done = true;
      shared.changed.notify_one();
    });
  } catch (const std::system_error& e) {
    raise(INGLE_E_OUT_OF_MEMORY, "thread", e.what(), "");
  }
  for (double reported = 0;;) {
    double fraction;
    {
      const py::gil_scoped_release no_gil;
      std::unique_lock lock(shared.mutex);
      shared.changed.wait_for(lock, kBetweenSignals,
                              [&] { return shared.done || shared.fraction != reported; });
      if (shared.done && (raised || report.is_none() || shared.fraction == reported)) break;
      fraction = shared.fraction;
    }
    if (raised) continue;
    try {
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
      if (!report.is_none() && fraction != reported) report(fraction);
    } catch (py::error_already_set& e) {
      raised.emplace(std::move(e));
      const py::gil_scoped_release no_gil;
      {
        const std::lock_guard lock(shared.mutex);
        shared.stop = true;
      }
      cancel();
    }
    reported = fraction;
  }
  {
    const py::gil_scoped_release no_gil;
    worker.join();
  }
  if (!raised) return check(code, error);
  if (code == INGLE_OK) after();
  throw std::move(*raised);
}

Owned<ingle_options> make_options(const char* kind, const py::dict& values, const RaisedPtr& raised) {
  Owned<ingle_options> options;
  if (values.empty()) return options;
  Error error;
  check(ingle_options_create(kind, options.out(), error.out()), error);
  for (const auto& [key, value] : values)
    if (raised && py::isinstance<py::dict>(value) && key.cast<std::string>() == "stages")
      add_stages(options.get(), value.cast<py::dict>(), raised);
    else if (!value.is_none())
      set_option(options.get(), key.cast<std::string>(), value);
  return options;
}

py::bytes bytes(const Owned<ingle_text>& t) {
  return py::bytes(ingle_text_data(t.get()), static_cast<size_t>(ingle_text_length(t.get())));
}

py::str text(const Owned<ingle_text>& t) {
  PyObject* decoded = PyUnicode_DecodeUTF8(ingle_text_data(t.get()),
                                           static_cast<Py_ssize_t>(ingle_text_length(t.get())), "replace");
  if (!decoded) throw py::error_already_set();
  return py::reinterpret_steal<py::str>(decoded);
}

}  // namespace ingle_python
