#include "text/added_tokens.h"

#include <algorithm>

namespace ingle::text {
namespace {

uint64_t edge_key(uint32_t node, unsigned char byte) { return static_cast<uint64_t>(node) << 8 | byte; }

}  // namespace

AddedTokens::AddedTokens(const std::vector<Token>& tokens) {
  size_t bytes = 0;
  for (const Token& t : tokens) bytes += t.text.size();
  edges_.reserve(bytes);
  nodes_.emplace_back();
  struct Edge {
    uint32_t parent, child, depth;
    unsigned char byte;
  };
  std::vector<Edge> edges;
  for (const Token& t : tokens) {
    uint32_t node = 0, depth = 0;
    for (auto at = t.text.rbegin(); at != t.text.rend(); ++at) {
      const auto byte = static_cast<unsigned char>(*at);
      ++depth;
      if (const auto* found = edges_.find(edge_key(node, byte))) {
        node = found->first;
        continue;
      }
      const auto child = static_cast<uint32_t>(nodes_.size());
      nodes_.emplace_back();
      edges_.insert(edge_key(node, byte), {child, 0});
      edges.push_back({node, child, depth, byte});
      node = child;
    }
    if (node != 0) nodes_[node].bytes = static_cast<uint32_t>(t.text.size()), nodes_[node].id = t.id;
  }
  for (const Edge& e : edges) {
    if (e.parent == 0) root_[e.byte] = e.child;
  }
  // Shallow nodes first: a node's fail link is shallower than itself.
  std::stable_sort(edges.begin(), edges.end(),
                   [](const Edge& a, const Edge& b) { return a.depth < b.depth; });
  for (const Edge& e : edges) {
    Node& child = nodes_[e.child];
    if (e.parent != 0) child.fail = step(nodes_[e.parent].fail, e.byte);
    if (child.bytes == 0) child.bytes = nodes_[child.fail].bytes, child.id = nodes_[child.fail].id;
  }
}

uint32_t AddedTokens::step(uint32_t node, unsigned char byte) const {
  while (node != 0) {
    if (const auto* found = edges_.find(edge_key(node, byte))) return found->first;
    node = nodes_[node].fail;
  }
  return root_[byte];
}

void AddedTokens::find(std::string_view text, std::vector<Match>& matches) const {
  matches.clear();
  if (nodes_.size() == 1) return;
  uint32_t node = 0;
  for (size_t at = text.size(); at-- > 0;) {
    node = step(node, static_cast<unsigned char>(text[at]));
    if (nodes_[node].bytes) matches.push_back({at, at + nodes_[node].bytes, nodes_[node].id});
  }
  std::reverse(matches.begin(), matches.end());
  size_t kept = 0, end = 0;
  for (const Match& m : matches) {
    if (m.begin < end) continue;
    matches[kept++] = m;
    end = m.end;
  }
  matches.resize(kept);
}

}  // namespace ingle::text
