// Files taken apart into their fields, so that a mutant is wrong in one thing and right in all others.
#pragma once
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "core/json.h"

namespace ingle::tests {

class Dice {
 public:
  explicit Dice(uint32_t seed) : random_(seed) {}
  size_t below(size_t n) { return n == 0 ? 0 : std::uniform_int_distribution<size_t>(0, n - 1)(random_); }
  template <class T>
  T& of(std::vector<T>& all) {
    return all[below(all.size())];
  }
  // A number of the kind that programs do not expect.
  uint64_t odd() {
    static constexpr uint64_t kOdd[] = {
        0,          1,          2,          3,          7,          31,         32,
        33,         255,        256,        65535,      65536,      1 << 20,    1u << 31,
        ~0u,        1ull << 32, 1ull << 40, 1ull << 48, ~0ull,      ~0ull >> 1, 1ull << 62,
        1ull << 63, ~0ull - 31, 0x7F800000, 0xFF800000, 0x7FC00000, 0x3F800000};
    return kOdd[below(std::size(kOdd))];
  }

 private:
  std::mt19937 random_;
};

template <class T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// A GGUF file by its fields. `count` fields are what the file says, not what it has.
struct GgufFields {
  struct Key {
    std::string name;
    uint32_t type = 0, of = 0;        // of: an array's elements
    uint64_t count = 0;               // of an array
    std::vector<std::string> values;  // one; strings without their length
  };
  struct Tensor {
    std::string name;
    uint32_t n_dims = 0;
    std::vector<uint64_t> ne;
    uint32_t type = 0;
    uint64_t offset = 0;
  };
  uint32_t version = 3;
  uint64_t n_tensors = 0, n_keys = 0;
  std::vector<Key> keys;
  std::vector<Tensor> tensors;
  std::string data;
  uint64_t long_string = 0;  // added to the length of one string, the at-th
  size_t long_at = SIZE_MAX;

  explicit GgufFields(const std::string& file);
  std::string bytes() const;
};

constexpr uint32_t kGgufString = 8, kGgufArray = 9;

inline size_t gguf_width(uint32_t type) {
  static constexpr size_t kWidth[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  return type < std::size(kWidth) ? kWidth[type] : 1;
}

inline GgufFields::GgufFields(const std::string& file) {
  size_t at = 4;
  const auto take = [&](auto& v) {
    std::memcpy(&v, file.data() + at, sizeof v);
    at += sizeof v;
  };
  const auto text = [&] {
    uint64_t n = 0;
    take(n);
    at += n;
    return file.substr(at - n, n);
  };
  const auto value = [&](uint32_t type) {
    if (type == kGgufString) return text();
    at += gguf_width(type);
    return file.substr(at - gguf_width(type), gguf_width(type));
  };
  take(version), take(n_tensors), take(n_keys);
  keys.resize(n_keys);
  for (Key& k : keys) {
    k.name = text();
    take(k.type);
    k.count = 1;
    if (k.type == kGgufArray) take(k.of), take(k.count);
    for (uint64_t i = 0; i < k.count; ++i) k.values.push_back(value(k.type == kGgufArray ? k.of : k.type));
  }
  tensors.resize(n_tensors);
  for (Tensor& t : tensors) {
    t.name = text();
    take(t.n_dims);
    t.ne.resize(t.n_dims);
    for (uint64_t& n : t.ne) take(n);
    take(t.type), take(t.offset);
  }
  data = file.substr((at + 31) / 32 * 32);
}

inline std::string GgufFields::bytes() const {
  std::string out = "GGUF";
  size_t n_strings = 0;
  const auto text = [&](const std::string& s) {
    put(out, static_cast<uint64_t>(s.size()) + (n_strings++ == long_at ? long_string : 0));
    out += s;
  };
  put(out, version), put(out, n_tensors), put(out, n_keys);
  for (const Key& k : keys) {
    text(k.name);
    put(out, k.type);
    if (k.type == kGgufArray) put(out, k.of), put(out, k.count);
    for (const std::string& v : k.values) {
      if ((k.type == kGgufArray ? k.of : k.type) == kGgufString)
        text(v);
      else
        out += v;
    }
  }
  for (const Tensor& t : tensors) {
    text(t.name);
    put(out, t.n_dims);
    for (const uint64_t n : t.ne) put(out, n);
    put(out, t.type), put(out, t.offset);
  }
  out.resize((out.size() + 31) / 32 * 32, '\0');
  return out + data;
}

// One thing of it becomes wrong, or merely odd.
inline void mutate(GgufFields& f, Dice& dice) {
  if (f.keys.empty() || f.tensors.empty()) return;
  GgufFields::Key& key = dice.of(f.keys);
  GgufFields::Tensor& tensor = dice.of(f.tensors);
  const auto odd_value = [&](std::string& v) {
    const uint64_t odd = dice.odd();
    std::memcpy(v.data(), &odd, std::min<size_t>(v.size(), 8));
  };
  const bool text = (key.type == kGgufArray ? key.of : key.type) == kGgufString;
  switch (dice.below(18)) {
    case 0:
    case 1:
    case 2:  // a value
    case 3:
      if (!key.values.empty()) odd_value(dice.of(key.values));
      break;
    case 4:  // a text's character
      if (text && !key.values.empty()) {
        std::string& v = dice.of(key.values);
        if (!v.empty()) v[dice.below(v.size())] = static_cast<char>(dice.below(256));
      }
      break;
    case 5:
      key.type = static_cast<uint32_t>(dice.below(14));
      break;
    case 6:
      key.of = static_cast<uint32_t>(dice.below(14));
      break;
    case 7:
      key.count = dice.odd();
      break;
    case 8:  // an array loses or gains an element, and says so
      if (key.type == kGgufArray && !key.values.empty()) {
        if (dice.below(2))
          key.values.pop_back();
        else
          key.values.push_back(key.values.front());
        key.count = key.values.size();
      }
      break;
    case 9:  // a key twice, or not at all
      if (dice.below(2))
        f.keys.push_back(GgufFields::Key(key));
      else
        f.keys.erase(f.keys.begin() + (&key - f.keys.data()));
      f.n_keys = f.keys.size();
      break;
    case 10:
      if (!tensor.ne.empty()) dice.of(tensor.ne) = dice.odd();
      break;
    case 11:
      tensor.type = static_cast<uint32_t>(dice.below(42));
      break;
    case 12:
      tensor.offset = dice.below(2) ? dice.odd() : dice.of(f.tensors).offset;
      break;
    case 13:
      tensor.n_dims = static_cast<uint32_t>(dice.below(3) ? dice.below(7) : dice.odd());
      if (tensor.n_dims <= 6 && dice.below(2)) tensor.ne.resize(tensor.n_dims, 1);
      break;
    case 14:  // a tensor twice, not at all, or under another's name
      if (const size_t what = dice.below(3); what == 0)
        f.tensors.push_back(GgufFields::Tensor(tensor));
      else if (what == 1)
        f.tensors.erase(f.tensors.begin() + (&tensor - f.tensors.data()));
      else
        tensor.name = dice.of(f.tensors).name;
      f.n_tensors = f.tensors.size();
      break;
    case 15:
      (dice.below(2) ? f.n_tensors : f.n_keys) = dice.odd();
      break;
    case 16:
      f.long_string = dice.odd();
      f.long_at = dice.below(2 * f.keys.size() + f.tensors.size());
      break;
    default:
      if (dice.below(2))
        f.version = static_cast<uint32_t>(dice.odd());
      else
        f.data.resize(dice.below(f.data.size() + 1));
  }
}

// One place of a JSON text becomes wrong, or merely odd.
inline void mutate(Json& whole, Dice& dice) {
  static const char* const kNumbers[] = {"0",
                                         "-1",
                                         "1",
                                         "3",
                                         "0.5",
                                         "1e9",
                                         "1e999",
                                         "-1e999",
                                         "4294967296",
                                         "33",
                                         "-0",
                                         "65537",
                                         "1e-300",
                                         "9223372036854775807",
                                         "18446744073709551616",
                                         "99999999999999999999999999"};
  static const char* const kTexts[] = {
      "", "x", "F32", "BF16", "I64", "F8_E4M3", "llama", "gelu", "\xF0\x9F\x98\x80"};
  std::vector<Json*> all{&whole};
  for (size_t i = 0; i < all.size(); ++i) {
    for (Json& item : all[i]->items) all.push_back(&item);
    for (auto& [name, member] : all[i]->members) all.push_back(&member);
  }
  Json& place = *dice.of(all);
  const auto other = [&]() -> Json {
    switch (dice.below(6)) {
      case 0:
        return Json::of_number(kNumbers[dice.below(std::size(kNumbers))]);
      case 1:
        return Json::of_string(kTexts[dice.below(std::size(kTexts))]);
      case 2:
        return Json::of_boolean(dice.below(2) == 1);
      case 3:
        return Json::of_array({});
      case 4:
        return *dice.of(all);
      default:
        return Json();
    }
  };
  if (place.is(Json::Kind::number) && dice.below(3)) {
    place = Json::of_number(kNumbers[dice.below(std::size(kNumbers))]);
  } else if (place.is(Json::Kind::object) && !place.members.empty()) {
    auto& [name, member] = place.members[dice.below(place.members.size())];
    if (const size_t what = dice.below(3); what == 0)
      place.erase(std::string(name));
    else if (what == 1)
      name += "x";
    else
      member = other();
  } else if (place.is(Json::Kind::array) && dice.below(2)) {
    if (dice.below(2) && !place.items.empty())
      place.items.pop_back();
    else
      place.items.push_back(other());
  } else {
    Json changed = other();  // a copy first: it may hold the place
    place = std::move(changed);
  }
}

}  // namespace ingle::tests
