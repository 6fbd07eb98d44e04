#include "text/special_tokens.h"

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <unordered_map>

#include "core/error.h"
#include "text/pretokenize.h"
#include "text/tokenizer.h"

namespace ingle::text {
namespace {

using formats::Checkpoint;
using Names = std::initializer_list<std::string_view>;

// Names by which llama.cpp knows these tokens where a file has no key for them (llama_vocab, version of
// 2026).
constexpr std::string_view kEndOfTurn[] = {
    "<|eot_id|>", "<|im_end|>", "<|end|>", "<end_of_turn>",         "<|endoftext|>",     "<|end_of_text|>",
    "<EOT>",      "_<EOT>",     "[EOT]",   "<｜end▁of▁sentence｜>", "<end_of_utterance>"};
constexpr std::string_view kEndOfMessage[] = {"<|eom_id|>"};
constexpr std::string_view kFimPad[] = {"<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "[PAD]"};
constexpr std::string_view kFimRepository[] = {"<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<REPO>",
                                               "<reponame>"};
constexpr std::string_view kFimSeparator[] = {"<|file_sep|>"};
// Generation ends at any of these.
constexpr std::string_view kEnds[] = {"<|eot_id|>",
                                      "<|im_end|>",
                                      "<|end|>",
                                      "<|return|>",
                                      "<|call|>",
                                      "<|flush|>",
                                      "<|calls|>",
                                      "<end_of_turn>",
                                      "<|endoftext|>",
                                      "</s>",
                                      "<|eom_id|>",
                                      "<EOT>",
                                      "_<EOT>",
                                      "[EOT]",
                                      "[EOS]",
                                      "<|end_of_text|>",
                                      "<end_of_utterance>",
                                      "<eos>",
                                      "<turn|>",
                                      "<|tool_response>",
                                      "<｜end▁of▁sentence｜>",
                                      "[e~["};

class Finder {
 public:
  explicit Finder(const Vocabulary& v) {
    // Only names that somebody asks for are kept; all of them begin with one of these.
    for (int32_t id = 0; id < v.size(); ++id) {
      const std::string_view text = v.texts[static_cast<size_t>(id)];
      if (!text.empty() && (text[0] == '<' || text[0] == '[' || text[0] == '_'))
        ids_.insert_or_assign(text, id);
    }
  }
  TokenId find(std::string_view name) const {
    const auto at = ids_.find(name);
    return at == ids_.end() ? -1 : at->second;
  }
  template <size_t N>
  std::optional<TokenId> first_of(const std::string_view (&names)[N]) const {
    for (const std::string_view name : names) {
      if (const TokenId id = find(name); id >= 0) return id;
    }
    return std::nullopt;
  }

 private:
  std::unordered_map<std::string_view, TokenId> ids_;
};

std::optional<TokenId> read_id(const Checkpoint& file, const Vocabulary& v, std::string_view key) {
  const auto id = file.find_int(key);
  if (!id) return std::nullopt;
  if (*id < 0 || *id >= v.size()) {
    fail(Code::corrupt, v.file, format("{} is {}, expected 0 to {}", key, *id, v.size() - 1));
  }
  return static_cast<TokenId>(*id);
}

// What a vocabulary of this model means when the file has no key: as llama.cpp, except for BPE, where it
// takes id 11.
void set_defaults(Vocabulary& v) {
  Tokenizer::Special& s = v.special;
  const auto in_range = [&v](TokenId id) { return id < v.size() ? std::optional(id) : std::nullopt; };
  switch (v.model) {
    case VocabularyModel::sentencepiece_bpe:
      s.unknown = in_range(0), s.bos = in_range(1), s.eos = in_range(2);
      s.add_bos = true;
      break;
    case VocabularyModel::unigram:
      s.padding = in_range(0), s.eos = in_range(1), s.unknown = in_range(2);
      s.add_eos = true;
      break;
    case VocabularyModel::wordpiece:
      s.padding = in_range(0), s.unknown = in_range(100), s.bos = in_range(101);
      s.add_bos = true;
      break;
    case VocabularyModel::byte_bpe:
    case VocabularyModel::raw_bpe:
      s.add_bos = v.pre->add_bos;
      break;
  }
}

void read_ids(const Checkpoint& file, Vocabulary& v) {
  Tokenizer::Special& s = v.special;
  const auto take = [&](std::optional<TokenId>& id, std::string_view key) {
    if (const auto found = read_id(file, v, key)) id = found;
  };
  take(s.bos, "tokenizer.ggml.bos_token_id");
  if (v.model == VocabularyModel::wordpiece && !file.meta("tokenizer.ggml.bos_token_id")) {
    take(s.bos, "tokenizer.ggml.cls_token_id");
  }
  take(s.eos, "tokenizer.ggml.eos_token_id");
  take(s.eot, "tokenizer.ggml.eot_token_id");
  take(s.eom, "tokenizer.ggml.eom_token_id");
  take(s.unknown, "tokenizer.ggml.unknown_token_id");
  take(s.padding, "tokenizer.ggml.padding_token_id");
  s.add_bos = file.find_bool("tokenizer.ggml.add_bos_token").value_or(s.add_bos);
  s.add_eos = file.find_bool("tokenizer.ggml.add_eos_token").value_or(s.add_eos);
  if (v.pre && v.pre->force_bos) s.add_bos = true;
  if (s.add_bos && !s.bos) {
    fail(Code::corrupt, v.file, "tokenizer.ggml.bos_token_id is missing, and the vocabulary adds that token");
  }
}

void set_suffix(const Checkpoint& file, Vocabulary& v) {
  if (v.model == VocabularyModel::wordpiece) {
    std::optional<TokenId> separator = v.size() > 102 ? std::optional<TokenId>(102) : std::nullopt;
    // The first spelling is the one that files have.
    for (const char* key : {"tokenizer.ggml.separator_token_id", "tokenizer.ggml.seperator_token_id"}) {
      if (const auto id = read_id(file, v, key)) separator = id;
    }
    if (!separator) fail(Code::corrupt, v.file, "tokenizer.ggml.seperator_token_id is missing");
    v.suffix.push_back(*separator);
    return;
  }
  if (!v.special.add_eos) return;
  if (!v.special.eos) {
    fail(Code::corrupt, v.file, "tokenizer.ggml.eos_token_id is missing, and the vocabulary adds that token");
  }
  v.suffix.push_back(*v.special.eos);
}

void make_control(Vocabulary& v, TokenId id) {
  TokenKind& kind = v.kinds[static_cast<size_t>(id)];
  if (kind != TokenKind::unknown) kind = TokenKind::control;
}

void find_ends(const Checkpoint& file, Vocabulary& v, const Finder& finder) {
  Tokenizer::Special& s = v.special;
  std::vector<TokenId>& ends = s.end_of_generation;
  if (!s.eot) s.eot = finder.first_of(kEndOfTurn);
  if (!s.eom) s.eom = finder.first_of(kEndOfMessage);
  const auto fim = [&](std::string_view key, const auto& names) {
    auto id = read_id(file, v, key);
    if (!id) id = finder.first_of(names);
    if (id) ends.push_back(*id);
  };
  fim("tokenizer.ggml.fim_pad_token_id", kFimPad);
  fim("tokenizer.ggml.fim_rep_token_id", kFimRepository);
  fim("tokenizer.ggml.fim_sep_token_id", kFimSeparator);
  for (const std::string_view name : kEnds) {
    const TokenId id = finder.find(name);
    // An ordinary token of this name is an HTML tag (Gemma 4 and others).
    if (id < 0 || (name == "</s>" && v.kinds[static_cast<size_t>(id)] == TokenKind::normal)) continue;
    ends.push_back(id);
  }
  for (const TokenId id : ends) make_control(v, id);
  for (const auto& id : {s.eot, s.eom}) {
    if (id) make_control(v, *id), ends.push_back(*id);
  }
  if (s.eos) ends.push_back(*s.eos);
}

// In the formats of gpt-oss and Solar, "<|end|>" ends a message and not the answer.
void drop_message_ends(Vocabulary& v, const Finder& finder) {
  std::vector<TokenId>& ends = v.special.end_of_generation;
  const auto has = [&](std::string_view name) {
    const TokenId id = finder.find(name);
    return id >= 0 && std::find(ends.begin(), ends.end(), id) != ends.end();
  };
  const bool call = has("<|call|>") || has("<|calls|>");
  if (!call || !(has("<|return|>") || has("<|flush|>"))) return;
  std::erase(ends, finder.find("<|end|>"));
}

// Files do not carry the strip flags of added tokens. These families are known by name, as in llama.cpp; for
// all others white space beside an added token is kept.
void set_strips(const Checkpoint& file, Vocabulary& v, const Finder& finder) {
  const std::string* named = file.find_string("general.name");
  std::string name = named ? *named : "";
  for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  const std::string* architecture = file.find_string("general.architecture");
  const auto set = [&v](TokenId id, uint8_t flags) {
    if (id < 0) return;
    if (v.strips.empty()) v.strips.assign(v.kinds.size(), 0);
    v.strips[static_cast<size_t>(id)] = flags;
  };
  const bool jina = v.pre && v.pre->name.starts_with("jina-v2-") && v.pre->name != "jina-v2-en";
  if (jina || (architecture && (*architecture == "nomic-bert-moe" || *architecture == "jina-bert-v3"))) {
    set(finder.find("<mask>"), Vocabulary::kStripLeft);
  } else if (name.find("phi-3") != std::string::npos || name.find("phi3") != std::string::npos) {
    for (int32_t id = 0; id < v.size(); ++id) {
      const TokenKind kind = v.kinds[static_cast<size_t>(id)];
      if (kind == TokenKind::control || kind == TokenKind::user_defined || kind == TokenKind::unknown) {
        set(id, Vocabulary::kStripRight);
      }
    }
    set(finder.find("</s>"), Vocabulary::kStripRight);
    for (const char* plain : {"<unk>", "<s>", "<|endoftext|>"}) set(finder.find(plain), 0);
  } else if (name.find("modern-bert") != std::string::npos) {
    set(finder.find("[MASK]"), Vocabulary::kStripLeft);
  }
}

}  // namespace

bool Tokenizer::ends_generation(TokenId id) const {
  const std::vector<TokenId>& ends = special().end_of_generation;
  return std::find(ends.begin(), ends.end(), id) != ends.end();
}

bool ends_generation_by_name(std::string_view text) {
  return std::find(std::begin(kEnds), std::end(kEnds), text) != std::end(kEnds);
}

void load_special_tokens(const Checkpoint& file, Vocabulary& v) {
  const Finder finder(v);
  set_defaults(v);
  read_ids(file, v);
  set_suffix(file, v);
  find_ends(file, v, finder);
  drop_message_ends(v, finder);
  std::vector<TokenId>& ends = v.special.end_of_generation;
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  set_strips(file, v, finder);
}

}  // namespace ingle::text
