// "Unigram" of tokenizer.json (`tokenizers`, models/unigram): the segmentation with the best sum of scores.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.h"
#include "text/hf/model.h"
#include "text/trie.h"
#include "text/unicode.h"

namespace ingle::text::hf {
namespace {

constexpr double kUnknownPenalty = 10.0;  // below the worst score by this much

std::vector<Trie::Entry> plain_entries(const TokenizerJson& json, const TokenList& tokens) {
  std::vector<Trie::Entry> out;
  for (const auto& entry : json.vocabulary) {
    const auto id = static_cast<TokenId>(entry.id);
    if (!entry.text.empty() && tokens.is_plain(id))
      out.push_back({tokens.texts[static_cast<size_t>(id)], id});
  }
  return out;
}

class Unigram final : public Model {
 public:
  Unigram(const TokenizerJson& json, const Node& node, const TokenList& tokens)
      : trie_(plain_entries(json, tokens)) {
    if (!json.scored) node["vocab"].corrupt("not a list of [text, score]");
    double worst = std::numeric_limits<double>::max();
    scores_.reserve(json.vocabulary.size());
    for (const auto& entry : json.vocabulary) {
      if (!std::isfinite(entry.score)) {
        fail(Code::corrupt, tokens.file, format("model.vocab[{}] has no finite score", entry.id));
      }
      scores_.push_back(entry.score);
      worst = std::min(worst, entry.score);
    }
    unknown_score_ = worst - kUnknownPenalty;
    const Node unknown = node["unk_id"];
    if (!unknown.is_null()) {
      const int64_t id = unknown.integer();
      if (id < 0 || static_cast<size_t>(id) >= scores_.size()) {
        unknown.corrupt(format("{}, expected 0 to {}", id, static_cast<int64_t>(scores_.size()) - 1));
      }
      unknown_ = static_cast<TokenId>(id);
    }
    if (node["byte_fallback"].boolean_or(false)) {
      byte_tokens_ = find_byte_entries(json);
      falls_back_ = std::find(byte_tokens_.begin(), byte_tokens_.end(), -1) == byte_tokens_.end();
    }
    if (unknown_ < 0 && !falls_back_)
      unknown.corrupt("missing: a character that is no token would have no id");
  }

  void encode(const Cutting& c, std::vector<TokenId>& out, EncodeState& state) const override {
    std::vector<Step> best;
    const auto encode_piece = [&](std::string_view piece, std::vector<TokenId>& to) {
      search(piece, best, state.work);
      collect(piece, best, to);
    };
    for (const Cutting::Piece& p : c.pieces) state.cache.encode(c.view(p), out, encode_piece);
  }

 private:
  // The best way to reach a place: the token that ends there (-1: an unknown character) and where it begins.
  struct Step {
    double score = -std::numeric_limits<double>::infinity();
    size_t begin = 0;
    TokenId id = -1;
  };

  void search(std::string_view text, std::vector<Step>& best, Work& work) const {
    best.assign(text.size() + 1, {});
    best[0].score = 0;
    const char* end = text.data() + text.size();
    for (size_t at = 0; at < text.size();) {
      const size_t character = decode_utf8(text.data() + at, end).bytes;
      const double base = best[at].score;
      const auto offer = [&](size_t to, double score, TokenId id) {
        if (base + score > best[to].score) best[to] = {base + score, at, id};
      };
      bool whole_character = false;
      uint32_t node = Trie::kRoot;
      for (size_t to = at; to < text.size();) {
        node = trie_.step(node, text[to++]);
        ++work.scanned;
        if (node == Trie::kNone) break;
        const TokenId id = trie_.id(node);
        if (id < 0) continue;
        whole_character = whole_character || to == at + character;
        offer(to, scores_[static_cast<size_t>(id)], id);
      }
      if (!whole_character) offer(at + character, unknown_score_, -1);
      at += character;
    }
  }

  // Neighbouring unknown characters are one unknown token, or the bytes of all.
  void collect(std::string_view text, const std::vector<Step>& best, std::vector<TokenId>& out) const {
    const size_t first = out.size();
    for (size_t end = text.size(); end > 0;) {
      size_t begin = best[end].begin;
      if (best[end].id >= 0) {
        out.push_back(best[end].id);
        end = begin;
        continue;
      }
      while (begin > 0 && best[begin].id < 0) begin = best[begin].begin;
      if (falls_back_) {
        for (size_t i = end; i > begin; --i)
          out.push_back(byte_tokens_[static_cast<unsigned char>(text[i - 1])]);
      } else {
        out.push_back(unknown_);
      }
      end = begin;
    }
    std::reverse(out.begin() + static_cast<ptrdiff_t>(first), out.end());
  }

  Trie trie_;
  std::vector<double> scores_;
  double unknown_score_ = 0;
  TokenId unknown_ = -1;
  bool falls_back_ = false;
  std::array<TokenId, 256> byte_tokens_{};
};

}  // namespace

std::unique_ptr<Model> make_unigram_model(const TokenizerJson& json, const Node& node,
                                          const TokenList& tokens) {
  return std::make_unique<Unigram>(json, node, tokens);
}

}  // namespace ingle::text::hf
