#include "text/hf/json_tokenizer.h"

#include <algorithm>
#include <unordered_map>

#include "core/error.h"
#include "text/special_tokens.h"
#include "text/unicode.h"

namespace ingle::text::hf {
namespace {

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
  const auto as_it_is = [](const std::string& content) { return content; };
  raw_ = std::make_unique<AddedSplitter>(added_, false, as_it_is);
  normal_ = std::make_unique<AddedSplitter>(added_, true, [this](std::string content) {
    Work work;
    if (normalizer_) normalizer_->apply(content, work);
    return content;
  });
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
  s.end_of_generation = generation_ends(added_, config, s.eos, size());
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
  state.work.scanned = text.size();
  const auto token = [&out](TokenId id) { out.push_back(id); };
  raw_->split(text, options.parse_special, token, [&](size_t begin, size_t end) {
    std::string normal;
    std::string_view part = text.substr(begin, end - begin);
    if (normalizer_) {
      normal = part;
      normalizer_->apply(normal, state.work);
      part = normal;
    }
    normal_->split(part, options.parse_special, token, [&](size_t from, size_t to) {
      encode_plain(part.substr(from, to - from), begin == 0 && from == 0, out, state);
    });
  });
  work = state.work;
  if (options.add_special) out.insert(out.end(), frame_.suffix.begin(), frame_.suffix.end());
  return out;
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

  Stream(const Stream& other) : owner_(other.owner_), skip_special_(other.skip_special_) {
    for (const auto& stage : other.stages_) stages_.push_back(stage->clone());
  }
  std::unique_ptr<DecodeStream> clone() const override { return std::make_unique<Stream>(*this); }

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
