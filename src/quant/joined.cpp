#include "quant/joined.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <unordered_map>

#include "core/checked_math.h"
#include "core/error.h"
#include "quant/blocks.h"
#include "quant/weight.h"

namespace ingle::quant {
namespace {

using formats::Checkpoint;
using formats::TensorInfo;

constexpr int64_t kUsualBlock = 128;
constexpr uint64_t kBlockBytes = sizeof(BlockMXFP4), kBlockElems = 32;

std::vector<float> decode(const Checkpoint& file, const TensorInfo& tensor) {
  std::vector<std::byte> scratch;
  const QuantWeight w = block_weight(file.view(tensor, scratch), tensor.name);
  std::vector<float> out(static_cast<size_t>(tensor.shape.elements()));
  w.format->decode_rows(w, 0, tensor.shape.rows(), out.data());
  return out;
}

// The scales of a matrix [rows, cols]: one for each block of block_rows x block_cols.
struct Grid {
  int64_t block_rows = 0, block_cols = 0, across = 0;
};

class Joined final : public Checkpoint {
 public:
  explicit Joined(formats::CheckpointPtr file) : file_(std::move(file)) {
    for (const TensorInfo& t : file_->tensors())
      if (!join_fp8(t) && !join_mxfp4(t)) plain_.push_back(&t);
    std::erase_if(plain_, [&](const TensorInfo* t) { return taken_.contains(t->name); });
    for (const TensorInfo* t : plain_) tensors_.push_back(*t);
    for (const auto& [name, parts] : joined_) tensors_.push_back(parts.whole);
    for (size_t i = 0; i < tensors_.size(); ++i) index_.emplace(tensors_[i].name, i);
    if (index_.size() != tensors_.size())
      fail(Code::corrupt, file_->name(), "holds a tensor both whole and as codes and scales");
  }
  bool empty() const { return joined_.empty(); }

  const std::string& name() const override { return file_->name(); }
  formats::Naming naming() const override { return file_->naming(); }
  std::span<const TensorInfo> tensors() const override { return tensors_; }
  const TensorInfo* find(std::string_view tensor) const override {
    const auto at = index_.find(std::string(tensor));
    return at == index_.end() ? nullptr : &tensors_[at->second];
  }
  const formats::MetaValue* meta(std::string_view key) const override { return file_->meta(key); }
  std::vector<std::string> meta_keys() const override { return file_->meta_keys(); }
  ByteSourcePtr companion(const std::string& file) const override { return file_->companion(file); }
  std::vector<std::string> files() const override { return file_->files(); }
  std::vector<FileStamp> stamps() const override { return file_->stamps(); }

  TensorView view(const TensorInfo& tensor, std::vector<std::byte>& scratch) const override {
    const auto parts = joined_.find(tensor.name);
    if (parts == joined_.end()) return file_->view(tensor, scratch);
    scratch.resize(parts->second.whole.bytes);
    if (parts->second.whole.type == DType::f32)
      decode_fp8(parts->second, scratch);
    else
      pack_mxfp4(parts->second, scratch);
    return {tensor.type, tensor.shape, scratch.data(), scratch.size()};
  }
  void forget(const TensorInfo& tensor) const override {
    const auto parts = joined_.find(tensor.name);
    if (parts == joined_.end()) return file_->forget(tensor);
    file_->forget(*parts->second.codes);
    file_->forget(*parts->second.scales);
  }

 private:
  struct Parts {
    TensorInfo whole;
    const TensorInfo *codes = nullptr, *scales = nullptr;
    Grid grid;
  };

  [[noreturn]] void does_not_fit(const TensorInfo& scales, const TensorInfo& codes) const {
    fail(Code::corrupt, file_->name() + ", tensor " + scales.name,
         format("has shape {}, which are no scales of {} with shape {}", scales.shape.text(), codes.name,
                codes.shape.text()));
  }

  bool join_fp8(const TensorInfo& codes) {
    if (codes.type != DType::f8_e4m3 && codes.type != DType::f8_e5m2) return false;
    const TensorInfo* scales = file_->find(codes.name + "_scale_inv");
    if (!scales) scales = file_->find(codes.name + "_scale");
    if (!scales) return false;
    taken_.insert(scales->name);
    for (const char* other : {".input_scale", ".activation_scale"})
      if (codes.name.ends_with(".weight")) taken_.insert(codes.name.substr(0, codes.name.size() - 7) + other);
    Parts p{codes, &codes, scales, grid_of(codes, *scales)};
    const auto bytes = checked_mul(static_cast<uint64_t>(codes.shape.elements()), sizeof(float));
    if (!bytes) does_not_fit(*scales, codes);
    p.whole.type = DType::f32;
    p.whole.bytes = *bytes;
    joined_.emplace(codes.name, std::move(p));
    return true;
  }

  Grid grid_of(const TensorInfo& codes, const TensorInfo& scales) const {
    const Shape &c = codes.shape, &s = scales.shape;
    if (c.rank() < 2) does_not_fit(scales, codes);
    const int64_t rows = c[c.rank() - 2], cols = c.back();
    if (s.elements() == 1 && c.rank() == 2) return {rows, cols, 1};
    if (s.rank() == c.rank() || (s.rank() == 1 && c.rank() == 2)) {
      const bool list = s.rank() == 1;
      const int64_t down = list ? s[0] : s[s.rank() - 2], across = list ? 1 : s.back();
      for (int i = 0; i + 2 < c.rank(); ++i)
        if (s[i] != c[i]) does_not_fit(scales, codes);
      if (across == 1 && down == rows) return {1, cols, 1};
      int64_t block_rows = kUsualBlock, block_cols = kUsualBlock;
      if (const auto given = file_->find_ints("quantization_config.weight_block_size");
          given && given->size() == 2)
        block_rows = (*given)[0], block_cols = (*given)[1];
      if (block_rows > 0 && block_cols > 0 && down == (rows - 1) / block_rows + 1 &&
          across == (cols - 1) / block_cols + 1)
        return {block_rows, block_cols, across};
    }
    does_not_fit(scales, codes);
  }

  void decode_fp8(const Parts& p, std::vector<std::byte>& out) const {
    const std::vector<float> scales = decode(*file_, *p.scales);
    std::vector<float> values = decode(*file_, *p.codes);
    const Shape& shape = p.codes->shape;
    const int64_t rows = shape[shape.rank() - 2], cols = shape.back(), all = shape.rows();
    const int64_t down = (rows - 1) / p.grid.block_rows + 1;
    for (int64_t r = 0; r < all; ++r) {
      const float* s = scales.data() + (r / rows * down + r % rows / p.grid.block_rows) * p.grid.across;
      float* row = values.data() + r * cols;
      for (int64_t c = 0; c < cols; ++c) row[c] *= s[c / p.grid.block_cols];
    }
    std::memcpy(out.data(), values.data(), out.size());
  }

  bool join_mxfp4(const TensorInfo& codes) {
    constexpr std::string_view kBlocks = "_blocks";
    if (codes.type != DType::u8 || !codes.name.ends_with(kBlocks)) return false;
    const std::string base = codes.name.substr(0, codes.name.size() - kBlocks.size());
    const TensorInfo* scales = file_->find(base + "_scales");
    if (!scales || scales->type != DType::u8) return false;
    const Shape &c = codes.shape, &s = scales->shape;
    bool fits = c.rank() == s.rank() + 1 && c.back() == kBlockElems / 2 && s.rank() >= 2;
    for (int i = 0; fits && i < s.rank(); ++i) fits = c[i] == s[i];
    const auto blocks = static_cast<uint64_t>(s.elements());
    const auto bytes = checked_mul(blocks, kBlockBytes);
    const auto cols = checked_mul(static_cast<uint64_t>(s.back()), kBlockElems);
    if (!fits || !bytes || !cols || *cols > static_cast<uint64_t>(INT64_MAX)) does_not_fit(*scales, codes);
    Parts p{codes, &codes, scales, {}};
    p.whole.name = base;
    p.whole.type = find_format("mxfp4")->dtype.type;
    p.whole.bytes = *bytes;
    p.whole.shape = {};
    for (int i = 0; i + 1 < s.rank(); ++i) p.whole.shape.push_back(s[i]);
    p.whole.shape.push_back(static_cast<int64_t>(*cols));
    taken_.insert(scales->name);
    joined_.emplace(base, std::move(p));
    return true;
  }

  // There byte i of a block holds values 2 i and 2 i + 1, in the blocks of this library values i and i + 16.
  void pack_mxfp4(const Parts& p, std::vector<std::byte>& out) const {
    std::vector<std::byte> a, b;
    const TensorView codes = file_->view(*p.codes, a), scales = file_->view(*p.scales, b);
    for (uint64_t i = 0; i < scales.bytes; ++i) {
      const std::byte* in = codes.data + i * (kBlockElems / 2);
      std::byte* block = out.data() + i * kBlockBytes;
      block[0] = scales.data[i];
      const auto value = [&](uint64_t j) { return j % 2 ? in[j / 2] >> 4 : in[j / 2] & std::byte{0x0F}; };
      for (uint64_t j = 0; j < kBlockElems / 2; ++j)
        block[1 + j] = value(j) | value(j + kBlockElems / 2) << 4;
    }
  }

  formats::CheckpointPtr file_;
  std::vector<const TensorInfo*> plain_;
  std::vector<TensorInfo> tensors_;
  std::map<std::string, Parts, std::less<>> joined_;
  std::set<std::string> taken_;
  std::unordered_map<std::string, size_t> index_;
};

}  // namespace

formats::CheckpointPtr join_scales(formats::CheckpointPtr file) {
  if (file->naming() != formats::Naming::hugging_face) return file;
  auto joined = std::make_shared<const Joined>(file);
  return joined->empty() ? file : joined;
}

}  // namespace ingle::quant
