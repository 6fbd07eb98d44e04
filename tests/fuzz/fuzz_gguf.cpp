// Any bytes opened as GGUF, from memory and behind a reader: an Error or a checkpoint that can be read, and
// the same answer both ways.
#include <cstring>
#include <string>

#include "core/error.h"
#include "formats/gguf.h"

namespace {

using namespace ingle;

constexpr DTypeInfo kRows[] = {
    {DType::f32, "f32", 1, 4, 0, ""},
    {DType::f16, "f16", 1, 2, 1, ""},
    {DType::i8, "i8", 1, 1, 24, ""},
    {static_cast<DType>(256), "q4_0", 32, 18, 2, ""},
    {static_cast<DType>(257), "q8_0", 32, 34, 8, ""},
    {static_cast<DType>(258), "q4_k", 256, 144, 12, ""},
};

// The error's text, empty when it loaded.
std::string outcome(const ByteSourcePtr& source) {
  static constexpr DTypeTable kTypes{kRows};
  try {
    const formats::CheckpointPtr file = formats::open_gguf({source}, kTypes);
    std::vector<std::byte> scratch;
    unsigned sum = 0;
    for (const formats::TensorInfo& tensor : file->tensors()) {
      const TensorView view = file->view(tensor, scratch);
      for (uint64_t i = 0; i < view.bytes; ++i) sum += static_cast<unsigned>(view.data[i]);
      if (file->find(tensor.name) != &tensor) __builtin_trap();
    }
    for (const std::string& key : file->meta_keys()) {
      if (!file->meta(key)) __builtin_trap();
    }
    [[maybe_unused]] volatile unsigned seen = sum;  // keeps the reads above
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const std::string mapped = outcome(from_memory("fuzz", bytes));
  const std::string read = outcome(from_reader("fuzz", size, [&](uint64_t offset, std::span<std::byte> out) {
    std::memcpy(out.data(), bytes.data() + offset, out.size());
    return true;
  }));
  if (mapped != read) __builtin_trap();
  return 0;
}
