#include "formats/basic_checkpoint.h"

#include <algorithm>
#include <filesystem>

#include "core/checked_math.h"
#include "core/error.h"

namespace ingle::formats {

BasicCheckpoint::BasicCheckpoint(Naming naming, std::vector<ByteSourcePtr> sources,
                                 std::vector<TensorInfo> tensors, MetaList meta, std::string folder)
    : naming_(naming),
      sources_(std::move(sources)),
      tensors_(std::move(tensors)),
      meta_(std::move(meta)),
      folder_(std::move(folder)) {
  for (size_t i = 0; i < tensors_.size(); ++i) tensor_index_.add(tensors_[i].name, i);
  for (size_t i = 0; i < meta_.size(); ++i) meta_index_.add(meta_[i].first, i);
  tensor_index_.sort();
  meta_index_.sort();
  if (const auto twice = tensor_index_.duplicate()) {
    const TensorInfo &first = tensors_[twice->first], &second = tensors_[twice->second];
    fail(Code::corrupt, format("{}, tensor {}", source_of(second).name(), quote(second.name)),
         format("the name appears twice: at offset {} of {} and at offset {} here", first.offset,
                source_of(first).name(), second.offset));
  }
  if (const auto twice = meta_index_.duplicate()) {
    fail(Code::corrupt, format("{}, key {}", name(), quote(meta_[twice->first].first)),
         format("the key appears twice: as entries {} and {}", twice->first, twice->second));
  }
}

const TensorInfo* BasicCheckpoint::find(std::string_view tensor) const {
  const auto i = tensor_index_.find(tensor);
  return i ? &tensors_[*i] : nullptr;
}

const MetaValue* BasicCheckpoint::meta(std::string_view key) const {
  const auto i = meta_index_.find(key);
  return i ? &meta_[*i].second : nullptr;
}

std::vector<std::string> BasicCheckpoint::meta_keys() const {
  std::vector<std::string> keys;
  keys.reserve(meta_.size());
  for (const auto& [key, value] : meta_) keys.push_back(key);
  return keys;
}

const ByteSource& BasicCheckpoint::source_of(const TensorInfo& tensor) const {
  if (tensor.source >= sources_.size()) {
    fail(Code::invalid_argument, format("{}, tensor {}", name(), quote(tensor.name)),
         format("source {} does not exist, the checkpoint has {}", tensor.source, sources_.size()));
  }
  return *sources_[tensor.source];
}

TensorView BasicCheckpoint::view(const TensorInfo& tensor, std::vector<std::byte>& scratch) const {
  const ByteSource& source = source_of(tensor);
  const auto end = checked_add(tensor.offset, tensor.bytes);
  if (!end || *end > source.size()) {  // cannot happen to a TensorInfo of this checkpoint
    fail(Code::invalid_argument, format("{}, tensor {}", source.name(), quote(tensor.name)),
         format("bytes {} + {} lie outside the {} bytes of the file", tensor.offset, tensor.bytes,
                source.size()));
  }
  if (const std::byte* all = source.mapped()) {
    return {tensor.type, tensor.shape, all + tensor.offset, tensor.bytes};
  }
  scratch.resize(tensor.bytes);
  if (tensor.bytes != 0) source.read(tensor.offset, scratch);
  return {tensor.type, tensor.shape, scratch.data(), tensor.bytes};
}

void BasicCheckpoint::read(const TensorInfo& tensor, uint64_t offset, std::span<std::byte> out) const {
  const ByteSource& source = source_of(tensor);
  const auto at = checked_add(tensor.offset, offset);
  if (!at || offset > tensor.bytes || out.size() > tensor.bytes - offset)
    fail(Code::invalid_argument, format("{}, tensor {}", source.name(), quote(tensor.name)),
         format("bytes {} + {} lie outside its {}", offset, out.size(), tensor.bytes));
  if (!out.empty()) source.read(*at, out);
}

void BasicCheckpoint::forget(const TensorInfo& tensor) const {
  source_of(tensor).forget(tensor.offset, tensor.bytes);
}

std::vector<std::string> BasicCheckpoint::files() const {
  std::vector<std::string> out;
  for (const ByteSourcePtr& source : sources_) out.push_back(source->name());
  return out;
}

std::vector<FileStamp> BasicCheckpoint::stamps() const {
  std::vector<FileStamp> out;
  for (const ByteSourcePtr& source : sources_) {
    const std::optional<FileStamp> stamp = source->stamp();
    if (!stamp) return {};
    out.push_back(*stamp);
  }
  return out;
}

ByteSourcePtr BasicCheckpoint::companion(const std::string& file) const {
  if (folder_.empty()) return nullptr;
  if (file.empty() || file.front() == '.' || file.find_first_of("/\\") != file.npos)
    fail(Code::invalid_argument, folder_, format("{} is not a file's name", quote(file)));
  std::error_code error;
  const std::string path = folder_ + "/" + file;
  return std::filesystem::is_regular_file(path, error) ? open_plain(path) : nullptr;
}

void check_no_overlap(const ByteSource& source, std::span<const TensorInfo> tensors) {
  std::vector<const TensorInfo*> order;
  order.reserve(tensors.size());
  for (const TensorInfo& tensor : tensors) order.push_back(&tensor);
  std::sort(order.begin(), order.end(), [](const TensorInfo* a, const TensorInfo* b) {
    return std::pair(a->offset, a->bytes) < std::pair(b->offset, b->bytes);
  });
  for (size_t i = 1; i < order.size(); ++i) {
    const TensorInfo &before = *order[i - 1], &after = *order[i];
    if (before.offset + before.bytes <= after.offset) continue;
    fail(Code::corrupt, format("{}, tensor {}", source.name(), quote(after.name)),
         format("starts at offset {}, inside tensor {} (offset {}, {} bytes)", after.offset,
                quote(before.name), before.offset, before.bytes));
  }
}

}  // namespace ingle::formats
