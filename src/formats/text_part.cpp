#include "formats/text_part.h"

#include <algorithm>
#include <optional>
#include <set>

namespace ingle::formats {
namespace {

constexpr std::string_view kText = "text_config.", kTie = "tie_word_embeddings";

struct Prefix {
  std::string_view stored, alone;
};
constexpr Prefix kTextPrefixes[] = {{"model.language_model.", "model."},
                                    {"language_model.model.", "model."},
                                    {"language_model.", ""},
                                    {"model.text_model.", "model."}};
// With or without "model." before them.
constexpr std::string_view kOtherParts[] = {
    "visual.",      "vision_tower.", "vision_model.", "vision_embed_tokens.", "multi_modal_projector.",
    "connector.",   "audio_tower.",  "audio_model.",  "embed_vision.",        "embed_audio.",
    "mm_projector."};

// Its name in the text model alone; nothing when it belongs to another part.
std::optional<std::string> text_name(std::string_view name) {
  for (const Prefix& p : kTextPrefixes)
    if (name.starts_with(p.stored)) return std::string(p.alone) + std::string(name.substr(p.stored.size()));
  std::string_view rest = name;
  if (rest.starts_with("model.")) rest.remove_prefix(6);
  for (const std::string_view part : kOtherParts)
    if (rest.starts_with(part)) return std::nullopt;
  return std::string(name);
}

bool is_text_key(std::string_view key, std::string_view name) {
  return key.starts_with(kText) && key.substr(kText.size()) == name;
}

// The whole and its part may say different things of the output's table: writers of such files leave what
// they do not mean at its default, and which that is has changed. Then the tensors tell.
bool ties_disagree(const MetaList& meta) {
  const bool* outer = nullptr;
  const bool* inner = nullptr;
  for (const auto& [key, value] : meta) {
    if (key == kTie) outer = std::get_if<bool>(&value);
    if (is_text_key(key, kTie)) inner = std::get_if<bool>(&value);
  }
  return outer && inner && *outer != *inner;
}

}  // namespace

void take_text_part(MetaList& meta, std::vector<TensorInfo>& tensors) {
  const bool nested =
      std::ranges::any_of(meta, [](const auto& entry) { return entry.first == "text_config.model_type"; });
  if (!nested) return;
  if (ties_disagree(meta))
    std::erase_if(meta,
                  [](const auto& entry) { return entry.first == kTie || is_text_key(entry.first, kTie); });
  std::set<std::string> own;
  for (const auto& [key, value] : meta)
    if (key.starts_with(kText)) own.insert(key.substr(kText.size()));
  std::erase_if(meta, [&](const auto& entry) { return own.contains(entry.first); });
  for (auto& [key, value] : meta)
    if (key.starts_with(kText)) key.erase(0, kText.size());
  std::vector<std::string> others;
  std::erase_if(tensors, [&](TensorInfo& t) {
    std::optional<std::string> name = text_name(t.name);
    if (!name) return others.push_back(t.name), true;
    t.name = std::move(*name);
    return false;
  });
  if (!others.empty()) meta.emplace_back("other_parts", MetaArray(std::move(others)));
}

}  // namespace ingle::formats
