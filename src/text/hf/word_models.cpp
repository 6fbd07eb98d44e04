// "WordPiece" and "WordLevel" of tokenizer.json.
#include "core/error.h"
#include "text/hf/model.h"
#include "text/trie.h"
#include "text/unicode.h"

namespace ingle::text::hf {
namespace {

// The tokens that start words, or those that continue them without their prefix.
std::vector<Trie::Entry> entries(const TokenizerJson& json, const TokenList& tokens, std::string_view prefix,
                                 bool starts) {
  std::vector<Trie::Entry> out;
  for (const auto& entry : json.vocabulary) {
    const auto id = static_cast<TokenId>(entry.id);
    std::string_view text = tokens.texts[static_cast<size_t>(id)];
    if (!tokens.is_plain(id) || (!starts && !text.starts_with(prefix))) continue;
    if (!starts) text.remove_prefix(prefix.size());
    if (!text.empty()) out.push_back({text, id});
  }
  return out;
}

class WordPiece final : public Model {
 public:
  WordPiece(const TokenizerJson& json, const Node& node, const TokenList& tokens, const std::string& prefix)
      : unknown_(need_entry(json, node["unk_token"])),
        starts_(entries(json, tokens, prefix, true)),
        parts_(entries(json, tokens, prefix, false)) {
    const int64_t longest = node["max_input_chars_per_word"].integer_or(100);
    longest_ = longest < 0 ? 0 : static_cast<size_t>(longest);
  }

  void encode(const Cutting& c, std::vector<TokenId>& out, EncodeState& state) const override {
    const auto encode_piece = [&](std::string_view piece, std::vector<TokenId>& to) {
      encode_word(piece, to, state.work);
    };
    for (const Cutting::Piece& p : c.pieces) state.cache.encode(c.view(p), out, encode_piece);
  }

 private:
  bool is_too_long(std::string_view word) const {
    if (word.size() <= longest_) return false;
    size_t n = 0;
    for (const char* at = word.data(); at < word.data() + word.size() && n <= longest_; ++n) {
      at += decode_utf8(at, word.data() + word.size()).bytes;
    }
    return n > longest_;
  }

  void encode_word(std::string_view word, std::vector<TokenId>& out, Work& work) const {
    const size_t first = out.size();
    work.scanned += 1;
    if (!is_too_long(word) && take_longest(word, starts_, parts_, out, work.scanned)) return;
    out.resize(first);
    out.push_back(unknown_);
  }

  TokenId unknown_;
  size_t longest_ = 0;
  Trie starts_, parts_;
};

class WordLevel final : public Model {
 public:
  WordLevel(const TokenizerJson& json, const Node& node, const TokenList& tokens)
      : tokens_(tokens), unknown_(need_entry(json, node["unk_token"])) {
    table_.reserve(json.vocabulary.size());
    for (const auto& entry : json.vocabulary) {
      const auto id = static_cast<TokenId>(entry.id);
      if (tokens.is_plain(id)) table_.insert(text_of(id), id, [this](TokenId t) { return text_of(t); });
    }
  }

  void encode(const Cutting& c, std::vector<TokenId>& out, EncodeState& state) const override {
    for (const Cutting::Piece& p : c.pieces) {
      const TokenId id = table_.find(c.view(p), [this](TokenId t) { return text_of(t); });
      out.push_back(id >= 0 ? id : unknown_);
      state.work.scanned += p.end - p.begin;
    }
  }

 private:
  std::string_view text_of(TokenId id) const { return tokens_.texts[static_cast<size_t>(id)]; }

  const TokenList& tokens_;
  TokenId unknown_;
  StringTable table_;
};

}  // namespace

std::unique_ptr<Model> make_wordpiece_model(const TokenizerJson& json, const Node& node,
                                            const TokenList& tokens) {
  return std::make_unique<WordPiece>(json, node, tokens, node["continuing_subword_prefix"].string_or("##"));
}

std::unique_ptr<Model> make_wordlevel_model(const TokenizerJson& json, const Node& node,
                                            const TokenList& tokens) {
  return std::make_unique<WordLevel>(json, node, tokens);
}

std::optional<TokenId> find_entry(const TokenizerJson& json, std::string_view text) {
  for (const auto& entry : json.vocabulary) {
    if (entry.text == text) return static_cast<TokenId>(entry.id);
  }
  return std::nullopt;
}

TokenId need_entry(const TokenizerJson& json, const Node& node) {
  const auto id = find_entry(json, node.string());
  if (!id) node.corrupt("'" + node.string() + "', which is no token of the model");
  return *id;
}

std::array<TokenId, 256> find_byte_entries(const TokenizerJson& json) {
  std::array<TokenId, 256> out{};
  out.fill(-1);
  for (const auto& entry : json.vocabulary) {
    const int byte = named_byte(entry.text);
    if (byte >= 0) out[static_cast<size_t>(byte)] = static_cast<TokenId>(entry.id);
  }
  return out;
}

}  // namespace ingle::text::hf
