// A model's configuration, whatever container it came in: the numbers that every transformer has, and typed
// look-ups by key for the rest.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "formats/checkpoint.h"

namespace ingle::models {

// A key under the names that the containers give it: GGUF's without the architecture's prefix
// ("rope.freq_base"), config.json's with its path ("rope_parameters.rope_theta"). Several names are separated
// by '|', the first that is there counts; an empty name: the container has no such key.
struct Key {
  std::string_view gguf, hugging_face;
  constexpr Key(const char* g, const char* hf = "") : gguf(g), hugging_face(hf) {}
};

class Config {
 public:
  // Reads the architecture's name and the common keys. Throws Code::corrupt naming a key that is missing or
  // out of range.
  explicit Config(const formats::Checkpoint& file);

  const formats::Checkpoint& file() const { return *file_; }
  bool is_gguf() const { return file_->naming() == formats::Naming::gguf; }
  // GGUF's `general.architecture`, config.json's `model_type`.
  const std::string& architecture() const { return architecture_; }

  int64_t n_predictors = 0;  // layers after the last that predict further tokens; they are left out
  int64_t n_layers = 0, hidden = 0, n_context = 0, n_vocab = 0;
  int64_t n_ffn = 0;  // 4 * hidden when config.json has no key (GPT-2's kin)
  int64_t n_heads = 0, n_kv_heads = 0, dk = 0, dv = 0;  // dk, dv: hidden / n_heads when the file has no key
  int64_t n_rotated = 0;                                // values of a head that RoPE turns; dk when absent
  std::optional<int64_t> window;                        // sliding attention, tokens seen

  bool has(Key key) const { return found(key) != nullptr; }
  std::optional<int64_t> find_int(Key key) const;
  std::optional<double> find_float(Key key) const;
  std::optional<bool> find_bool(Key key) const;
  const std::string* find_string(Key key) const;
  const std::vector<std::string>* find_strings(Key key) const;
  std::optional<std::vector<int64_t>> find_ints(Key key) const;
  std::optional<std::vector<double>> find_floats(Key key) const;
  // Of a value that is one number or a list with one for each layer: the list; nothing when it is a number.
  std::optional<std::vector<int64_t>> find_list(Key key) const;
  int64_t need_int(Key key, int64_t low, int64_t high) const;
  double need_float(Key key) const;
  double need_positive(Key key) const;                 // finite and above zero
  double positive_or(Key key, double fallback) const;  // need_positive when the key is there

  // Values of a head that RoPE turns where it turns a part of them; `name` for errors.
  int64_t rotated_part(double part, const std::string& name) const;

  // The key as this container spells it, for errors.
  std::string spelled(Key key) const;
  // Throws Code::unsupported naming the key.
  [[noreturn]] void refuse(Key key, const std::string& message) const;
  // Does layer i slide? By config.json's `layer_types` or GGUF's per-layer pattern where there is one, else
  // by `otherwise`. Throws Code::unsupported for a kind of layer other than sliding and full attention.
  bool slides(int64_t layer, bool otherwise) const;

 private:
  const formats::MetaValue* found(Key key, std::string* name = nullptr) const;
  int64_t ranged(Key key, std::optional<int64_t> fallback, int64_t low, int64_t high) const;
  int64_t heads() const;
  int64_t kv_heads() const;
  int64_t rotated() const;
  int64_t even(int64_t n, const std::string& name) const;
  int64_t vocabulary() const;
  const formats::Checkpoint* file_;
  std::string architecture_;
};

}  // namespace ingle::models
