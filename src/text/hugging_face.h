// Tokenizers as Hugging Face folders hold them: tokenizer.json (the `tokenizers` library, any of its models)
// and tokenizer.model (SentencePiece), with what the files beside them say.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"

namespace ingle::text {

// `json` is the text of a tokenizer.json, `name` what errors call it. Control tokens are the added tokens
// marked special; add_special does what the post-processor does. Throws Code::corrupt or Code::unsupported
// naming the component by its path ("pre_tokenizer.pretokenizers[1]").
std::shared_ptr<const Tokenizer> load_tokenizer_json(std::string_view json, std::string name);

// `model` is a SentencePiece model (BPE or unigram). add_special adds BOS where the model has one, and no
// EOS.
std::shared_ptr<const Tokenizer> load_sentencepiece(std::string_view model, std::string name);

// The bytes of a folder's file by its name there ("tokenizer.json"); nothing when there is none. May throw.
using FolderReader = std::function<std::optional<std::string>(const std::string& name)>;

struct FolderTokenizer {
  std::shared_ptr<const Tokenizer> tokenizer;
  // chat_template.jinja, else chat_template of tokenizer_config.json (of several the one named "default"),
  // else that of chat_template.json; empty: none.
  std::string chat_template;
};

// tokenizer.json, else tokenizer.model with added_tokens.json. On top of either: bos_token, eos_token,
// unk_token, pad_token, add_bos_token, add_eos_token and added_tokens_decoder of tokenizer_config.json, the
// texts of special_tokens_map.json where that file says nothing, and eos_token_id (one or a list) of
// generation_config.json, all of which end a generation. `folder` is its path, for errors. Throws
// Code::not_found when neither file is there.
FolderTokenizer load_folder_tokenizer(const FolderReader& read, const std::string& folder);

// The chat template of a folder on disk, by the rules of FolderTokenizer; empty when it has none.
std::string read_folder_template(const std::string& path);

// From a path: a tokenizer.json, a SentencePiece model or a folder; null when it is none of them by its first
// bytes (a GGUF file, or anything else).
std::shared_ptr<const Tokenizer> open_hugging_face_tokenizer(const std::string& path);

}  // namespace ingle::text
