#include "text/hf/decoder.h"

#include <functional>

#include "text/detokenize.h"
#include "text/hf/pattern.h"
#include "text/unicode.h"

namespace ingle::text::hf {
namespace {

using StagePtr = std::unique_ptr<DecodeStage>;
using Out = std::vector<std::string>;

constexpr size_t kMostStages = 64, kDeepest = 8;

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  if (from.empty()) return;
  std::string out;
  size_t kept = 0;
  for (size_t at = text.find(from); at != text.npos; at = text.find(from, kept)) {
    out.append(text, kept, at - kept).append(to);
    kept = at + from.size();
  }
  if (kept == 0) return;
  out.append(text, kept);
  text.swap(out);
}

// What the library calls cleaning up: English punctuation as it is written.
void clean_up(std::string& text) {
  static constexpr std::string_view kPairs[][2] = {
      {" .", "."},   {" ?", "?"},           {" !", "!"},   {" ,", ","},     {" ' ", "'"},   {" n't", "n't"},
      {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& pair : kPairs) replace_all(text, pair[0], pair[1]);
}

template <class Stage>
class Cloned : public DecodeStage {
 public:
  StagePtr clone() const override { return std::make_unique<Stage>(static_cast<const Stage&>(*this)); }
};

// Each text by itself: `change(text, is_first)`.
class EachText final : public Cloned<EachText> {
 public:
  using Change = std::function<void(std::string&, bool)>;
  explicit EachText(const Change& change) : change_(change) {}
  void push(std::string text, Out& out) override {
    change_(text, first_);
    first_ = false;
    out.push_back(std::move(text));
  }
  void finish(Out&) override { first_ = true; }

 private:
  const Change& change_;
  bool first_ = true;
};

// A change that needs all of the text.
class WholeText final : public Cloned<WholeText> {
 public:
  explicit WholeText(const EachText::Change& change) : change_(change) {}
  void push(std::string text, Out&) override { all_ += text; }
  void finish(Out& out) override {
    change_(all_, true);
    out.push_back(std::move(all_));
    all_.clear();
  }

 private:
  const EachText::Change& change_;
  std::string all_;
};

// "<0xHH>" to bytes. A run of them is a text if it is UTF-8, else one U+FFFD for each byte.
class ByteFallbackStage final : public Cloned<ByteFallbackStage> {
 public:
  void push(std::string text, Out& out) override {
    if (const int byte = any_case_byte(text); byte >= 0) {
      run_.push_back(static_cast<char>(byte));
      return;
    }
    finish(out);
    out.push_back(std::move(text));
  }
  void finish(Out& out) override {
    if (run_.empty()) return;
    bool valid = true;
    const char* end = run_.data() + run_.size();
    for (const char* at = run_.data(); valid && at < end;) {
      const CodePoint c = decode_utf8(at, end);
      valid = c.valid;
      at += c.bytes;
    }
    if (valid) {
      out.push_back(std::move(run_));
    } else {
      std::string broken;
      for (size_t i = 0; i < run_.size(); ++i) append_utf8(broken, 0xFFFD);
      out.push_back(std::move(broken));
    }
    run_.clear();
  }

 private:
  static int any_case_byte(std::string_view text) {
    if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>') return -1;
    int value = 0;
    for (const char c : text.substr(3, 2)) {
      const int digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0) return -1;
      value = value * 16 + digit;
    }
    return value;
  }
  std::string run_;
};

// GPT-2's alphabet to bytes, bytes to characters.
class ByteLevelStage final : public Cloned<ByteLevelStage> {
 public:
  void push(std::string text, Out& out) override {
    std::string bytes;
    pending_ += unmap_byte_level(text, bytes) ? bytes : text;
    if (std::string ready = take_characters(pending_, false); !ready.empty()) out.push_back(std::move(ready));
  }
  void finish(Out& out) override {
    if (std::string rest = take_characters(pending_, true); !rest.empty()) out.push_back(std::move(rest));
  }

 private:
  std::string pending_;
};

// Up to `start` leading and `stop` trailing characters of one kind, of the whole text that streams through.
class StripStream final : public Cloned<StripStream> {
 public:
  StripStream(std::string_view what, size_t start, size_t stop) : what_(what), start_(start), stop_(stop) {
    left_ = start_;
  }
  void push(std::string text, Out& out) override {
    std::string_view rest = text;
    while (left_ > 0 && rest.starts_with(what_)) rest.remove_prefix(what_.size()), --left_;
    if (!rest.empty()) left_ = 0;
    held_.append(rest);
    size_t keep = 0;  // bytes at the end that may have to go
    for (size_t n = 0; n < stop_ && std::string_view(held_).substr(0, held_.size() - keep).ends_with(what_);
         ++n) {
      keep += what_.size();
    }
    if (held_.size() > keep) out.push_back(held_.substr(0, held_.size() - keep));
    held_.erase(0, held_.size() - keep);
  }
  void finish(Out&) override {
    held_.clear();
    left_ = start_;
  }

 private:
  std::string_view what_;
  size_t start_, stop_, left_ = 0;
  std::string held_;
};

// An end of word becomes a space, except the last one.
class BpeStage final : public Cloned<BpeStage> {
 public:
  explicit BpeStage(std::string_view suffix) : suffix_(suffix) {}
  void push(std::string text, Out& out) override {
    if (any_) {
      replace_all(held_, suffix_, " ");
      out.push_back(std::move(held_));
    }
    held_ = std::move(text);
    any_ = true;
  }
  void finish(Out& out) override {
    if (!any_) return;
    replace_all(held_, suffix_, "");
    out.push_back(std::move(held_));
    held_.clear();
    any_ = false;
  }

 private:
  std::string_view suffix_;
  std::string held_;
  bool any_ = false;
};

class CtcStage final : public Cloned<CtcStage> {
 public:
  CtcStage(std::string_view pad, std::string_view word, bool cleanup)
      : pad_(pad), word_(word), cleanup_(cleanup) {}
  void push(std::string text, Out& out) override {
    if (any_ && text == last_) return;
    any_ = true;
    last_ = text;
    replace_all(text, pad_, "");
    if (cleanup_) {
      clean_up(text);
      replace_all(text, word_, " ");
    }
    if (!text.empty()) out.push_back(std::move(text));
  }
  void finish(Out&) override { any_ = false; }

 private:
  std::string_view pad_, word_;
  bool cleanup_;
  bool any_ = false;
  std::string last_;
};

// ---- the descriptions that make them ----

class MakesEach final : public Decoder {
 public:
  MakesEach(EachText::Change change, bool whole) : change_(std::move(change)), whole_(whole) {}
  void append(std::vector<StagePtr>& stages) const override {
    if (whole_) {
      stages.push_back(std::make_unique<WholeText>(change_));
    } else {
      stages.push_back(std::make_unique<EachText>(change_));
    }
  }

 private:
  EachText::Change change_;
  bool whole_;
};

template <class Stage>
class Makes final : public Decoder {
 public:
  void append(std::vector<StagePtr>& stages) const override { stages.push_back(std::make_unique<Stage>()); }
};

class MakesStrip final : public Decoder {
 public:
  MakesStrip(std::string what, size_t start, size_t stop)
      : what_(std::move(what)), start_(start), stop_(stop) {}
  void append(std::vector<StagePtr>& stages) const override {
    stages.push_back(std::make_unique<StripStream>(what_, start_, stop_));
  }

 private:
  std::string what_;
  size_t start_, stop_;
};

class MakesBpe final : public Decoder {
 public:
  explicit MakesBpe(std::string suffix) : suffix_(std::move(suffix)) {}
  void append(std::vector<StagePtr>& stages) const override {
    stages.push_back(std::make_unique<BpeStage>(suffix_));
  }

 private:
  std::string suffix_;
};

class MakesCtc final : public Decoder {
 public:
  explicit MakesCtc(const Node& node)
      : pad_(node["pad_token"].string_or("<pad>")),
        word_(node["word_delimiter_token"].string_or("|")),
        cleanup_(node["cleanup"].boolean_or(true)) {}
  void append(std::vector<StagePtr>& stages) const override {
    stages.push_back(std::make_unique<CtcStage>(pad_, word_, cleanup_));
  }

 private:
  std::string pad_, word_;
  bool cleanup_;
};

class Sequence final : public Decoder {
 public:
  std::vector<std::unique_ptr<Decoder>> parts;
  void append(std::vector<StagePtr>& stages) const override {
    for (const auto& part : parts) part->append(stages);
  }
};

class Reader {
 public:
  std::unique_ptr<Decoder> read(const Node& node, size_t depth) {
    node.need_object();
    const std::string& type = node["type"].string();
    if (type == "Sequence") return sequence(node, depth);
    if (++stages_ > kMostStages) node.unsupported("too long a sequence");
    if (type == "ByteLevel") {
      chain.byte_level = fused_ = true;
      return std::make_unique<Makes<ByteLevelStage>>();
    }
    if (type == "ByteFallback") {
      chain.byte_fallback = true;
      return std::make_unique<Makes<ByteFallbackStage>>();
    }
    if (type == "Fuse") {
      fused_ = true;
      return std::make_unique<MakesEach>([](std::string&, bool) {}, false);
    }
    if (type == "Replace") return replace(node);
    if (type == "Strip") return strip(node);
    if (type == "Metaspace") return metaspace(node);
    if (type == "WordPiece") return wordpiece(node);
    if (fused_ && (type == "BPEDecoder" || type == "CTC")) node.unsupported("a " + type + " after a Fuse");
    if (type == "BPEDecoder") return std::make_unique<MakesBpe>(node["suffix"].string_or("</w>"));
    if (type == "CTC") return std::make_unique<MakesCtc>(node);
    node["type"].unsupported("'" + type + "', a decoder that is not known");
  }

  DecoderChain chain;

 private:
  std::unique_ptr<Decoder> sequence(const Node& node, size_t depth) {
    const Node list = node["decoders"];
    list.need_array();
    if (depth >= kDeepest) list.unsupported("too deep a sequence");
    auto out = std::make_unique<Sequence>();
    for (size_t i = 0; i < list.size(); ++i) out->parts.push_back(read(list.at(i), depth + 1));
    return out;
  }

  std::unique_ptr<Decoder> replace(const Node& node) const {
    std::shared_ptr<const Pattern> pattern = read_pattern(node["pattern"]);
    std::string content = node["content"].string();
    const auto change = [pattern, content](std::string& text, bool) {
      Work work;
      std::string out;
      size_t kept = 0;
      const auto search = pattern->search(text, 0, text.size(), work);
      for (Cut m = search->next(0); m.begin != std::string::npos; m = search->next(m.end)) {
        out.append(text, kept, m.begin - kept).append(content);
        kept = m.end;
      }
      if (kept == 0 && out.empty()) return;
      out.append(text, kept);
      text.swap(out);
    };
    return std::make_unique<MakesEach>(change, fused_);
  }

  std::unique_ptr<Decoder> strip(const Node& node) const {
    const std::string& what = node["content"].string();
    const int64_t start = node["start"].integer_or(0), stop = node["stop"].integer_or(0);
    if (what.empty() || start < 0 || stop < 0 || start > 1000 || stop > 1000) {
      node.corrupt("without one character and two counts up to 1000");
    }
    const auto first = static_cast<size_t>(start), last = static_cast<size_t>(stop);
    if (fused_) return std::make_unique<MakesStrip>(what, first, last);
    const auto change = [what, first, last](std::string& text, bool) {
      std::string_view rest = text;
      for (size_t n = 0; n < first && rest.starts_with(what); ++n) rest.remove_prefix(what.size());
      for (size_t n = 0; n < last && rest.ends_with(what); ++n) rest.remove_suffix(what.size());
      text = std::string(rest);
    };
    return std::make_unique<MakesEach>(change, false);
  }

  // Of the first text every mark goes, unless none was ever added.
  std::unique_ptr<Decoder> metaspace(const Node& node) const {
    if (fused_) node.unsupported("a Metaspace after a Fuse");
    const std::string mark = node["replacement"].string_or(std::string(kSpaceMark));
    const Node scheme = node["prepend_scheme"];
    const bool added =
        scheme.is_null() ? node["add_prefix_space"].boolean_or(true) : scheme.string() != "never";
    const auto change = [mark, added](std::string& text, bool first) {
      replace_all(text, mark, first && added ? "" : " ");
    };
    return std::make_unique<MakesEach>(change, false);
  }

  std::unique_ptr<Decoder> wordpiece(const Node& node) const {
    if (fused_) node.unsupported("a WordPiece after a Fuse");
    const std::string prefix = node["prefix"].string_or("##");
    const bool cleanup = node["cleanup"].boolean_or(true);
    const auto change = [prefix, cleanup](std::string& text, bool first) {
      if (!first) {
        if (text.starts_with(prefix)) {
          text.erase(0, prefix.size());
        } else {
          text.insert(0, 1, ' ');
        }
      }
      if (cleanup) clean_up(text);
    };
    return std::make_unique<MakesEach>(change, false);
  }

  bool fused_ = false;  // what arrives are parts of one text, no longer tokens
  size_t stages_ = 0;
};

}  // namespace

std::vector<std::unique_ptr<DecodeStage>> DecoderChain::stages() const {
  std::vector<std::unique_ptr<DecodeStage>> out;
  decoder->append(out);
  return out;
}

DecoderChain read_decoder(const Node& node) {
  if (node.is_null()) {
    DecoderChain chain;
    chain.decoder = std::make_unique<MakesEach>(
        [](std::string& text, bool first) {
          if (!first) text.insert(0, 1, ' ');
        },
        false);
    return chain;
  }
  Reader reader;
  auto decoder = reader.read(node, 0);
  reader.chain.decoder = std::move(decoder);
  return std::move(reader.chain);
}

}  // namespace ingle::text::hf
