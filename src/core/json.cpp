#include "core/json.h"

#include <nlohmann/json.hpp>

#include "core/error.h"

namespace ingle {
namespace {

constexpr size_t kMaxDepth = 256;

// nlohmann's parser does not recurse; what it says is put into a tree of known depth.
class Builder : public nlohmann::json_sax<nlohmann::json> {
 public:
  Builder(const std::string& where, RepeatedKeys repeated) : where_(where), repeated_(repeated) {}

  bool null() override { return put({}); }
  bool boolean(bool value) override { return put(Json::of_boolean(value)); }
  bool number_integer(int64_t value) override { return put(Json::of_number(std::to_string(value))); }
  bool number_unsigned(uint64_t value) override { return put(Json::of_number(std::to_string(value))); }
  bool number_float(double, const std::string& text) override { return put(Json::of_number(text)); }
  bool string(std::string& value) override { return put(Json::of_string(value)); }
  bool binary(nlohmann::json::binary_t&) override { return false; }
  bool start_object(size_t) override { return open(Json::Kind::object); }
  bool start_array(size_t) override { return open(Json::Kind::array); }
  bool key(std::string& name) override {
    Json& object = *open_.back();
    if (object.find(name)) {
      if (repeated_ == RepeatedKeys::refused)
        fail(Code::invalid_argument, where_, format("the key \"{}\" is there twice", name));
      object.erase(name);
    }
    object.members.emplace_back(std::move(name), Json{});
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
  RepeatedKeys repeated_;
  std::vector<Json*> open_;  // a parent's vector does not grow while a child is open
};

void write_string(std::string& out, const std::string& text) {
  constexpr char kHex[] = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    const size_t known = std::string_view("\"\\\n\r\t\f\b").find(c);
    if (known != std::string_view::npos) {
      out += '\\';
      out += "\"\\nrtfb"[known];
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
Json* Json::find(std::string_view key) { return const_cast<Json*>(std::as_const(*this).find(key)); }
Json& Json::member(std::string_view key) {
  if (Json* known = find(key)) return *known;
  return members.emplace_back(std::string(key), Json{}).second;
}
void Json::erase(std::string_view key) {
  std::erase_if(members, [&](const auto& m) { return m.first == key; });
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
Json Json::of_string(std::string_view text) {
  Json out;
  out.kind = Kind::string;
  out.text = text;
  return out;
}
Json Json::of_array(std::vector<Json> items) {
  Json out;
  out.kind = Kind::array;
  out.items = std::move(items);
  return out;
}
Json Json::of_object(Members members) {
  Json out;
  out.kind = Kind::object;
  out.members = std::move(members);
  return out;
}

Json parse_json(std::string_view text, const std::string& where, RepeatedKeys repeated) {
  Builder builder(where, repeated);
  nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
  return std::move(builder.root);
}

std::string to_text(const Json& value) {
  std::string out;
  write(out, value);
  return out;
}

}  // namespace ingle
