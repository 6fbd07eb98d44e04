#include "text/hf/post_processor.h"

#include "core/error.h"

namespace ingle::text::hf {
namespace {

constexpr size_t kMostParts = 64, kMostIds = 64, kDeepest = 8;

class Reader {
 public:
  explicit Reader(int32_t size) : size_(size) {}

  void read(const Node& node, size_t depth) {
    node.need_object();
    const std::string& type = node["type"].string();
    if (type == "ByteLevel") return;  // trims offsets, which are not kept
    if (type == "Sequence") {
      const Node list = node["processors"];
      list.need_array();
      if (list.size() > kMostParts || depth >= kDeepest) list.unsupported("too long or too deep a sequence");
      for (size_t i = 0; i < list.size(); ++i) read(list.at(i), depth + 1);
    } else if (type == "BertProcessing" || type == "RobertaProcessing") {
      wrap({pair_id(node["cls"])}, {pair_id(node["sep"])}, node);
    } else if (type == "TemplateProcessing") {
      read_template(node);
    } else {
      node["type"].unsupported("'" + type + "', a post-processor that is not known");
    }
  }

  Frame out;

 private:
  TokenId checked(const Node& node) const {
    const int64_t id = node.integer();
    if (id < 0 || id >= size_) node.corrupt(format("{}, expected 0 to {}", id, size_ - 1));
    return static_cast<TokenId>(id);
  }
  TokenId pair_id(const Node& node) const {
    node.need_array();
    return checked(node.at(1));
  }

  // A later processor stands outside of the earlier ones.
  void wrap(std::vector<TokenId> before, const std::vector<TokenId>& after, const Node& node) {
    before.insert(before.end(), out.prefix.begin(), out.prefix.end());
    out.prefix = std::move(before);
    out.suffix.insert(out.suffix.end(), after.begin(), after.end());
    if (out.prefix.size() + out.suffix.size() > kMostIds) node.unsupported("one that adds too many tokens");
  }

  void read_template(const Node& node) {
    const Node items = node["single"];
    items.need_array();
    std::vector<TokenId> before, after;
    bool seen = false;
    for (size_t i = 0; i < items.size(); ++i) {
      const Node item = items.at(i);
      if (const Node special = item["SpecialToken"]; !special.is_null()) {
        const Node ids = node["special_tokens"][special["id"].string()]["ids"];
        ids.need_array();
        for (size_t k = 0; k < ids.size() && k <= kMostIds; ++k) {
          (seen ? after : before).push_back(checked(ids.at(k)));
        }
      } else if (item["Sequence"]["id"].string() == "A" && !seen) {
        seen = true;
      } else {
        item.unsupported("a sequence other than one A");
      }
    }
    if (!seen) items.unsupported("a template without the text");
    wrap(std::move(before), after, node);
  }

  int32_t size_;
};

}  // namespace

Frame read_post_processor(const Node& node, int32_t size) {
  Reader reader(size);
  if (!node.is_null()) reader.read(node, 0);
  return std::move(reader.out);
}

}  // namespace ingle::text::hf
