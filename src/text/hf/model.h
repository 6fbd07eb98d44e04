// The models of tokenizer.json: pieces of text to ids.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "text/encoder.h"
#include "text/hf/json_reader.h"
#include "text/hf/pre_tokenizer.h"

namespace ingle::text::hf {

// Every token by its id; texts of ids that the file does not give are empty.
struct TokenList {
  std::string file;
  StringList texts;
  std::vector<TokenKind> kinds;
  std::vector<bool> in_model;  // text can become it by way of the model: no control token, no added one
  int32_t size() const { return static_cast<int32_t>(kinds.size()); }
  // Plain text never becomes a control token, whatever the model's vocabulary holds.
  bool is_plain(TokenId id) const {
    return in_model[static_cast<size_t>(id)] && kinds[static_cast<size_t>(id)] != TokenKind::control;
  }
};

class Model {
 public:
  virtual ~Model() = default;
  virtual void encode(const Cutting& cutting, std::vector<TokenId>& out, EncodeState& state) const = 0;
};

// What pre-tokenizers leave: characters as in the vocabulary, or plain bytes that stand for GPT-2's alphabet.
enum class Input : uint8_t { characters, bytes };

// The list must outlive the model.
std::unique_ptr<Model> make_bpe_model(const TokenizerJson& json, const Node& node, const TokenList& tokens,
                                      Input input);
std::unique_ptr<Model> make_unigram_model(const TokenizerJson& json, const Node& node,
                                          const TokenList& tokens);
std::unique_ptr<Model> make_wordpiece_model(const TokenizerJson& json, const Node& node,
                                            const TokenList& tokens);
std::unique_ptr<Model> make_wordlevel_model(const TokenizerJson& json, const Node& node,
                                            const TokenList& tokens);

// The id of a text in the model's vocabulary.
std::optional<TokenId> find_entry(const TokenizerJson& json, std::string_view text);
// The token `node` names, which has to be there. Throws Code::corrupt.
TokenId need_entry(const TokenizerJson& json, const Node& node);

// "<0x00>" to "<0xFF>", -1 where the vocabulary has none.
std::array<TokenId, 256> find_byte_entries(const TokenizerJson& json);

}  // namespace ingle::text::hf
