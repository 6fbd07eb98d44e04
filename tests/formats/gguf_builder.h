// GGUF files built by hand, so that a test can break one thing of them.
#pragma once
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace ingle::formats::test {

template <class T>
std::string le(T value) {
  std::string out(sizeof(T), '\0');
  std::memcpy(out.data(), &value, sizeof(T));
  return out;
}
inline std::string gguf_string(const std::string& text) { return le<uint64_t>(text.size()) + text; }

struct GgufFile {
  struct Key {
    std::string name;
    uint32_t type;
    std::string payload;
  };
  struct Tensor {
    std::string name;
    std::vector<uint64_t> ne;  // fastest first
    uint32_t type;
    uint64_t offset;
  };
  std::string magic = "GGUF";
  uint32_t version = 3;
  int64_t extra_tensors = 0, extra_keys = 0;  // added to the counts only
  std::vector<Key> keys;
  std::vector<Tensor> tensors;
  uint64_t alignment = 32;
  std::string data;

  std::string header() const {
    std::string out = magic + le(version) +
                      le<uint64_t>(tensors.size() + static_cast<uint64_t>(extra_tensors)) +
                      le<uint64_t>(keys.size() + static_cast<uint64_t>(extra_keys));
    for (const Key& key : keys) out += gguf_string(key.name) + le(key.type) + key.payload;
    for (const Tensor& tensor : tensors) {
      out += gguf_string(tensor.name) + le(static_cast<uint32_t>(tensor.ne.size()));
      for (const uint64_t n : tensor.ne) out += le(n);
      out += le(tensor.type) + le(tensor.offset);
    }
    return out;
  }
  std::string bytes() const {
    std::string out = header();
    if (alignment) out.resize((out.size() + alignment - 1) / alignment * alignment, '\0');
    return out + data;
  }
  void set_u32(const std::string& name, uint32_t value) { keys.push_back({name, 4, le(value)}); }
};

// Two keys; f32 [64] at 0 (256 bytes), q8_0 [2, 64] at 256 (136 bytes), f16 [3, 2, 4] at 416 (48 bytes).
inline GgufFile small_gguf() {
  GgufFile file;
  file.keys.push_back({"general.architecture", 8, gguf_string("llama")});
  file.set_u32("llama.block_count", 2);
  file.tensors = {
      {"norm.weight", {64}, 0, 0}, {"proj.weight", {64, 2}, 8, 256}, {"cube.weight", {4, 2, 3}, 1, 416}};
  file.data.resize(416 + 48);
  for (size_t i = 0; i < file.data.size(); ++i) file.data[i] = static_cast<char>(i * 7);
  return file;
}

}  // namespace ingle::formats::test
