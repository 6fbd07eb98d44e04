#include "text/hf/pre_tokenizer.h"

#include "text/hf/normalizer.h"
#include "text/hf/pattern.h"
#include "text/hf/scripts.h"
#include "text/unicode.h"
#include "text/vocabulary.h"

namespace ingle::text::hf {
namespace {

using Ptr = std::unique_ptr<PreTokenizer>;

constexpr size_t kMostParts = 64, kDeepest = 8;

// Cuts each piece at the matches that `search(piece, sink)` reports by way of `sink.add`.
template <class Report>
void cut(Cutting& c, Behaviour behaviour, Report report) {
  std::vector<Cutting::Piece> out;
  out.reserve(c.pieces.size() * 2 + c.text.size() / 8);
  SegmentSink sink(out, behaviour);
  for (const Cutting::Piece& p : c.pieces) {
    sink.begin_piece();
    report(p, sink);
    sink.end_piece();
  }
  c.pieces.swap(out);
}

class Split final : public PreTokenizer {
 public:
  Split(std::unique_ptr<Pattern> pattern, Behaviour behaviour, bool invert)
      : pattern_(std::move(pattern)), behaviour_(behaviour), invert_(invert) {}
  void apply(Cutting& c) const override {
    if (pattern_->stage() && behaviour_ == Behaviour::isolated) return isolate(c, *pattern_->stage());
    cut(c, behaviour_, [&](const Cutting::Piece& p, SegmentSink& sink) {
      const auto search = pattern_->search(c.text, p.begin, p.end, c.work);
      size_t kept = p.begin;
      for (Cut m = search->next(p.begin); m.begin != std::string::npos; m = search->next(m.end)) {
        if (m.begin > kept) sink.add(kept, m.begin, invert_);
        sink.add(m.begin, m.end, !invert_);
        kept = m.end;
      }
      if (kept < p.end) sink.add(kept, p.end, invert_);
    });
  }

 private:
  // The common case without its overheads: matches and gaps are pieces alike.
  static void isolate(Cutting& c, const Stage& stage) {
    std::vector<Cutting::Piece> out;
    out.reserve(c.pieces.size() + c.text.size() / 4);
    for (const Cutting::Piece& p : c.pieces) {
      Scan scan(c.text, p.begin, p.end, c.work);
      for (size_t at = p.begin; at < p.end;) {
        const Cut match = stage.find(scan, at, stage);
        if (match.begin > at) out.push_back({at, match.begin});
        if (match.end > match.begin) out.push_back({match.begin, match.end});
        at = match.end;
      }
    }
    c.pieces.swap(out);
  }

  std::unique_ptr<Pattern> pattern_;
  Behaviour behaviour_;
  bool invert_;
};

// Every character that `is` holds of is a match by itself.
template <class Is>
class SplitCharacters final : public PreTokenizer {
 public:
  SplitCharacters(Is is, Behaviour behaviour) : is_(is), behaviour_(behaviour) {}
  void apply(Cutting& c) const override {
    cut(c, behaviour_, [&](const Cutting::Piece& p, SegmentSink& sink) {
      const char* data = c.text.data();
      size_t kept = p.begin;
      for (size_t at = p.begin; at < p.end;) {
        const Char ch = char_at(data + at, data + p.end);
        const size_t next = at + ch.bytes;
        if (is_(ch)) {
          if (at > kept) sink.add(kept, at, false);
          sink.add(at, next, true);
          kept = next;
        }
        at = next;
      }
      if (kept < p.end) sink.add(kept, p.end, false);
      c.work.scanned += p.end - p.begin;
    });
  }

 private:
  Is is_;
  Behaviour behaviour_;
};
template <class Is>
Ptr split_characters(Is is, Behaviour behaviour) {
  return std::make_unique<SplitCharacters<Is>>(is, behaviour);
}

// Cuts wherever `class_of` changes; characters of the class 0 are dropped.
template <class ClassOf>
class SplitClasses final : public PreTokenizer {
 public:
  explicit SplitClasses(ClassOf class_of) : class_of_(class_of) {}
  void apply(Cutting& c) const override {
    std::vector<Cutting::Piece> out;
    out.reserve(c.pieces.size() + c.text.size() / 4);
    const char* data = c.text.data();
    for (const Cutting::Piece& p : c.pieces) {
      int current = 0;
      size_t begin = p.begin;
      for (size_t at = p.begin; at < p.end;) {
        const Char ch = char_at(data + at, data + p.end);
        const int kind = class_of_(ch, current);
        if (kind != current) {
          if (current != 0 && at > begin) out.push_back({begin, at});
          begin = at, current = kind;
        }
        at += ch.bytes;
      }
      if (current != 0 && p.end > begin) out.push_back({begin, p.end});
      c.work.scanned += p.end - p.begin;
    }
    c.pieces.swap(out);
  }

 private:
  ClassOf class_of_;
};
template <class ClassOf>
Ptr split_classes(ClassOf class_of) {
  return std::make_unique<SplitClasses<ClassOf>>(class_of);
}

bool is_punctuation(const Char& c) { return (c.flags & kPunct) || (c.code < 128 && (c.flags & kSymbol)); }
bool is_space(const Char& c) { return (c.flags & kSpace) != 0; }
bool is_numeric(const Char& c) { return (c.flags & kNumber) != 0; }

// Writes every piece anew: `write(piece, first, out)` appends what becomes of it.
template <class Write>
void rewrite(Cutting& c, Write write) {
  std::string out;
  out.reserve(c.text.size() + c.text.size() / 2 + 16);
  for (Cutting::Piece& p : c.pieces) {
    const size_t begin = out.size();
    write(c.view(p), c.at_start && p.begin == 0, out);
    p = {begin, out.size()};
  }
  c.work.scanned += out.size();
  c.rewrite(std::move(out));
}

class ByteLevel final : public PreTokenizer {
 public:
  ByteLevel(bool add_space, bool use_regex, bool map) : add_space_(add_space), map_(map), words_(nullptr) {
    if (use_regex) {
      words_ = std::make_unique<Split>(make_stage_pattern(find_pre_tokenizer("gpt-2")->stages[0]),
                                       Behaviour::isolated, false);
    }
  }
  void apply(Cutting& c) const override {
    if (add_space_ && needs_space(c)) {
      rewrite(c, [](std::string_view piece, bool, std::string& out) {
        if (piece[0] != ' ') out.push_back(' ');
        out.append(piece);
      });
    }
    if (words_) words_->apply(c);
    if (map_) rewrite(c, [](std::string_view piece, bool, std::string& out) { map_byte_level(piece, out); });
  }

 private:
  static bool needs_space(const Cutting& c) {
    for (const Cutting::Piece& p : c.pieces) {
      if (c.text[p.begin] != ' ') return true;
    }
    return false;
  }

  bool add_space_, map_;
  std::unique_ptr<Split> words_;
};

class Metaspace final : public PreTokenizer {
 public:
  enum class Prepend : uint8_t { always, first, never };
  Metaspace(std::string mark, Prepend prepend, bool split)
      : mark_(std::move(mark)), prepend_(prepend), split_(split) {
    marks_ = make_string_pattern(mark_);
  }
  void apply(Cutting& c) const override {
    rewrite(c, [this](std::string_view piece, bool first, std::string& out) {
      const bool due = prepend_ == Prepend::always || (prepend_ == Prepend::first && first);
      if (due && piece[0] != ' ' && !piece.starts_with(mark_)) out.append(mark_);
      for (const char ch : piece) {
        if (ch == ' ') {
          out.append(mark_);
        } else {
          out.push_back(ch);
        }
      }
    });
    if (!split_) return;
    cut(c, Behaviour::merged_with_next, [&](const Cutting::Piece& p, SegmentSink& sink) {
      size_t kept = p.begin;
      const std::string_view text = c.text.substr(0, p.end);
      for (size_t at = text.find(mark_, p.begin); at != text.npos; at = text.find(mark_, at + mark_.size())) {
        if (at > kept) sink.add(kept, at, false);
        sink.add(at, at + mark_.size(), true);
        kept = at + mark_.size();
      }
      if (kept < p.end) sink.add(kept, p.end, false);
    });
  }

 private:
  std::string mark_;
  Prepend prepend_;
  bool split_;
  std::unique_ptr<Pattern> marks_;
};

class FixedLength final : public PreTokenizer {
 public:
  explicit FixedLength(size_t length) : length_(length) {}
  void apply(Cutting& c) const override {
    std::vector<Cutting::Piece> out;
    const char* data = c.text.data();
    for (const Cutting::Piece& p : c.pieces) {
      size_t begin = p.begin, n = 0;
      for (size_t at = p.begin; at < p.end;) {
        at += decode_utf8(data + at, data + p.end).bytes;
        if (++n == length_ || at >= p.end) out.push_back({begin, at}), begin = at, n = 0;
      }
      c.work.scanned += p.end - p.begin;
    }
    c.pieces.swap(out);
  }

 private:
  size_t length_;
};

Behaviour read_behaviour(const Node& node) {
  const std::string& name = node.string();
  if (name == "Removed") return Behaviour::removed;
  if (name == "Isolated") return Behaviour::isolated;
  if (name == "MergedWithPrevious") return Behaviour::merged_with_previous;
  if (name == "MergedWithNext") return Behaviour::merged_with_next;
  if (name == "Contiguous") return Behaviour::contiguous;
  node.unsupported("'" + name + "', a behaviour that is not known");
}

Ptr read_metaspace(const Node& node) {
  std::string mark = node["replacement"].string_or(std::string(kSpaceMark));
  const CodePoint one =
      mark.empty() ? CodePoint{0, 0, false} : decode_utf8(mark.data(), mark.data() + mark.size());
  if (!one.valid || one.bytes != mark.size()) node["replacement"].corrupt("not one character");
  // add_prefix_space is the older spelling.
  const Node scheme = node["prepend_scheme"];
  const std::string name = scheme.string_or(node["add_prefix_space"].boolean_or(true) ? "always" : "never");
  Metaspace::Prepend prepend = Metaspace::Prepend::always;
  if (name == "first") {
    prepend = Metaspace::Prepend::first;
  } else if (name == "never") {
    prepend = Metaspace::Prepend::never;
  } else if (name != "always") {
    scheme.unsupported("'" + name + "', a scheme that is not known");
  }
  return std::make_unique<Metaspace>(std::move(mark), prepend, node["split"].boolean_or(true));
}

Ptr read_delimiter(const Node& node) {
  const std::string& text = node.string();
  const CodePoint one =
      text.empty() ? CodePoint{0, 0, false} : decode_utf8(text.data(), text.data() + text.size());
  if (!one.valid || one.bytes != text.size()) node.corrupt("not one character");
  return split_characters([code = one.code](const Char& c) { return c.code == code; }, Behaviour::removed);
}

class Reader {
 public:
  explicit Reader(bool may_leave_bytes) : may_leave_bytes_(may_leave_bytes) {}

  // `last`: nothing comes after it.
  void read(const Node& node, bool last, size_t depth) {
    node.need_object();
    const std::string& type = node["type"].string();
    if (type == "Sequence") {
      const Node list = node["pretokenizers"];
      list.need_array();
      if (list.size() > kMostParts || depth >= kDeepest) list.unsupported("too long or too deep a sequence");
      for (size_t i = 0; i < list.size(); ++i) read(list.at(i), last && i + 1 == list.size(), depth + 1);
      return;
    }
    if (out.maps_bytes && (type == "ByteLevel" || type == "Metaspace")) {
      node.unsupported("a " + type + " after a ByteLevel");
    }
    if (type == "ByteLevel") {
      out.maps_bytes = true;
      out.bytes = last && may_leave_bytes_;
      out.parts.push_back(std::make_unique<ByteLevel>(node["add_prefix_space"].boolean_or(true),
                                                      node["use_regex"].boolean_or(true), !out.bytes));
    } else if (type == "BertPreTokenizer") {
      out.parts.push_back(split_characters(is_space, Behaviour::removed));
      out.parts.push_back(split_characters(is_punctuation, Behaviour::isolated));
    } else {
      out.parts.push_back(read_one(node, type));
    }
  }

  PreTokenizers out;

 private:
  static Ptr read_one(const Node& node, const std::string& type) {
    if (type == "Split") {
      return std::make_unique<Split>(read_pattern(node["pattern"]), read_behaviour(node["behavior"]),
                                     node["invert"].boolean_or(false));
    }
    if (type == "Metaspace") return read_metaspace(node);
    if (type == "WhitespaceSplit") return split_characters(is_space, Behaviour::removed);
    if (type == "CharDelimiterSplit") return read_delimiter(node["delimiter"]);
    if (type == "Punctuation") {
      const Node behaviour = node["behavior"];
      return split_characters(is_punctuation,
                              behaviour.is_null() ? Behaviour::isolated : read_behaviour(behaviour));
    }
    if (type == "Digits") {
      const bool single = node["individual_digits"].boolean_or(false);
      return split_characters(is_numeric, single ? Behaviour::isolated : Behaviour::contiguous);
    }
    if (type == "Whitespace") {  // \w+|[^\w\s]+
      return split_classes([](const Char& c, int) { return is_word(c) ? 1 : is_space(c) ? 0 : 2; });
    }
    if (type == "UnicodeScripts") return split_classes(script_class);
    if (type == "FixedLength") {
      const Node length = node["length"];
      if (length.integer() < 1) length.corrupt("less than 1");
      return std::make_unique<FixedLength>(static_cast<size_t>(length.integer()));
    }
    node["type"].unsupported("'" + type + "', a pre-tokenizer that is not known");
  }

  bool may_leave_bytes_;
};

}  // namespace

void SegmentSink::add(size_t begin, size_t end, bool match) {
  const bool before = previous_;
  previous_ = match;
  switch (behaviour_) {
    case Behaviour::removed:
      if (!match && end > begin) push(begin, end);
      return;
    case Behaviour::isolated:
      if (end > begin) push(begin, end);
      return;
    case Behaviour::contiguous:
      if (match == before && has_last()) {
        out_.back().end = end;
      } else if (end > begin) {
        push(begin, end);
      }
      return;
    case Behaviour::merged_with_previous:
      if (match && !before && has_last()) {
        out_.back().end = end;
      } else if (end > begin) {
        push(begin, end);
      }
      return;
    case Behaviour::merged_with_next:
      if (!match) {
        if (end > begin || pending_) push(pending_ ? held_.begin : begin, end);
        pending_ = false;
        return;
      }
      if (pending_) push(held_.begin, held_.end);
      held_ = {begin, end};
      pending_ = end > begin;
      return;
  }
}

PreTokenizers read_pre_tokenizers(const Node& node, bool may_leave_bytes) {
  Reader reader(may_leave_bytes);
  if (!node.is_null()) reader.read(node, true, 0);
  return std::move(reader.out);
}

}  // namespace ingle::text::hf
