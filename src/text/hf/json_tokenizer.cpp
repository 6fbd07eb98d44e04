#include "text/hf/json_tokenizer.h"

#include <algorithm>
#include <unordered_map>

#include "core/error.h"
#include "text/special_tokens.h"
#include "text/unicode.h"

namespace ingle::text::hf {
namespace {

// White space at the end of `text` begins here; white space at its start ends there.
size_t space_before(std::string_view text) {
  size_t at = text.size();
  while (at > 0) {
    size_t begin = at - 1;
    while (begin > 0 && at - begin < 4 && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) --begin;
    const Char c = char_at(text.data() + begin, text.data() + at);
    if (begin + c.bytes != at || !(c.flags & kSpace)) break;
    at = begin;
  }
  return at;
}
size_t space_after(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    const Char c = char_at(text.data() + at, text.data() + text.size());
    if (!(c.flags & kSpace)) break;
    at += c.bytes;
  }
  return at;
}

bool ends_with_word(std::string_view text) {
  if (text.empty()) return false;
  size_t begin = text.size() - 1;
  while (begin > 0 && text.size() - begin < 4 && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80)
    --begin;
  const Char c = char_at(text.data() + begin, text.data() + text.size());
  return begin + c.bytes == text.size() && is_word(c);
}
bool starts_with_word(std::string_view text) {
  return !text.empty() && is_word(char_at(text.data(), text.data() + text.size()));
}

std::string model_type(const TokenizerJson& json, const Node& model) {
  if (!model["type"].is_null()) return model["type"].string();
  // Older files leave it out.
  if (json.scored) return "Unigram";
  if (json.merge_count() > 0) return "BPE";
  return model["continuing_subword_prefix"].is_null() ? "WordLevel" : "WordPiece";
}

}  // namespace

JsonTokenizer::JsonTokenizer(std::string_view text, std::string name, const TokenizerConfig& config) {
  tokens_.file = std::move(name);
  const TokenizerJson json = read_tokenizer_json(text, tokens_.file);
  const Node root(&json.rest, tokens_.file, "");
  root.need_object();
  root["model"].need_object();
  read_tokens(json, root, config);
  normalizer_ = read_normalizer(root["normalizer"]);
  make_model(json, root);
  frame_ = read_post_processor(root["post_processor"], tokens_.size());
  decoder_ = read_decoder(root["decoder"]);
  make_finders();
  set_special(config);
}

void JsonTokenizer::read_added(const Node& root, const TokenizerConfig& config) {
  const Node list = root["added_tokens"];
  if (!list.is_null()) list.need_array();
  std::unordered_map<std::string, size_t> seen;
  for (size_t i = 0; i < list.size(); ++i) {
    list.at(i)["id"].integer();  // it has to be there
    AddedToken token = read_added_token(list.at(i));
    if (!seen.emplace(token.content, added_.size()).second) continue;
    added_.push_back(std::move(token));
  }
  for (const AddedToken& token : config.added) {
    const auto [at, fresh] = seen.emplace(token.content, added_.size());
    if (fresh) {
      added_.push_back(token);
    } else {
      const int64_t id = added_[at->second].id;
      added_[at->second] = token;
      added_[at->second].id = id;
    }
  }
  std::erase_if(added_, [](const AddedToken& t) { return t.content.empty(); });
}

void JsonTokenizer::read_tokens(const TokenizerJson& json, const Node& root, const TokenizerConfig& config) {
  read_added(root, config);
  // Ids may leave gaps, but not many.
  const auto most = static_cast<int64_t>(2 * (json.vocabulary.size() + added_.size()) + 65536);
  const auto check = [&](int64_t id, std::string_view what) {
    if (id < 0 || id >= most || id > INT32_MAX / 2) {
      fail(Code::corrupt, tokens_.file, format("{} has the id {}, expected 0 to {}", what, id, most - 1));
    }
  };
  if (json.vocabulary.empty()) fail(Code::corrupt, tokens_.file, "model.vocab is missing or empty");
  for (const auto& entry : json.vocabulary) check(entry.id, format("model.vocab: '{}'", entry.text));
  for (const AddedToken& token : added_) check(token.id, format("added token '{}'", token.content));
  list_tokens(json);
}

void JsonTokenizer::list_tokens(const TokenizerJson& json) {
  size_t n = 0, bytes = 0;
  for (const auto& entry : json.vocabulary)
    n = std::max(n, static_cast<size_t>(entry.id) + 1), bytes += entry.text.size();
  for (const AddedToken& token : added_)
    n = std::max(n, static_cast<size_t>(token.id) + 1), bytes += token.content.size();
  std::vector<std::string_view> texts(n);
  tokens_.kinds.assign(n, TokenKind::unused);
  tokens_.in_model.assign(n, false);
  for (const auto& entry : json.vocabulary) {
    const auto id = static_cast<size_t>(entry.id);
    if (tokens_.in_model[id]) {
      fail(Code::corrupt, tokens_.file,
           format("model.vocab: '{}' has the id of '{}'", entry.text, texts[id]));
    }
    texts[id] = entry.text;
    tokens_.kinds[id] = TokenKind::normal;
    tokens_.in_model[id] = true;
  }
  for (const AddedToken& token : added_) {
    const auto id = static_cast<size_t>(token.id);
    if (tokens_.kinds[id] != TokenKind::unused && texts[id] != token.content) tokens_.in_model[id] = false;
    texts[id] = token.content;
    tokens_.kinds[id] = token.special ? TokenKind::control : TokenKind::user_defined;
  }
  tokens_.texts.reserve(n, bytes);
  for (const std::string_view t : texts) tokens_.texts.push_back(t);
}

void JsonTokenizer::make_model(const TokenizerJson& json, const Node& root) {
  const Node model = root["model"];
  const std::string type = model_type(json, model);
  const Node pre = root["pre_tokenizer"];
  // The mapping of bytes is left out where the model can undo it on its own side.
  const auto plain = [](const std::string& s) {
    return std::all_of(s.begin(), s.end(), [](char c) { return c > ' ' && c < 127; });
  };
  const bool bytes = type == "BPE" && plain(model["continuing_subword_prefix"].string_or("")) &&
                     plain(model["end_of_word_suffix"].string_or(""));
  pre_tokenizers_ = read_pre_tokenizers(pre, bytes);
  if (normalizer_ && normalizer_->maps_bytes() && pre_tokenizers_.maps_bytes) {
    pre.unsupported("a ByteLevel after a normaliser ByteLevel");
  }
  if (type == "BPE") {
    model_ = make_bpe_model(json, model, tokens_, pre_tokenizers_.bytes ? Input::bytes : Input::characters);
  } else if (type == "Unigram") {
    model_ = make_unigram_model(json, model, tokens_);
  } else if (type == "WordPiece") {
    model_ = make_wordpiece_model(json, model, tokens_);
  } else if (type == "WordLevel") {
    model_ = make_wordlevel_model(json, model, tokens_);
  } else {
    model["type"].unsupported("'" + type + "', a model that is not known");
  }
  if (model["byte_fallback"].boolean_or(false)) {
    for (const TokenId id : find_byte_entries(json)) {
      if (id >= 0 && tokens_.kinds[static_cast<size_t>(id)] == TokenKind::normal) {
        tokens_.kinds[static_cast<size_t>(id)] = TokenKind::byte;
      }
    }
  }
}

void JsonTokenizer::make_finders() {
  // Of equal texts the special token counts, then the first.
  std::vector<size_t> order(added_.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_partition(order.begin(), order.end(), [this](size_t i) { return added_[i].special; });
  for (const bool normalized : {false, true}) {
    std::vector<std::string> texts;
    std::vector<size_t> kept;
    std::unordered_map<std::string, bool> seen;
    for (const size_t i : order) {
      if (added_[i].normalized != normalized) continue;
      std::string text = added_[i].content;
      Work work;
      if (normalized && normalizer_) normalizer_->apply(text, work);
      if (text.empty() || !seen.emplace(text, true).second) continue;
      texts.push_back(std::move(text));
      kept.push_back(i);
    }
    std::vector<AddedTokens::Token> all, plain;
    for (size_t k = 0; k < kept.size(); ++k) {
      const AddedTokens::Token token{texts[k], static_cast<TokenId>(kept[k])};
      all.push_back(token);
      if (!added_[kept[k]].special) plain.push_back(token);
    }
    (normalized ? normal_ : raw_) = std::make_unique<Finders>(all, plain);
  }
}

std::optional<TokenId> JsonTokenizer::find_text(const std::optional<std::string>& text) const {
  if (!text || text->empty()) return std::nullopt;
  for (const AddedToken& token : added_) {
    if (token.content == *text) return static_cast<TokenId>(token.id);
  }
  for (int32_t id = 0; id < tokens_.size(); ++id) {
    if (tokens_.texts[static_cast<size_t>(id)] == *text) return id;
  }
  return std::nullopt;
}

void JsonTokenizer::set_special(const TokenizerConfig& config) {
  Special& s = special_;
  s.bos = find_text(config.bos), s.eos = find_text(config.eos);
  s.unknown = find_text(config.unknown), s.padding = find_text(config.padding);
  std::vector<TokenId>&before = frame_.prefix, &after = frame_.suffix;
  const auto ensure = [](std::vector<TokenId>& ids, std::optional<TokenId> id, std::optional<bool> wanted) {
    if (!id || !wanted) return;
    const bool there = std::find(ids.begin(), ids.end(), *id) != ids.end();
    if (*wanted && !there) ids.push_back(*id);
    if (!*wanted && ids == std::vector<TokenId>{*id}) ids.clear();
  };
  ensure(before, s.bos, config.add_bos);
  ensure(after, s.eos, config.add_eos);
  if (!s.bos && !before.empty()) s.bos = before.front();
  if (!s.eos && !after.empty()) s.eos = after.back();
  s.add_bos = s.bos && std::find(before.begin(), before.end(), *s.bos) != before.end();
  s.add_eos = s.eos && std::find(after.begin(), after.end(), *s.eos) != after.end();
  std::vector<TokenId>& ends = s.end_of_generation;
  for (const AddedToken& token : added_) {
    if (token.special && ends_generation_by_name(token.content))
      ends.push_back(static_cast<TokenId>(token.id));
  }
  for (const int64_t id : config.ends) {
    if (id < 0 || id >= size()) {
      fail(Code::corrupt, config.file, format("eos_token_id is {}, expected 0 to {}", id, size() - 1));
    }
    ends.push_back(static_cast<TokenId>(id));
  }
  if (s.eos) ends.push_back(*s.eos);
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
}

size_t JsonTokenizer::index(TokenId id) const {
  if (id < 0 || id >= tokens_.size()) {
    fail(Code::invalid_argument, tokens_.file, format("token id {}, expected 0 to {}", id, size() - 1));
  }
  return static_cast<size_t>(id);
}

TokenKind JsonTokenizer::kind(TokenId id) const { return tokens_.kinds[index(id)]; }
std::string_view JsonTokenizer::token_text(TokenId id) const { return tokens_.texts[index(id)]; }

std::vector<TokenId> JsonTokenizer::encode(std::string_view text, EncodeOptions options) const {
  Work work;
  return encode_counted(text, options, work);
}

std::vector<TokenId> JsonTokenizer::encode_counted(std::string_view text, EncodeOptions options,
                                                   Work& work) const {
  std::vector<TokenId> out;
  out.reserve(text.size() / 4 + 8);
  if (options.add_special) out = frame_.prefix;
  EncodeState state(text.size());
  const auto token = [&out](TokenId id) { out.push_back(id); };
  split(*raw_, options.parse_special, text, token, [&](size_t begin, size_t end) {
    std::string normal;
    std::string_view part = text.substr(begin, end - begin);
    if (normalizer_) {
      normal = part;
      normalizer_->apply(normal, state.work);
      part = normal;
    }
    split(*normal_, options.parse_special, part, token, [&](size_t from, size_t to) {
      encode_plain(part.substr(from, to - from), begin == 0 && from == 0, out, state);
    });
  });
  work = state.work;
  if (options.add_special) out.insert(out.end(), frame_.suffix.begin(), frame_.suffix.end());
  return out;
}

template <class OnToken, class OnPlain>
void JsonTokenizer::split(const Finders& finders, bool parse_special, std::string_view text, OnToken token,
                          OnPlain plain) const {
  std::vector<AddedTokens::Match> matches;
  (parse_special ? finders.with_special : finders.without).find(text, matches);
  size_t kept = 0;
  for (const AddedTokens::Match& m : matches) {
    const AddedToken& t = added_[static_cast<size_t>(m.id)];
    size_t begin = m.begin, end = m.end;
    if (t.single_word && (ends_with_word(text.substr(0, begin)) || starts_with_word(text.substr(end))))
      continue;
    const size_t free = std::min(kept, begin);
    if (t.lstrip) begin = std::max(kept, free + space_before(text.substr(free, begin - free)));
    // Where the token before has taken white space beyond this one's end, it has taken all of it.
    if (t.rstrip) end = std::max(kept, end + (kept > end ? 0 : space_after(text.substr(end))));
    if (kept < begin) plain(kept, begin);
    token(static_cast<TokenId>(t.id));
    kept = end;
  }
  if (kept < text.size()) plain(kept, text.size());
}

void JsonTokenizer::encode_plain(std::string_view text, bool at_start, std::vector<TokenId>& out,
                                 EncodeState& state) const {
  Cutting cutting(text, at_start, state.work);
  for (const auto& part : pre_tokenizers_.parts) part->apply(cutting);
  model_->encode(cutting, out, state);
}

// ---- ids to text ----

class JsonTokenizer::Stream final : public DecodeStream {
 public:
  Stream(const JsonTokenizer& owner, bool skip_special)
      : owner_(owner), skip_special_(skip_special), stages_(owner.decoder_.stages()) {}

  std::string push(TokenId id) override {
    const TokenKind kind = owner_.kind(id);
    const std::string_view text = owner_.token_text(id);
    if ((skip_special_ && kind == TokenKind::control) || (kind == TokenKind::unused && text.empty()))
      return {};
    return run({std::string(text)}, 0);
  }

  std::string finish() override {
    std::string out;
    for (size_t i = 0; i < stages_.size(); ++i) {
      std::vector<std::string> rest;
      stages_[i]->finish(rest);
      out += run(std::move(rest), i + 1);
    }
    return out;
  }

 private:
  std::string run(std::vector<std::string> texts, size_t from) {
    for (size_t i = from; i < stages_.size(); ++i) {
      std::vector<std::string> next;
      for (std::string& text : texts) stages_[i]->push(std::move(text), next);
      texts.swap(next);
    }
    std::string out;
    for (const std::string& text : texts) out += text;
    return out;
  }

  const JsonTokenizer& owner_;
  bool skip_special_;
  std::vector<std::unique_ptr<DecodeStage>> stages_;
};

std::unique_ptr<DecodeStream> JsonTokenizer::decode_stream(bool skip_special) const {
  return std::make_unique<Stream>(*this, skip_special);
}

std::string JsonTokenizer::decode(std::span<const TokenId> ids, bool skip_special) const {
  Stream stream(*this, skip_special);
  std::string out;
  for (const TokenId id : ids) out += stream.push(id);
  return out += stream.finish();
}

// Decoded behind a letter, which then comes off again; bytes are told apart before, as decoding replaces
// those that are no characters.
std::string JsonTokenizer::piece(TokenId id) const {
  const std::string_view text = tokens_.texts[index(id)];
  std::string bytes;
  if (decoder_.byte_level) return unmap_byte_level(text, bytes) ? bytes : std::string(text);
  if (const int byte = decoder_.byte_fallback ? named_byte(text) : -1; byte >= 0) {
    return std::string(1, static_cast<char>(byte));
  }
  const auto stages = decoder_.stages();
  std::vector<std::string> texts = {"x", std::string(text)};
  for (const auto& stage : stages) {
    std::vector<std::string> next;
    for (std::string& t : texts) stage->push(std::move(t), next);
    stage->finish(next);
    texts.swap(next);
  }
  for (const std::string& t : texts) bytes += t;
  return bytes.starts_with("x") ? bytes.substr(1) : bytes;
}

}  // namespace ingle::text::hf

namespace ingle::text {

std::shared_ptr<const Tokenizer> load_tokenizer_json(std::string_view json, std::string name) {
  hf::TokenizerConfig none;
  none.file = name;
  return std::make_shared<hf::JsonTokenizer>(json, std::move(name), none);
}

}  // namespace ingle::text
