// Vocabularies made in the test: a checkpoint that holds metadata only.
#pragma once
#include <map>

#include "formats/checkpoint.h"

namespace ingle::tests {

class MadeCheckpoint final : public formats::Checkpoint {
 public:
  std::map<std::string, formats::MetaValue, std::less<>> values;

  const std::string& name() const override { return name_; }
  formats::Naming naming() const override { return formats::Naming::gguf; }
  std::span<const formats::TensorInfo> tensors() const override { return {}; }
  const formats::TensorInfo* find(std::string_view) const override { return nullptr; }
  const formats::MetaValue* meta(std::string_view key) const override {
    const auto at = values.find(key);
    return at == values.end() ? nullptr : &at->second;
  }
  std::vector<std::string> meta_keys() const override {
    std::vector<std::string> keys;
    for (const auto& [key, value] : values) keys.push_back(key);
    return keys;
  }
  TensorView view(const formats::TensorInfo&, std::vector<std::byte>&) const override { return {}; }
  void forget(const formats::TensorInfo&) const override {}

  void set(const std::string& key, formats::MetaValue value) {
    values["tokenizer.ggml." + key] = std::move(value);
  }
  void set(const std::string& key, const char* value) { set(key, formats::MetaValue(std::string(value))); }
  void set_strings(const std::string& key, std::vector<std::string> list) {
    set(key, formats::MetaValue(formats::MetaArray(std::move(list))));
  }
  void set_ints(const std::string& key, std::vector<int64_t> list) {
    set(key, formats::MetaValue(formats::MetaArray(std::move(list))));
  }
  void set_floats(const std::string& key, std::vector<double> list) {
    set(key, formats::MetaValue(formats::MetaArray(std::move(list))));
  }
  void set_id(const std::string& key, int64_t id) { set(key, formats::MetaValue(id)); }
  void set_bool(const std::string& key, bool value) { set(key, formats::MetaValue(value)); }

  std::vector<std::string> tokens;
  std::vector<int64_t> types;
  std::vector<double> scores;
  int64_t add(std::string text, int64_t type = 1, double score = 0) {
    tokens.push_back(std::move(text));
    types.push_back(type);
    scores.push_back(score);
    return static_cast<int64_t>(tokens.size()) - 1;
  }
  void store_tokens() {
    set_strings("tokens", tokens);
    set_ints("token_type", types);
    set_floats("scores", scores);
  }

 private:
  std::string name_ = "made.gguf";
};

// Byte-level BPE of the letters a, b, space and newline: "ab", "aba" and control tokens.
inline MadeCheckpoint made_bpe() {
  MadeCheckpoint c;
  c.set("model", "gpt2");
  c.set("pre", "gpt-2");
  for (const char* t : {"a", "b", "Ġ", "Ċ", "ab", "Ġab", "aba"}) c.add(t);
  c.add("<|endoftext|>", 3);
  c.add("<tool>", 4);
  c.add("<tool>x", 4);
  c.store_tokens();
  c.set_strings("merges", {"a b", "Ġ ab", "ab a"});
  c.set_id("eos_token_id", 7);
  c.set_id("unknown_token_id", 7);
  return c;
}

// SentencePiece BPE with byte tokens: <unk> <s> </s> <0x00>… then pieces.
inline MadeCheckpoint made_spm() {
  MadeCheckpoint c;
  c.set("model", "llama");
  c.add("<unk>", 2);
  c.add("<s>", 3);
  c.add("</s>", 3);
  for (int b = 0; b < 256; ++b) {
    const char* hex = "0123456789ABCDEF";
    c.add(std::string("<0x") + hex[b / 16] + hex[b % 16] + ">", 6);
  }
  for (const char* t : {"▁", "h", "i", "▁h", "hi", "▁hi"}) c.add(t, 1, -static_cast<double>(c.tokens.size()));
  c.store_tokens();
  return c;
}

}  // namespace ingle::tests
