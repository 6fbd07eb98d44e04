// What the files beside a tokenizer say: tokenizer_config.json, special_tokens_map.json, added_tokens.json,
// generation_config.json, chat templates.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "text/hf/json_reader.h"
#include "text/hugging_face.h"

namespace ingle::text::hf {

struct AddedToken {
  std::string content;
  int64_t id = 0;
  bool single_word = false, lstrip = false, rstrip = false, normalized = false, special = false;
};

struct TokenizerConfig {
  std::string file = "tokenizer_config.json";  // for errors
  std::optional<std::string> bos, eos, unknown, padding;
  std::optional<bool> add_bos, add_eos, legacy;
  std::vector<AddedToken> added;
  std::vector<int64_t> ends;  // ids that end a generation
  std::string chat_template;
};

// Reads what is there; nothing is needed.
TokenizerConfig read_tokenizer_config(const FolderReader& read, const std::string& folder);

// The ids that end a generation, of a vocabulary of `size` tokens: special ones that are named for it, the
// configuration's, and `eos`. Ascending, each once.
std::vector<TokenId> generation_ends(const std::vector<AddedToken>& added, const TokenizerConfig& config,
                                     std::optional<TokenId> eos, int64_t size);

// An entry of "added_tokens" (with its id) or a value of "added_tokens_decoder" (without).
AddedToken read_added_token(const Node& node);

}  // namespace ingle::text::hf
