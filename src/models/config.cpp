#include "models/config.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace ingle::models {
namespace {

constexpr int64_t kMost = int64_t{1} << 24;  // of any width or length that a configuration may name

}  // namespace

Config::Config(const formats::Checkpoint& file) : file_(&file) {
  if (file.naming() != formats::Naming::gguf)
    fail(Code::unsupported, file.name(), "only GGUF checkpoints have a readable configuration");
  architecture_ = file.need_string("general.architecture");
  n_layers = ranged("block_count", {}, 1, 4096);
  hidden = ranged("embedding_length", {}, 1, kMost);
  n_ffn = ranged("feed_forward_length", {}, 1, kMost);
  n_context = ranged("context_length", {}, 1, int64_t{1} << 40);
  n_heads = ranged("attention.head_count", {}, 1, 1 << 16);
  n_kv_heads = kv_heads();
  if (n_heads > hidden && !find_int("attention.key_length"))
    fail(Code::corrupt, file.name() + ", key " + prefixed("attention.head_count"),
         format("is {}, expected at most the width of {}", n_heads, hidden));
  dk = ranged("attention.key_length", hidden / n_heads, 1, 1 << 16);
  dv = ranged("attention.value_length", hidden / n_heads, 1, 1 << 16);
  n_rotated = ranged("rope.dimension_count", dk, 1, dk);
  if (n_rotated % 2 != 0)
    fail(Code::corrupt, file.name() + ", key " + prefixed("rope.dimension_count"),
         format("is {}, expected an even number", n_rotated));
  if (const auto w = find_int("attention.sliding_window"); w && *w != 0)
    window = ranged("attention.sliding_window", {}, 1, kMost);
  const formats::TensorInfo* embedding = file.find("token_embd.weight");
  n_vocab = embedding ? embedding->shape.rows() : ranged("vocab_size", 0, 0, kMost);
  if (n_vocab > kMost)
    fail(Code::unsupported, file.name() + ", tensor token_embd.weight",
         format("has {} rows, expected at most {}", n_vocab, kMost));
}

int64_t Config::ranged(const std::string& key, std::optional<int64_t> fallback, int64_t low,
                       int64_t high) const {
  const std::optional<int64_t> found = find_int(key);
  if (!found && !fallback) fail(Code::corrupt, file_->name(), format("key '{}' is missing", prefixed(key)));
  const int64_t value = found ? *found : *fallback;
  if (value < low || value > high)
    fail(Code::corrupt, file_->name() + ", key " + prefixed(key),
         format("is {}, expected {} to {}", value, low, high));
  return value;
}

double Config::need_positive(const std::string& key) const {
  const double value = need_float(key);
  if (!(value > 0) || !std::isfinite(value))
    fail(Code::corrupt, file_->name() + ", key " + prefixed(key),
         format("is {}, expected a positive number", value));
  return value;
}

// One number, or one per layer; layers that differ are not understood yet.
int64_t Config::kv_heads() const {
  const std::string key = "attention.head_count_kv";
  int64_t value = n_heads;
  const formats::MetaValue* found = file_->meta(prefixed(key));
  if (found && std::holds_alternative<formats::MetaArray>(*found)) {
    const auto list = file_->find_ints(prefixed(key));
    if (!list || list->empty() ||
        !std::all_of(list->begin(), list->end(), [&](int64_t v) { return v == list->front(); }))
      fail(Code::unsupported, file_->name() + ", key " + prefixed(key),
           "layers with different numbers of kv heads");
    value = list->front();
  } else {
    value = ranged(key, n_heads, 1, n_heads);
  }
  if (value < 1 || n_heads % value != 0)
    fail(Code::corrupt, file_->name() + ", key " + prefixed(key),
         format("is {}, expected a divisor of {} heads", value, n_heads));
  return value;
}

}  // namespace ingle::models
