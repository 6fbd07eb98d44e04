#include "text/hf/config.h"

#include <algorithm>
#include <charconv>

#include "core/error.h"
#include "text/special_tokens.h"

namespace ingle::text::hf {
namespace {

constexpr size_t kMostEnds = 1024;

struct Document {
  Json json;
  std::string file;
  Node root() const { return {&json, file, ""}; }
};

std::optional<Document> read_document(const FolderReader& read, const std::string& folder,
                                      const std::string& name) {
  const std::optional<std::string> text = read(name);
  if (!text) return std::nullopt;
  const std::string file = folder + "/" + name;
  std::optional<Document> out = Document{read_json(*text, file), file};
  out->root().need_object();
  return out;
}

// A token is given by its text, or as an object with its flags.
std::optional<std::string> token_text(const Node& node) {
  if (node.is_null()) return std::nullopt;
  return node.is_object() ? node["content"].string() : node.string();
}

void take_names(const Node& root, TokenizerConfig& out) {
  const auto take = [&root](std::optional<std::string>& name, const char* key) {
    if (!name) name = token_text(root[key]);
  };
  take(out.bos, "bos_token"), take(out.eos, "eos_token");
  take(out.unknown, "unk_token"), take(out.padding, "pad_token");
}

std::optional<bool> flag(const Node& node) {
  return node.is_null() ? std::nullopt : std::optional(node.boolean());
}

int64_t parse_id(const std::string& text, const Node& node) {
  int64_t id = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (error != std::errc() || end != text.data() + text.size() || id < 0)
    node.corrupt("under a key that is no id");
  return id;
}

void read_main(const Node& root, TokenizerConfig& out) {
  take_names(root, out);
  out.add_bos = flag(root["add_bos_token"]);
  out.add_eos = flag(root["add_eos_token"]);
  out.legacy = flag(root["legacy"]);
  const Node decoder = root["added_tokens_decoder"];
  for (const std::string& key : decoder.keys()) {
    AddedToken token = read_added_token(decoder[key]);
    token.id = parse_id(key, decoder[key]);
    out.added.push_back(std::move(token));
  }
}

// A template, or a list of named ones.
std::string read_template(const Node& node) {
  if (node.is_null()) return {};
  if (node.is_string()) return node.string();
  node.need_array();
  for (size_t i = 0; i < node.size(); ++i) {
    if (node.at(i)["name"].string() == "default") return node.at(i)["template"].string();
  }
  return {};
}

void take_ends(const Node& ends, TokenizerConfig& out) {
  if (!ends.is_array()) return out.ends.push_back(ends.integer());
  for (size_t i = 0; i < ends.size() && i < kMostEnds; ++i) out.ends.push_back(ends.at(i).integer());
}

}  // namespace

AddedToken read_added_token(const Node& node) {
  node.need_object();
  AddedToken t;
  t.content = node["content"].string();
  if (!node["id"].is_null()) t.id = node["id"].integer();
  t.single_word = node["single_word"].boolean_or(false);
  t.lstrip = node["lstrip"].boolean_or(false);
  t.rstrip = node["rstrip"].boolean_or(false);
  t.special = node["special"].boolean_or(false);
  t.normalized = node["normalized"].boolean_or(!t.special);
  return t;
}

TokenizerConfig read_tokenizer_config(const FolderReader& read, const std::string& folder) {
  TokenizerConfig out;
  out.file = folder + "/tokenizer_config.json";
  if (const auto main = read_document(read, folder, "tokenizer_config.json")) {
    read_main(main->root(), out);
    out.chat_template = read_template(main->root()["chat_template"]);
  }
  if (const auto map = read_document(read, folder, "special_tokens_map.json")) take_names(map->root(), out);
  if (const auto added = read_document(read, folder, "added_tokens.json")) {
    for (const std::string& text : added->root().keys()) {
      bool known = false;
      for (const AddedToken& t : out.added) known = known || t.content == text;
      if (known) continue;
      AddedToken t;
      t.content = text;
      t.id = added->root()[text].integer();
      out.added.push_back(std::move(t));
    }
  }
  // A model's own configuration says it where there is none for generation.
  for (const char* name : {"generation_config.json", "config.json"}) {
    const auto document = read_document(read, folder, name);
    if (!document || document->root()["eos_token_id"].is_null()) continue;
    take_ends(document->root()["eos_token_id"], out);
    break;
  }
  if (auto text = read("chat_template.jinja")) {
    out.chat_template = std::move(*text);
  } else if (out.chat_template.empty()) {
    if (const auto json = read_document(read, folder, "chat_template.json")) {
      out.chat_template = read_template(json->root()["chat_template"]);
    }
  }
  return out;
}

std::vector<TokenId> generation_ends(const std::vector<AddedToken>& added, const TokenizerConfig& config,
                                     std::optional<TokenId> eos, int64_t size) {
  std::vector<TokenId> ends;
  for (const AddedToken& token : added) {
    if (token.special && ends_generation_by_name(token.content))
      ends.push_back(static_cast<TokenId>(token.id));
  }
  // Configurations name ids that the vocabulary lacks; such a one never comes up.
  for (const int64_t id : config.ends) {
    if (id >= 0 && id < size) ends.push_back(static_cast<TokenId>(id));
  }
  if (eos) ends.push_back(*eos);
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  return ends;
}

}  // namespace ingle::text::hf
