#include "text/hf/pattern.h"

#include <algorithm>

#include "core/error.h"
#include "text/hf/class_run.h"

namespace ingle::text::hf {
namespace {

constexpr Cut kNoMatch{std::string_view::npos, std::string_view::npos};

class StringPattern final : public Pattern {
 public:
  explicit StringPattern(std::string text) : text_(std::move(text)) {}
  std::unique_ptr<Search> search(std::string_view text, size_t, size_t end, Work& work) const override {
    return std::make_unique<Finder>(text.substr(0, end), text_, work);
  }

 private:
  class Finder final : public Search {
   public:
    Finder(std::string_view text, std::string_view wanted, Work& work)
        : text_(text), wanted_(wanted), work_(work) {}
    Cut next(size_t from) override {
      const size_t at = wanted_.empty() ? text_.npos : text_.find(wanted_, from);
      work_.scanned += (at == text_.npos ? text_.size() : at + wanted_.size()) - std::min(from, text_.size());
      return at == text_.npos ? kNoMatch : Cut{at, at + wanted_.size()};
    }

   private:
    std::string_view text_, wanted_;
    Work& work_;
  };
  std::string text_;
};

class StagePattern final : public Pattern {
 public:
  explicit StagePattern(const Stage& stage) : stage_(&stage) {}
  std::unique_ptr<Search> search(std::string_view text, size_t begin, size_t end, Work& work) const override {
    return std::make_unique<Finder>(text, begin, end, work, *stage_);
  }
  const Stage* stage() const override { return stage_; }

 private:
  class Finder final : public Search {
   public:
    Finder(std::string_view text, size_t begin, size_t end, Work& work, const Stage& stage)
        : scan_(text, begin, end, work), stage_(stage) {}
    Cut next(size_t from) override {
      if (from >= scan_.end()) return kNoMatch;
      const Cut cut = stage_.find(scan_, from, stage_);
      return cut.begin == cut.end ? kNoMatch : cut;
    }

   private:
    Scan scan_;
    const Stage& stage_;
  };
  const Stage* stage_;
};

}  // namespace

std::unique_ptr<Pattern> make_string_pattern(std::string text) {
  return std::make_unique<StringPattern>(std::move(text));
}
std::unique_ptr<Pattern> make_stage_pattern(const Stage& stage) {
  return std::make_unique<StagePattern>(stage);
}

std::unique_ptr<Pattern> read_pattern(const Node& node) {
  if (node.is_string()) return make_string_pattern(node.string());
  node.need_object();
  const auto keys = node.keys();
  if (keys.size() != 1 || (keys[0] != "String" && keys[0] != "Regex")) {
    node.corrupt("an object without one member String or Regex");
  }
  const Node value = node[keys[0]];
  if (keys[0] == "String") return make_string_pattern(value.string());
  if (const Stage* known = find_known_pattern(value.string())) return make_stage_pattern(*known);
  if (auto run = make_class_run(value.string())) return run;
  return make_regex_pattern(value.string(), value);
}

}  // namespace ingle::text::hf
