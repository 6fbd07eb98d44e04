// SentencePiece's unigram model (Kudo 2018): the segmentation with the best sum of scores.
#include <algorithm>
#include <limits>

#include "core/error.h"
#include "text/charsmap.h"
#include "text/encoder.h"
#include "text/trie.h"

namespace ingle::text {
namespace {

// Below the worst score by this much; SentencePiece's value.
constexpr double kUnknownPenalty = 10.0;

std::vector<Trie::Entry> plain_entries(const Vocabulary& v) {
  std::vector<Trie::Entry> out;
  for (TokenId id = 0; id < v.size(); ++id) {
    const std::string_view text = v.texts[static_cast<size_t>(id)];
    const bool unused = v.by_library && v.kinds[static_cast<size_t>(id)] == TokenKind::unused;
    if (v.is_plain(id) && !unused && !text.empty()) out.push_back({text, id});
  }
  return out;
}

class Unigram final : public NormalEncoder {
 public:
  explicit Unigram(const Vocabulary& vocabulary)
      : v_(vocabulary),
        trie_(plain_entries(vocabulary)),
        cuts_(vocabulary),
        map_(vocabulary.charsmap, vocabulary.file, "tokenizer.ggml.precompiled_charsmap") {
    double worst = std::numeric_limits<double>::max();
    for (TokenId id = 0; id < v_.size(); ++id) {
      if (v_.kinds[static_cast<size_t>(id)] != TokenKind::normal) continue;
      worst = std::min(worst, score_of(id));
      greatest_ = std::max(greatest_, v_.scores[static_cast<size_t>(id)]);
    }
    if (worst == std::numeric_limits<double>::max()) {
      fail(Code::corrupt, v_.file, "tokenizer.ggml.tokens has no ordinary token");
    }
    unknown_score_ = worst - kUnknownPenalty;
    falls_back_ = std::find(v_.byte_tokens.begin(), v_.byte_tokens.end(), -1) == v_.byte_tokens.end();
  }

  void encode(std::string_view text, bool, std::vector<TokenId>& out, EncodeState& state) const override {
    encode_normal(normalize(text), out, state);
  }

  // Part by part: no token reaches across a cut, so the best way of all leads through each.
  void encode_normal(std::string_view normal, std::vector<TokenId>& out, EncodeState& state) const override {
    std::vector<Step> best;
    double score = 0;
    bool after_unknown = false;
    for (size_t begin = 0; begin < normal.size();) {
      const size_t end = cuts_.next(normal, begin);
      const std::string_view part = normal.substr(begin, end - begin);
      search(part, score, best, state.work);
      score = best.back().score;
      after_unknown = collect(part, best, after_unknown, out);
      begin = end;
    }
  }

 private:
  // The best way to reach a place: the token that ends there (-1: an unknown character) and where it begins.
  struct Step {
    double score = -std::numeric_limits<double>::infinity();
    size_t begin = 0;
    TokenId id = -1;
  };

  double score_of(TokenId id) const {
    return v_.kinds[static_cast<size_t>(id)] == TokenKind::user_defined ? 0.0
                                                                        : v_.scores[static_cast<size_t>(id)];
  }

  // The library prefers what a user defined to all else.
  double offered_score(TokenId id, size_t bytes) const {
    const bool defined = v_.by_library && v_.kinds[static_cast<size_t>(id)] == TokenKind::user_defined;
    return defined ? static_cast<float>(bytes) * greatest_ - 0.1 : score_of(id);
  }

  // Appends the ids of the best way; neighbouring unknown characters count as one. `after_unknown`: one
  // stands before. Returns whether one stands at the end.
  bool collect(std::string_view text, const std::vector<Step>& best, bool after_unknown,
               std::vector<TokenId>& out) const {
    const size_t first = out.size();
    for (size_t end = text.size(); end > 0; end = best[end].begin) {
      const Step& step = best[end];
      if (step.id >= 0) {
        out.push_back(step.id);
      } else if (falls_back_) {
        for (size_t i = end; i > step.begin; --i) {
          out.push_back(v_.byte_tokens[static_cast<unsigned char>(text[i - 1])]);
        }
      } else {
        const bool before = step.begin == 0 ? after_unknown : best[step.begin].id < 0;
        if (!before && v_.special.unknown) out.push_back(*v_.special.unknown);
      }
    }
    std::reverse(out.begin() + static_cast<ptrdiff_t>(first), out.end());
    return best.back().id < 0;
  }

  // Sums go on from `before`, as they would in one search of the whole text.
  void search(std::string_view text, double before, std::vector<Step>& best, Work& work) const {
    best.assign(text.size() + 1, {});
    best[0].score = before;
    const char* end = text.data() + text.size();
    for (size_t at = 0; at < text.size();) {
      const size_t character = decode_utf8(text.data() + at, end).bytes;
      const double base = best[at].score;
      const auto offer = [&](size_t to, double score, TokenId id) {
        double sum = base + score;
        if (v_.by_library) sum = static_cast<float>(sum);  // sums are floats there, and ties depend on it
        if (sum > best[to].score) best[to] = {sum, at, id};
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
        offer(to, offered_score(id, to - at), id);
      }
      if (!whole_character) offer(at + character, unknown_score_, -1);
      at += character;
    }
  }

  std::string normalize(std::string_view text) const {
    std::string out;
    out.reserve(text.size() + text.size() / 2 + 8);
    bool in_word = false, prefix_due = v_.add_space_prefix;
    const auto put = [&](std::string_view characters) {
      for (const char c : characters) {
        if (c == ' ') {
          in_word = false;
          if (!v_.remove_extra_whitespaces) out.append(kSpaceMark);
          continue;
        }
        if (!in_word && (prefix_due || v_.remove_extra_whitespaces)) {
          if (prefix_due || !out.empty()) out.append(kSpaceMark);
          prefix_due = false;
        }
        in_word = true;
        out.push_back(c);
      }
    };
    const char* end = text.data() + text.size();
    for (size_t at = 0; at < text.size();) {
      const CharsMap::Replacement replaced = map_.longest(text, at);
      if (replaced.bytes) {
        put(replaced.text);
        at += replaced.bytes;
        continue;
      }
      const CodePoint c = decode_utf8(text.data() + at, end);
      put(c.valid ? text.substr(at, c.bytes) : std::string_view("\xEF\xBF\xBD"));
      at += c.bytes;
    }
    return out;
  }

  const Vocabulary& v_;
  Trie trie_;
  MarkCuts cuts_;
  CharsMap map_;
  double unknown_score_ = 0;
  float greatest_ = std::numeric_limits<float>::min();  // of the scores; never less (the library's rule)
  bool falls_back_ = false;
};

}  // namespace

std::unique_ptr<NormalEncoder> make_unigram(const Vocabulary& vocabulary) {
  return std::make_unique<Unigram>(vocabulary);
}

}  // namespace ingle::text
