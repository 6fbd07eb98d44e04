#include <algorithm>

#include "core/checked_math.h"
#include "core/error.h"
#include "formats/cursor.h"
#include "formats/gguf_part.h"
#include "formats/gguf_wire.h"

namespace ingle::formats::gguf {
namespace {

class PartReader {
 public:
  PartReader(const ByteSource& source, const DTypeTable& types, uint32_t index)
      : source_(source), types_(types), index_(index), in_(source) {}
  Part read();

 private:
  void read_preamble();
  void read_meta();
  MetaValue read_value();
  MetaValue read_array();
  std::string read_name(std::string_view what);
  bool read_bool();
  void read_tensors();
  TensorInfo read_tensor();
  Shape read_shape();
  const DTypeInfo& read_type();
  void check_keys() const;
  uint64_t alignment() const;
  void place_tensors();
  std::string where(const TensorInfo& tensor) const;

  const ByteSource& source_;
  const DTypeTable& types_;
  uint32_t index_;
  Cursor in_;
  Part part_;
  uint64_t n_tensors_ = 0, n_keys_ = 0, n_elements_ = 0;
};

std::string hint_for_magic(std::string_view magic) {
  if (magic == "tjgg" || magic == "fmgg" || magic == "lmgg" || magic == "algg") {
    return "a file of GGUF's predecessors; convert the original model again";
  }
  if (magic == "vers") return "perhaps a Git LFS pointer instead of the file itself";
  if (magic == std::string_view("PK\3\4")) return "this is a zip archive, as PyTorch writes";
  return {};
}

void PartReader::read_preamble() {
  std::string magic(std::min<uint64_t>(kMagic.size(), source_.size()), '\0');
  in_.bytes(std::as_writable_bytes(std::span(magic)), "the magic");
  if (magic.empty()) fail(Code::corrupt, source_.name(), "is empty, a GGUF file starts with 'GGUF'");
  if (magic != kMagic) {
    fail(Code::corrupt, source_.name(),
         format("starts with {}, a GGUF file starts with 'GGUF'", quote(magic)), hint_for_magic(magic));
  }
  const auto version = in_.number<uint32_t>("the version");
  if (version != 0 && (version & 0xffff) == 0) {
    fail(Code::unsupported, source_.name(), "is a big-endian GGUF file; only little-endian ones can be read",
         "convert the model on, or for, a little-endian machine");
  }
  if (version != 2 && version != 3) {
    fail(version == 0 ? Code::corrupt : Code::unsupported, source_.name(),
         format("has GGUF version {}; versions 2 and 3 can be read", version),
         version == 1 ? "convert the original model again" : "");
  }
  n_tensors_ = in_.number<uint64_t>("the number of tensors");
  n_keys_ = in_.number<uint64_t>("the number of metadata keys");
  if (n_keys_ > kMaxKeys || n_tensors_ > kMaxTensors) {
    fail(Code::corrupt, in_.where(),
         format("{} tensors and {} metadata keys, expected at most {} and {}", n_tensors_, n_keys_,
                kMaxTensors, kMaxKeys));
  }
  // The least that an entry takes: lengths, a name of one byte, type, and one byte of value (or one
  // dimension, offset).
  in_.need(n_keys_, 8 + 1 + 4 + 1, "the metadata");
  in_.need(n_tensors_, 8 + 1 + 4 + 8 + 4 + 8, "the list of tensors");
}

std::string PartReader::read_name(std::string_view what) {
  std::string name = in_.text(kMaxNameBytes, what);
  if (name.empty()) fail(Code::corrupt, in_.where(), format("{} is empty", what));
  if (name.find('\0') != std::string::npos) {
    fail(Code::corrupt, in_.where(), format("{} {} contains a zero byte", what, quote(name)));
  }
  return name;
}

void PartReader::read_meta() {
  part_.meta.reserve(std::min<uint64_t>(n_keys_, 1024));
  for (uint64_t i = 0; i < n_keys_; ++i) {
    std::string key = read_name("a key");
    in_.enter("key", key);
    MetaValue value = read_value();
    in_.leave();
    part_.meta.emplace_back(std::move(key), std::move(value));
  }
  check_keys();
}

bool PartReader::read_bool() {
  const auto byte = in_.number<uint8_t>("a bool");
  if (byte > 1) fail(Code::corrupt, in_.where(), format("a bool is {}, expected 0 or 1", byte));
  return byte == 1;
}

MetaValue PartReader::read_value() {
  const auto type = in_.number<uint32_t>("the type of a value");
  switch (static_cast<ValueType>(type)) {
    case ValueType::u8:
      return static_cast<uint64_t>(in_.number<uint8_t>("the value"));
    case ValueType::i8:
      return static_cast<int64_t>(in_.number<int8_t>("the value"));
    case ValueType::u16:
      return static_cast<uint64_t>(in_.number<uint16_t>("the value"));
    case ValueType::i16:
      return static_cast<int64_t>(in_.number<int16_t>("the value"));
    case ValueType::u32:
      return static_cast<uint64_t>(in_.number<uint32_t>("the value"));
    case ValueType::i32:
      return static_cast<int64_t>(in_.number<int32_t>("the value"));
    case ValueType::f32:
      return static_cast<double>(in_.number<float>("the value"));
    case ValueType::boolean:
      return read_bool();
    case ValueType::string:
      return in_.text(kMaxStringBytes, "the value");
    case ValueType::array:
      return read_array();
    case ValueType::u64:
      return in_.number<uint64_t>("the value");
    case ValueType::i64:
      return in_.number<int64_t>("the value");
    case ValueType::f64:
      return in_.number<double>("the value");
  }
  fail(Code::corrupt, in_.where(), format("has value type {}, expected 0 to 12", type));
}

MetaValue PartReader::read_array() {
  const auto type = in_.number<uint32_t>("the element type of an array");
  const auto n = in_.number<uint64_t>("the length of an array");
  if (n > kMaxArrayElements - n_elements_) {
    fail(Code::corrupt, in_.where(),
         format("the array has {} elements, {} before it; at most {} are allowed in a file", n, n_elements_,
                kMaxArrayElements));
  }
  n_elements_ += n;
  switch (static_cast<ValueType>(type)) {
    case ValueType::u8:
      return MetaArray(in_.numbers<uint8_t, uint64_t>(n, "the array"));
    case ValueType::i8:
      return MetaArray(in_.numbers<int8_t, int64_t>(n, "the array"));
    case ValueType::u16:
      return MetaArray(in_.numbers<uint16_t, uint64_t>(n, "the array"));
    case ValueType::i16:
      return MetaArray(in_.numbers<int16_t, int64_t>(n, "the array"));
    case ValueType::u32:
      return MetaArray(in_.numbers<uint32_t, uint64_t>(n, "the array"));
    case ValueType::i32:
      return MetaArray(in_.numbers<int32_t, int64_t>(n, "the array"));
    case ValueType::f32:
      return MetaArray(in_.numbers<float, double>(n, "the array"));
    case ValueType::u64:
      return MetaArray(in_.numbers<uint64_t, uint64_t>(n, "the array"));
    case ValueType::i64:
      return MetaArray(in_.numbers<int64_t, int64_t>(n, "the array"));
    case ValueType::f64:
      return MetaArray(in_.numbers<double, double>(n, "the array"));
    case ValueType::boolean: {
      in_.need(n, 1, "the array");
      std::vector<bool> out;
      for (uint64_t i = 0; i < n; ++i) out.push_back(read_bool());
      return MetaArray(std::move(out));
    }
    case ValueType::string: {
      in_.need(n, 8, "the array");
      std::vector<std::string> out;
      for (uint64_t i = 0; i < n; ++i) out.push_back(in_.text(kMaxStringBytes, "a string of the array"));
      return MetaArray(std::move(out));
    }
    case ValueType::array:
      fail(Code::unsupported, in_.where(), "is an array of arrays, which no reader accepts");
  }
  fail(Code::corrupt, in_.where(), format("has array element type {}, expected 0 to 12", type));
}

void PartReader::check_keys() const {
  NameIndex index;
  for (size_t i = 0; i < part_.meta.size(); ++i) index.add(part_.meta[i].first, i);
  index.sort();
  const auto twice = index.duplicate();
  if (!twice) return;
  fail(Code::corrupt, format("{}, key {}", source_.name(), quote(part_.meta[twice->first].first)),
       format("the key appears twice: as entries {} and {}", twice->first, twice->second));
}

// The numbers of types that were removed again, or that only ever live in memory. Source: ggml.h, enum
// ggml_type.
std::string_view name_of_retired(uint32_t id) {
  switch (id) {
    case 4:
      return "q4_2, removed";
    case 5:
      return "q4_3, removed";
    case 9:
      return "q8_1, for activations only";
    case 15:
      return "q8_k, for activations only";
    case 31:
      return "q4_0_4_4, removed";
    case 32:
      return "q4_0_4_8, removed";
    case 33:
      return "q4_0_8_8, removed";
    case 36:
      return "iq4_nl_4_4, removed";
    case 37:
      return "iq4_nl_4_8, removed";
    case 38:
      return "iq4_nl_8_8, removed";
    default:
      return "unknown";
  }
}

const DTypeInfo& PartReader::read_type() {
  const auto id = in_.number<uint32_t>("the tensor's type");
  const DTypeInfo* info = types_.find_ggml(id);
  if (info) return *info;
  const std::string_view note = name_of_retired(id);
  fail(Code::unsupported, in_.where(), format("has tensor type {} ({}), which cannot be read", id, note),
       note == "unknown" ? "a newer version may know it" : "quantise the original model again");
}

// The file lists the fastest dimension first; a Shape the slowest.
Shape PartReader::read_shape() {
  const auto n_dims = in_.number<uint32_t>("the number of dimensions");
  if (n_dims < 1 || n_dims > kMaxDims) {
    fail(Code::corrupt, in_.where(), format("has {} dimensions, expected 1 to {}", n_dims, kMaxDims));
  }
  std::array<uint64_t, kMaxDims> ne{};
  uint64_t elements = 1;
  for (uint32_t i = 0; i < n_dims; ++i) {
    ne[i] = in_.number<uint64_t>("a dimension");
    const auto product = checked_mul(elements, ne[i]);
    if (ne[i] == 0) fail(Code::corrupt, in_.where(), format("dimension {} is 0, expected 1 or more", i));
    if (!product || *product > kMaxTensorElements) {
      fail(Code::corrupt, in_.where(),
           format("with dimension {} of {} it has more than 2^48 elements", i, ne[i]));
    }
    elements = *product;
  }
  Shape shape;
  for (uint32_t i = n_dims; i-- > 0;) shape.push_back(static_cast<int64_t>(ne[i]));
  return shape;
}

TensorInfo PartReader::read_tensor() {
  TensorInfo tensor;
  tensor.source = index_;
  tensor.name = read_name("a tensor's name");
  in_.enter("tensor", tensor.name);
  tensor.shape = read_shape();
  const DTypeInfo& type = read_type();
  tensor.type = type.type;
  tensor.offset = in_.number<uint64_t>("the tensor's offset");
  const auto row = static_cast<uint64_t>(tensor.shape.back());
  if (row % type.block_elems != 0) {
    fail(Code::corrupt, in_.where(),
         format("rows of {} elements, expected a multiple of {} ({} blocks)", row, type.block_elems,
                type.name));
  }
  const auto bytes = bytes_of(type, static_cast<uint64_t>(tensor.shape.elements()));
  if (!bytes) fail(Code::corrupt, in_.where(), format("the size of {} overflows", tensor.shape.text()));
  tensor.bytes = *bytes;
  in_.leave();
  return tensor;
}

void PartReader::read_tensors() {
  part_.tensors.reserve(std::min<uint64_t>(n_tensors_, 1024));
  for (uint64_t i = 0; i < n_tensors_; ++i) part_.tensors.push_back(read_tensor());
}

uint64_t PartReader::alignment() const {
  const auto it = std::find_if(part_.meta.begin(), part_.meta.end(),
                               [](const auto& entry) { return entry.first == kAlignmentKey; });
  if (it == part_.meta.end()) return kDefaultAlignment;
  const auto* value = std::get_if<uint64_t>(&it->second);
  const std::string place = format("{}, key {}", source_.name(), quote(kAlignmentKey));
  if (!value) fail(Code::corrupt, place, "is not an unsigned integer");
  if (!is_power_of_two(*value) || *value < kMinAlignment || *value > kMaxAlignment) {
    fail(Code::corrupt, place,
         format("is {}, expected a power of two from {} to {}", *value, kMinAlignment, kMaxAlignment));
  }
  return *value;
}

std::string PartReader::where(const TensorInfo& tensor) const {
  return format("{}, tensor {}", source_.name(), quote(tensor.name));
}

void PartReader::place_tensors() {
  const uint64_t align = alignment();
  if (part_.tensors.empty()) return;  // a vocabulary: the padding before the data may be absent too
  const auto start = checked_round_up(in_.offset(), align);
  for (TensorInfo& tensor : part_.tensors) {
    if (tensor.offset % align != 0) {
      fail(Code::corrupt, where(tensor),
           format("its offset {} is not a multiple of the alignment {}", tensor.offset, align));
    }
    const auto begin = start ? checked_add(*start, tensor.offset) : std::nullopt;
    const auto end = begin ? checked_add(*begin, tensor.bytes) : std::nullopt;
    if (!end || *end > source_.size()) {
      fail(Code::corrupt, where(tensor),
           format("{} bytes at offset {} of the data (which starts at {}) end past the file's {} bytes",
                  tensor.bytes, tensor.offset, start.value_or(0), source_.size()),
           "the file is damaged or its download is incomplete");
    }
    tensor.offset = *begin;
  }
  check_no_overlap(source_, part_.tensors);
}

Part PartReader::read() {
  read_preamble();
  read_meta();
  read_tensors();
  place_tensors();
  return std::move(part_);
}

}  // namespace

Part read_part(const ByteSource& source, const DTypeTable& types, uint32_t index) {
  return PartReader(source, types, index).read();
}

}  // namespace ingle::formats::gguf
