// Where tests find vocabularies, and how they compare.
#pragma once
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "formats/gguf.h"
#include "jsonl.h"
#include "support/catch.h"
#include "text/gguf_tokenizer.h"

namespace ingle::tests {

inline const DTypeTable& vocab_types() {
  static const std::array<DTypeInfo, 1> rows = {DTypeInfo{DType::f32, "f32", 1, 4, 0, "F32"}};
  static const DTypeTable table(rows);
  return table;
}

inline std::shared_ptr<text::GgufTokenizer> open_tokenizer(const std::string& path) {
  const formats::CheckpointPtr file = formats::open_gguf(path, vocab_types());
  return std::make_shared<text::GgufTokenizer>(*file);
}

// $INGLE_VOCABS, or where cmake/fetch_vocabs.py puts them; empty when there are none.
inline std::string vocab_folder() {
  std::string folder;
  if (const char* set = std::getenv("INGLE_VOCABS")) {
    folder = set;
  } else if (const char* home = std::getenv("HOME")) {
    folder = std::string(home) + "/.cache/ingle-models/vocabs";
  }
  return std::filesystem::exists(folder + "/ggml-vocab-gpt-2.gguf") ? folder : std::string();
}

inline std::string shared_folder() {
  const char* set = std::getenv("INGLE_SHARED");
  const std::string folder = set ? set : INGLE_SOURCE_DIR "/../shared";
  return std::filesystem::exists(folder + "/goldens") ? folder : std::string();
}

inline std::string show(const std::vector<text::TokenId>& ids) {
  std::string out;
  for (const text::TokenId id : ids) out += std::to_string(id) + " ";
  return out;
}

}  // namespace ingle::tests
