// The pre-tokenizers of tokenizer.json: each cuts, drops or rewrites the pieces of the one before.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "text/hf/json_reader.h"
#include "text/pretokenize.h"

namespace ingle::text::hf {

// A text under cutting: pieces that lie one behind the other in `text`, none of them empty.
struct Cutting {
  Cutting(std::string_view whole, bool start, Work& w) : text(whole), at_start(start), work(w) {
    if (!whole.empty()) pieces.push_back({0, whole.size()});
  }
  struct Piece {
    size_t begin, end;
  };
  std::string_view text;
  std::vector<Piece> pieces;
  bool at_start;  // the piece that begins at 0, where there is one, begins the whole text
  Work& work;

  std::string_view view(const Piece& p) const { return text.substr(p.begin, p.end - p.begin); }
  // Takes `fresh` for the text; its pieces are set by the caller.
  void rewrite(std::string fresh) {
    buffer_.swap(fresh);
    text = buffer_;
  }

 private:
  std::string buffer_;
};

class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  virtual void apply(Cutting& cutting) const = 0;
};

struct PreTokenizers {
  std::vector<std::unique_ptr<PreTokenizer>> parts;
  // The last part is ByteLevel and its mapping was left out: pieces are plain bytes.
  bool bytes = false;
  // Some part maps bytes to GPT-2's alphabet, so that every character is one of its 256.
  bool maps_bytes = false;
};

// `may_leave_bytes`: whether the model can do without the mapping. Throws Code::unsupported naming a type
// that is not known.
PreTokenizers read_pre_tokenizers(const Node& node, bool may_leave_bytes);

// How the matches of a pattern and the gaps between them become pieces.
enum class Behaviour : uint8_t { removed, isolated, merged_with_previous, merged_with_next, contiguous };

// Collects the segments of one piece.
class SegmentSink {
 public:
  SegmentSink(std::vector<Cutting::Piece>& out, Behaviour behaviour) : out_(out), behaviour_(behaviour) {}
  void begin_piece() { first_ = out_.size(), previous_ = false, pending_ = false; }
  void add(size_t begin, size_t end, bool match);
  void end_piece() {
    if (pending_) push(held_.begin, held_.end);
  }

 private:
  void push(size_t begin, size_t end) { out_.push_back({begin, end}); }
  bool has_last() const { return out_.size() > first_; }

  std::vector<Cutting::Piece>& out_;
  Behaviour behaviour_;
  size_t first_ = 0;
  bool previous_ = false, pending_ = false;
  Cutting::Piece held_{};
};

}  // namespace ingle::text::hf
