// A model's configuration, whatever container it came in: the numbers that every transformer has, and typed
// look-ups under the architecture's own prefix for the rest.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "formats/checkpoint.h"

namespace ingle::models {

class Config {
 public:
  // Reads `general.architecture` and the common keys. Throws Code::corrupt naming a key that is missing or
  // out of range.
  explicit Config(const formats::Checkpoint& file);

  const formats::Checkpoint& file() const { return *file_; }
  const std::string& architecture() const { return architecture_; }

  int64_t n_layers = 0, hidden = 0, n_ffn = 0, n_context = 0, n_vocab = 0;
  int64_t n_heads = 0, n_kv_heads = 0, dk = 0, dv = 0;  // dk, dv: hidden / n_heads when the file has no key
  int64_t n_rotated = 0;                                // values of a head that RoPE turns; dk when absent
  std::optional<int64_t> window;                        // sliding attention, tokens seen

  // Keys without the architecture's prefix ("rope.freq_base").
  std::optional<int64_t> find_int(const std::string& key) const { return file_->find_int(prefixed(key)); }
  std::optional<double> find_float(const std::string& key) const { return file_->find_float(prefixed(key)); }
  double need_float(const std::string& key) const { return file_->need_float(prefixed(key)); }
  double need_positive(const std::string& key) const;  // finite and above zero
  const std::string* find_string(const std::string& key) const { return file_->find_string(prefixed(key)); }
  std::string prefixed(const std::string& key) const { return architecture_ + "." + key; }

 private:
  int64_t ranged(const std::string& key, std::optional<int64_t> fallback, int64_t low, int64_t high) const;
  int64_t kv_heads() const;
  const formats::Checkpoint* file_;
  std::string architecture_;
};

}  // namespace ingle::models
