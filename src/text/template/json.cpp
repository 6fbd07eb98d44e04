// JSON in (by SAX, so integers stay integers and depth is bounded) and out (as Python's json.dumps).
#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "text/template/library.h"
#include "text/template/utf8.h"

namespace ingle::text::jinja {
namespace {

using Json = nlohmann::ordered_json;

// Builds values bottom up on a stack of its own: depth costs no call stack.
class Builder : public nlohmann::json_sax<Json> {
 public:
  explicit Builder(bool user) : user_(user) {}
  Value result;

  bool null() override { return put(Value::none()); }
  bool boolean(bool b) override { return put(Value::boolean(b)); }
  bool number_integer(number_integer_t i) override { return put(Value::integer(i)); }
  bool number_unsigned(number_unsigned_t u) override {
    if (u > static_cast<number_unsigned_t>(INT64_MAX))
      refuse(format("the integer {} does not fit 64 bits", u));
    return put(Value::integer(static_cast<int64_t>(u)));
  }
  bool number_float(number_float_t d, const string_t& written) override {
    if (written.find_first_of(".eE") == written.npos)
      refuse(format("the integer {} does not fit 64 bits", written));
    return put(Value::real(d));
  }
  bool string(string_t& s) override {
    // A role is the program's own choice of a few words, out of which templates make control tokens.
    const bool role = !open_.empty() && open_.back().map && open_.back().key == "role" && is_role(s);
    return put(text(std::move(s), !role));
  }
  bool binary(binary_t&) override { return false; }
  bool start_object(size_t) override { return open(true); }
  bool key(string_t& k) override {
    open_.back().key = std::move(k);
    return true;
  }
  bool end_object() override { return close(); }
  bool start_array(size_t) override { return open(false); }
  bool end_array() override { return close(); }
  bool parse_error(size_t at, const std::string&, const nlohmann::detail::exception&) override {
    raise(format("the variables are not JSON: error at byte {}", at));
  }

 private:
  static bool is_role(std::string_view s) {
    for (const std::string_view known :
         {"system", "user", "assistant", "tool", "developer", "function", "ipython", "model", "observation"})
      if (s == known) return true;
    return false;
  }
  Value text(std::string s, bool user) const {
    Marks marks;
    if (user_ && user) add_range(marks, 0, s.size());
    return make_marked(nullptr, std::move(s), false, std::move(marks));
  }

  struct Level {
    std::shared_ptr<Map> map;  // null in an array
    std::vector<Value> items;
    std::string key;
  };

  bool open(bool object) {
    if (open_.size() >= static_cast<size_t>(kMaxValueDepth)) {
      refuse(format("the variables nest more than {} deep", kMaxValueDepth));
    }
    open_.push_back({object ? std::make_shared<Map>() : nullptr, {}, {}});
    return true;
  }

  bool close() {
    Level level = std::move(open_.back());
    open_.pop_back();
    return put(level.map ? make_map(nullptr, std::move(level.map))
                         : make_seq(nullptr, std::move(level.items)));
  }

  bool put(Value v) {
    if (open_.empty()) {
      result = std::move(v);
    } else if (open_.back().map) {
      open_.back().map->set(text(std::move(open_.back().key), true), std::move(v));
    } else {
      open_.back().items.push_back(std::move(v));
    }
    return true;
  }

  bool user_;  // texts and keys are a user's
  std::vector<Level> open_;
};

void write_json_string(Sink& out, std::string_view s, bool ensure_ascii) {
  constexpr char kHex[] = "0123456789abcdef";
  const auto unit = [&](uint32_t u) {
    out.add("\\u");
    for (int shift = 12; shift >= 0; shift -= 4) out.add(kHex[(u >> shift) & 15]);
  };
  out.heap().walked(s.size());
  out.add('"');
  for (size_t i = 0; i < s.size();) {
    const CodePoint c = code_point_at(s, i);
    const size_t escape = std::string_view("\"\\\n\r\t\f\b").find(s[i]);
    if (c.size == 1 && escape != std::string_view::npos) {
      out.add('\\');
      out.add("\"\\nrtfb"[escape]);
    } else if (c.value < 0x20 || (ensure_ascii && c.value > 0x7E && c.value < 0x10000)) {
      unit(c.value);
    } else if (ensure_ascii && c.value >= 0x10000) {
      unit(0xD800 + ((c.value - 0x10000) >> 10));
      unit(0xDC00 + ((c.value - 0x10000) & 0x3FF));
    } else {
      out.add(s.substr(i, c.size));
    }
    i += c.size;
  }
  out.add('"');
}

std::string json_key(const Value& key) {
  switch (key.kind()) {
    case Kind::string:
      return key.text();
    case Kind::none:
      return "null";
    case Kind::boolean:
      return key.as_bool() ? "true" : "false";
    case Kind::integer:
      return std::to_string(key.as_int());
    case Kind::floating:
      return real_to_text(key.as_real());
    default:
      raise(format("keys must be str, int, float, bool or None, not {}", type_name(key)));
  }
}

std::string json_real(double d) {
  if (std::isnan(d)) return "NaN";
  if (std::isinf(d)) return d < 0 ? "-Infinity" : "Infinity";
  return real_to_text(d);
}

class Writer {
 public:
  Writer(Sink& out, const JsonStyle& style) : out_(out), style_(style) {}

  void write(const Value& v) {
    out_.heap().spend(1);
    switch (v.kind()) {
      case Kind::none:
        return out_.add("null");
      case Kind::boolean:
        return out_.add(v.as_bool() ? "true" : "false");
      case Kind::integer:
        return out_.add(std::to_string(v.as_int()));
      case Kind::floating:
        return out_.add(json_real(v.as_real()));
      case Kind::string:
        return write_string(v);
      case Kind::dict:
        return write_map(v.as_map());
      case Kind::list:
        if (v.as_seq().flavor <= Flavor::tuple) return write_list(v.as_seq());
        break;
      default:
        break;
    }
    raise(format("Object of type {} is not JSON serializable", type_name(v)));
  }

 private:
  void write_string(const Value& v) {
    const size_t begin = out_.size();
    write_json_string(out_, v.text(), style_.ensure_ascii);
    if (v.as_str().user) out_.mark_since(begin);
  }

  void new_line() {
    if (!style_.indent) return;
    out_.add('\n');
    for (int i = 0; i < level_; ++i) out_.add(*style_.indent);
  }

  void write_list(const Seq& seq) {
    if (seq.items.empty()) return out_.add("[]");
    out_.add('[');
    ++level_;
    for (size_t i = 0; i < seq.items.size(); ++i) {
      if (i) out_.add(style_.item_separator);
      new_line();
      write(seq.items[i]);
    }
    --level_;
    new_line();
    out_.add(']');
  }

  void write_map(const Map& map) {
    if (map.items.empty()) return out_.add("{}");
    std::vector<const std::pair<Value, Value>*> order;
    for (const auto& item : map.items) order.push_back(&item);
    if (style_.sort_keys) {
      std::stable_sort(order.begin(), order.end(), [&](const auto* a, const auto* b) {
        return compare(out_.heap(), a->first, b->first, "<") == -1;
      });
    }
    out_.add('{');
    ++level_;
    for (size_t i = 0; i < order.size(); ++i) {
      if (i) out_.add(style_.item_separator);
      new_line();
      const size_t begin = out_.size();
      write_json_string(out_, json_key(order[i]->first), style_.ensure_ascii);
      if (holds_user_text(order[i]->first)) out_.mark_since(begin);
      out_.add(style_.key_separator);
      write(order[i]->second);
    }
    --level_;
    new_line();
    out_.add('}');
  }

  Sink& out_;
  const JsonStyle& style_;
  int level_ = 0;
};

}  // namespace

void write_json(Sink& out, const Value& v, const JsonStyle& style) { Writer(out, style).write(v); }

std::vector<std::pair<std::string, Value>> parse_json_object(std::string_view text, bool user) {
  Builder builder(user);
  Json::sax_parse(text.begin(), text.end(), &builder);
  if (!builder.result.is(Kind::dict)) raise("the variables must be a JSON object");
  std::vector<std::pair<std::string, Value>> out;
  for (const auto& [key, value] : builder.result.as_map().items) out.emplace_back(key.text(), value);
  return out;
}

}  // namespace ingle::text::jinja
