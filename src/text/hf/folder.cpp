#include <algorithm>
#include <filesystem>
#include <span>

#include "core/error.h"
#include "core/file.h"
#include "text/hf/json_tokenizer.h"
#include "text/hf/sentencepiece.h"

namespace ingle::text {
namespace {

constexpr uint64_t kMostBytes = uint64_t{1} << 30;

std::optional<std::string> read_file(const std::filesystem::path& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (error || !std::filesystem::exists(status)) return std::nullopt;
  if (!std::filesystem::is_regular_file(status)) fail(Code::io, path.string(), "is not a file");
  const ByteSourcePtr source = open_plain(path.string());
  if (source->size() > kMostBytes) fail(Code::io, path.string(), "is too large for a tokenizer's file");
  std::string out(static_cast<size_t>(source->size()), '\0');
  source->read(0, std::as_writable_bytes(std::span(out)));
  return out;
}

bool looks_like_json(std::string_view text) {
  const size_t at = text.find_first_not_of(" \t\r\n");
  return at != text.npos && text[at] == '{';
}

// A SentencePiece model begins with its first piece: field 1, a message.
bool looks_like_sentencepiece(std::string_view bytes) { return bytes.size() > 2 && bytes[0] == '\n'; }

}  // namespace

FolderTokenizer load_folder_tokenizer(const FolderReader& read, const std::string& folder) {
  FolderTokenizer out;
  hf::TokenizerConfig config = hf::read_tokenizer_config(read, folder);
  out.chat_template = std::move(config.chat_template);
  if (const auto json = read("tokenizer.json")) {
    out.tokenizer = std::make_shared<hf::JsonTokenizer>(*json, folder + "/tokenizer.json", config);
  } else if (const auto model = read("tokenizer.model")) {
    out.tokenizer = hf::make_sentencepiece(*model, folder + "/tokenizer.model", config);
  } else {
    fail(Code::not_found, folder, "holds neither tokenizer.json nor tokenizer.model");
  }
  return out;
}

std::string read_folder_template(const std::string& path) {
  const std::filesystem::path folder(path);
  return hf::read_tokenizer_config([&folder](const std::string& name) { return read_file(folder / name); },
                                   path)
      .chat_template;
}

std::shared_ptr<const Tokenizer> open_hugging_face_tokenizer(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    const std::filesystem::path folder(path);
    const auto read = [&folder](const std::string& name) { return read_file(folder / name); };
    return load_folder_tokenizer(read, path).tokenizer;
  }
  if (!std::filesystem::is_regular_file(path, error)) return nullptr;
  const ByteSourcePtr source = open_plain(path);
  std::string head(std::min<size_t>(16, source->size()), '\0');
  source->read(0, std::as_writable_bytes(std::span(head)));
  const bool json = looks_like_json(head), model = looks_like_sentencepiece(head) && !json;
  if (!json && !model) return nullptr;
  const auto bytes = read_file(path);
  if (!bytes) return nullptr;
  return json ? load_tokenizer_json(*bytes, path) : load_sentencepiece(*bytes, path);
}

}  // namespace ingle::text
