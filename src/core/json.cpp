#include "core/json.h"

#include <nlohmann/json.hpp>

#include "core/error.h"

namespace ingle {
namespace {

constexpr size_t kMaxDepth = 256;

// nlohmann's parser does not recurse; what it says is put into a tree of known depth.
class Builder : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Builder(const std::string& where) : where_(where) {}

  bool null() override { return put({}); }
  bool boolean(bool value) override { return put(Json::of_boolean(value)); }
  bool number_integer(int64_t value) override { return put(Json::of_number(std::to_string(value))); }
  bool number_unsigned(uint64_t value) override { return put(Json::of_number(std::to_string(value))); }
  bool number_float(double, const std::string& text) override { return put(Json::of_number(text)); }
  bool string(std::string& value) override { return put(Json::of_string(std::move(value))); }
  bool binary(nlohmann::json::binary_t&) override { return false; }
  bool start_object(size_t) override { return open(Json::Kind::object); }
  bool start_array(size_t) override { return open(Json::Kind::array); }
  bool key(std::string& name) override {
    for (const auto& [known, value] : open_.back()->members)
      if (known == name) fail(Code::invalid_argument, where_, format("the key \"{}\" is there twice", name));
    open_.back()->members.emplace_back(std::move(name), Json{});
    return true;
  }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool parse_error(size_t position, const std::string&, const nlohmann::json::exception& e) override {
    const std::string text = e.what();  // "[json.exception.…] parse error at line 1, column 2: …"
    const size_t at = text.find("] ");
    fail(Code::invalid_argument, where_,
         format("is not JSON: byte {}: {}", position, at == std::string::npos ? text : text.substr(at + 2)));
  }

  Json root;

 private:
  Json& place() {
    if (open_.empty()) return root;
    if (open_.back()->is(Json::Kind::object)) return open_.back()->members.back().second;
    return open_.back()->items.emplace_back();
  }
  bool put(Json value) {
    place() = std::move(value);
    return true;
  }
  bool open(Json::Kind kind) {
    if (open_.size() >= kMaxDepth)
      fail(Code::invalid_argument, where_, format("is nested deeper than {}", kMaxDepth));
    Json& j = place();
    j.kind = kind;
    open_.push_back(&j);
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  const std::string& where_;
  std::vector<Json*> open_;  // a parent's vector does not grow while a child is open
};

void write_string(std::string& out, const std::string& text) {
  constexpr char kHex[] = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += "\\u00";
      out += kHex[c >> 4];
      out += kHex[c & 15];
    } else {
      out += c;
    }
  }
  out += '"';
}

void write(std::string& out, const Json& j) {
  switch (j.kind) {
    case Json::Kind::null:
      out += "null";
      break;
    case Json::Kind::boolean:
      out += j.truth ? "true" : "false";
      break;
    case Json::Kind::number:
      out += j.text;
      break;
    case Json::Kind::string:
      write_string(out, j.text);
      break;
    case Json::Kind::array:
      out += '[';
      for (size_t i = 0; i < j.items.size(); ++i) {
        if (i) out += ',';
        write(out, j.items[i]);
      }
      out += ']';
      break;
    case Json::Kind::object:
      out += '{';
      for (size_t i = 0; i < j.members.size(); ++i) {
        if (i) out += ',';
        write_string(out, j.members[i].first);
        out += ':';
        write(out, j.members[i].second);
      }
      out += '}';
      break;
  }
}

}  // namespace

Json::Json() = default;
Json::Json(const Json&) = default;
Json::Json(Json&&) noexcept = default;
Json& Json::operator=(const Json&) = default;
Json& Json::operator=(Json&&) noexcept = default;
Json::~Json() = default;

const Json* Json::find(std::string_view key) const {
  for (const auto& [name, value] : members)
    if (name == key) return &value;
  return nullptr;
}

Json Json::of_boolean(bool value) {
  Json out;
  out.kind = Kind::boolean;
  out.truth = value;
  return out;
}
Json Json::of_number(std::string text) {
  Json out;
  out.kind = Kind::number;
  out.text = std::move(text);
  return out;
}
Json Json::of_string(std::string text) {
  Json out;
  out.kind = Kind::string;
  out.text = std::move(text);
  return out;
}

Json parse_json(std::string_view text, const std::string& where) {
  Builder builder(where);
  nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
  return std::move(builder.root);
}

std::string to_text(const Json& value) {
  std::string out;
  write(out, value);
  return out;
}

}  // namespace ingle
