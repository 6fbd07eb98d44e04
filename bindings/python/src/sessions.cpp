// Session: feeds, answers, logits.
#include <pybind11/stl.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include "support.h"

namespace ingle_python {
namespace {

using Ids = std::vector<int32_t>;

Session make_session(const Model& model, const py::dict& options) {
  const auto m = model.slot.get();
  const auto o = make_options("session", options);
  Owned<ingle_session> out;
  call([&](ingle_error** err) { return ingle_session_create(m.get(), o.get(), out.out(), err); });
  Session session;
  session.keep = model.keep;
  session.slot.set(std::move(out));
  return session;
}

// A read-only float32 view of fresh memory, and where to write what it shows.
struct Array {
  explicit Array(size_t n_floats)
      : bytes(py::reinterpret_steal<py::object>(
            PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(n_floats * sizeof(float))))) {
    if (!bytes) throw py::error_already_set();
    data = PyBytes_AS_STRING(bytes.ptr());
  }
  void write(size_t at, const float* from, size_t n) {
    std::memcpy(data + at * sizeof(float), from, n * sizeof(float));
  }
  py::object view(const py::object& shape = py::none()) const {  // without a shape: a row
    const py::object v = py::reinterpret_steal<py::object>(PyMemoryView_FromObject(bytes.ptr()));
    if (!v) throw py::error_already_set();
    return shape.is_none() ? v.attr("cast")("f") : v.attr("cast")("f", shape);
  }
  py::object bytes;
  char* data;
};

// ---- Taps ----

struct Tap {
  py::object hear;
  RaisedPtr raised;  // the session's
};

// With a copy of the values: what is kept of them stays right.
int32_t hear_tap(int32_t point, int64_t position, int32_t token, const float* values, int64_t n, void* user) {
  const auto& tap = *static_cast<const Tap*>(user);
  return into_python(*tap.raised, [&] {
    Array row(static_cast<size_t>(n));
    row.write(0, values, static_cast<size_t>(n));
    tap.hear(point, position, token, row.view());
  });
}

void close_tap(void* user) {  // by calls from Python alone
  const py::gil_scoped_acquire gil;
  delete static_cast<Tap*>(user);
}

void tap(const Session& session, const Ids& points, const py::object& hear) {
  const auto s = session.slot.get();
  auto kept = std::make_unique<Tap>(Tap{hear, session.raised});
  ingle_tap t = INGLE_TAP_INIT;
  t.hear = hear_tap;
  t.close = close_tap;
  t.user = kept.get();
  call([&](ingle_error** err) {
    return ingle_session_tap(s.get(), points.data(), static_cast<int64_t>(points.size()), &t, err);
  });
  if (!points.empty()) (void)kept.release();  // the session's now
}

void cancel(ingle_session* session) { ingle_session_cancel(session, nullptr); }

// A cancel that came too late waits for the next call, which must not hear of it: an answer of no tokens
// does.
void use_up_cancel(ingle_session* session) {
  Owned<ingle_options> none;
  Owned<ingle_sampler> greedy;
  ingle_event event = INGLE_EVENT_INIT;
  if (ingle_options_create("generate", none.out(), nullptr) != INGLE_OK ||
      ingle_options_set_int(none.get(), "max_tokens", 0, nullptr) != INGLE_OK ||
      ingle_sampler_greedy(greedy.out(), nullptr) != INGLE_OK)
    return;
  ingle_session_begin(session, none.get(), nullptr);
  ingle_session_next(session, greedy.get(), &event, nullptr);
  ingle_session_begin(session, nullptr, nullptr);
}

// f(session, progress, err), to be ended by Ctrl-C.
template <class F>
void feed(const Session& session, const py::object& report, F f) {
  const auto s = session.slot.get();
  try {
    call_long([&](const ingle_progress* p, ingle_error** err) { return f(s.get(), p, err); }, report,
              [&] { cancel(s.get()); }, [&] { use_up_cancel(s.get()); });
  } catch (const py::error_already_set&) {
    session.raised->rethrow();
    throw;
  }
}

void feed_tokens(const Session& session, const Ids& ids, const py::object& report) {
  const auto n = static_cast<int64_t>(ids.size());
  if (n <= 1 && report.is_none()) {  // a step like those of an answer
    const auto s = session.slot.get();
    Error error;
    ingle_code code;
    {
      const py::gil_scoped_release no_gil;
      code = ingle_session_feed_tokens(s.get(), ids.data(), n, nullptr, error.out());
    }
    session.raised->rethrow();
    return check(code, error);
  }
  feed(session, report, [&](ingle_session* s, const ingle_progress* p, ingle_error** err) {
    return ingle_session_feed_tokens(s, ids.data(), n, p, err);
  });
}

void feed_text(const Session& session, const std::string& text, bool parse_special, bool add_special,
               const py::object& report) {
  const int32_t flags = (parse_special ? INGLE_PARSE_SPECIAL : 0) | (add_special ? INGLE_ADD_SPECIAL : 0);
  feed(session, report, [&](ingle_session* s, const ingle_progress* p, ingle_error** err) {
    return ingle_session_feed_text(s, text.data(), static_cast<int64_t>(text.size()), flags, p, err);
  });
}

void feed_chat(const Session& session, const std::string& json, const py::object& report) {
  feed(session, report, [&](ingle_session* s, const ingle_progress* p, ingle_error** err) {
    return ingle_session_feed_chat_json(s, json.data(), static_cast<int64_t>(json.size()), p, err);
  });
}

void begin(const Session& session, const py::dict& options) {
  const auto s = session.slot.get();
  const auto o = make_options("generate", options);
  call([&](ingle_error** err) { return ingle_session_begin(s.get(), o.get(), err); });
}

// f(event, err) gives an event, which is copied before another thread's call may come.
template <class F>
py::tuple next_event(const Session& session, const Sampler& sampler, F f) {
  Event event;
  Error error;
  ingle_code code;
  {
    const py::gil_scoped_release no_gil;
    ingle_event told = INGLE_EVENT_INIT;
    code = f(&told, error.out());
    if (code == INGLE_OK) event = Event(told);
  }
  // What was raised in Python goes before the error, or the end, that it became.
  session.raised->rethrow();
  sampler.raised->rethrow();
  check(code, error);
  return event.tuple();
}

py::tuple next(const Session& session, const Sampler& sampler) {
  const auto s = session.slot.get();
  const auto chooser = sampler.slot.get();
  return next_event(session, sampler, [&](ingle_event* e, ingle_error** err) {
    return ingle_session_next(s.get(), chooser.get(), e, err);
  });
}

py::tuple next_guided(const Session& session, const Session& negative, double scale, const Sampler& sampler) {
  const auto s = session.slot.get(), n = negative.slot.get();
  const auto chooser = sampler.slot.get();
  return next_event(session, sampler, [&](ingle_event* e, ingle_error** err) {
    return ingle_session_next_guided(s.get(), n.get(), scale, chooser.get(), e, err);
  });
}

// JSON; to be ended by Ctrl-C.
py::str beam_search(const Session& session, const py::dict& options) {
  const auto o = make_options("beams", options);
  Owned<ingle_text> out;
  feed(session, py::none(), [&](ingle_session* s, const ingle_progress*, ingle_error** err) {
    return ingle_session_beam_search(s, o.get(), out.out(), err);
  });
  return text(out);
}

std::vector<float> last_logits(ingle_session* session) {  // without the GIL
  const float* row = nullptr;
  int64_t n = 0;
  if (ingle_session_logits(session, &row, &n, nullptr) != INGLE_OK) return {};
  return {row, row + n};
}

py::object logits(const Session& session) {
  const auto s = session.slot.get();
  std::vector<float> row;  // a pointer into the session is copied before any other call can be made
  Error error;
  ingle_code code;
  {
    const py::gil_scoped_release no_gil;
    const float* last = nullptr;
    int64_t n = 0;
    code = ingle_session_logits(s.get(), &last, &n, error.out());
    row.assign(last, last + n);
  }
  session.raised->rethrow();
  check(code, error);
  Array out(row.size());
  out.write(0, row.data(), row.size());
  return out.view();
}

struct Rows {
  Array* out;
  int64_t n_vocab, n_rows;
};

int32_t keep_row(int64_t, const float* row, int64_t n, void* user) {
  auto& rows = *static_cast<Rows*>(user);
  if (n == rows.n_vocab) rows.out->write(static_cast<size_t>(rows.n_rows++ * n), row, static_cast<size_t>(n));
  return 0;
}

// [ids, n_vocab]
py::object score(const Session& session, const Ids& ids, int64_t n_vocab) {
  const auto n = static_cast<int64_t>(ids.size());
  Array out(static_cast<size_t>(n) * static_cast<size_t>(n_vocab));
  if (n == 0) return out.view();  // a view cannot have rows of no columns, nor no rows
  Rows rows{&out, n_vocab, 0};
  feed(session, py::none(), [&](ingle_session* s, const ingle_progress*, ingle_error** err) {
    return ingle_session_score(s, ids.data(), n, keep_row, &rows, err);
  });
  return out.view(py::make_tuple(n, n_vocab));
}

struct Likelihoods {
  const Ids* ids;
  std::vector<float>* out;
  size_t next;  // whose probability the coming row tells
};

float logprob(const float* row, int64_t n, int32_t id) {
  float most = row[0];
  for (int64_t i = 1; i < n; ++i) most = std::max(most, row[i]);
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += std::exp(static_cast<double>(row[i]) - most);
  return static_cast<float>(static_cast<double>(row[id]) - most - std::log(sum));
}

int32_t keep_logprob(int64_t, const float* row, int64_t n, void* user) {
  auto& l = *static_cast<Likelihoods*>(user);
  if (l.next < l.ids->size()) (*l.out)[l.next] = logprob(row, n, (*l.ids)[l.next]);
  ++l.next;
  return 0;
}

// [ids]: the first one's is NaN where nothing stands before it.
py::object logprobs(const Session& session, const Ids& ids) {
  std::vector<float> found(ids.size(), std::numeric_limits<float>::quiet_NaN());
  Likelihoods state{&ids, &found, 1};
  if (!ids.empty())
    feed(session, py::none(), [&](ingle_session* s, const ingle_progress*, ingle_error** err) {
      const std::vector<float> before = last_logits(s);
      if (ids[0] >= 0 && static_cast<size_t>(ids[0]) < before.size())
        found[0] = logprob(before.data(), static_cast<int64_t>(before.size()), ids[0]);
      return ingle_session_score(s, ids.data(), static_cast<int64_t>(ids.size()), keep_logprob, &state, err);
    });
  Array out(found.size());
  out.write(0, found.data(), found.size());
  return out.view();
}

Ids tokens(const Session& session) {
  const auto s = session.slot.get();
  Owned<ingle_tokens> out;
  call([&](ingle_error** err) { return ingle_session_tokens(s.get(), out.out(), err); });
  const int32_t* ids = ingle_tokens_data(out.get());
  return {ids, ids + ingle_tokens_length(out.get())};
}

Session fork(const Session& session) {
  const auto s = session.slot.get();
  Owned<ingle_session> out;
  call([&](ingle_error** err) { return ingle_session_fork(s.get(), out.out(), err); });
  Session copy;
  copy.keep = session.keep;
  copy.slot.set(std::move(out));
  return copy;
}

void save(const Session& session, const py::bytes& path) {
  const auto s = session.slot.get();
  const auto p = static_cast<std::string>(path);
  call([&](ingle_error** err) { return ingle_session_save(s.get(), p.c_str(), err); });
}

Session load(const Model& model, const py::bytes& path, const py::dict& options) {
  const auto m = model.slot.get();
  const auto o = make_options("session", options);
  const auto p = static_cast<std::string>(path);
  Owned<ingle_session> out;
  call([&](ingle_error** err) { return ingle_session_load(m.get(), p.c_str(), o.get(), out.out(), err); });
  Session session;
  session.keep = model.keep;
  session.slot.set(std::move(out));
  return session;
}

py::tuple stats(const Session& session) {
  const auto s = session.slot.get();
  ingle_stats out = INGLE_STATS_INIT;
  Error error;
  check(ingle_session_stats(s.get(), &out, error.out()), error);
  return py::make_tuple(out.prompt_tokens, out.generated_tokens, out.prefill_ms, out.decode_ms);
}

}  // namespace

void add_sessions(py::module_& m) {
  py::class_<Session>(m, "Session")
      .def(py::init(&make_session), py::arg("model"), py::arg("options"))
      .def("feed_tokens", &feed_tokens, py::arg("ids"), py::arg("progress"))
      .def("feed_text", &feed_text, py::arg("text"), py::arg("parse_special"), py::arg("add_special"),
           py::arg("progress"))
      .def("feed_chat", &feed_chat, py::arg("messages_json"), py::arg("progress"))
      .def("begin", &begin, py::arg("options"))
      .def("next", &next, py::arg("sampler"))
      .def("next_guided", &next_guided, py::arg("negative"), py::arg("scale"), py::arg("sampler"))
      .def("beam_search", &beam_search, py::arg("options"))
      .def("tap", &tap, py::arg("points"), py::arg("hear"))
      .def("logits", &logits)
      .def("score", &score, py::arg("ids"), py::arg("n_vocab"))
      .def("logprobs", &logprobs, py::arg("ids"))
      .def("tokens", &tokens)
      .def(
          "truncate",
          [](const Session& self, int64_t n) {
            const auto s = self.slot.get();
            call([&](ingle_error** err) { return ingle_session_truncate(s.get(), n, err); });
          },
          py::arg("n_tokens"))
      .def("fork", &fork)
      .def("cancel",
           [](const Session& self) {
             const auto s = self.slot.get();
             cancel(s.get());
           })
      .def("save", &save, py::arg("path"))
      .def_static("load", &load, py::arg("model"), py::arg("path"), py::arg("options"))
      .def("stats", &stats)
      .def("close", [](Session& self) { self.slot.close(); })
      .def("closed", [](const Session& self) { return self.slot.closed(); });
}

}  // namespace ingle_python
