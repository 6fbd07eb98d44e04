#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "value.h"

namespace ingle::capi {
namespace {

using Json = nlohmann::ordered_json;

// Builds a Value from the parser's events.
class Reader {
 public:
  Reader(std::string_view text, const char* argument) : size_(text.size()), argument_(argument) {}
  Value take() { return std::move(root_); }

  bool null() {
    place();
    return true;
  }
  bool boolean(bool v) { return add(v); }
  bool number_integer(int64_t v) { return add(v); }
  bool number_unsigned(uint64_t v) {
    if (v > INT64_MAX) refuse(format("{} is too large a number", v));
    return add(static_cast<int64_t>(v));
  }
  bool number_float(double v, const std::string&) { return add(v); }
  bool string(std::string& v) { return add(std::move(v)); }
  bool binary(Json::binary_t&) { return false; }
  bool start_object(size_t) { return open<Fields>(); }
  bool start_array(size_t) { return open<List>(); }
  bool end_object() {
    std::vector<std::string_view> keys;
    for (const auto& [name, value] : std::get<Fields>(*open_.back())) keys.push_back(name);
    std::sort(keys.begin(), keys.end());
    const auto twice = std::adjacent_find(keys.begin(), keys.end());
    if (twice != keys.end()) refuse(format("the key \"{}\" stands twice", twice->substr(0, 64)));
    return close();
  }
  bool end_array() { return close(); }
  bool key(std::string& name) {
    std::get<Fields>(*open_.back()).emplace_back().first = std::move(name);
    return true;
  }
  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception&) {
    refuse(position > size_ ? format("ends too early, after {} bytes", size_)
                            : format("is not valid JSON at byte {}", position));
  }

 private:
  [[noreturn]] void refuse(std::string what) { fail(Code::invalid_argument, argument_, std::move(what)); }
  Value& place() {
    if (open_.empty()) return root_;
    if (auto* list = std::get_if<List>(open_.back())) return list->emplace_back();
    return std::get<Fields>(*open_.back()).back().second;
  }
  template <class T>
  bool add(T v) {
    place().template emplace<T>(std::move(v));
    return true;
  }
  template <class T>
  bool open() {
    if (open_.size() >= kMaxDepth) refuse(format("more than {} levels deep", kMaxDepth));
    Value& here = place();
    here.template emplace<T>();
    open_.push_back(&here);  // stays put: its parent does not grow while it is open
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  Value root_;
  std::vector<Value*> open_;
  size_t size_;
  const char* argument_;
};

// nlohmann writes the scalars; its containers allocate when they are destroyed, which must not fail.
template <class T>
void write_scalar(std::string& out, const T& value) {
  out += Json(value).dump(-1, ' ', false, Json::error_handler_t::replace);
}

// A Value is at most as deep as what read_json() takes or this library makes.
void write(std::string& out, const Value& value) {
  const char* separator = "";
  if (const auto* list = value.as<List>()) {
    out += '[';
    for (const Value& v : *list) {
      out += std::exchange(separator, ",");
      write(out, v);
    }
    out += ']';
  } else if (const auto* fields = value.as<Fields>()) {
    out += '{';
    for (const auto& [key, v] : *fields) {
      out += std::exchange(separator, ",");
      write_scalar(out, key);
      out += ':';
      write(out, v);
    }
    out += '}';
  } else if (const auto* b = value.as<bool>()) {
    write_scalar(out, *b);
  } else if (const auto* i = value.as<int64_t>()) {
    write_scalar(out, *i);
  } else if (const auto* d = value.as<double>()) {
    write_scalar(out, *d);
  } else if (const auto* text = value.as<std::string>()) {
    write_scalar(out, *text);
  } else {
    out += "null";
  }
}

}  // namespace

Value::Value(const Value& other) : variant() {  // NOLINT(bugprone-copy-constructor-init): see value.h
  std::visit(
      [this](const auto& held) {
        auto copy = held;
        *static_cast<variant*>(this) = std::move(copy);
      },
      static_cast<const variant&>(other));
}

Value read_json(std::string_view text, const char* argument) {
  Reader reader(text, argument);
  if (!Json::sax_parse(text.begin(), text.end(), &reader))
    fail(Code::invalid_argument, argument, "is not valid JSON");
  return reader.take();
}

std::string write_json(const Value& value) {
  std::string out;
  write(out, value);
  return out;
}

}  // namespace ingle::capi
