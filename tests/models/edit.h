// A GGUF file taken apart, so that a test can change one thing of it.
#pragma once
#include <algorithm>
#include <string>
#include <vector>

#include "formats/gguf.h"
#include "models/architecture.h"
#include "quant/weight.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/paths.h"
#include "support/temp.h"

namespace ingle::tests {

struct EditedModel {
  formats::GgufMeta meta;
  std::vector<formats::GgufTensor> tensors;
  std::vector<std::vector<std::byte>> bytes;

  // `file` under tests/data/models. The tokenizer's keys are left out: no plan looks at them.
  explicit EditedModel(const std::string& file) {
    const auto from = formats::open_gguf(data_path("models/" + file), quant::dtype_table());
    for (const std::string& key : from->meta_keys())
      if (!key.starts_with("tokenizer.") && key != "general.alignment")
        meta.emplace_back(key, *from->meta(key));
    for (const formats::TensorInfo& t : from->tensors()) {
      std::vector<std::byte> scratch;
      const TensorView view = from->view(t, scratch);
      tensors.push_back({t.name, t.type, t.shape});
      bytes.emplace_back(view.data, view.data + view.bytes);
    }
  }
  void drop(const std::string& key) {
    const size_t before = meta.size();
    std::erase_if(meta, [&](const auto& m) { return m.first == key; });
    if (meta.size() == before) throw std::runtime_error("no key " + key);
  }
  void set(const std::string& key, formats::MetaValue value) {
    std::erase_if(meta, [&](const auto& m) { return m.first == key; });
    meta.emplace_back(key, std::move(value));
  }
  void add_tensor(const std::string& name, Shape shape, const std::vector<float>& values) {
    tensors.push_back({name, DType::f32, shape});
    const auto raw = std::as_bytes(std::span(values));
    bytes.emplace_back(raw.begin(), raw.end());
  }
  size_t index_of(const std::string& name) const {
    const auto at =
        std::find_if(tensors.begin(), tensors.end(), [&](const auto& t) { return t.name == name; });
    if (at == tensors.end()) throw std::runtime_error("no tensor " + name);
    return static_cast<size_t>(at - tensors.begin());
  }
  void drop_tensor(const std::string& name) {
    const auto i = static_cast<std::ptrdiff_t>(index_of(name));
    tensors.erase(tensors.begin() + i);
    bytes.erase(bytes.begin() + i);
  }
  backends::Plan plan(kv::StateType type = kv::StateType::f32) const {
    TempDir dir;
    const std::string path = dir.path() + "/edited.gguf";
    formats::write_gguf(path, meta, tensors, quant::dtype_table(),
                        [&](size_t i, std::vector<std::byte>& out) {
                          out.insert(out.end(), bytes[i].begin(), bytes[i].end());
                        });
    return models::build_plan(formats::open_gguf(path, quant::dtype_table(), false), type);
  }
};

// The ops of one kind, in the plan's order.
template <class T>
std::vector<T> ops_of(const backends::Plan& plan) {
  std::vector<T> out;
  for (const Op& op : plan.ops)
    if (const auto* o = std::get_if<T>(&op)) out.push_back(*o);
  return out;
}

}  // namespace ingle::tests
