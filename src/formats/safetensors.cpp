#include "formats/safetensors.h"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "core/checked_math.h"
#include "core/error.h"
#include "formats/basic_checkpoint.h"

namespace ingle::formats {
namespace {

constexpr uint64_t kMaxHeaderBytes = 100'000'000;  // the reference's limit
constexpr uint64_t kMaxElements = 1ull << 48;
constexpr size_t kMaxTensors = 1 << 20, kMaxMetadata = 1 << 16,
                 kMaxDims = 16;  // bound the memory of a header
constexpr std::string_view kMetadata = "__metadata__";

// One entry of the header as it stands there.
struct Entry {
  std::string name;
  std::optional<std::string> dtype;
  std::optional<std::vector<uint64_t>> shape, data_offsets;
};

// Follows the JSON text event by event: the header has exactly three levels, so depth is bounded by
// construction, and names that appear twice stay visible (a document tree would drop the first).
class HeaderHandler final : public nlohmann::json_sax<nlohmann::json> {
 public:
  HeaderHandler(const std::string& file, std::function<void(const Entry&)> on_tensor)
      : file_(file), on_tensor_(std::move(on_tensor)) {}
  MetaList metadata;

  bool start_object(std::size_t) override {
    if (level_ == Level::outside) return level_ = Level::top, true;
    if (level_ == Level::name_seen) {
      if (in_metadata()) return level_ = Level::metadata, true;
      entry_ = {name_, {}, {}, {}};
      return level_ = Level::tensor, true;
    }
    return unexpected("an object");
  }
  bool end_object() override {
    if (level_ == Level::tensor) on_tensor_(entry_);
    level_ = level_ == Level::top ? Level::done : Level::top;
    return true;
  }
  bool key(string_t& key) override {
    if (level_ == Level::top) {
      name_ = std::move(key);
      level_ = Level::name_seen;
      if (in_metadata() && std::exchange(metadata_seen_, true)) refuse("appears twice");
    } else {
      field_ = std::move(key);
    }
    return true;
  }
  bool string(string_t& value) override {
    if (level_ == Level::metadata) {
      if (metadata.size() == kMaxMetadata) refuse(format("has more than {} entries", kMaxMetadata));
      metadata.emplace_back(std::move(field_), std::move(value));
    } else if (level_ == Level::tensor && field_ == "dtype") {
      set(entry_.dtype, std::move(value));
    } else {
      return unexpected("a string");
    }
    return true;
  }
  bool start_array(std::size_t) override {
    if (level_ != Level::tensor || (field_ != "shape" && field_ != "data_offsets"))
      return unexpected("an array");
    set(numbers_of(field_), {});
    level_ = Level::numbers;
    return true;
  }
  bool end_array() override {
    level_ = Level::tensor;
    return true;
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (level_ != Level::numbers) return unexpected("a number");
    std::vector<uint64_t>& numbers = *numbers_of(field_);
    if (numbers.size() == kMaxDims) refuse(format("its {} has more than {} numbers", field_, kMaxDims));
    numbers.push_back(value);
    return true;
  }
  bool null() override { return unexpected("null"); }
  bool boolean(bool) override { return unexpected("a bool"); }
  bool number_integer(number_integer_t) override { return unexpected("a negative number"); }
  bool number_float(number_float_t, const string_t&) override { return unexpected("a fraction"); }
  bool binary(binary_t&) override { return unexpected("binary data"); }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    fail(Code::corrupt, format("{}, offset {}", file_, 8 + position), "the header is not valid JSON");
  }

 private:
  enum class Level { outside, top, name_seen, metadata, tensor, numbers, done };

  bool in_metadata() const { return name_ == kMetadata; }
  std::optional<std::vector<uint64_t>>& numbers_of(const std::string& field) {
    return field == "shape" ? entry_.shape : entry_.data_offsets;
  }
  template <class T>
  void set(std::optional<T>& field, T value) {
    if (field) refuse(format("its field {} appears twice", quote(field_)));
    field = std::move(value);
  }
  [[noreturn]] void refuse(std::string message) const {
    fail(Code::corrupt, file_ + (name_.empty() ? ", header" : ", tensor " + quote(name_)),
         std::move(message));
  }
  bool unexpected(std::string_view found) const {
    if (level_ == Level::outside) refuse(format("is {}, expected a JSON object", found));
    if (level_ == Level::name_seen) refuse(format("is {}, expected an object", found));
    if (level_ == Level::metadata)
      refuse(format("its entry {} is {}, expected a string", quote(field_), found));
    if (level_ == Level::numbers)
      refuse(format("its {} holds {}, expected integers of 0 or more", field_, found));
    refuse(format("its field {} is {}; expected dtype (a string), shape and data_offsets (arrays)",
                  quote(field_), found));
  }

  const std::string& file_;
  std::function<void(const Entry&)> on_tensor_;
  Entry entry_;
  Level level_ = Level::outside;
  bool metadata_seen_ = false;
  std::string name_, field_;
};

class Reader {
 public:
  Reader(ByteSourcePtr source, const DTypeTable& types) : source_(std::move(source)), types_(types) {}

  CheckpointPtr read() {
    const uint64_t header_bytes = read_length();
    data_start_ = 8 + header_bytes;
    std::vector<TensorInfo> tensors;
    HeaderHandler header(source_->name(), [&](const Entry& entry) {
      if (tensors.size() == kMaxTensors) fail(Code::corrupt, source_->name(), "has more than 2^20 tensors");
      tensors.push_back(check(entry));
    });
    parse(header_bytes, header);
    std::sort(tensors.begin(), tensors.end(), [](const TensorInfo& a, const TensorInfo& b) {
      return std::pair(a.offset, a.bytes) < std::pair(b.offset, b.bytes);
    });
    check_no_overlap(*source_, tensors);
    check_no_holes(tensors);
    return std::make_shared<BasicCheckpoint>(Naming::hugging_face, std::vector{source_}, std::move(tensors),
                                             std::move(header.metadata));
  }

 private:
  uint64_t read_length() const {
    if (source_->size() < 8) {
      fail(Code::corrupt, source_->name(),
           format("has {} bytes, a safetensors file starts with a length of 8 bytes", source_->size()));
    }
    uint64_t n = 0;
    source_->read(0, std::as_writable_bytes(std::span(&n, 1)));
    if (n > kMaxHeaderBytes || n > source_->size() - 8 || n < 2) {
      fail(Code::corrupt, source_->name(),
           format("the header's length is {}, expected 2 to {} (the file has {} bytes)", n, kMaxHeaderBytes,
                  source_->size()),
           "this is not a safetensors file, or its download is incomplete");
    }
    return n;
  }

  void parse(uint64_t n, HeaderHandler& header) const {
    std::string text(n, '\0');  // not from the mapping: a file that is cut short meanwhile is an error then
    source_->read(8, std::as_writable_bytes(std::span(text)));
    // The format says so; it also keeps a byte order mark out.
    if (text.front() != '{')
      fail(Code::corrupt, source_->name() + ", offset 8", "the header does not start with '{'");
    // The parser takes a zero byte for the end of its input; nothing may hide behind one.
    if (const size_t zero = text.find('\0'); zero != text.npos) {
      fail(Code::corrupt, format("{}, offset {}", source_->name(), 8 + zero),
           "the header contains a zero byte");
    }
    nlohmann::json::sax_parse(text, &header);
  }

  std::string where(const std::string& tensor) const { return source_->name() + ", tensor " + quote(tensor); }

  TensorInfo check(const Entry& entry) const {
    if (!entry.dtype || !entry.shape || !entry.data_offsets) {
      fail(Code::corrupt, where(entry.name),
           format("has no {}", !entry.dtype   ? "dtype"
                               : !entry.shape ? "shape"
                                              : "data_offsets"));
    }
    const DTypeInfo* info = types_.find_safetensors(*entry.dtype);
    if (!info) {
      fail(Code::unsupported, where(entry.name),
           format("has dtype {}, which cannot be read", quote(*entry.dtype)));
    }
    TensorInfo tensor;
    tensor.name = entry.name;
    tensor.type = info->type;
    tensor.shape = check_shape(entry);
    place(entry, *info, tensor);
    return tensor;
  }

  // Dimensions past the fourth (3-D convolutions) are folded into it: the bytes lie the same.
  Shape check_shape(const Entry& entry) const {
    uint64_t elements = 1;
    for (const uint64_t dim : *entry.shape) {
      const auto product = checked_mul(elements, std::max<uint64_t>(dim, 1));
      if (!product || *product > kMaxElements) {
        fail(Code::corrupt, where(entry.name), format("dimension {}: more than 2^48 elements", dim));
      }
      elements = *product;
    }
    std::vector<uint64_t> dims = *entry.shape;
    for (; dims.size() > static_cast<size_t>(Shape::kMaxRank); dims.pop_back())
      dims[dims.size() - 2] *= dims.back();
    Shape shape;
    for (const uint64_t dim : dims) shape.push_back(static_cast<int64_t>(dim));
    return shape;
  }

  void place(const Entry& entry, const DTypeInfo& info, TensorInfo& tensor) const {
    const std::vector<uint64_t>& range = *entry.data_offsets;
    const uint64_t data_bytes = source_->size() - data_start_;
    if (range.size() != 2) {
      fail(Code::corrupt, where(entry.name), format("data_offsets has {} numbers, expected 2", range.size()));
    }
    if (range[0] > range[1]) {
      fail(Code::corrupt, where(entry.name),
           format("data_offsets begins at {} and ends at {}", range[0], range[1]));
    }
    if (range[1] > data_bytes) {
      fail(Code::corrupt, where(entry.name),
           format("ends at {} of the data, which has {} bytes", range[1], data_bytes),
           "the file is damaged or its download is incomplete");
    }
    const auto bytes = bytes_of(info, static_cast<uint64_t>(tensor.shape.elements()));
    if (!bytes || *bytes != range[1] - range[0]) {
      fail(Code::corrupt, where(entry.name),
           format("data_offsets {} to {} hold {} bytes, {} {} needs {}", range[0], range[1],
                  range[1] - range[0], *entry.dtype, tensor.shape.text(),
                  bytes ? std::to_string(*bytes) : "whole blocks"));
    }
    tensor.bytes = *bytes;
    tensor.offset = data_start_ + range[0];
  }

  // `tensors` by offset. Every byte of the data belongs to a tensor, so nothing can hide in the file.
  void check_no_holes(const std::vector<TensorInfo>& tensors) const {
    uint64_t end = data_start_;
    for (const TensorInfo& tensor : tensors) {
      if (tensor.offset > end) {
        fail(Code::corrupt, where(tensor.name),
             format("starts at offset {}, but the tensor before it ends at {}", tensor.offset, end));
      }
      end = std::max(end, tensor.offset + tensor.bytes);
    }
    if (end != source_->size()) {
      fail(Code::corrupt, source_->name(),
           format("has {} bytes, but its tensors end at offset {}", source_->size(), end));
    }
  }

  ByteSourcePtr source_;
  const DTypeTable& types_;
  uint64_t data_start_ = 0;
};

}  // namespace

CheckpointPtr open_safetensors(const std::string& path, const DTypeTable& types, bool map) {
  return open_safetensors(map ? open_mapped(path) : open_plain(path), types);
}

CheckpointPtr open_safetensors(ByteSourcePtr source, const DTypeTable& types) {
  if (!source) fail(Code::invalid_argument, "open_safetensors", "the source is null");
  return Reader(std::move(source), types).read();
}

}  // namespace ingle::formats
