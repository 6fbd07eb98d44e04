// A plug-in library (ingle/backend.h) behind the C++ that the cpu backend calls: its products take the place
// of our kernels, and its operations on rows that of our plain ops.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "core/log.h"
#include "ingle/backend.h"
#include "kernels/isa.h"
#include "kernels/matmul.h"

namespace ingle::backends {

// Loads, checks and starts libraries; one instance for each model that names it. Functions that run in a step
// do not throw: they log, and leave a code other than 0 at the start of the worker's scratch.
class Plugin {
 public:
  // Throws Code::not_found (no such file) or Code::unsupported (no plug-in, or of another version), Code::io
  // or Code::out_of_memory (it failed). The library stays in the process: what it started cannot be undone.
  static std::shared_ptr<Plugin> load(const std::string& path, int threads, LogSink log);
  ~Plugin();
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;

  std::string_view name() const { return name_; }
  std::string_view about() const { return about_; }
  // The form of a weight that it wants: the file's own for one of the types of backend.h, else f32.
  int32_t matrix_type(const quant::QuantFormat& format) const;
  bool has_row_ops() const { return table_->run_rows != nullptr; }
  bool takes(const ingle_backend_op& op) const;
  void run_rows(const ingle_backend_op& op, const ingle_backend_rows& rows,
                std::byte* scratch) const noexcept;

  // A weight inside the plug-in.
  class Weight {
   public:
    Weight() = default;
    Weight(Weight&& other) noexcept : plugin_(other.plugin_), handle_(other.handle_), bytes_(other.bytes_) {
      other.handle_ = nullptr;
    }
    Weight& operator=(Weight&&) = delete;
    ~Weight();
    uint64_t bytes() const { return bytes_; }

   private:
    friend class Plugin;
    const Plugin* plugin_ = nullptr;
    void* handle_ = nullptr;
    uint64_t bytes_ = 0;
  };
  // `where` names the op and the tensor. Throws Code::unsupported, out_of_memory or io in the plug-in's own
  // words.
  std::unique_ptr<Weight> prepare(const ingle_backend_matrix& matrix, const std::string& where) const;
  // The kernel that hands products to the plug-in; the packed data of its weights is a `const Weight*`.
  const kernels::MatmulRow& row(int32_t type) const { return rows_[type]; }

 private:
  Plugin(const ingle_backend* table, LogSink log) : table_(table), log_(std::move(log)) {}
  static void multiply(const kernels::MatmulArgs* args);
  void failed(const char* what, int32_t code, const ingle_backend_error& error,
              std::byte* scratch) const noexcept;

  const ingle_backend* table_;
  LogSink log_;
  ingle_backend_host host_{};
  void* self_ = nullptr;
  std::string name_, about_;
  std::string row_names_[3];
  kernels::MatmulRow rows_[3];
};

}  // namespace ingle::backends
