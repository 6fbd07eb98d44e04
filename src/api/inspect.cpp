#include <type_traits>

#include "core/error.h"
#include "formats/folder.h"
#include "ingle/model.hpp"
#include "quant/weight.h"

namespace ingle {
namespace {

constexpr size_t kShown = 8;  // elements of an array

std::string text_of(const std::string& s) { return s; }
std::string text_of(bool b) { return b ? "true" : "false"; }
template <class T>
std::string text_of(T number) {
  return format("{}", number);
}

std::string text_of(const formats::MetaValue& value) {
  return std::visit(
      [](const auto& v) {
        if constexpr (std::is_same_v<std::decay_t<decltype(v)>, formats::MetaArray>) {
          return std::visit(
              [](const auto& list) {
                using Item = typename std::decay_t<decltype(list)>::value_type;
                std::string out = "[";
                for (size_t i = 0; i < std::min(list.size(), kShown); ++i)
                  out += (i ? ", " : "") + text_of(static_cast<Item>(list[i]));
                if (list.size() > kShown) out += format(", … {} in all", list.size());
                return out + "]";
              },
              v);
        } else {
          return text_of(v);
        }
      },
      value);
}

}  // namespace

FileReport inspect(const std::string& path) {
  const formats::CheckpointPtr file = formats::open_checkpoint(path, quant::dtype_table());
  FileReport report;
  report.container = file->naming() == formats::Naming::gguf ? "gguf" : "safetensors";
  for (const std::string& key : file->meta_keys())
    report.metadata.emplace_back(key, text_of(*file->meta(key)));
  for (const formats::TensorInfo& t : file->tensors()) {
    FileTensor out{t.name, "", {}, t.bytes};
    if (const DTypeInfo* info = quant::dtype_table().find(t.type)) out.type = info->name;
    for (int i = 0; i < t.shape.rank(); ++i) out.shape.push_back(t.shape[i]);
    report.tensors.push_back(std::move(out));
  }
  return report;
}

}  // namespace ingle
