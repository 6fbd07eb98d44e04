#include "core/error.h"
#include "text/hugging_face.h"

namespace ingle::text {

std::shared_ptr<const Tokenizer> load_tokenizer_json(std::string_view, std::string name) {
  fail(Code::unsupported, std::move(name), "tokenizer.json is not read yet");
}
std::shared_ptr<const Tokenizer> load_sentencepiece(std::string_view, std::string name) {
  fail(Code::unsupported, std::move(name), "tokenizer.model is not read yet");
}
FolderTokenizer load_folder_tokenizer(const FolderReader&, const std::string& folder) {
  fail(Code::unsupported, folder, "tokenizers of folders are not read yet");
}
std::shared_ptr<const Tokenizer> open_hugging_face_tokenizer(const std::string&) { return nullptr; }

}  // namespace ingle::text
