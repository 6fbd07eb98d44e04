#include "text/hf/json_reader.h"

#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/error.h"

namespace ingle::text::hf {
namespace {

constexpr size_t kDeepest = 64;

// Builds a document bottom up on a stack of its own, and lets a derived class take values out on their way.
class Builder : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Builder(const std::string& file) : file_(file) {}
  Json result;

  bool null() override { return put(Json()); }
  bool boolean(bool value) override { return put(Json::of_boolean(value)); }
  bool number_integer(number_integer_t value) override { return put(Json::of_number(std::to_string(value))); }
  bool number_unsigned(number_unsigned_t value) override {
    return put(Json::of_number(std::to_string(value)));
  }
  bool number_float(number_float_t, const string_t& written) override {
    return put(Json::of_number(written));
  }
  bool string(string_t& value) override { return put(Json::of_string(std::move(value))); }
  bool binary(binary_t&) override { return false; }
  bool start_object(size_t) override { return open(Json::Kind::object); }
  bool start_array(size_t) override { return open(Json::Kind::array); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& value) override {
    open_.back().key = std::move(value);
    return true;
  }
  bool parse_error(size_t at, const std::string&, const nlohmann::detail::exception&) override {
    fail(Code::corrupt, file_, format("is not JSON in UTF-8: error at byte {}", at));
  }

 protected:
  struct Level {
    Json value;
    std::string key;
    std::unordered_map<std::string, size_t>
        places;  // of the keys of an object: of one that stands twice the last counts
    void set(Json member) {
      const auto [at, fresh] = places.emplace(key, value.members.size());
      if (fresh)
        value.members.emplace_back(key, std::move(member));
      else
        value.members[at->second].second = std::move(member);
    }
  };
  bool put(Json value) {
    if (open_.empty())
      result = std::move(value);
    else if (open_.back().value.is(Json::Kind::object))
      open_.back().set(std::move(value));
    else
      open_.back().value.items.push_back(std::move(value));
    return true;
  }
  bool open(Json::Kind kind) {
    if (open_.size() >= kDeepest) fail(Code::corrupt, file_, format("nests more than {} deep", kDeepest));
    open_.emplace_back().value.kind = kind;
    return true;
  }
  bool close() {
    Json value = std::move(open_.back().value);
    open_.pop_back();
    return put(std::move(value));
  }

  const std::string& file_;
  std::vector<Level> open_;
};

// Takes model.vocab and model.merges out: as a document they would need several times their size.
class TokenizerBuilder final : public Builder {
 public:
  TokenizerBuilder(const std::string& file, TokenizerJson& out) : Builder(file), out_(out) {}

  bool start_object(size_t n) override {
    if (enter(true)) return true;
    if (list_ != List::none) wrong();
    return Builder::start_object(n);
  }
  bool end_object() override {
    if (list_ == List::none) return Builder::end_object();
    list_ = List::none;
    return true;
  }
  bool start_array(size_t n) override {
    if (enter(false)) return true;
    if (list_ == List::none) return Builder::start_array(n);
    if (list_ == List::vocabulary_object || depth_ == 1) wrong();
    depth_ = 1, parts_ = 0;
    return true;
  }
  bool end_array() override {
    if (list_ == List::none) return Builder::end_array();
    if (depth_ == 0) {
      list_ = List::none;
      return true;
    }
    if (parts_ != 2) wrong();
    depth_ = 0;
    return true;
  }
  bool key(string_t& value) override {
    if (list_ == List::none) return Builder::key(value);
    text_ = std::move(value);
    return true;
  }
  bool string(string_t& value) override {
    if (list_ == List::none) return Builder::string(value);
    if (list_ == List::merges) {
      add_merge(value);
    } else {
      if (list_ != List::vocabulary_array || depth_ == 0 || parts_++ != 0) wrong();
      text_ = std::move(value);
    }
    return true;
  }
  bool number_integer(number_integer_t value) override {
    return list_ == List::none ? Builder::number_integer(value)
                               : number(static_cast<double>(value), value, true);
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (list_ == List::none) return Builder::number_unsigned(value);
    const bool fits = value <= static_cast<number_unsigned_t>(std::numeric_limits<int64_t>::max());
    return number(static_cast<double>(value), fits ? static_cast<int64_t>(value) : -1, true);
  }
  bool number_float(number_float_t value, const string_t& written) override {
    return list_ == List::none ? Builder::number_float(value, written) : number(value, 0, false);
  }
  bool null() override { return list_ == List::none ? Builder::null() : wrong(); }
  bool boolean(bool value) override { return list_ == List::none ? Builder::boolean(value) : wrong(); }

 private:
  enum class List : uint8_t { none, vocabulary_object, vocabulary_array, merges };

  bool enter(bool object) {
    if (list_ != List::none || open_.size() != 2 || open_[0].key != "model" ||
        !open_[0].value.is(Json::Kind::object) || !open_[1].value.is(Json::Kind::object)) {
      return false;
    }
    const std::string& name = open_[1].key;
    if (name == "vocab") {
      list_ = object ? List::vocabulary_object : List::vocabulary_array;
      out_.scored = !object;
      out_.vocabulary.clear();
    } else if (name == "merges" && !object) {
      list_ = List::merges;
      out_.merges = StringList();
    } else {
      return false;
    }
    depth_ = 0;
    return true;
  }

  bool number(double value, int64_t whole, bool is_whole) {
    if (list_ == List::vocabulary_object && is_whole) {
      out_.vocabulary.push_back({std::move(text_), whole, 0});
      return true;
    }
    if (list_ != List::vocabulary_array || depth_ == 0 || parts_++ != 1) wrong();
    out_.vocabulary.push_back({std::move(text_), static_cast<int64_t>(out_.vocabulary.size()), value});
    return true;
  }

  // "a b", or one of the two strings of ["a", "b"].
  void add_merge(const std::string& text) {
    if (depth_ == 1) {
      if (++parts_ > 2) wrong();
      out_.merges.push_back(text);
      return;
    }
    const size_t space = text.find(' ');
    if (space == text.npos || text.find(' ', space + 1) != text.npos) wrong();
    out_.merges.push_back(std::string_view(text).substr(0, space));
    out_.merges.push_back(std::string_view(text).substr(space + 1));
  }

  [[noreturn]] bool wrong() const {
    if (list_ == List::merges) {
      fail(Code::corrupt, file_,
           format("model.merges[{}] is not \"left right\" or [\"left\", \"right\"]", out_.merges.size() / 2));
    }
    fail(Code::corrupt, file_,
         format("model.vocab, entry {}: expected {}", out_.vocabulary.size(),
                list_ == List::vocabulary_array ? "[text, score]" : "a whole number"));
  }

  TokenizerJson& out_;
  List list_ = List::none;
  int depth_ = 0, parts_ = 0;  // inside an item of an array, and how many values it had
  std::string text_;
};

std::string shown(const Json& value) {
  std::string text = to_text(value);
  if (text.size() > 60) text = text.substr(0, 57) + "…";
  return text;
}

}  // namespace

Node Node::operator[](const std::string& key) const {
  return {is_object() ? value_->find(key) : nullptr, file_, path_.empty() ? key : path_ + "." + key};
}

Node Node::at(size_t index) const {
  return {is_array() && index < value_->items.size() ? &value_->items[index] : nullptr, file_,
          format("{}[{}]", path_, index)};
}

std::vector<std::string> Node::keys() const {
  std::vector<std::string> out;
  if (is_object()) {
    for (const auto& [key, value] : value_->members) out.push_back(key);
  }
  return out;
}

void Node::corrupt(const std::string& what) const {
  fail(Code::corrupt, file_, format("{} is {}", path_.empty() ? "the document" : path_, what));
}
void Node::unsupported(const std::string& what) const {
  fail(Code::unsupported, file_, format("{} is {}", path_.empty() ? "the document" : path_, what));
}
void Node::expected(const char* type) const {
  corrupt(value_ ? format("{}, expected {}", shown(*value_), type) : format("missing, expected {}", type));
}

const std::string& Node::string() const {
  if (!is_string()) expected("a string");
  return value_->text;
}
bool Node::is_zero() const {
  if (!value_ || !value_->is(Json::Kind::number)) return false;
  double number = 1;
  std::from_chars(value_->text.data(), value_->text.data() + value_->text.size(), number);
  return number == 0;
}
int64_t Node::integer() const {
  int64_t out = 0;
  const bool number = value_ && value_->is(Json::Kind::number);
  const char* end = number ? value_->text.data() + value_->text.size() : nullptr;
  if (!number) expected("a whole number");
  const auto [at, error] = std::from_chars(value_->text.data(), end, out);
  if (error != std::errc() || at != end) expected("a whole number");
  return out;
}
bool Node::boolean() const {
  if (!value_ || !value_->is(Json::Kind::boolean)) expected("true or false");
  return value_->truth;
}
void Node::need_object() const {
  if (!is_object()) expected("an object");
}
void Node::need_array() const {
  if (!is_array()) expected("an array");
}
std::string Node::string_or(const std::string& fallback) const { return is_null() ? fallback : string(); }
int64_t Node::integer_or(int64_t fallback) const { return is_null() ? fallback : integer(); }
bool Node::boolean_or(bool fallback) const { return is_null() ? fallback : boolean(); }

TokenizerJson read_tokenizer_json(std::string_view text, const std::string& file) {
  TokenizerJson out;
  TokenizerBuilder builder(file, out);
  nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
  out.rest = std::move(builder.result);
  return out;
}

Json read_json(std::string_view text, const std::string& file) {
  Builder builder(file);
  nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
  return std::move(builder.result);
}

}  // namespace ingle::text::hf
