// docs/models.md is what the list of architectures says. INGLE_WRITE_DOCS=1 in the environment writes it.
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "golden/families.h"
#include "models/architecture.h"

using namespace ingle;
using namespace ingle::tests;

namespace {

// "a b" as "`a`, `b`".
std::string quoted(std::string_view names) {
  std::string out;
  while (!names.empty()) {
    const size_t space = std::min(names.find(' '), names.size());
    out += (out.empty() ? "`" : ", `") + std::string(names.substr(0, space)) + "`";
    names.remove_prefix(std::min(space + 1, names.size()));
  }
  return out.empty() ? "–" : out;
}

// What the format, or the converter, does not keep; these run from their folders.
constexpr const char* kLostInGguf =
    "\nA GGUF file cannot hold everything that a folder says. Not checked from GGUF, and not to be trusted "
    "there:\n\n"
    "- llama_rope_dynamic: dynamic RoPE scaling has no key. Up to the trained length the file runs alike, "
    "past "
    "it without\n  scaling.\n"
    "- granite_swa with a RoPE base for each layer: there is a key for one base.\n"
    "- moonlight with `rope_interleave` false: no key says how rotated values pair up, and files of this "
    "shape "
    "have them\n  side by side, as the released models do.\n"
    "- bamba: the converter writes it as `granitehybrid`, with the rows of whole heads reordered, though "
    "half "
    "of each\n  head is rotated; such a file is refused.\n"
    "- falcon_h1: the converter multiplies weights by the model's multipliers, which recipes do not do.\n"
    "\n## Models with several parts\n\n"
    "The text's part of gemma3_vl, internvl, lfm2_vl, llava, mistral3, pixtral, qwen2_5_vl, qwen2_audio, "
    "qwen2_vl,\nqwen3_5_vl, qwen3_vl, smolvlm and voxtral is compared with transformers on texts without "
    "images "
    "or sound, and on\nwhat stands before the first image of those with one "
    "(`tests/golden/parts_test.cpp`).\n";

std::string list_of(bool gguf) {
  std::string out;
  for (const std::string& name : must_be_right())
    if (name.ends_with(".gguf") == gguf) out += (out.empty() ? "" : ", ") + name.substr(0, name.find('.'));
  return out;
}

std::string expected() {
  std::ostringstream out;
  out << "# Models\n\nThis file is written by `tests/golden/models_doc_test.cpp` out of the list of "
         "architectures.\n\n"
         "| Families | GGUF `general.architecture` | Hugging Face `model_type` |\n|---|---|---|\n";
  for (const models::Architecture* a : models::all_architectures())
    out << "| " << a->about << " | " << quoted(a->gguf) << " | " << quoted(a->hugging_face) << " |\n";
  out << "\nA GGUF file, or a folder with `config.json` (as transformers 5 writes it, or 4) and safetensors "
         "files in\n"
         "f32, f16, bf16 or f8, loads wherever a model is asked for. What a file says that is not understood "
         "is an\n"
         "error which names it. FP8 codes with scales of their own, by tensor, row or block, and the MXFP4 "
         "experts "
         "of\ngpt-oss load as they are. Of a model with several parts (`text_config`) the one for text runs; "
         "the "
         "names of the\nothers' tensors are the key `other_parts` of `ingle inspect`.\n\n## Checked "
         "against\n\n"
         "`tests/golden/families_test.cpp` runs tiny models with random weights of these families and "
         "compares every\n"
         "log-probability, and the greedy continuation, with transformers 5 in float32; token by token "
         "equals one pass,\n"
         "both spellings of config.json give the same bits, and the default kernels stay within a mean KL "
         "divergence of\n"
         "1e-3 of the float reference.\n\n"
         "From Hugging Face folders: "
      << list_of(false) << ".\n\nFrom GGUF: " << list_of(true)
      << ".\n\nMost of the GGUF files are written by the test out of the folders' weights, by recipes of "
         "what "
         "llama.cpp's\nconverter makes of them (`tests/golden/gguf_recipes.py`).\n"
      << kLostInGguf;
  return out.str();
}

}  // namespace

TEST_CASE("docs/models.md is current", "[docs]") {
  const std::string path = std::string(INGLE_SOURCE_DIR) + "/docs/models.md", text = expected();
  if (const char* write = std::getenv("INGLE_WRITE_DOCS"); write && *write == '1')
    std::ofstream(path) << text;
  std::ifstream in(path);
  std::ostringstream found;
  found << in.rdbuf();
  INFO("INGLE_WRITE_DOCS=1 test_golden \"[docs]\" writes it anew");
  CHECK(found.str() == text);
}

TEST_CASE("each architecture and each name is listed once", "[docs]") {
  std::vector<std::string> gguf, hugging_face;
  for (const models::Architecture* a : models::all_architectures()) {
    CAPTURE(a->about);
    CHECK(!(a->gguf.empty() && a->hugging_face.empty()));
    for (const auto& [names, all] : {std::pair{a->gguf, &gguf}, std::pair{a->hugging_face, &hugging_face}}) {
      std::istringstream words{std::string(names)};
      for (std::string name; words >> name;) all->push_back(name);
    }
  }
  for (auto* all : {&gguf, &hugging_face}) {
    std::sort(all->begin(), all->end());
    CHECK(std::adjacent_find(all->begin(), all->end()) == all->end());
  }
}
