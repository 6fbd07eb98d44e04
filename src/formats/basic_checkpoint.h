// The checkpoint that every reader of this room ends in: parsed tables over one or more sources.
#pragma once
#include <utility>

#include "formats/checkpoint.h"
#include "formats/names.h"

namespace ingle::formats {

using MetaList = std::vector<std::pair<std::string, MetaValue>>;

class BasicCheckpoint final : public Checkpoint {
 public:
  // The extents have been checked against the sources. `folder`, where it is not empty, names the checkpoint
  // and holds its companions. Throws Code::corrupt when a tensor or key appears twice.
  BasicCheckpoint(Naming naming, std::vector<ByteSourcePtr> sources, std::vector<TensorInfo> tensors,
                  MetaList meta, std::string folder = {});
  BasicCheckpoint(const BasicCheckpoint&) = delete;
  BasicCheckpoint& operator=(const BasicCheckpoint&) = delete;

  const std::string& name() const override { return folder_.empty() ? sources_.front()->name() : folder_; }
  Naming naming() const override { return naming_; }
  std::span<const TensorInfo> tensors() const override { return tensors_; }
  const TensorInfo* find(std::string_view tensor) const override;
  const MetaValue* meta(std::string_view key) const override;
  std::vector<std::string> meta_keys() const override;
  TensorView view(const TensorInfo& tensor, std::vector<std::byte>& scratch) const override;
  void read(const TensorInfo& tensor, uint64_t offset, std::span<std::byte> out) const override;
  void forget(const TensorInfo& tensor) const override;
  ByteSourcePtr companion(const std::string& file) const override;
  std::vector<std::string> files() const override;
  std::vector<FileStamp> stamps() const override;

 private:
  const ByteSource& source_of(const TensorInfo& tensor) const;

  Naming naming_;
  std::vector<ByteSourcePtr> sources_;
  std::vector<TensorInfo> tensors_;
  MetaList meta_;
  std::string folder_;
  NameIndex tensor_index_, meta_index_;  // point into the two lists above
};

// Throws Code::corrupt when two tensors of one source share a byte. `tensors` may be in any order.
void check_no_overlap(const ByteSource& source, std::span<const TensorInfo> tensors);

}  // namespace ingle::formats
