#include "text/tools/schema.h"

#include "core/error.h"
#include "core/json.h"
#include "text/tools/json_scan.h"

namespace ingle::text {
namespace {

TypeSet bit_of(const Json& type) {
  if (!type.is(Json::Kind::string)) return 0;
  const std::string& name = type.text;
  if (name == "string") return kStringType;
  if (name == "number") return kNumberType | kIntegerType;
  if (name == "integer") return kIntegerType;
  if (name == "boolean") return kBooleanType;
  if (name == "null") return kNullType;
  if (name == "object") return kObjectType;
  return name == "array" ? kArrayType : 0;
}

// Is a number's value whole? 1.0 and 1e2 are.
bool is_whole(std::string_view number) {
  const size_t e = std::min(number.find_first_of("eE"), number.size());
  const size_t point = std::min(number.find('.'), e);
  int64_t shift = 0;  // of the point, to the right
  for (size_t i = e + 1; i < number.size(); ++i)
    if (number[i] >= '0' && number[i] <= '9')
      shift = std::min<int64_t>(shift * 10 + (number[i] - '0'), 1 << 20);
  if (e + 1 < number.size() && number[e + 1] == '-') shift = -shift;
  std::string digits(number.substr(0, point));
  if (point < e) digits += number.substr(point + 1, e - point - 1);
  const int64_t whole = static_cast<int64_t>(point) + shift;  // so many of them stand before the point
  for (size_t i = 0; i < digits.size(); ++i)
    if (static_cast<int64_t>(i) >= whole && digits[i] >= '1' && digits[i] <= '9') return false;
  return true;
}

// Of an enumeration's or a constant's value.
TypeSet bit_of_value(const Json& v) {
  switch (v.kind) {
    case Json::Kind::string:
      return kStringType;
    case Json::Kind::number:
      return is_whole(v.text) ? kIntegerType | kNumberType : kNumberType;
    case Json::Kind::boolean:
      return kBooleanType;
    case Json::Kind::null:
      return kNullType;
    case Json::Kind::object:
      return kObjectType;
    case Json::Kind::array:
      break;
  }
  return kArrayType;
}

// "#/a/b" in the document; null: none.
const Json* pointed(const Json& root, std::string_view pointer) {
  if (!pointer.starts_with('#')) return nullptr;
  const Json* at = &root;
  for (pointer.remove_prefix(1); at && !pointer.empty();) {
    if (pointer.front() != '/') return nullptr;
    pointer.remove_prefix(1);
    const size_t end = std::min(pointer.find('/'), pointer.size());
    if (pointer.substr(0, end).find_first_of("~%") != std::string_view::npos) return nullptr;
    at = at->find(pointer.substr(0, end));
    pointer.remove_prefix(end);
  }
  return at;
}

// Of a schema whose types stand in it, one level down, or where it refers to; 0 where it does not tell.
TypeSet types_of(const Json& schema, const Json& root, bool deeper = true, int hops = 0) {
  constexpr int kMostHops = 16;
  TypeSet out = 0;
  if (const Json* reference = schema.find("$ref"); reference && reference->is(Json::Kind::string)) {
    const Json* target = hops < kMostHops ? pointed(root, reference->text) : nullptr;
    return target ? types_of(*target, root, deeper, hops + 1) : TypeSet{0};
  }
  if (const Json* type = schema.find("type")) {
    if (type->is(Json::Kind::array)) {
      for (const Json& each : type->items) out |= bit_of(each);
    } else {
      out |= bit_of(*type);
    }
    if (const Json* nullable = schema.find("nullable"); nullable && nullable->truth) out |= kNullType;
    return out;
  }
  if (const Json* values = schema.find("enum"))
    for (const Json& v : values->items) out |= bit_of_value(v);
  if (const Json* value = schema.find("const")) out |= bit_of_value(*value);
  if (const Json* all = schema.find("allOf"); all && all->items.size() == 1 && out == 0 && hops < kMostHops)
    return types_of(all->items[0], root, deeper, hops + 1);
  for (const char* many : {"anyOf", "oneOf"}) {
    const Json* all = schema.find(many);
    if (!deeper || !all) continue;
    for (const Json& each : all->items) {
      const TypeSet one = types_of(each, root, false, hops);
      if (one == 0) return 0;
      out |= one;
    }
  }
  return out;
}

}  // namespace

ToolSchemas::ToolSchemas(std::string_view text) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) return;
  const Json list = parse_json(text, "tools", RepeatedKeys::last_counts);
  if (list.is(Json::Kind::null)) return;
  if (!list.is(Json::Kind::array)) fail(Code::invalid_argument, "tools", "is no array");
  for (size_t i = 0; i < list.items.size(); ++i) {
    const Json* tool = &list.items[i];
    if (const Json* function = tool->find("function")) tool = function;
    const Json* name = tool->find("name");
    if (!name || !name->is(Json::Kind::string))
      fail(Code::invalid_argument, format("tools[{}]", i), "has no name");
    Json& parameters = tools_[name->text];
    for (const char* key : {"parameters", "input_schema", "inputSchema"})
      if (const Json* schema = tool->find(key); schema && schema->find("properties")) parameters = *schema;
  }
}

SchemaPlace ToolSchemas::place(std::string_view tool, std::string_view argument) const {
  const auto found = tools_.find(tool);
  return found == tools_.end() ? SchemaPlace() : SchemaPlace(&found->second, &found->second).member(argument);
}

SchemaPlace::SchemaPlace(const Json* at, const Json* root) : at_(at), root_(root) {
  constexpr int kMostHops = 16;
  for (int hops = 0; at_ && hops < kMostHops; ++hops) {
    const Json* reference = at_->find("$ref");
    if (!reference || !reference->is(Json::Kind::string)) return;
    at_ = pointed(*root_, reference->text);
  }
}

TypeSet SchemaPlace::types() const { return at_ ? types_of(*at_, *root_) : TypeSet{0}; }

SchemaPlace SchemaPlace::member(std::string_view key) const {
  const Json* properties = at_ ? at_->find("properties") : nullptr;
  return properties ? SchemaPlace(properties->find(key), root_) : SchemaPlace();
}

SchemaPlace SchemaPlace::item() const { return at_ ? SchemaPlace(at_->find("items"), root_) : SchemaPlace(); }

namespace {

std::string_view trimmed(std::string_view s) {
  const auto space = [](char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; };
  while (!s.empty() && space(s.front())) s.remove_prefix(1);
  while (!s.empty() && space(s.back())) s.remove_suffix(1);
  return s;
}

TypeSet type_of_json(std::string_view value) {
  switch (value.front()) {
    case '"':
      return kStringType;
    case '{':
      return kObjectType;
    case '[':
      return kArrayType;
    case 't':
    case 'f':
      return kBooleanType;
    case 'n':
      return kNullType;
    default:
      return is_whole(value) ? kIntegerType : kNumberType;
  }
}

std::string quoted(std::string_view text) {
  std::string out;
  append_quoted(out, text);
  return out;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

// Turns one literal into JSON, its nesting bounded.
class Converter {
 public:
  Converter(std::string_view text, std::string_view quote) : text_(text), quote_(quote) {}
  std::optional<std::string> run() {
    if (!value(0)) return std::nullopt;
    skip_space();
    if (at_ != text_.size()) return std::nullopt;
    return std::move(out_);
  }

 private:
  static constexpr int kMostDepth = 64;
  bool python() const { return quote_.empty(); }
  void skip_space() {
    while (at_ < text_.size() && trimmed(text_.substr(at_, 1)).empty()) ++at_;
  }
  bool take(std::string_view literal) {
    if (!text_.substr(at_).starts_with(literal)) return false;
    at_ += literal.size();
    return true;
  }

  bool value(int depth) {
    skip_space();
    if (at_ >= text_.size() || depth > kMostDepth) return false;
    const char c = text_[at_];
    if (c == '[') return sequence(']', depth);
    if (c == '(' && python()) return sequence(')', depth);
    if (c == '{') return members(depth);
    if (!python() && take(quote_)) return until_quote();
    if ((c == '"' || c == '\'') && python()) return string(c);
    return word();
  }

  bool sequence(char end, int depth) {
    ++at_;
    out_ += '[';
    for (bool first = true;; first = false) {
      skip_space();
      if (at_ < text_.size() && text_[at_] == end) break;  // a comma may stand before the end
      if (!first) out_ += ", ";
      if (!value(depth + 1)) return false;
      skip_space();
      if (take(",")) continue;
      if (at_ < text_.size() && text_[at_] == end) break;
      return false;
    }
    ++at_;
    out_ += ']';
    return true;
  }

  bool members(int depth) {
    ++at_;
    out_ += '{';
    for (bool first = true;; first = false) {
      skip_space();
      if (take("}")) break;
      if (!first) out_ += ", ";
      if (!key() || (skip_space(), !take(":"))) return false;
      out_ += ": ";
      if (!value(depth + 1)) return false;
      skip_space();
      if (take(",")) continue;
      if (!take("}")) return false;
      break;
    }
    out_ += '}';
    return true;
  }

  bool key() {
    if (at_ >= text_.size()) return false;
    if (python()) {
      const char c = text_[at_];
      return (c == '"' || c == '\'') && string(c);
    }
    if (take(quote_)) return until_quote();
    const size_t end = text_.find_first_of(":,{}[]", at_);
    if (end == std::string_view::npos || text_[end] != ':') return false;
    append_quoted(out_, trimmed(text_.substr(at_, end - at_)));
    at_ = end;
    return true;
  }

  bool until_quote() {
    const size_t end = text_.find(quote_, at_);
    if (end == std::string_view::npos) return false;
    append_quoted(out_, text_.substr(at_, end - at_));
    at_ = end + quote_.size();
    return true;
  }

  bool string(char mark) {
    std::string plain;
    for (++at_; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == mark) {
        ++at_;
        append_quoted(out_, plain);
        return true;
      }
      if (c != '\\') {
        plain += c;
        continue;
      }
      if (++at_ >= text_.size() || !escape(plain)) return false;
    }
    return false;
  }

  bool escape(std::string& plain) {
    const char c = text_[at_];
    const size_t known = std::string_view("\\'\"nrtbfav0").find(c);
    if (known != std::string_view::npos) {
      plain += "\\'\"\n\r\t\b\f\a\v\0"[known];
      return true;
    }
    const size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : 0;
    if (digits == 0) {  // Python leaves what it does not know as it stands
      plain += '\\';
      plain += c;
      return true;
    }
    const std::string_view hex = text_.substr(at_ + 1, digits);
    if (hex.size() != digits || hex.find_first_not_of("0123456789abcdefABCDEF") != std::string_view::npos)
      return false;
    std::string escaped = digits == 2 ? "\"\\u00" : "\"\\u";
    at_ += digits;
    // A pair of surrogates is one character.
    std::string tail(hex);
    if (digits == 4 && (hex[0] == 'd' || hex[0] == 'D') && text_.substr(at_ + 1, 2) == "\\u" &&
        text_.substr(at_ + 3, 4).size() == 4 &&
        text_.substr(at_ + 3, 4).find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos) {
      tail.append(text_.substr(at_ + 1, 6));
      at_ += 6;
    }
    plain += unquote_json(escaped + tail + "\"");
    return true;
  }

  bool word() {
    const size_t begin = at_;
    while (at_ < text_.size() &&
           (is_word(text_[at_]) || std::string_view("+-.").find(text_[at_]) != std::string_view::npos))
      ++at_;
    const std::string_view found = text_.substr(begin, at_ - begin);
    if (found == "True" || found == "true") {
      out_ += "true";
    } else if (found == "False" || found == "false") {
      out_ += "false";
    } else if (found == "None" || found == "null") {
      out_ += "null";
    } else if (is_json(found)) {
      out_ += found;  // a number
    } else {
      return false;
    }
    return true;
  }

  std::string_view text_, quote_;
  size_t at_ = 0;
  std::string out_;
};

}  // namespace

std::optional<std::string> python_to_json(std::string_view text) { return Converter(text, {}).run(); }
std::optional<std::string> braces_to_json(std::string_view text, std::string_view quote) {
  return Converter(text, quote).run();
}

std::string value_to_json(std::string_view text, TypeSet types) {
  if (types == kStringType) return quoted(text);
  const std::string_view bare = trimmed(text);
  const auto fits = [&](std::string_view value) {
    const TypeSet type = type_of_json(value);
    return types == 0 ? type != kStringType : (types & type) != 0 && type != kStringType;
  };
  if (!bare.empty() && is_json(bare) && fits(bare)) return std::string(bare);
  if (!bare.empty())
    if (const auto made = python_to_json(bare); made && fits(*made)) return *made;
  return quoted(text);
}

}  // namespace ingle::text
