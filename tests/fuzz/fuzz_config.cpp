// Any bytes as config.json: an Error or a plan, of the text part where there are several.
#include <map>
#include <string>

#include "core/error.h"
#include "formats/basic_checkpoint.h"
#include "formats/json_flat.h"
#include "formats/text_part.h"
#include "models/architecture.h"

namespace {

using namespace ingle;

// A folder whose configuration is the input, without tensors: every architecture reads it and then misses
// one.
class ConfigAlone final : public formats::Checkpoint {
 public:
  explicit ConfigAlone(formats::MetaList list) {
    for (auto& [key, value] : list) meta_.emplace(std::move(key), std::move(value));
  }
  const std::string& name() const override { return name_; }
  formats::Naming naming() const override { return formats::Naming::hugging_face; }
  std::span<const formats::TensorInfo> tensors() const override { return {}; }
  const formats::TensorInfo* find(std::string_view) const override { return nullptr; }
  const formats::MetaValue* meta(std::string_view key) const override {
    const auto at = meta_.find(key);
    return at == meta_.end() ? nullptr : &at->second;
  }
  std::vector<std::string> meta_keys() const override { return {}; }
  TensorView view(const formats::TensorInfo&, std::vector<std::byte>&) const override { return {}; }
  void forget(const formats::TensorInfo&) const override {}

 private:
  std::string name_ = "fuzz";
  std::map<std::string, formats::MetaValue, std::less<>> meta_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    formats::MetaList list =
        formats::flatten_json(*from_memory("fuzz", std::as_bytes(std::span(data, size))), 1 << 20);
    std::vector<formats::TensorInfo> none;
    formats::take_text_part(list, none);
    models::build_plan(std::make_shared<ConfigAlone>(std::move(list)), kv::StateType::f32);
  } catch (const Error&) {
  }
  return 0;
}
