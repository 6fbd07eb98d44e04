// Reads the lines of cases.jsonl: flat objects of strings, arrays of integers and booleans. Tests only.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "text/unicode.h"

namespace ingle::tests {

struct JsonValue {
  bool is_null = false, truth = false;
  std::string text;
  std::vector<int32_t> numbers;
};
using JsonObject = std::map<std::string, JsonValue>;

class JsonLine {
 public:
  explicit JsonLine(const std::string& line) : at_(line.c_str()) {}
  JsonObject object() {
    JsonObject out;
    expect('{');
    while (peek() != '}') {
      std::string key = string();
      expect(':');
      out[key] = value();
      if (peek() == ',') ++at_;
    }
    return out;
  }

 private:
  char peek() {
    while (*at_ == ' ') ++at_;
    return *at_;
  }
  void expect(char c) {
    if (peek() != c) throw std::runtime_error(std::string("expected ") + c + " at " + at_);
    ++at_;
  }
  uint32_t hex4() {
    const std::string digits(at_, 4);
    at_ += 4;
    return static_cast<uint32_t>(std::strtoul(digits.c_str(), nullptr, 16));
  }
  std::string string() {
    expect('"');
    std::string out;
    while (*at_ != '"') {
      if (*at_ != '\\') {
        out.push_back(*at_++);
        continue;
      }
      const char c = at_[1];
      at_ += 2;
      if (c == 'u') {
        uint32_t code = hex4();
        if (code >= 0xD800 && code < 0xDC00) {
          at_ += 2;
          code = 0x10000 + ((code - 0xD800) << 10) + (hex4() - 0xDC00);
        }
        text::append_utf8(out, code);
      } else {
        const std::string from = "nrtbf", to = "\n\r\t\b\f";
        const size_t i = from.find(c);
        out.push_back(i == from.npos ? c : to[i]);
      }
    }
    ++at_;
    return out;
  }
  JsonValue value() {
    JsonValue v;
    switch (peek()) {
      case '"':
        v.text = string();
        break;
      case 't':
        v.truth = true, at_ += 4;
        break;
      case 'f':
        at_ += 5;
        break;
      case 'n':
        v.is_null = true, at_ += 4;
        break;
      case '[':
        ++at_;
        while (peek() != ']') {
          char* end = nullptr;
          v.numbers.push_back(static_cast<int32_t>(std::strtol(at_, &end, 10)));
          at_ = end;
          if (peek() == ',') ++at_;
        }
        ++at_;
        break;
      default:
        throw std::runtime_error(std::string("a value that is not supported: ") + at_);
    }
    return v;
  }
  const char* at_;
};

inline std::vector<JsonObject> read_jsonl(const std::string& path) {
  std::ifstream in(path);
  std::vector<JsonObject> out;
  for (std::string line; std::getline(in, line);) {
    if (!line.empty()) out.push_back(JsonLine(line).object());
  }
  return out;
}

}  // namespace ingle::tests
