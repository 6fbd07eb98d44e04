// tokenizer.json and the configurations beside it, read with the path of every value at hand for errors.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json.h"
#include "text/vocabulary.h"

namespace ingle::text::hf {

// A value of a document and where it stands. A missing value reads like null.
class Node {
 public:
  Node(const Json* value, std::string file, std::string path)
      : value_(value), file_(std::move(file)), path_(std::move(path)) {}

  bool is_null() const { return !value_ || value_->is(Json::Kind::null); }
  bool is_object() const { return value_ && value_->is(Json::Kind::object); }
  bool is_array() const { return value_ && value_->is(Json::Kind::array); }
  bool is_zero() const;
  bool is_string() const { return value_ && value_->is(Json::Kind::string); }
  const std::string& file() const { return file_; }
  const std::string& path() const { return path_; }

  // A member of an object, or an item of an array.
  Node operator[](const std::string& key) const;
  Node at(size_t index) const;
  size_t size() const { return !value_ ? 0 : is_object() ? value_->members.size() : value_->items.size(); }
  std::vector<std::string> keys() const;

  // Throw Code::corrupt when the value is missing or of another type.
  const std::string& string() const;
  int64_t integer() const;
  bool boolean() const;
  void need_object() const;
  void need_array() const;
  std::string string_or(const std::string& fallback) const;
  int64_t integer_or(int64_t fallback) const;
  bool boolean_or(bool fallback) const;

  [[noreturn]] void corrupt(const std::string& what) const;      // "PATH is WHAT"
  [[noreturn]] void unsupported(const std::string& what) const;  // the same

 private:
  [[noreturn]] void expected(const char* type) const;
  const Json* value_;
  std::string file_, path_;
};

// A tokenizer.json. The two lists that are long stand apart from the rest.
struct TokenizerJson {
  Json rest;
  struct Entry {
    std::string text;
    int64_t id;  // of an array (unigram): its index
    double score;
  };
  std::vector<Entry> vocabulary;
  bool scored = false;  // the vocabulary is an array of [text, score]
  // "model.merges": two parts each, the second after the first.
  StringList merges;
  size_t merge_count() const { return merges.size() / 2; }
};

TokenizerJson read_tokenizer_json(std::string_view text, const std::string& file);
// Any other document. Throws Code::corrupt naming the file.
Json read_json(std::string_view text, const std::string& file);

}  // namespace ingle::text::hf
