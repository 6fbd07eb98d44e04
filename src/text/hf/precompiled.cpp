// SentencePiece's compiled rules as the `tokenizers` library applies them: to whole grapheme clusters of at
// most 5 bytes, where the shortest rule that begins the cluster replaces all of it; else to single
// characters.
#include <utf8proc.h>

#include <array>

#include "text/charsmap.h"
#include "text/hf/normalizer.h"
#include "text/unicode.h"

namespace ingle::text::hf {
namespace {

std::vector<unsigned char> decode_base64(const Node& node) {
  const std::string& text = node.string();
  std::vector<unsigned char> out;
  out.reserve(text.size() / 4 * 3);
  uint32_t bits = 0;
  int count = 0;
  size_t i = 0;
  for (; i < text.size() && text[i] != '='; ++i) {
    const char c = text[i];
    const uint32_t value = c >= 'A' && c <= 'Z'   ? static_cast<uint32_t>(c - 'A')
                           : c >= 'a' && c <= 'z' ? static_cast<uint32_t>(c - 'a' + 26)
                           : c >= '0' && c <= '9' ? static_cast<uint32_t>(c - '0' + 52)
                           : c == '+'             ? 62
                           : c == '/'             ? 63
                                                  : 64;
    if (value == 64) node.corrupt("not base64");
    bits = bits << 6 | value;
    if ((count += 6) >= 8) out.push_back(static_cast<unsigned char>(bits >> (count -= 8)));
  }
  for (; i < text.size(); ++i) {
    if (text[i] != '=') node.corrupt("not base64");
  }
  return out;
}

class Precompiled final : public Normalizer {
 public:
  explicit Precompiled(const Node& node) : map_(decode_base64(node), node.file(), node.path()) {
    for (size_t i = 1; i < ascii_.size(); ++i) {
      const char c = static_cast<char>(i);
      const auto found = map_.shortest({&c, 1}, 0);
      ascii_[i] = found.bytes != 0;
    }
  }

  void apply(std::string& text, Work& work) const override {
    std::string out;
    out.reserve(text.size() + text.size() / 8);
    const char* end = text.data() + text.size();
    for (const char* at = text.data(); at < end;) {
      const char* next = cluster_end(at, end);
      const std::string_view cluster(at, static_cast<size_t>(next - at));
      at = next;
      if (cluster.size() == 1 && !ascii_[static_cast<unsigned char>(cluster[0]) & 127]) {
        out.push_back(cluster[0]);
      } else {
        put(cluster, out);
      }
    }
    work.scanned += text.size();
    text.swap(out);
  }

 private:
  void put(std::string_view cluster, std::string& out) const {
    if (cluster.size() < 6) {
      if (const auto found = map_.shortest(cluster, 0); found.bytes) {
        out.append(found.text);
        return;
      }
    }
    const char* end = cluster.data() + cluster.size();
    for (const char* at = cluster.data(); at < end;) {
      const std::string_view one(at, decode_utf8(at, end).bytes);
      const auto found = map_.shortest(one, 0);
      out.append(found.bytes ? found.text : one);
      at += one.size();
    }
  }

  static const char* cluster_end(const char* at, const char* end) {
    CodePoint c = decode_utf8(at, end);
    utf8proc_int32_t state = 0;
    for (at += c.bytes; at < end;) {
      const CodePoint next = decode_utf8(at, end);
      const bool cr_lf = c.code == '\r' && next.code == '\n';
      if (c.code < 128 && next.code < 128 && !cr_lf) return at;
      if (utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(c.code),
                                           static_cast<utf8proc_int32_t>(next.code), &state)) {
        return at;
      }
      c = next;
      at += c.bytes;
    }
    return at;
  }

  CharsMap map_;
  std::array<bool, 128> ascii_{};
};

}  // namespace

std::unique_ptr<Normalizer> make_precompiled(const Node& node) { return std::make_unique<Precompiled>(node); }

}  // namespace ingle::text::hf
