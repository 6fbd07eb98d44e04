#include "text/hf/normalizer.h"

#include <array>
#include <vector>

#include "text/hf/pattern.h"
#include "text/unicode.h"

namespace ingle::text::hf {
namespace {

using Ptr = std::unique_ptr<Normalizer>;

constexpr size_t kMostParts = 64, kDeepest = 8;

class Sequence final : public Normalizer {
 public:
  explicit Sequence(std::vector<Ptr> parts) : parts_(std::move(parts)) {}
  void apply(std::string& text, Work& work) const override {
    for (const Ptr& part : parts_) part->apply(text, work);
  }
  bool maps_bytes() const override {
    for (const Ptr& part : parts_) {
      if (part->maps_bytes()) return true;
    }
    return false;
  }

 private:
  std::vector<Ptr> parts_;
};

class UnicodeForm final : public Normalizer {
 public:
  explicit UnicodeForm(NormalForm form) : form_(form) {}
  void apply(std::string& text, Work& work) const override {
    work.scanned += text.size();
    if (!is_normal(text, form_)) text = normalize(text, form_);
  }

 private:
  NormalForm form_;
};

// Rewrites a text character by character: `put(c, raw, out)` appends what becomes of one.
template <class Put>
class PerCharacter final : public Normalizer {
 public:
  explicit PerCharacter(Put put) : put_(put) {}
  void apply(std::string& text, Work& work) const override {
    std::string out;
    out.reserve(text.size() + text.size() / 8);
    const char* end = text.data() + text.size();
    for (const char* at = text.data(); at < end;) {
      const Char c = char_at(at, end);
      put_(c, std::string_view(at, c.bytes), out);
      at += c.bytes;
    }
    work.scanned += text.size();
    text.swap(out);
  }

 private:
  Put put_;
};
template <class Put>
Ptr per_character(Put put) {
  return std::make_unique<PerCharacter<Put>>(put);
}

void put_lower(const Char& c, std::string_view raw, std::string& out) {
  if (c.code < 128) {
    out.push_back(static_cast<char>(to_lower(c.code)));
  } else if (c.code == 0x130) {  // İ, the only letter whose lower case is two characters
    out.append("i\xCC\x87");
  } else if (!(c.flags & (kLetter | kMark | kNumber | kSymbol))) {
    out.append(raw);
  } else {
    append_utf8(out, to_lower(c.code));
  }
}

Ptr make_lowercase() { return per_character(put_lower); }

class Strip final : public Normalizer {
 public:
  Strip(bool left, bool right) : left_(left), right_(right) {}
  void apply(std::string& text, Work&) const override {
    const char* begin = text.data();
    const char* end = begin + text.size();
    const char *first = end, *last = begin;  // past the last character that stays
    for (const char* at = begin; at < end;) {
      const Char c = char_at(at, end);
      if (!(c.flags & kSpace)) {
        if (first == end) first = at;
        last = at + c.bytes;
      }
      at += c.bytes;
    }
    const auto keep_end = static_cast<size_t>((right_ ? last : end) - begin);
    const auto keep_begin = static_cast<size_t>((left_ ? first : begin) - begin);
    if (keep_begin >= keep_end) return text.clear();
    text.erase(keep_end);
    text.erase(0, keep_begin);
  }

 private:
  bool left_, right_;
};

class Replace final : public Normalizer {
 public:
  Replace(std::unique_ptr<Pattern> pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}
  void apply(std::string& text, Work& work) const override {
    std::string out;
    size_t kept = 0;
    const auto search = pattern_->search(text, 0, text.size(), work);
    for (Cut m = search->next(0); m.begin != std::string::npos; m = search->next(m.end)) {
      out.append(text, kept, m.begin - kept).append(content_);
      kept = m.end;
    }
    if (kept == 0 && out.empty()) return;
    out.append(text, kept);
    text.swap(out);
  }

 private:
  std::unique_ptr<Pattern> pattern_;
  std::string content_;
};

class Prepend final : public Normalizer {
 public:
  explicit Prepend(std::string what) : what_(std::move(what)) {}
  void apply(std::string& text, Work&) const override {
    if (!text.empty()) text.insert(0, what_);
  }

 private:
  std::string what_;
};

class ByteLevel final : public Normalizer {
 public:
  void apply(std::string& text, Work& work) const override {
    std::string out;
    map_byte_level(text, out);
    work.scanned += text.size();
    text.swap(out);
  }
  bool maps_bytes() const override { return true; }
};

// The ideographs that BERT sets apart, by its own list.
bool is_ideograph(uint32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x20000 && c <= 0x2A6DF) ||
         (c >= 0x2A700 && c <= 0x2B73F) || (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

void put_clean(const Char& c, std::string_view raw, std::string& out) {
  const bool plain_space = c.code == '\t' || c.code == '\n' || c.code == '\r';
  const bool control = (c.flags & kOther) && !(c.flags & kUnassigned) && !plain_space;
  if (c.code == 0 || c.code == 0xFFFD || control) return;
  if (c.flags & kSpace) {
    out.push_back(' ');
  } else {
    out.append(raw);
  }
}

void put_apart(const Char& c, std::string_view raw, std::string& out) {
  const bool apart = is_ideograph(c.code);
  if (apart) out.push_back(' ');
  out.append(raw);
  if (apart) out.push_back(' ');
}

Ptr without(uint16_t flags) {
  return per_character([flags](const Char& c, std::string_view raw, std::string& out) {
    if (!(c.flags & flags)) out.append(raw);
  });
}

Ptr make_bert(const Node& node) {
  const bool lowercase = node["lowercase"].boolean_or(true);
  std::vector<Ptr> parts;
  if (node["clean_text"].boolean_or(true)) parts.push_back(per_character(put_clean));
  if (node["handle_chinese_chars"].boolean_or(true)) parts.push_back(per_character(put_apart));
  if (node["strip_accents"].boolean_or(lowercase)) {
    parts.push_back(std::make_unique<UnicodeForm>(NormalForm::nfd));
    parts.push_back(without(kNonSpacing));
  }
  if (lowercase) parts.push_back(make_lowercase());
  return std::make_unique<Sequence>(std::move(parts));
}

// What SentencePiece's nmt rules do besides NFKC.
void put_nmt(const Char& c, std::string_view raw, std::string& out) {
  const uint32_t u = c.code;
  if ((u >= 1 && u <= 8) || u == 0xB || (u >= 0xE && u <= 0x1F) || u == 0x7F || u == 0x8F || u == 0x9F)
    return;
  const bool space = u == 9 || u == 0xA || u == 0xC || u == 0xD || u == 0x1680 ||
                     (u >= 0x200B && u <= 0x200F) || u == 0x2028 || u == 0x2029 || u == 0x2581 ||
                     u == 0xFEFF || u == 0xFFFD;
  if (space && raw.size() > 0) {
    out.push_back(' ');
  } else {
    out.append(raw);
  }
}

Ptr read(const Node& node, size_t depth);

Ptr read_sequence(const Node& node, size_t depth) {
  const Node list = node["normalizers"];
  list.need_array();
  if (list.size() > kMostParts || depth >= kDeepest) list.unsupported("too long or too deep a sequence");
  std::vector<Ptr> parts;
  for (size_t i = 0; i < list.size(); ++i) parts.push_back(read(list.at(i), depth + 1));
  return std::make_unique<Sequence>(std::move(parts));
}

Ptr read(const Node& node, size_t depth) {
  node.need_object();
  const std::string& type = node["type"].string();
  if (type == "Sequence") return read_sequence(node, depth);
  if (type == "NFC") return std::make_unique<UnicodeForm>(NormalForm::nfc);
  if (type == "NFD") return std::make_unique<UnicodeForm>(NormalForm::nfd);
  if (type == "NFKC") return std::make_unique<UnicodeForm>(NormalForm::nfkc);
  if (type == "NFKD") return std::make_unique<UnicodeForm>(NormalForm::nfkd);
  if (type == "Lowercase") return make_lowercase();
  if (type == "StripAccents") return without(kMark);
  if (type == "BertNormalizer") return make_bert(node);
  if (type == "Nmt") return per_character(put_nmt);
  if (type == "ByteLevel") return std::make_unique<ByteLevel>();
  if (type == "Precompiled") return make_precompiled(node["precompiled_charsmap"]);
  if (type == "Prepend") return std::make_unique<Prepend>(node["prepend"].string());
  if (type == "Strip") {
    return std::make_unique<Strip>(node["strip_left"].boolean_or(true), node["strip_right"].boolean_or(true));
  }
  if (type == "Replace") {
    return std::make_unique<Replace>(read_pattern(node["pattern"]), node["content"].string());
  }
  node["type"].unsupported("'" + type + "', a normaliser that is not known");
}

}  // namespace

void map_byte_level(std::string_view text, std::string& out) {
  static constexpr auto kCodes = [] {
    std::array<uint16_t, 256> codes{};
    uint16_t next = 256;
    for (int b = 0; b < 256; ++b) {
      const bool itself = (b >= 0x21 && b <= 0x7E) || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
      codes[static_cast<size_t>(b)] = itself ? static_cast<uint16_t>(b) : next++;
    }
    return codes;
  }();
  out.reserve(out.size() + text.size() + text.size() / 2);
  for (const char c : text) append_utf8(out, kCodes[static_cast<unsigned char>(c)]);
}

std::unique_ptr<Normalizer> read_normalizer(const Node& node) {
  return node.is_null() ? nullptr : read(node, 0);
}

}  // namespace ingle::text::hf
