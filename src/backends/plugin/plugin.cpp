#include "backends/plugin/plugin.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "core/error.h"

namespace ingle::backends {
namespace {

constexpr const char* kTypeNames[] = {"f32", "f16", "bf16"};
constexpr size_t kLongestName = 32, kLongestAbout = 200;

ingle_backend_error no_error() {
  ingle_backend_error error{};
  error.struct_size = sizeof error;
  return error;
}

// Whatever a plug-in left there, as text for a message.
std::string said(const ingle_backend_error& error) {
  const char* end = static_cast<const char*>(std::memchr(error.message, 0, sizeof error.message));
  const std::string text(error.message, end ? end : error.message + sizeof error.message);
  return text.empty() ? "it did not say why" : text;
}

[[noreturn]] void refuse(int32_t code, std::string where, const ingle_backend_error& error) {
  if (code == INGLE_BACKEND_OUT_OF_MEMORY) fail(Code::out_of_memory, std::move(where), said(error));
  if (code == INGLE_BACKEND_UNSUPPORTED)
    fail(Code::unsupported, std::move(where), "the plug-in refuses: " + said(error));
  fail(Code::io, std::move(where), "the plug-in failed: " + said(error));
}

// A table's text, bounded, since it is not ours.
std::string bounded(const char* text, size_t longest) {
  return text ? std::string(text, strnlen(text, longest)) : std::string();
}

bool is_word(const std::string& name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

const ingle_backend* open_table(const std::string& path) {
  std::error_code none;
  if (!std::filesystem::is_regular_file(path, none))
    fail(Code::not_found, path, "there is no such file, expected a backend plug-in (a shared library)");
  // Never unloaded: libraries below a plug-in start threads that would be left without their code.
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!library) {
    const char* why = dlerror();
    fail(Code::unsupported, path,
         format("the library cannot be loaded: {}", why ? why : "the loader did not say why"));
  }
  const auto entry = reinterpret_cast<ingle_backend_entry_fn>(dlsym(library, "ingle_backend_entry"));
  if (!entry) fail(Code::unsupported, path, "exports no ingle_backend_entry, so it is no plug-in of Ingle");
  const ingle_backend* table = entry(INGLE_BACKEND_VERSION);
  const char* hint = "build the plug-in against this Ingle's ingle/backend.h";
  if (!table)
    fail(Code::unsupported, path,
         format("the plug-in does not speak version {} of backend.h", INGLE_BACKEND_VERSION), hint);
  if (table->version != INGLE_BACKEND_VERSION)
    fail(Code::unsupported, path,
         format("the plug-in has version {} of backend.h, expected exactly {}", table->version,
                INGLE_BACKEND_VERSION),
         hint);
  if (table->struct_size != sizeof(ingle_backend))
    fail(Code::unsupported, path,
         format("the plug-in's table has {} bytes, expected {}", table->struct_size, sizeof(ingle_backend)),
         hint);
  return table;
}

void check_table(const ingle_backend& t, const std::string& path) {
  if (!is_word(bounded(t.name, kLongestName)))
    fail(Code::unsupported, path, "the plug-in's name is no word of a-z, 0-9 and _");
  if (!t.create || !t.destroy || !t.prepare || !t.release || !t.multiply)
    fail(Code::unsupported, path, "the plug-in's table lacks create, destroy, prepare, release or multiply");
  if (!t.takes_op != !t.run_rows)
    fail(Code::unsupported, path, "the plug-in has one of takes_op and run_rows, expected both or neither");
  if (!(t.matrix_types & 1u << INGLE_BACKEND_F32))
    fail(Code::unsupported, path, "the plug-in takes no f32 matrices, which every plug-in has to");
}

int64_t no_scratch(int64_t, int64_t) { return 64; }

}  // namespace

std::shared_ptr<Plugin> Plugin::load(const std::string& path, int threads, LogSink log) {
  const ingle_backend* table = open_table(path);
  check_table(*table, path);
  std::shared_ptr<Plugin> p(new Plugin(table, std::move(log)));
  p->name_ = bounded(table->name, kLongestName);
  p->about_ = bounded(table->about, kLongestAbout);
  for (int32_t type = 0; type < 3; ++type) {
    p->row_names_[type] = p->name_ + "_" + kTypeNames[type];
    p->rows_[type] = {p->row_names_[type].c_str(), "plug-in", kTypeNames[type], 0, kernels::kActF32,
                      &Plugin::multiply,           no_scratch};
  }
  p->host_ = {sizeof(ingle_backend_host), threads};
  ingle_backend_error error = no_error();
  if (const int32_t code = table->create(&p->host_, &p->self_, &error)) {
    p->self_ = nullptr;
    refuse(code, path, error);
  }
  return p;
}

Plugin::~Plugin() {
  if (self_) table_->destroy(self_);
}

Plugin::Weight::~Weight() {
  if (handle_) plugin_->table_->release(plugin_->self_, handle_);
}

int32_t Plugin::matrix_type(const quant::QuantFormat& format) const {
  for (int32_t type = 0; type < 3; ++type)
    if (format.name == kTypeNames[type] && (table_->matrix_types >> type & 1u)) return type;
  return INGLE_BACKEND_F32;
}

bool Plugin::takes(const ingle_backend_op& op) const {
  return has_row_ops() && table_->takes_op(self_, &op) != 0;
}

std::unique_ptr<Plugin::Weight> Plugin::prepare(const ingle_backend_matrix& matrix,
                                                const std::string& where) const {
  auto w = std::make_unique<Weight>();
  w->plugin_ = this;
  ingle_backend_error error = no_error();
  if (const int32_t code = table_->prepare(self_, &matrix, &w->handle_, &w->bytes_, &error)) {
    w->handle_ = nullptr;
    refuse(code, where, error);
  }
  return w;
}

void Plugin::failed(const char* what, int32_t code, const ingle_backend_error& error,
                    std::byte* scratch) const noexcept {
  std::memcpy(scratch, &code, sizeof code);
  try {
    if (log_) log_(LogLevel::error, format("backend {}: {} failed: {}", name_, what, said(error)));
  } catch (...) {  // a log that fails loses a line
  }
}

void Plugin::run_rows(const ingle_backend_op& op, const ingle_backend_rows& rows,
                      std::byte* scratch) const noexcept {
  ingle_backend_error error = no_error();
  if (const int32_t code = table_->run_rows(self_, &op, &rows, &error))
    failed("run_rows", code, error, scratch);
}

void Plugin::multiply(const kernels::MatmulArgs* args) {
  const void* held = nullptr;
  std::memcpy(&held, args->w, sizeof held);
  const auto* w = static_cast<const Weight*>(held);
  const Plugin& p = *w->plugin_;
  const int64_t first = args->group0 * kernels::kGroupRows,
                end = std::min(args->n, args->group1 * kernels::kGroupRows);
  if (first >= end || args->x.m == 0) return;
  const ingle_backend_product product{sizeof product, args->accumulate, args->x.m, first,    end - first,
                                      args->x.f,      args->x.ldf,      args->y,   args->ldy};
  ingle_backend_error error = no_error();
  if (const int32_t code = p.table_->multiply(p.self_, w->handle_, &product, &error))
    return p.failed("multiply", code, error, reinterpret_cast<std::byte*>(args->scratch));
  if (!args->bias) return;
  for (int64_t t = 0; t < args->x.m; ++t)
    for (int64_t r = first; r < end; ++r) args->y[t * args->ldy + r] += args->bias[r];
}

}  // namespace ingle::backends
