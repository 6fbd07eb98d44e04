// What the parts of the extension share: owned handles, errors as Python's exceptions, options, calls that
// Ctrl-C can end.
#pragma once
#include <ingle/ingle.h>
#include <pybind11/pybind11.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ingle_python {

namespace py = pybind11;

inline void retain(ingle_runtime* h) { ingle_runtime_retain(h); }
inline void retain(ingle_model* h) { ingle_model_retain(h); }
inline void retain(ingle_tokenizer* h) { ingle_tokenizer_retain(h); }
inline void retain(ingle_grammar* h) { ingle_grammar_retain(h); }
inline void retain(ingle_sampler* h) { ingle_sampler_retain(h); }
inline void retain(ingle_session* h) { ingle_session_retain(h); }
inline void retain(ingle_parser* h) { ingle_parser_retain(h); }
inline void retain(ingle_engine* h) { ingle_engine_retain(h); }
inline void release(ingle_runtime* h) { ingle_runtime_release(h); }
inline void release(ingle_model* h) { ingle_model_release(h); }
inline void release(ingle_tokenizer* h) { ingle_tokenizer_release(h); }
inline void release(ingle_grammar* h) { ingle_grammar_release(h); }
inline void release(ingle_sampler* h) { ingle_sampler_release(h); }
inline void release(ingle_session* h) { ingle_session_release(h); }
inline void release(ingle_parser* h) { ingle_parser_release(h); }
inline void release(ingle_engine* h) {  // may wait for a step, which may want the GIL
  if (!h) return;
  const pybind11::gil_scoped_release no_gil;
  ingle_engine_release(h);
}
inline void release(ingle_options* h) { ingle_options_release(h); }
inline void release(ingle_text* h) { ingle_text_release(h); }
inline void release(ingle_tokens* h) { ingle_tokens_release(h); }
inline void release(ingle_error* h) { ingle_error_release(h); }

// One reference to a handle of the library.
template <class T>
class Owned {
 public:
  Owned() = default;
  Owned(const Owned& o) : handle_(o.handle_) {
    if (handle_) retain(handle_);
  }
  Owned(Owned&& o) noexcept : handle_(std::exchange(o.handle_, nullptr)) {}
  Owned& operator=(Owned o) noexcept {
    std::swap(handle_, o.handle_);
    return *this;
  }
  ~Owned() { release(handle_); }
  T* get() const { return handle_; }
  T** out() { return &handle_; }
  explicit operator bool() const { return handle_ != nullptr; }

 private:
  T* handle_ = nullptr;
};

using Error = Owned<ingle_error>;

// Throws the exception of ingle.errors that belongs to the code; needs the GIL, as all below.
void check(ingle_code code, const Error& error);
[[noreturn]] void refuse_closed(const char* what);

// What a Python object holds until it is closed. Calls work on a copy, so that another thread may close it.
template <class T>
class Slot {
 public:
  explicit Slot(const char* what) : what_(what) {}
  Owned<T> get() const {
    if (!handle_) refuse_closed(what_);
    return handle_;
  }
  void set(Owned<T> handle) { handle_ = std::move(handle); }
  void close() { handle_ = Owned<T>(); }
  bool closed() const { return !handle_; }

 private:
  const char* what_;
  Owned<T> handle_;
};

// A call of the library without the GIL.
template <class F>
void call(F f) {
  Error error;
  ingle_code code;
  {
    const py::gil_scoped_release no_gil;
    code = f(error.out());
  }
  check(code, error);
}

// A long call on a thread of its own, while this one looks for signals and reports how far it is. When a
// signal's handler or `report` (None, or a function of the fraction done) raises, `cancel` is called, and
// what was raised is thrown once the call has ended; `after` then runs if the call succeeded nevertheless.
using LongCall = std::function<ingle_code(const ingle_progress*, ingle_error**)>;
void call_long(const LongCall& f, const py::object& report, const std::function<void()>& cancel,
               const std::function<void()>& after);

// What a callback of Python's raised where no exception can pass; needs the GIL.
struct Raised {
  std::optional<py::error_already_set> error;
  void keep(py::error_already_set& e) {
    if (!error) error.emplace(std::move(e));
  }
  void rethrow() {
    if (!error) return;
    const py::error_already_set e = std::move(*error);
    error.reset();
    throw e;
  }
};
using RaisedPtr = std::shared_ptr<Raised>;

// A callback of the library into Python: f() with the GIL, 0 where it went well. Not while the interpreter
// ends.
int32_t into_python(Raised& raised, const std::function<void()>& f) noexcept;

// NULL for an empty dict. Keys whose value is None keep their default. The functions under "stages", {name:
// function}, raise into `raised`.
Owned<ingle_options> make_options(const char* kind, const py::dict& values,
                                  const RaisedPtr& raised = nullptr);

py::str text(const Owned<ingle_text>& t);     // broken UTF-8 becomes U+FFFD
py::bytes bytes(const Owned<ingle_text>& t);  // as it is
template <class F>
Owned<ingle_text> call_text(F f) {
  Owned<ingle_text> out;
  call([&](ingle_error** err) { return f(out.out(), err); });
  return out;
}

// The exception that belongs to an error, not thrown.
py::object exception(const Error& error);

// An event as it was when it came: what the library points to is the next call's.
struct Event {
  Event() = default;
  explicit Event(const ingle_event& e);  // needs no GIL
  // (id, logprob, text, finish, time_ms, [(id, logprob), …])
  py::tuple tuple() const;

  int32_t id = -1, finish = 0;
  float logprob = 0;
  double time_ms = 0;
  std::string text;
  std::vector<std::pair<int32_t, float>> top;
};

void add_models(py::module_& m);
void add_sessions(py::module_& m);
void add_parsers(py::module_& m);
void add_engines(py::module_& m);

struct Runtime {
  Slot<ingle_runtime> slot{"the runtime"};
};
struct Tokenizer {
  Slot<ingle_tokenizer> slot{"the tokenizer"};
};
struct Grammar {
  Slot<ingle_grammar> slot{"the grammar"};
};
struct Sampler {
  RaisedPtr raised = std::make_shared<Raised>();  // by its stages; its copies' too
  Slot<ingle_sampler> slot{"the sampler"};
};
// `keep` is what the weights are borrowed from. It stays after close(), for calls on other threads may still
// run.
struct Model {
  py::object keep;
  Slot<ingle_model> slot{"the model"};
};
struct Session {
  py::object keep;
  RaisedPtr raised = std::make_shared<Raised>();  // by its tap
  Slot<ingle_session> slot{"the session"};
};
struct Engine {
  py::object keep;
  RaisedPtr raised = std::make_shared<Raised>();  // by its requests' stages
  Slot<ingle_engine> slot{"the engine"};
};
struct Parser {
  Slot<ingle_parser> slot{"the parser"};
};

}  // namespace ingle_python
