#include "models/config.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace ingle::models {
namespace {

constexpr int64_t kMost = int64_t{1} << 24;  // of any width or length that a configuration may name

constexpr Key kLayers{"block_count", "num_hidden_layers|n_layer|n_layers|num_layers"};
constexpr Key kHidden{"embedding_length", "hidden_size|n_embd|d_model"};
constexpr Key kFfn{"feed_forward_length", "intermediate_size|n_inner|ffn_dim|ffn_hidden_size"};
constexpr Key kContext{"context_length", "max_position_embeddings|n_positions|max_seq_len|seq_length"};
constexpr Key kHeads{"attention.head_count", "num_attention_heads|n_head|n_heads|num_heads|attention_heads"};
constexpr Key kKvHeads{"attention.head_count_kv", "num_key_value_heads|num_kv_heads"};
constexpr Key kKeyLength{"attention.key_length", "head_dim"};
constexpr Key kValueLength{"attention.value_length", "head_dim"};
constexpr Key kRotated{"rope.dimension_count", "rotary_dim"};
constexpr Key kRotatedPart{"",
                           "rope_parameters.partial_rotary_factor|partial_rotary_factor|rotary_pct|"
                           "rope_pct|rotary_percentage"};
constexpr Key kWindow{"attention.sliding_window", "sliding_window"};
constexpr Key kPredictors{"nextn_predict_layers", "num_nextn_predict_layers"};
constexpr Key kVocab{"vocab_size", "vocab_size"};

// Hybrids, and models whose sliding layers have another shape, may have numbers for each layer; all others
// one.
bool layers_may_differ(const Config& config) {
  for (const char* key :
       {"ssm.state_size", "shortconv.l_cache", "attention.sliding_window_pattern", "rope.freq_base_swa"})
    if (config.is_gguf() && config.has(key)) return true;
  return false;
}

}  // namespace

Config::Config(const formats::Checkpoint& file) : file_(&file) {
  architecture_ = file.need_string(is_gguf() ? "general.architecture" : "model_type");
  // Some hybrids list the kinds of their layers and do not count them.
  std::optional<int64_t> listed;
  if (const auto* kinds = is_gguf() ? nullptr : find_strings({"", "layers_block_type"}))
    listed = static_cast<int64_t>(kinds->size());
  n_layers = ranged(kLayers, listed, 1, 4096);
  // GGUF counts them with the layers, config.json apart.
  n_predictors = ranged(kPredictors, 0, 0, is_gguf() ? n_layers - 1 : 4096);
  if (is_gguf()) n_layers -= n_predictors;
  hidden = ranged(kHidden, {}, 1, kMost);
  // One number, or one per layer; those are read from the tensors, by the families that have them.
  if (const formats::MetaValue* per_layer = found(kFfn);
      per_layer && std::holds_alternative<formats::MetaArray>(*per_layer))
    n_ffn = 4 * hidden;
  else
    n_ffn = ranged(kFfn, is_gguf() ? std::nullopt : std::optional(4 * hidden), is_gguf() ? 0 : 1, kMost);
  // Models without trained positions (ALiBi) may not say how long they were trained.
  n_context = ranged(kContext, is_gguf() ? std::nullopt : std::optional<int64_t>(2048), 1, int64_t{1} << 40);
  n_heads = heads();
  n_kv_heads = kv_heads();
  if (n_heads > hidden && !find_int(kKeyLength))
    fail(Code::corrupt, file.name() + ", key " + spelled(kHeads),
         format("is {}, expected at most the width of {}", n_heads, hidden));
  dk = ranged(kKeyLength, hidden / n_heads, 1, 1 << 16);
  dv = ranged(kValueLength, hidden / n_heads, 1, 1 << 16);
  n_rotated = rotated();
  if (const auto w = find_int(kWindow); w && *w != 0) window = ranged(kWindow, {}, 1, kMost);
  n_vocab = vocabulary();
}

int64_t Config::rotated() const {
  if (const auto part = find_float(kRotatedPart); part && !has(kRotated))
    return rotated_part(*part, spelled(kRotatedPart));
  return even(ranged(kRotated, dk, 1, dk), spelled(kRotated));
}

int64_t Config::rotated_part(double part, const std::string& name) const {
  if (!(part > 0 && part <= 1))
    fail(Code::corrupt, file_->name() + ", key " + name,
         format("is {}, expected a number above 0 and at most 1", part));
  return even(static_cast<int64_t>(static_cast<double>(dk) * part), name);
}

int64_t Config::even(int64_t n, const std::string& name) const {
  if (n < 2 || n % 2 != 0)
    fail(Code::corrupt, file_->name() + ", key " + name,
         format("RoPE turns {} values, expected an even number", n));
  return n;
}

int64_t Config::vocabulary() const {
  const formats::TensorInfo* embedding = is_gguf() ? file_->find("token_embd.weight") : nullptr;
  const int64_t n = embedding ? embedding->shape.rows() : ranged(kVocab, 0, 0, kMost);
  if (n > kMost)
    fail(Code::unsupported, file_->name() + ", tensor token_embd.weight",
         format("has {} rows, expected at most {}", n, kMost));
  return n;
}

const formats::MetaValue* Config::found(Key key, std::string* name) const {
  std::string_view names = is_gguf() ? key.gguf : key.hugging_face;
  while (!names.empty()) {
    const size_t bar = std::min(names.find('|'), names.size());
    std::string one(names.substr(0, bar));
    if (is_gguf()) one = architecture_ + "." + one;
    const formats::MetaValue* value = file_->meta(one);
    if (name && (value || name->empty())) *name = one;
    if (value) return value;
    names.remove_prefix(std::min(bar + 1, names.size()));
  }
  return nullptr;
}

std::string Config::spelled(Key key) const {
  std::string name;
  found(key, &name);
  return name;
}

std::optional<int64_t> Config::find_int(Key key) const { return file_->find_int(spelled(key)); }
std::optional<double> Config::find_float(Key key) const { return file_->find_float(spelled(key)); }
std::optional<bool> Config::find_bool(Key key) const { return file_->find_bool(spelled(key)); }
const std::string* Config::find_string(Key key) const { return file_->find_string(spelled(key)); }
const std::vector<std::string>* Config::find_strings(Key key) const {
  return file_->find_strings(spelled(key));
}
std::optional<std::vector<int64_t>> Config::find_ints(Key key) const {
  return file_->find_ints(spelled(key));
}
std::optional<std::vector<double>> Config::find_floats(Key key) const {
  return file_->find_floats(spelled(key));
}

int64_t Config::need_int(Key key, int64_t low, int64_t high) const { return ranged(key, {}, low, high); }

int64_t Config::ranged(Key key, std::optional<int64_t> fallback, int64_t low, int64_t high) const {
  const std::optional<int64_t> value = find_int(key);
  if (!value && !fallback) fail(Code::corrupt, file_->name(), format("key '{}' is missing", spelled(key)));
  const int64_t n = value ? *value : *fallback;
  if (n < low || n > high)
    fail(Code::corrupt, file_->name() + ", key " + spelled(key),
         format("is {}, expected {} to {}", n, low, high));
  return n;
}

double Config::need_float(Key key) const { return file_->need_float(spelled(key)); }

double Config::need_positive(Key key) const {
  const double value = need_float(key);
  if (!(value > 0) || !std::isfinite(value))
    fail(Code::corrupt, file_->name() + ", key " + spelled(key),
         format("is {}, expected a positive number", value));
  return value;
}

double Config::positive_or(Key key, double fallback) const {
  return has(key) ? need_positive(key) : fallback;
}

void Config::refuse(Key key, const std::string& message) const {
  fail(Code::unsupported, file_->name() + ", key " + spelled(key), message);
}

bool Config::slides(int64_t layer, bool otherwise) const {
  constexpr Key kTypes{"", "layer_types"};
  constexpr Key kPattern{"attention.sliding_window_pattern"};
  const auto check = [&](size_t size, Key key) {
    if (size != static_cast<size_t>(n_layers))
      fail(Code::corrupt, file_->name() + ", key " + spelled(key),
           format("has {} entries, expected one for each of {} layers", size, n_layers));
  };
  if (const std::vector<std::string>* types = find_strings(kTypes)) {
    check(types->size(), kTypes);
    const std::string& type = (*types)[static_cast<size_t>(layer)];
    if (type != "sliding_attention" && type != "full_attention")
      refuse(kTypes, format("layer {} is '{}', expected sliding_attention or full_attention", layer, type));
    return type == "sliding_attention";
  }
  const formats::MetaValue* pattern = found(kPattern);
  if (const auto* list = pattern ? std::get_if<formats::MetaArray>(pattern) : nullptr)
    if (const auto* bools = std::get_if<std::vector<bool>>(list)) {
      check(bools->size(), kPattern);
      return (*bools)[static_cast<size_t>(layer)];
    }
  return otherwise;
}

std::optional<std::vector<int64_t>> Config::find_list(Key key) const {
  const formats::MetaValue* value = found(key);
  if (!value || !std::holds_alternative<formats::MetaArray>(*value)) return std::nullopt;
  return find_ints(key);
}

// One number, or one per layer: the most of any, layers without attention having none. Families whose layers
// differ read the list.
int64_t Config::kv_heads() const {
  int64_t value = n_heads;
  const bool differ = layers_may_differ(*this);
  if (const formats::MetaValue* all = found(kKvHeads);
      all && std::holds_alternative<formats::MetaArray>(*all)) {
    const auto list = find_ints(kKvHeads);
    const int64_t most = list && !list->empty() ? *std::ranges::max_element(*list) : 0;
    if (!list || list->empty() ||
        (!differ && std::ranges::any_of(*list, [&](int64_t v) { return v != most; })))
      refuse(kKvHeads, "layers with different numbers of kv heads");
    if (most != 0 || !differ) value = most;
  } else {
    value = ranged(kKvHeads, n_heads, differ ? 0 : 1, n_heads);
    if (value == 0) value = n_heads;
  }
  if (value < 1 || n_heads % value != 0)
    fail(Code::corrupt, file_->name() + ", key " + spelled(kKvHeads),
         format("is {}, expected a divisor of {} heads", value, n_heads));
  return value;
}

// Where layers differ, the first number that is any.
int64_t Config::heads() const {
  const bool differ = layers_may_differ(*this);
  if (const auto list = differ ? find_list(kHeads) : std::nullopt) {
    const auto first = std::ranges::find_if(*list, [](int64_t n) { return n > 0 && n <= 1 << 16; });
    if (first != list->end()) return *first;
    refuse(kHeads, "no layer has heads");
  }
  // Models of state spaces alone have no attention; "state_size" tells them.
  if (differ && find_int(kHeads) == 0) return 1;
  const bool attends = is_gguf() || !has({"", "state_size"});
  return ranged(kHeads, attends ? std::nullopt : std::optional<int64_t>(1), 1, 1 << 16);
}

}  // namespace ingle::models
