// GGUF in, GGUF out, matrices in another type.
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "api/impl.h"
#include "core/checked_math.h"
#include "core/error.h"
#include "formats/gguf.h"
#include "quant/weight.h"

namespace ingle {
namespace {

const quant::QuantFormat& need_encoder(const std::string& type) {
  const quant::QuantFormat* format_ = quant::find_format(std::string_view(type));
  if (format_ && format_->encode_row) return *format_;
  std::string known;
  for (const quant::QuantFormat* f : quant::all_formats())
    if (f->encode_row && f->dtype.ggml_id >= 0) known += (known.empty() ? "" : ", ") + std::string(f->name);
  fail(Code::invalid_argument, "option type",
       format("'{}' cannot be written; expected one of {}", type, known));
}

// What a matrix becomes: the wanted type, or where its rows do not divide into that type's blocks the 32-wide
// type of about the same size, or f16.
const quant::QuantFormat& fitting(const quant::QuantFormat& wanted, int64_t k) {
  if (k % wanted.dtype.block_elems == 0) return wanted;
  const char* fallback = wanted.bits_per_weight < 5 ? "q5_0" : wanted.bits_per_weight < 6 ? "q5_1" : "q8_0";
  const quant::QuantFormat* f = quant::find_format(std::string_view(k % 32 == 0 ? fallback : "f16"));
  return *f;
}

// Only matrices of at least two rows are rewritten; norms, biases and other vectors keep their bits.
bool is_matrix(const formats::TensorInfo& t) { return t.shape.rank() >= 2 && t.shape.rows() > 1; }

// Calls before(rows done) often enough that what it throws is soon thrown.
void encode_tensor(ThreadPool& pool, const quant::QuantWeight& from, const quant::QuantFormat& to,
                   std::vector<std::byte>& out, const std::function<void(int64_t)>& before) {
  constexpr int64_t kAtOnce = int64_t{1} << 20;  // values
  const int64_t rows = from.rows(), k = from.cols();
  const auto row_bytes = static_cast<size_t>(k / to.dtype.block_elems) * to.dtype.block_bytes;
  const size_t start = out.size();
  out.resize(start + static_cast<size_t>(rows) * row_bytes);
  const int64_t step = std::max<int64_t>(1, kAtOnce / k);
  for (int64_t done = 0; done < rows; done += step) {
    before(done);
    const int64_t end = std::min(done + step, rows);
    std::atomic<int64_t> next{done};
    pool.run([&](int) {
      std::vector<float> values(static_cast<size_t>(k));
      for (int64_t r; (r = next.fetch_add(1)) < end;) {
        from.format->decode_rows(from, r, 1, values.data());
        to.encode_row(values.data(), k, nullptr, out.data() + start + static_cast<size_t>(r) * row_bytes);
      }
    });
  }
}

// Also by another path or a link: the input may be mapped, and is the user's only copy.
void refuse_input_as_output(const std::string& from, const std::string& to) {
  std::error_code absent;
  if (from == to || std::filesystem::equivalent(from, to, absent))
    fail(Code::invalid_argument, to, "is the input itself, which is never touched");
}

}  // namespace

void quantize(const Runtime& runtime, const std::string& from, const std::string& to, const std::string& type,
              const std::function<bool(float)>& progress) {
  const quant::QuantFormat& wanted = need_encoder(type);
  refuse_input_as_output(from, to);  // before the input is read: it need not be a good file for that
  const formats::CheckpointPtr file = formats::open_gguf(from, quant::dtype_table());
  for (const std::string& part : file->files()) refuse_input_as_output(part, to);
  formats::GgufMeta meta;
  for (const std::string& key : file->meta_keys())
    if (!key.starts_with("split.") && key != "general.file_type" && key != "general.alignment")
      meta.emplace_back(key, formats::copy_of(*file->meta(key)));
  std::vector<formats::GgufTensor> tensors;
  std::vector<const quant::QuantFormat*> target;  // null: bytes as they are
  for (const formats::TensorInfo& t : file->tensors()) {
    const quant::QuantFormat* f = is_matrix(t) ? &fitting(wanted, t.shape.back()) : nullptr;
    if (f && f->dtype.type == t.type) f = nullptr;
    target.push_back(f);
    tensors.push_back({t.name, f ? f->dtype.type : t.type, t.shape});
  }
  const size_t n = tensors.size();
  formats::write_gguf(to, meta, tensors, quant::dtype_table(), [&](size_t i, std::vector<std::byte>& out) {
    const formats::TensorInfo& t = file->tensors()[i];
    const auto tell = [&](int64_t rows) {
      const float of_tensor =
          static_cast<float>(rows) / static_cast<float>(std::max<int64_t>(t.shape.rows(), 1));
      if (progress && !progress((static_cast<float>(i) + of_tensor) / static_cast<float>(n)))
        fail(Code::cancelled, to, "quantising was cancelled");
    };
    tell(0);
    std::vector<std::byte> scratch;
    const TensorView view = file->view(t, scratch);
    if (!target[i])
      out.insert(out.end(), view.data, view.data + view.bytes);
    else
      encode_tensor(*runtime.impl()->pool, quant::block_weight(view, t.name), *target[i], out, tell);
    file->forget(t);
  });
  if (progress) progress(1);
}

}  // namespace ingle
