#include "formats/folder.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "core/error.h"
#include "formats/basic_checkpoint.h"
#include "formats/gguf.h"
#include "formats/json_flat.h"
#include "formats/safetensors.h"
#include "formats/text_part.h"

namespace ingle::formats {
namespace {

constexpr uint64_t kMaxConfigBytes = 16 << 20, kMaxIndexBytes = 256 << 20;
constexpr const char* kSingle = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";
constexpr std::string_view kWeightMap = "weight_map.";

// A file's name and nothing else: no folder before it, no way out of this one.
bool is_plain_name(std::string_view name) {
  return !name.empty() && name.front() != '.' && name.find_first_of("/\\") == name.npos &&
         name.find('\0') == name.npos;
}

bool is_file(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error);  // follows links: hub caches are made of them
}

class Folder {
 public:
  Folder(const std::string& path, const DTypeTable& types, const FolderOptions& options)
      : path_(path), types_(types), options_(options) {}

  CheckpointPtr open() {
    if (!is_plain_name(options_.config))
      fail(Code::invalid_argument, path_, format("{} is not a file's name", quote(options_.config)));
    if (!is_file(at(options_.config)))
      fail(Code::not_found, path_, format("the folder has no {}", options_.config),
           "a model's folder holds config.json and safetensors files");
    MetaList meta = flatten_json(*open_plain(at(options_.config)), kMaxConfigBytes);
    if (is_file(at("generation_config.json")))
      std::ranges::move(
          flatten_json(*open_plain(at("generation_config.json")), kMaxConfigBytes, "generation_config."),
          std::back_inserter(meta));
    if (is_file(at(kSingle)))
      add_shard(kSingle);
    else if (is_file(at(kIndex)))
      add_listed();
    take_text_part(meta, tensors_);
    return std::make_shared<BasicCheckpoint>(Naming::hugging_face, std::move(sources_), std::move(tensors_),
                                             std::move(meta), path_);
  }

 private:
  std::string at(const std::string& name) const { return path_ + "/" + name; }

  void add_shard(const std::string& name) {
    sources_.push_back(options_.map ? open_mapped(at(name)) : open_plain(at(name)));
    const CheckpointPtr shard = open_safetensors(sources_.back(), types_);
    for (TensorInfo t : shard->tensors()) {
      t.source = static_cast<uint32_t>(sources_.size() - 1);
      tensors_.push_back(std::move(t));
    }
  }

  // The shards of the index, each tensor in the shard that the index says.
  void add_listed() {
    std::map<std::string, std::vector<std::string>> listed;  // tensors by shard
    for (auto& [key, value] : flatten_json(*open_plain(at(kIndex)), kMaxIndexBytes)) {
      if (!key.starts_with(kWeightMap)) continue;
      const std::string tensor = key.substr(kWeightMap.size());
      const std::string where = at(kIndex) + ", tensor " + quote(tensor);
      const auto* file = std::get_if<std::string>(&value);
      if (!file || !is_plain_name(*file))
        fail(Code::corrupt, where,
             format("its file is {}, expected a file's name", file ? quote(*file) : "no string"));
      listed[*file].push_back(tensor);
    }
    if (listed.empty()) fail(Code::corrupt, at(kIndex), "its weight_map lists no tensors");
    for (const auto& [shard, names] : listed) {
      if (!is_file(at(shard)))
        fail(Code::not_found, at(kIndex),
             format("the shard {} is missing; it holds {} and {} more tensors", quote(shard),
                    quote(names.front()), names.size() - 1),
             "the download is incomplete");
      const size_t first = tensors_.size();
      add_shard(shard);
      check_shard(shard, names, std::span(tensors_).subspan(first));
    }
  }

  void check_shard(const std::string& shard, const std::vector<std::string>& names,
                   std::span<const TensorInfo> held) const {
    NameIndex index;
    for (size_t i = 0; i < held.size(); ++i) index.add(held[i].name, i);
    index.sort();
    for (const std::string& name : names)
      if (!index.find(name))
        fail(Code::corrupt, at(shard),
             format("has no tensor {}, which {} places there", quote(name), kIndex));
    if (held.size() == names.size()) return;
    const std::vector<std::string> sorted = [&] {
      std::vector<std::string> s = names;
      std::ranges::sort(s);
      return s;
    }();
    for (const TensorInfo& t : held)
      if (!std::ranges::binary_search(sorted, t.name))
        fail(Code::corrupt, at(shard),
             format("holds tensor {}, which {} does not place there", quote(t.name), kIndex));
  }

  const std::string& path_;
  const DTypeTable& types_;
  const FolderOptions& options_;
  std::vector<ByteSourcePtr> sources_;
  std::vector<TensorInfo> tensors_;
};

}  // namespace

CheckpointPtr open_folder(const std::string& path, const DTypeTable& types, const FolderOptions& options) {
  std::string folder = path;
  while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
  return Folder(folder, types, options).open();
}

CheckpointPtr open_checkpoint(const std::string& path, const DTypeTable& types, bool map) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return open_folder(path, types, {.map = map});
  return open_gguf(path, types, map);
}

}  // namespace ingle::formats
