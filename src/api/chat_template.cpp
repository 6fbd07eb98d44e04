#include <filesystem>
#include <span>

#include "core/error.h"
#include "core/file.h"
#include "formats/folder.h"
#include "formats/gguf.h"
#include "ingle/chat.hpp"
#include "quant/weight.h"
#include "text/chat_template.h"
#include "text/hugging_face.h"

namespace ingle {
namespace {

constexpr uint64_t kMaxSourceBytes = 16u << 20;

}  // namespace

ChatTemplate ChatTemplate::compile(std::string_view source, std::string name) {
  return ChatTemplate(text::ChatTemplate::compile(source, std::move(name)));
}

ChatTemplate ChatTemplate::load(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    const std::string own = text::read_folder_template(path);
    if (own.empty()) fail(Code::unsupported, path, "the folder has no chat template");
    return ChatTemplate(text::ChatTemplate::compile(own, path), true);
  }
  const auto file = open_plain(path);
  if (formats::looks_like_gguf(*file)) {
    const formats::CheckpointPtr model = formats::open_checkpoint(path, quant::dtype_table());
    const std::string* own = model->find_string("tokenizer.chat_template");
    if (!own) fail(Code::unsupported, path, "the model has no chat template");
    return ChatTemplate(text::ChatTemplate::compile(*own, path), true);
  }
  if (path.ends_with(".gguf"))
    fail(Code::corrupt, path,
         "does not start with 'GGUF', as its name says, and is not taken for a template");
  if (file->size() > kMaxSourceBytes)
    fail(Code::unsupported, path,
         format("a template of {} bytes, expected at most {}", file->size(), kMaxSourceBytes));
  std::string source(static_cast<size_t>(file->size()), '\0');
  file->read(0, std::as_writable_bytes(std::span(source)));
  return compile(source, path);
}

std::string ChatTemplate::render(std::string_view context, int64_t now_unix) const {
  return impl_->render_json(context, now_unix);
}

}  // namespace ingle
