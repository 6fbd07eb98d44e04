// Runtime, Model, Tokenizer, Sampler.
#include <pybind11/stl.h>

#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "support.h"

namespace ingle_python {
namespace {

using Ids = std::vector<int32_t>;

// The bytes of a str (as UTF-8) or of anything with a buffer.
struct Bytes {
  explicit Bytes(const py::object& o) {
    if (PyUnicode_Check(o.ptr())) {
      Py_ssize_t n = 0;
      const char* utf8 = PyUnicode_AsUTF8AndSize(o.ptr(), &n);
      if (!utf8) throw py::error_already_set();
      data = utf8, size = n;
      return;
    }
    if (PyObject_GetBuffer(o.ptr(), &view, PyBUF_SIMPLE) != 0) throw py::error_already_set();
    data = static_cast<const char*>(view.buf), size = view.len;
  }
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;
  ~Bytes() {
    if (view.obj) PyBuffer_Release(&view);
  }
  const char* data = nullptr;
  int64_t size = 0;
  Py_buffer view{};
};

Runtime make_runtime(const py::dict& options) {
  const auto o = make_options("runtime", options);
  Owned<ingle_runtime> out;
  call([&](ingle_error** err) { return ingle_runtime_create(o.get(), nullptr, nullptr, out.out(), err); });
  Runtime runtime;
  runtime.slot.set(std::move(out));
  return runtime;
}

Model wrap(Owned<ingle_model> handle, py::object keep = py::none()) {
  Model model;
  model.keep = std::move(keep);
  model.slot.set(std::move(handle));
  return model;
}

Model load(const Runtime& runtime, const std::string& path, const py::dict& options,
           const py::object& report) {
  const auto r = runtime.slot.get();
  const auto o = make_options("model", options);
  Owned<ingle_model> out;
  call_long(
      [&](const ingle_progress* p, ingle_error** err) {
        return ingle_model_load(r.get(), path.c_str(), o.get(), p, out.out(), err);
      },
      report, [] {}, [] {});
  return wrap(std::move(out));
}

Model load_memory(const Runtime& runtime, const py::object& data, const py::dict& options,
                  const py::object& report) {
  const auto r = runtime.slot.get();
  const auto o = make_options("model", options);
  // A memoryview keeps the buffer, and forbids its owner to resize it.
  const py::object view = py::reinterpret_steal<py::object>(PyMemoryView_FromObject(data.ptr()));
  if (!view) throw py::error_already_set();
  const Py_buffer* buffer = PyMemoryView_GET_BUFFER(view.ptr());
  if (!PyBuffer_IsContiguous(buffer, 'C')) throw py::buffer_error("the bytes of a model must be contiguous");
  Owned<ingle_model> out;
  call_long(
      [&](const ingle_progress* p, ingle_error** err) {
        return ingle_model_load_memory(r.get(), buffer->buf, static_cast<uint64_t>(buffer->len), o.get(), p,
                                       out.out(), err);
      },
      report, [] {}, [] {});
  return wrap(std::move(out), view);
}

// ---- A file that Python reads ----

struct Reader {
  py::object read_at;
  RaisedPtr raised;
};

int32_t read_in_python(uint64_t offset, void* out, uint64_t bytes, void* user) {
  const auto& reader = *static_cast<const Reader*>(user);
  return into_python(*reader.raised, [&] {
    const Bytes got(reader.read_at(offset, bytes));
    if (static_cast<uint64_t>(got.size) != bytes)
      throw std::invalid_argument("read_at gave " + std::to_string(got.size) + " bytes, expected " +
                                  std::to_string(bytes));
    std::memcpy(out, got.data, static_cast<size_t>(bytes));
  });
}

void close_reader(void* user) {
  const py::gil_scoped_acquire gil;
  delete static_cast<Reader*>(user);
}

Model load_reader(const Runtime& runtime, const py::object& read_at, uint64_t size, const std::string& name,
                  const py::dict& options, const py::object& report) {
  const auto r = runtime.slot.get();
  const auto o = make_options("model", options);
  const auto raised = std::make_shared<Raised>();
  auto kept = std::make_unique<Reader>(Reader{read_at, raised});
  ingle_reader reader = INGLE_READER_INIT;
  reader.size = size;
  reader.name = name.c_str();
  reader.read_at = read_in_python;
  reader.close = close_reader;
  reader.user = kept.get();
  Owned<ingle_model> out;
  try {
    call_long(
        [&](const ingle_progress* p, ingle_error** err) {
          return ingle_model_load_reader(r.get(), &reader, o.get(), p, out.out(), err);
        },
        report, [] {}, [] {});
  } catch (const py::error_already_set&) {
    raised->rethrow();
    throw;
  }
  (void)kept.release();  // the model's now
  return wrap(std::move(out));
}

Model scripted(const Runtime& runtime, const py::dict& script) {
  const auto r = runtime.slot.get();
  const auto o = make_options("script", script);
  Owned<ingle_model> out;
  call([&](ingle_error** err) { return ingle_model_scripted(r.get(), o.get(), out.out(), err); });
  return wrap(std::move(out));
}

Tokenizer model_tokenizer(const Model& model) {
  const auto m = model.slot.get();
  Owned<ingle_tokenizer> out;
  call([&](ingle_error** err) { return ingle_model_tokenizer(m.get(), out.out(), err); });
  Tokenizer tokenizer;
  tokenizer.slot.set(std::move(out));
  return tokenizer;
}

py::str apply_template(const Model& model, const std::string& json, bool add_generation_prompt) {
  const auto m = model.slot.get();
  return text(call_text([&](ingle_text** out, ingle_error** err) {
    return ingle_model_apply_chat_template_json(m.get(), json.data(), static_cast<int64_t>(json.size()),
                                                add_generation_prompt ? 1 : 0, out, err);
  }));
}

py::str chat_format(const Model& model) {
  const auto m = model.slot.get();
  return text(call_text(
      [&](ingle_text** out, ingle_error** err) { return ingle_model_chat_format(m.get(), out, err); }));
}

Tokenizer load_tokenizer(const std::string& path) {
  Owned<ingle_tokenizer> out;
  call([&](ingle_error** err) { return ingle_tokenizer_load(path.c_str(), out.out(), err); });
  Tokenizer tokenizer;
  tokenizer.slot.set(std::move(out));
  return tokenizer;
}

Ids encode(const Tokenizer& tokenizer, const py::object& what, bool parse_special, bool add_special) {
  const auto t = tokenizer.slot.get();
  const Bytes bytes(what);
  const int32_t flags = (parse_special ? INGLE_PARSE_SPECIAL : 0) | (add_special ? INGLE_ADD_SPECIAL : 0);
  Owned<ingle_tokens> out;
  call([&](ingle_error** err) {
    return ingle_tokenizer_encode(t.get(), bytes.data, bytes.size, flags, out.out(), err);
  });
  const int32_t* ids = ingle_tokens_data(out.get());
  return {ids, ids + ingle_tokens_length(out.get())};
}

py::bytes decode(const Tokenizer& tokenizer, const Ids& ids, bool skip_special) {
  const auto t = tokenizer.slot.get();
  return bytes(call_text([&](ingle_text** out, ingle_error** err) {
    return ingle_tokenizer_decode(t.get(), ids.data(), static_cast<int64_t>(ids.size()),
                                  skip_special ? INGLE_SKIP_SPECIAL : 0, out, err);
  }));
}

// A number that a function of the tokenizer gives, with further arguments.
template <class T, class F, class... More>
T ask(const Tokenizer& tokenizer, F f, More... more) {
  const auto t = tokenizer.slot.get();
  T out{};
  Error error;
  check(f(t.get(), more..., &out, error.out()), error);
  return out;
}

Grammar make_grammar(const std::string& kind, const std::string& source, const py::dict& options,
                     const py::object& report) {
  const auto o = make_options("grammar", options);
  Owned<ingle_grammar> out;
  call_long(
      [&](const ingle_progress* p, ingle_error** err) {
        return ingle_grammar_create(kind.c_str(), source.data(), static_cast<int64_t>(source.size()), o.get(),
                                    p, out.out(), err);
      },
      report, [] {}, [] {});
  Grammar grammar;
  grammar.slot.set(std::move(out));
  return grammar;
}

Grammar tool_grammar(const Model& model, const std::string& tools, const py::dict& options,
                     const py::object& report) {
  const auto m = model.slot.get();
  const auto o = make_options("grammar", options);
  Owned<ingle_grammar> out;
  call_long(
      [&](const ingle_progress* p, ingle_error** err) {
        return ingle_model_tool_grammar(m.get(), tools.data(), static_cast<int64_t>(tools.size()), o.get(), p,
                                        out.out(), err);
      },
      report, [] {}, [] {});
  Grammar grammar;
  grammar.slot.set(std::move(out));
  return grammar;
}

bool accepts(const Grammar& grammar, const std::string& text) {
  const auto g = grammar.slot.get();
  int32_t out = 0;
  call([&](ingle_error** err) {
    return ingle_grammar_accepts(g.get(), text.data(), static_cast<int64_t>(text.size()), &out, err);
  });
  return out != 0;
}

Sampler wrap(Owned<ingle_sampler> handle, RaisedPtr raised = std::make_shared<Raised>()) {
  Sampler sampler;
  sampler.raised = std::move(raised);
  sampler.slot.set(std::move(handle));
  return sampler;
}

Sampler make_sampler(const py::dict& options) {
  auto raised = std::make_shared<Raised>();
  const auto o = make_options("sampler", options, raised);
  Owned<ingle_sampler> out;
  call([&](ingle_error** err) { return ingle_sampler_create(o.get(), out.out(), err); });
  return wrap(std::move(out), std::move(raised));
}

// Any buffer of float32; other numbers are converted first.
int32_t sample(const Sampler& sampler, const py::object& logits) {
  const auto s = sampler.slot.get();
  py::object source = logits;
  if (!PyObject_CheckBuffer(source.ptr())) source = py::module_::import("array").attr("array")("f", source);
  const auto info = py::reinterpret_borrow<py::buffer>(source).request();
  if (info.ndim != 1 || info.itemsize != sizeof(float) || info.format != "f" ||
      (info.size > 1 && info.strides[0] != sizeof(float)))
    throw py::type_error("logits must be one row of float32");
  int32_t out = -1;
  Error error;
  ingle_code code;
  {
    const py::gil_scoped_release no_gil;
    code = ingle_sampler_sample(s.get(), static_cast<const float*>(info.ptr), info.size, &out, error.out());
  }
  sampler.raised->rethrow();
  check(code, error);
  return out;
}

void add_tokenizer(py::module_& m) {
  py::class_<Tokenizer>(m, "Tokenizer")
      .def(py::init(&load_tokenizer), py::arg("path"))
      .def("encode", &encode, py::arg("text"), py::arg("parse_special"), py::arg("add_special"))
      .def("decode", &decode, py::arg("ids"), py::arg("skip_special"))
      .def(
          "token_text",
          [](const Tokenizer& self, int32_t id) {
            const auto t = self.slot.get();
            return bytes(call_text([&](ingle_text** out, ingle_error** err) {
              return ingle_tokenizer_token_text(t.get(), id, out, err);
            }));
          },
          py::arg("id"))
      .def("size", [](const Tokenizer& self) { return ask<int64_t>(self, ingle_tokenizer_size); })
      .def("bos", [](const Tokenizer& self) { return ask<int32_t>(self, ingle_tokenizer_bos); })
      .def("eos", [](const Tokenizer& self) { return ask<int32_t>(self, ingle_tokenizer_eos); })
      .def(
          "ends_generation",
          [](const Tokenizer& self, int32_t id) {
            return ask<int32_t>(self, ingle_tokenizer_ends_generation, id) != 0;
          },
          py::arg("id"))
      .def(
          "is_control",
          [](const Tokenizer& self, int32_t id) {
            return ask<int32_t>(self, ingle_tokenizer_is_control, id) != 0;
          },
          py::arg("id"));
}

void add_grammar(py::module_& m) {
  py::class_<Grammar>(m, "Grammar")
      .def(py::init(&make_grammar), py::arg("kind"), py::arg("source"), py::arg("options"),
           py::arg("progress"))
      .def("accepts", &accepts, py::arg("text"));
}

void add_sampler(py::module_& m) {
  py::class_<Sampler>(m, "Sampler")
      .def(py::init(&make_sampler), py::arg("options"))
      .def_static("greedy",
                  [] {
                    Owned<ingle_sampler> out;
                    call([&](ingle_error** err) { return ingle_sampler_greedy(out.out(), err); });
                    return wrap(std::move(out));
                  })
      .def("copy",
           [](const Sampler& self) {
             const auto s = self.slot.get();
             Owned<ingle_sampler> out;
             call([&](ingle_error** err) { return ingle_sampler_clone(s.get(), out.out(), err); });
             return wrap(std::move(out), self.raised);
           })
      .def("sample", &sample, py::arg("logits"))
      .def(
          "accept",
          [](const Sampler& self, int32_t id) {
            const auto s = self.slot.get();
            call([&](ingle_error** err) { return ingle_sampler_accept(s.get(), id, err); });
          },
          py::arg("id"))
      .def("describe", [](const Sampler& self) {
        const auto s = self.slot.get();
        return text(call_text(
            [&](ingle_text** out, ingle_error** err) { return ingle_sampler_describe(s.get(), out, err); }));
      });
}

}  // namespace

void add_models(py::module_& m) {
  py::class_<Runtime>(m, "Runtime")
      .def(py::init(&make_runtime), py::arg("options"))
      .def(
          "doctor",
          [](const Runtime& self, bool self_test) {
            const auto r = self.slot.get();
            return text(call_text([&](ingle_text** out, ingle_error** err) {
              return ingle_runtime_doctor(r.get(), self_test ? 1 : 0, out, err);
            }));
          },
          py::arg("self_test"))
      .def("close", [](Runtime& self) { self.slot.close(); })
      .def("closed", [](const Runtime& self) { return self.slot.closed(); });
  add_tokenizer(m);
  add_grammar(m);
  add_sampler(m);
  py::class_<Model>(m, "Model")
      .def_static("load", &load, py::arg("runtime"), py::arg("path"), py::arg("options"), py::arg("progress"))
      .def_static("load_memory", &load_memory, py::arg("runtime"), py::arg("data"), py::arg("options"),
                  py::arg("progress"))
      .def_static("load_reader", &load_reader, py::arg("runtime"), py::arg("read_at"), py::arg("size"),
                  py::arg("name"), py::arg("options"), py::arg("progress"))
      .def_static("scripted", &scripted, py::arg("runtime"), py::arg("script"))
      .def("info",
           [](const Model& self) {
             const auto h = self.slot.get();
             return text(call_text(
                 [&](ingle_text** out, ingle_error** err) { return ingle_model_info(h.get(), out, err); }));
           })
      .def("chat_template",
           [](const Model& self) {
             const auto h = self.slot.get();
             return text(call_text([&](ingle_text** out, ingle_error** err) {
               return ingle_model_chat_template(h.get(), out, err);
             }));
           })
      .def("chat_format", &chat_format)
      .def("tool_grammar", &tool_grammar, py::arg("tools"), py::arg("options"), py::arg("progress"))
      .def("apply_chat_template", &apply_template, py::arg("messages_json"), py::arg("add_generation_prompt"))
      .def("tokenizer", &model_tokenizer)
      .def("close", [](Model& self) { self.slot.close(); })
      .def("closed", [](const Model& self) { return self.slot.closed(); });
}

}  // namespace ingle_python
