#include "formats/json_flat.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/error.h"

namespace ingle::formats {
namespace {

constexpr size_t kMaxDepth = 32, kMaxKeyBytes = 1024, kMaxEntries = 1 << 21;

template <class T>
std::vector<T> all_as(const std::vector<MetaValue>& items) {
  std::vector<T> out;
  for (const MetaValue& v : items)
    std::visit(
        [&](const auto& x) {
          if constexpr (std::is_convertible_v<decltype(x), T>) out.push_back(static_cast<T>(x));
        },
        v);
  return out;
}

// The array of one kind that the items make; nothing when they differ.
std::optional<MetaArray> array_of(const std::vector<MetaValue>& items) {
  bool integers = true, numbers = true, bools = true, strings = true;
  for (const MetaValue& v : items) {
    const bool integer = std::holds_alternative<int64_t>(v);
    integers &= integer;
    numbers &= integer || std::holds_alternative<double>(v);
    bools &= std::holds_alternative<bool>(v);
    strings &= std::holds_alternative<std::string>(v);
  }
  if (integers) return all_as<int64_t>(items);
  if (numbers) return all_as<double>(items);
  if (bools) return all_as<bool>(items);
  if (strings) return all_as<std::string>(items);
  return std::nullopt;
}

// Follows the text event by event, so that depth is bounded and keys that appear twice stay visible.
class Flattener final : public nlohmann::json_sax<nlohmann::json> {
 public:
  Flattener(const std::string& file, const std::string& prefix) : file_(file), prefix_(prefix) {}
  MetaList entries;

  bool start_object(std::size_t) override { return open(false); }
  bool start_array(std::size_t) override { return open(true); }
  bool end_object() override { return levels_.pop_back(), true; }
  bool end_array() override {
    Level level = std::move(levels_.back());
    levels_.pop_back();
    if (std::optional<MetaArray> array; level.plain && (array = array_of(level.items)))
      return add(level.path, std::move(*array)), true;
    for (size_t i = 0; i < level.items.size(); ++i)
      add(level.path + "." + std::to_string(level.places[i]), std::move(level.items[i]));
    return true;
  }
  bool key(string_t& key) override {
    Level& level = levels_.back();
    level.next = levels_.size() == 1 ? prefix_ + key : level.path + "." + key;
    if (level.next.size() > kMaxKeyBytes) refuse("has a key of more than 1024 bytes");
    return true;
  }
  bool null() override {
    if (!levels_.empty() && levels_.back().array) levels_.back().plain = false, ++levels_.back().count;
    return in_object();
  }
  bool boolean(bool v) override { return scalar(v); }
  bool number_integer(number_integer_t v) override { return scalar(int64_t{v}); }
  bool number_unsigned(number_unsigned_t v) override {
    return v > INT64_MAX ? scalar(static_cast<double>(v)) : scalar(static_cast<int64_t>(v));
  }
  bool number_float(number_float_t v, const string_t&) override {
    if (!std::isfinite(v)) refuse("has a number that is not finite");
    return scalar(v);
  }
  bool string(string_t& v) override { return scalar(std::move(v)); }
  bool binary(binary_t&) override { return false; }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    fail(Code::corrupt, format("{}, offset {}", file_, position), "is not valid JSON");
  }

 private:
  struct Level {
    bool array = false, plain = true;  // plain: scalars only
    std::string path, next;            // of this level; of the value that comes next, in an object
    std::vector<MetaValue> items;      // of an array, and their places
    std::vector<size_t> places;
    size_t count = 0;
  };

  [[noreturn]] void refuse(const char* what) const { fail(Code::corrupt, file_, what); }
  bool in_object() const {
    if (levels_.empty()) refuse("does not hold a JSON object");
    return true;
  }
  bool open(bool array) {
    if (levels_.empty() && array) refuse("does not hold a JSON object");
    if (levels_.size() == kMaxDepth) refuse("nests deeper than 32 levels");
    Level level;
    level.array = array;
    if (!levels_.empty()) level.path = next_path();
    levels_.push_back(std::move(level));
    return true;
  }
  // Where the value that starts here stands.
  std::string next_path() {
    Level& level = levels_.back();
    if (!level.array) return level.next;
    level.plain = false;
    std::string path = level.path + "." + std::to_string(level.count++);
    if (path.size() > kMaxKeyBytes) refuse("has a key of more than 1024 bytes");
    return path;
  }
  bool scalar(MetaValue value) {
    in_object();
    Level& level = levels_.back();
    if (!level.array) return add(level.next, std::move(value)), true;
    if (++n_values_ > kMaxEntries) refuse("has more than 2^21 values");
    level.places.push_back(level.count++);
    level.items.push_back(std::move(value));
    return true;
  }
  void add(std::string key, MetaValue value) {
    if (++n_values_ > kMaxEntries) refuse("has more than 2^21 values");
    entries.emplace_back(std::move(key), std::move(value));
  }

  const std::string &file_, &prefix_;
  std::vector<Level> levels_;
  size_t n_values_ = 0;
};

}  // namespace

MetaList flatten_json(const ByteSource& source, uint64_t max_bytes, const std::string& prefix) {
  if (source.size() > max_bytes)
    fail(Code::corrupt, source.name(), format("has {} bytes, expected at most {}", source.size(), max_bytes));
  std::string text(source.size(), '\0');
  source.read(0, std::as_writable_bytes(std::span(text)));
  // The parser takes a zero byte for the end of its input; nothing may hide behind one.
  if (const size_t zero = text.find('\0'); zero != text.npos)
    fail(Code::corrupt, format("{}, offset {}", source.name(), zero), "the text contains a zero byte");
  Flattener flattener(source.name(), prefix);
  nlohmann::json::sax_parse(text, &flattener);
  NameIndex keys;
  for (size_t i = 0; i < flattener.entries.size(); ++i) keys.add(flattener.entries[i].first, i);
  keys.sort();
  if (const auto twice = keys.duplicate())
    fail(Code::corrupt, format("{}, key {}", source.name(), quote(flattener.entries[twice->first].first)),
         "the key appears twice");
  return std::move(flattener.entries);
}

}  // namespace ingle::formats
