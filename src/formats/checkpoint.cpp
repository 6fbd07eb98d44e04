#include "formats/checkpoint.h"

#include <cstring>
#include <limits>

#include "core/error.h"
#include "formats/names.h"

namespace ingle::formats {

void Checkpoint::read(const TensorInfo& tensor, uint64_t offset, std::span<std::byte> out) const {
  std::vector<std::byte> scratch;
  const TensorView all = view(tensor, scratch);
  if (offset > all.bytes || out.size() > all.bytes - offset)
    fail(Code::invalid_argument, format("{}, tensor {}", name(), quote(tensor.name)),
         format("bytes {} + {} lie outside its {}", offset, out.size(), all.bytes));
  if (!out.empty()) std::memcpy(out.data(), all.data + offset, out.size());
}

namespace {

const char* kind_of(const MetaValue& value) {
  constexpr const char* kScalars[] = {"a bool",  "an integer", "an unsigned integer",
                                      "a float", "a string",   "an array"};
  constexpr const char* kArrays[] = {"an array of integers", "an array of unsigned integers",
                                     "an array of floats", "an array of bools", "an array of strings"};
  const auto* array = std::get_if<MetaArray>(&value);
  return array ? kArrays[array->index()] : kScalars[value.index()];
}

std::string where(const Checkpoint& checkpoint, std::string_view key) {
  return format("{}, key {}", checkpoint.name(), quote(key));
}

[[noreturn]] void wrong_kind(const Checkpoint& checkpoint, std::string_view key, const MetaValue& value,
                             const char* wanted) {
  fail(Code::corrupt, where(checkpoint, key), format("is {}, expected {}", kind_of(value), wanted));
}

int64_t to_signed(const Checkpoint& checkpoint, std::string_view key, uint64_t value) {
  if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    fail(Code::corrupt, where(checkpoint, key), format("{} does not fit a signed 64-bit integer", value));
  }
  return static_cast<int64_t>(value);
}

template <class T>
const std::vector<T>* array_of(const MetaValue& value) {
  const auto* array = std::get_if<MetaArray>(&value);
  return array ? std::get_if<std::vector<T>>(array) : nullptr;
}

template <class T>
T need(std::optional<T> found, const Checkpoint& checkpoint, std::string_view key) {
  if (!found) fail(Code::corrupt, where(checkpoint, key), "is missing, and nothing can stand in for it");
  return *found;
}

}  // namespace

std::optional<int64_t> Checkpoint::find_int(std::string_view key) const {
  const MetaValue* value = meta(key);
  if (!value) return std::nullopt;
  if (const auto* i = std::get_if<int64_t>(value)) return *i;
  if (const auto* u = std::get_if<uint64_t>(value)) return to_signed(*this, key, *u);
  wrong_kind(*this, key, *value, "an integer");
}

std::optional<double> Checkpoint::find_float(std::string_view key) const {
  const MetaValue* value = meta(key);
  if (!value) return std::nullopt;
  if (const auto* d = std::get_if<double>(value)) return *d;
  if (const auto* i = std::get_if<int64_t>(value)) return static_cast<double>(*i);
  if (const auto* u = std::get_if<uint64_t>(value)) return static_cast<double>(*u);
  wrong_kind(*this, key, *value, "a number");
}

std::optional<bool> Checkpoint::find_bool(std::string_view key) const {
  const MetaValue* value = meta(key);
  if (!value) return std::nullopt;
  if (const auto* b = std::get_if<bool>(value)) return *b;
  wrong_kind(*this, key, *value, "a bool");
}

const std::string* Checkpoint::find_string(std::string_view key) const {
  const MetaValue* value = meta(key);
  if (!value) return nullptr;
  if (const auto* text = std::get_if<std::string>(value)) return text;
  wrong_kind(*this, key, *value, "a string");
}

const std::vector<std::string>* Checkpoint::find_strings(std::string_view key) const {
  const MetaValue* value = meta(key);
  if (!value) return nullptr;
  if (const auto* texts = array_of<std::string>(*value)) return texts;
  wrong_kind(*this, key, *value, "an array of strings");
}

std::optional<std::vector<int64_t>> Checkpoint::find_ints(std::string_view key) const {
  const MetaValue* value = meta(key);
  if (!value) return std::nullopt;
  if (const auto* signed_ones = array_of<int64_t>(*value)) return *signed_ones;
  const auto* unsigned_ones = array_of<uint64_t>(*value);
  if (!unsigned_ones) wrong_kind(*this, key, *value, "an array of integers");
  std::vector<int64_t> out;
  out.reserve(unsigned_ones->size());
  for (const uint64_t u : *unsigned_ones) out.push_back(to_signed(*this, key, u));
  return out;
}

std::optional<std::vector<double>> Checkpoint::find_floats(std::string_view key) const {
  const MetaValue* value = meta(key);
  if (!value) return std::nullopt;
  if (const auto* floats = array_of<double>(*value)) return *floats;
  if (const auto* ints = array_of<int64_t>(*value)) return std::vector<double>(ints->begin(), ints->end());
  if (const auto* uints = array_of<uint64_t>(*value))
    return std::vector<double>(uints->begin(), uints->end());
  wrong_kind(*this, key, *value, "an array of numbers");
}

int64_t Checkpoint::need_int(std::string_view key) const { return need(find_int(key), *this, key); }
double Checkpoint::need_float(std::string_view key) const { return need(find_float(key), *this, key); }
const std::string& Checkpoint::need_string(std::string_view key) const {
  const std::string* found = find_string(key);
  return *need(found ? std::optional(found) : std::nullopt, *this, key);
}

}  // namespace ingle::formats
