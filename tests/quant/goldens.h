// Golden weights in tests/data/quant: packed blocks and what the reference decodes them to.
#pragma once
#include <string>
#include <vector>

#include "formats/safetensors.h"
#include "quant/weight.h"

namespace ingle::quant {

class Golden {
 public:
  explicit Golden(const std::string& name)
      : checkpoint_(formats::open_safetensors(
            std::string(INGLE_TEST_DATA) + "/quant/" + name + ".safetensors", dtype_table())) {}
  template <class T>
  std::vector<T> values(const std::string& tensor, Shape* shape = nullptr) const {
    std::vector<std::byte> scratch;
    const formats::TensorInfo* info = checkpoint_->find(tensor);
    if (!info) throw std::runtime_error("golden lacks " + tensor);
    const TensorView view = checkpoint_->view(*info, scratch);
    std::vector<T> out(view.bytes / sizeof(T));
    std::copy_n(view.data, out.size() * sizeof(T), reinterpret_cast<std::byte*>(out.data()));
    if (shape) *shape = view.shape;
    return out;
  }

 private:
  formats::CheckpointPtr checkpoint_;
};

// Rows of k values over bytes that the caller keeps.
template <class Byte>
QuantWeight rows_over(const QuantFormat& f, const std::vector<Byte>& bytes, int64_t k) {
  const int64_t row_bytes = k / f.dtype.block_elems * f.dtype.block_bytes;
  const int64_t rows = static_cast<int64_t>(bytes.size()) / row_bytes;
  TensorView view{f.dtype.type,
                  {rows, k},
                  reinterpret_cast<const std::byte*>(bytes.data()),
                  static_cast<uint64_t>(rows * row_bytes)};
  return block_weight(view, "test");
}

// Deterministic numbers for the tests: a 64-bit mixer (splitmix64's constants).
class Numbers {
 public:
  explicit Numbers(uint64_t seed) : state_(seed) {}
  uint64_t bits() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  }
  float uniform() { return static_cast<float>(bits() >> 40) * 0x1p-24f; }
  float bell() { return uniform() + uniform() + uniform() + uniform() - 2; }  // close to normal, sigma 0.58

 private:
  uint64_t state_;
};

}  // namespace ingle::quant
