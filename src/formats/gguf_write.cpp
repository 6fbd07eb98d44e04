#include <cmath>
#include <limits>
#include <utility>

#include "core/checked_math.h"
#include "core/error.h"
#include "formats/atomic_file.h"
#include "formats/gguf.h"
#include "formats/gguf_wire.h"
#include "formats/names.h"

namespace ingle::formats {
namespace gguf {
namespace {

template <class... Fs>
struct Overloaded : Fs... {
  using Fs::operator()...;
};
template <class... Fs>
Overloaded(Fs...) -> Overloaded<Fs...>;

[[noreturn]] void refuse(std::string_view kind, std::string_view name, std::string message) {
  fail(Code::invalid_argument, format("write_gguf, {} {}", kind, quote(name)), std::move(message));
}

// The value types are the narrow ones wherever the values fit: other readers insist on u32 counts, i32 token
// types and f32 scores, and a reader that widens gets the same values back.
class HeaderWriter {
 public:
  explicit HeaderWriter(AtomicFile& file) : file_(file) {}

  template <class T>
  void number(T value) {
    file_.write(std::as_bytes(std::span(&value, 1)));
  }
  void type(ValueType type) { number(static_cast<uint32_t>(type)); }
  void text(std::string_view text) {
    number<uint64_t>(text.size());
    file_.write(std::as_bytes(std::span(text)));
  }
  void value(const MetaValue& value) {
    std::visit(Overloaded{
                   [&](bool v) {
                     type(ValueType::boolean);
                     number<uint8_t>(v);
                   },
                   [&](int64_t v) { scalar(v, ValueType::i32, ValueType::i64, fits<int32_t>(v)); },
                   [&](uint64_t v) { scalar(v, ValueType::u32, ValueType::u64, fits<uint32_t>(v)); },
                   [&](double v) { scalar(v, ValueType::f32, ValueType::f64, fits<float>(v)); },
                   [&](const std::string& v) {
                     type(ValueType::string);
                     text(v);
                   },
                   [&](const MetaArray& v) { array(v); },
               },
               value);
  }

 private:
  template <class Narrow, class Wide>
  static bool fits(Wide v) {
    if constexpr (std::is_floating_point_v<Wide>) {
      // Compared with the range first: a conversion out of it would be undefined.
      if (std::isnan(v) || std::isinf(v)) return true;
      return std::abs(v) <= std::numeric_limits<Narrow>::max() &&
             static_cast<Wide>(static_cast<Narrow>(v)) == v;
    } else {
      return v >= std::numeric_limits<Narrow>::min() && v <= std::numeric_limits<Narrow>::max();
    }
  }
  void put(ValueType as, int64_t v) { as == ValueType::i32 ? number(static_cast<int32_t>(v)) : number(v); }
  void put(ValueType as, uint64_t v) { as == ValueType::u32 ? number(static_cast<uint32_t>(v)) : number(v); }
  void put(ValueType as, double v) { as == ValueType::f32 ? number(static_cast<float>(v)) : number(v); }
  template <class T>
  void scalar(T v, ValueType narrow, ValueType wide, bool is_narrow) {
    const ValueType as = is_narrow ? narrow : wide;
    type(as);
    put(as, v);
  }
  template <class Narrow, class T>
  void numbers(const std::vector<T>& values, ValueType narrow, ValueType wide) {
    ValueType as = narrow;
    for (const T v : values) {
      if (!fits<Narrow>(v)) as = wide;
    }
    start_array(as, values.size());
    for (const T v : values) put(as, v);
  }
  void start_array(ValueType element, size_t n) {
    type(ValueType::array);
    type(element);
    number<uint64_t>(n);
  }
  void array(const MetaArray& values) {
    std::visit(
        Overloaded{
            [&](const std::vector<int64_t>& v) { numbers<int32_t>(v, ValueType::i32, ValueType::i64); },
            [&](const std::vector<uint64_t>& v) { numbers<uint32_t>(v, ValueType::u32, ValueType::u64); },
            [&](const std::vector<double>& v) { numbers<float>(v, ValueType::f32, ValueType::f64); },
            [&](const std::vector<bool>& v) {
              start_array(ValueType::boolean, v.size());
              for (const bool b : v) number<uint8_t>(b);
            },
            [&](const std::vector<std::string>& v) {
              start_array(ValueType::string, v.size());
              for (const std::string& s : v) text(s);
            },
        },
        values);
  }

  AtomicFile& file_;
};

void check_name(std::string_view kind, std::string_view name) {
  if (name.empty() || name.size() > kMaxNameBytes) {
    refuse(kind, name, format("the name has {} bytes, expected 1 to {}", name.size(), kMaxNameBytes));
  }
  if (name.find('\0') != std::string_view::npos) refuse(kind, name, "the name contains a zero byte");
}

void check_unique(std::string_view kind, NameIndex& names) {
  names.sort();
  if (const auto twice = names.duplicate()) {
    fail(Code::invalid_argument, "write_gguf",
         format("{}s {} and {} have the same name", kind, twice->first, twice->second));
  }
}

// Strings and array lengths as the reader allows them.
void check_value(std::string_view key, const MetaValue& value, uint64_t& n_elements) {
  const auto check_text = [&](const std::string& text) {
    if (text.size() > kMaxStringBytes)
      refuse("key", key, format("a string of {} bytes is too long", text.size()));
  };
  if (const auto* text = std::get_if<std::string>(&value)) check_text(*text);
  const auto* array = std::get_if<MetaArray>(&value);
  if (!array) return;
  n_elements += std::visit([](const auto& v) { return v.size(); }, *array);
  if (n_elements > kMaxArrayElements) {
    refuse("key", key, format("more than {} array elements in the file", kMaxArrayElements));
  }
  if (const auto* texts = std::get_if<std::vector<std::string>>(array)) {
    for (const std::string& text : *texts) check_text(text);
  }
}

// Returns the alignment that the metadata asks for.
uint64_t check_meta(const GgufMeta& meta) {
  uint64_t alignment = kDefaultAlignment, n_elements = 0;
  NameIndex names;
  for (size_t i = 0; i < meta.size(); ++i) {
    const auto& [key, value] = meta[i];
    check_name("key", key);
    check_value(key, value, n_elements);
    names.add(key, i);
    if (key != kAlignmentKey) continue;
    const auto* wanted = std::get_if<uint64_t>(&value);
    if (!wanted || !is_power_of_two(*wanted) || *wanted < kMinAlignment || *wanted > kMaxAlignment) {
      refuse("key", key,
             format("expected an unsigned power of two from {} to {}", kMinAlignment, kMaxAlignment));
    }
    alignment = *wanted;
  }
  check_unique("key", names);
  return alignment;
}

struct Placed {
  int32_t ggml_id;
  uint64_t bytes, offset;
};

Placed place(const GgufTensor& tensor, const DTypeTable& types, uint64_t offset) {
  check_name("tensor", tensor.name);
  const DTypeInfo* info = types.find(tensor.type);
  if (!info || info->ggml_id < 0) refuse("tensor", tensor.name, "its type has no number in GGUF files");
  if (tensor.shape.rank() < 1) refuse("tensor", tensor.name, "has no dimensions, expected 1 to 4");
  uint64_t elements = 1;
  for (int i = 0; i < tensor.shape.rank(); ++i) {
    const int64_t dim = tensor.shape[i];
    const auto product = dim < 1 ? std::nullopt : checked_mul(elements, static_cast<uint64_t>(dim));
    if (!product || *product > kMaxTensorElements) {
      refuse("tensor", tensor.name,
             format("shape {} has a dimension below 1, or too many elements", tensor.shape.text()));
    }
    elements = *product;
  }
  const auto bytes = bytes_of(*info, elements);
  if (!bytes || static_cast<uint64_t>(tensor.shape.back()) % info->block_elems != 0) {
    refuse("tensor", tensor.name,
           format("rows of {} elements, expected a multiple of {} ({} blocks)", tensor.shape.back(),
                  info->block_elems, info->name));
  }
  return {info->ggml_id, *bytes, offset};
}

std::vector<Placed> place_all(std::span<const GgufTensor> tensors, const DTypeTable& types,
                              uint64_t alignment) {
  std::vector<Placed> placed;
  NameIndex names;
  uint64_t offset = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    placed.push_back(place(tensors[i], types, offset));
    const auto end = checked_add(offset, placed.back().bytes);
    const auto next = end ? checked_round_up(*end, alignment) : std::nullopt;
    if (!next) refuse("tensor", tensors[i].name, "the file's size overflows");
    offset = *next;
    names.add(tensors[i].name, i);
  }
  check_unique("tensor", names);
  return placed;
}

void write_header(AtomicFile& file, const GgufMeta& meta, std::span<const GgufTensor> tensors,
                  std::span<const Placed> placed) {
  HeaderWriter out(file);
  file.write(std::as_bytes(std::span(kMagic)));
  out.number<uint32_t>(3);
  out.number<uint64_t>(tensors.size());
  out.number<uint64_t>(meta.size());
  for (const auto& [key, value] : meta) {
    out.text(key);
    out.value(value);
  }
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Shape& shape = tensors[i].shape;
    out.text(tensors[i].name);
    out.number(static_cast<uint32_t>(shape.rank()));
    for (int d = shape.rank(); d-- > 0;) out.number(static_cast<uint64_t>(shape[d]));
    out.number(static_cast<uint32_t>(placed[i].ggml_id));
    out.number(placed[i].offset);
  }
}

void pad(AtomicFile& file, uint64_t alignment) {
  const uint64_t extra = (alignment - file.offset() % alignment) % alignment;
  file.write(std::vector<std::byte>(extra));
}

}  // namespace
}  // namespace gguf

MetaValue copy_of(const MetaValue& value) {
  const auto copied = [](const auto& held) {
    auto copy = held;
    return MetaValue(std::move(copy));
  };
  const auto copied_array = [](const auto& held) {
    auto copy = held;
    return MetaValue(MetaArray(std::move(copy)));
  };
  if (const auto* array = std::get_if<MetaArray>(&value)) return std::visit(copied_array, *array);
  if (const auto* text = std::get_if<std::string>(&value)) return copied(*text);
  return value;  // a number
}

void write_gguf(const std::string& path, const GgufMeta& meta, std::span<const GgufTensor> tensors,
                const DTypeTable& types,
                const std::function<void(size_t i, std::vector<std::byte>& out)>& bytes_of_tensor) {
  if (meta.size() > gguf::kMaxKeys || tensors.size() > gguf::kMaxTensors) {
    fail(Code::invalid_argument, "write_gguf",
         format("{} keys and {} tensors, at most {} each fit", meta.size(), tensors.size(), gguf::kMaxKeys));
  }
  const uint64_t alignment = gguf::check_meta(meta);
  const std::vector<gguf::Placed> placed = gguf::place_all(tensors, types, alignment);
  AtomicFile file(path);
  gguf::write_header(file, meta, tensors, placed);
  gguf::pad(file, alignment);
  std::vector<std::byte> bytes;
  for (size_t i = 0; i < tensors.size(); ++i) {
    bytes.clear();
    bytes_of_tensor(i, bytes);
    if (bytes.size() != placed[i].bytes) {
      gguf::refuse("tensor", tensors[i].name,
                   format("{} bytes were given, expected {} for shape {}", bytes.size(), placed[i].bytes,
                          tensors[i].shape.text()));
    }
    file.write(bytes);
    gguf::pad(file, alignment);
  }
  file.commit();
}

}  // namespace ingle::formats
