// What tells the states of one model from those of another.
#include <variant>

#include "api/impl.h"

namespace ingle {
namespace {

void add_text(Sha256& digest, std::string_view text) {
  digest.add_value(uint64_t{text.size()}).add(std::as_bytes(std::span(text)));
}

void add_meta(Sha256& digest, const formats::MetaValue& value);

// Each value with the number of its type before it.
struct AddMeta {
  Sha256& digest;
  void operator()(bool v) { digest.add_value(v); }
  void operator()(int64_t v) { digest.add_value(v); }
  void operator()(uint64_t v) { digest.add_value(v); }
  void operator()(double v) { digest.add_value(v); }
  void operator()(const std::string& v) { add_text(digest, v); }
  void operator()(const formats::MetaArray& array) {
    digest.add_value(uint64_t{array.index()});
    std::visit(
        [&](const auto& list) {
          digest.add_value(uint64_t{list.size()});
          for (const auto& v : list) (*this)(v);
        },
        array);
  }
};

void add_meta(Sha256& digest, const formats::MetaValue& value) {
  digest.add_value(uint64_t{value.index()});
  std::visit(AddMeta{digest}, value);
}

void add_file(Sha256& digest, const formats::Checkpoint& file) {
  for (const std::string& key : file.meta_keys()) {
    add_text(digest, key);
    add_meta(digest, *file.meta(key));
  }
  for (const formats::TensorInfo& t : file.tensors()) {
    add_text(digest, t.name);
    digest.add_value(t.type);
    digest.add_value(int64_t{t.shape.rank()});
    for (int i = 0; i < t.shape.rank(); ++i) digest.add_value(t.shape[i]);
  }
}

}  // namespace

Digest sample_weights(const formats::Checkpoint& file) {
  constexpr uint64_t kBytes = 64;
  Sha256 digest;
  std::vector<std::byte> bytes;
  for (const formats::TensorInfo& t : file.tensors()) {
    bytes.resize(static_cast<size_t>(std::min(t.bytes, kBytes)));
    file.read(t, (t.bytes - bytes.size()) / 2, bytes);
    digest.add(bytes);
  }
  return digest.finish();
}

const Digest& Model::Impl::fingerprint() const {
  std::call_once(fingerprint_made, [this] {
    Sha256 digest;
    add_text(digest, backend);
    digest.add(sample);
    if (checkpoint) add_file(digest, *checkpoint);
    fingerprint_ = digest.finish();
  });
  return fingerprint_;
}

}  // namespace ingle
