// Every container of weights looks the same from here: named tensors, their bytes, and metadata. Nothing is
// decoded.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/file.h"
#include "core/tensor.h"

namespace ingle::formats {

// A metadata value. Arrays are homogeneous; nested arrays do not exist.
using MetaArray = std::variant<std::vector<int64_t>, std::vector<uint64_t>, std::vector<double>,
                               std::vector<bool>, std::vector<std::string>>;
using MetaValue = std::variant<bool, int64_t, uint64_t, double, std::string, MetaArray>;

struct TensorInfo {
  std::string name;
  DType type = DType::f32;
  Shape shape;  // row-major, outermost first: [out, in]
  uint64_t bytes = 0;
  uint64_t offset = 0;  // absolute in its source
  uint32_t source = 0;  // which file of a split checkpoint
};

enum class Naming {
  gguf,
  hugging_face
};  // which family of tensor names and metadata keys the container uses

class Checkpoint {
 public:
  virtual ~Checkpoint() = default;
  virtual const std::string& name() const = 0;  // the path, for error messages
  virtual Naming naming() const = 0;
  virtual std::span<const TensorInfo> tensors() const = 0;
  virtual const TensorInfo* find(std::string_view tensor) const = 0;
  virtual const MetaValue* meta(std::string_view key) const = 0;  // null when the key is absent
  virtual std::vector<std::string> meta_keys() const = 0;         // in file order

  // The tensor's bytes: a view of the mapping, or of `scratch` after reading into it.
  virtual TensorView view(const TensorInfo& tensor, std::vector<std::byte>& scratch) const = 0;
  // A part of those bytes alone, from `offset` of the tensor on, which must lie inside it.
  virtual void read(const TensorInfo& tensor, uint64_t offset, std::span<std::byte> out) const;
  // A hint that the tensor's pages are not needed again.
  virtual void forget(const TensorInfo& tensor) const = 0;
  // Another file that came with the weights ("tokenizer.json"), by its plain name; null when there is none.
  virtual ByteSourcePtr companion(const std::string& /*file*/) const { return nullptr; }
  // The files that hold the tensors, in order: their paths, or what else their sources are called.
  virtual std::vector<std::string> files() const { return {name()}; }

  // Of those files, in the same order; empty unless each is a mapped file.
  virtual std::vector<FileStamp> stamps() const { return {}; }

  // Typed look-ups. `find_*` give null or nothing when the key is absent and throw Code::corrupt, naming the
  // key, when the value has another type (integers of any width convert when they fit); `need_*` throw when
  // it is absent too.
  std::optional<int64_t> find_int(std::string_view key) const;
  std::optional<double> find_float(std::string_view key) const;  // integers convert
  std::optional<bool> find_bool(std::string_view key) const;
  const std::string* find_string(std::string_view key) const;
  const std::vector<std::string>* find_strings(std::string_view key) const;
  std::optional<std::vector<int64_t>> find_ints(std::string_view key) const;
  std::optional<std::vector<double>> find_floats(std::string_view key) const;
  int64_t need_int(std::string_view key) const;
  double need_float(std::string_view key) const;
  const std::string& need_string(std::string_view key) const;
};
using CheckpointPtr = std::shared_ptr<const Checkpoint>;

}  // namespace ingle::formats
