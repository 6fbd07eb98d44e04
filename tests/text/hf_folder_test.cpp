// Tokenizers of folders: which file counts for what.
#include <map>

#include "hf_folder.h"

using namespace ingle;
using namespace ingle::tests;

namespace {

using Files = std::map<std::string, std::string>;

text::FolderTokenizer load(const Files& files) {
  return text::load_folder_tokenizer(
      [&files](const std::string& name) {
        const auto found = files.find(name);
        return found == files.end() ? std::nullopt : std::optional(found->second);
      },
      "folder");
}

const std::string kJson =
    R"({"added_tokens":[{"id":3,"content":"<s>","special":true},{"id":4,"content":"</s>","special":true}],)"
    R"("pre_tokenizer":{"type":"WhitespaceSplit"},)"
    R"("model":{"type":"WordLevel","unk_token":"?","vocab":{"?":0,"a":1,"b":2}}})";
constexpr text::EncodeOptions kFull{.parse_special = true, .add_special = true};

void check_refused(const Files& files, Code code, const std::string& where) {
  try {
    load(files);
    FAIL("not refused");
  } catch (const Error& e) {
    INFO(e.what());
    CHECK(e.code() == code);
    CHECK(e.where() == where);
  }
}

}  // namespace

TEST_CASE("tokenizer_config.json names the special tokens") {
  CHECK(show(load({{"tokenizer.json", kJson}}).tokenizer->encode("a b", kFull)) == "1 2 ");
  Files files = {
      {"tokenizer.json", kJson},
      {"tokenizer_config.json",
       R"({"bos_token":"<s>","eos_token":{"content":"</s>"},"add_bos_token":true,"add_eos_token":true,)"
       R"("added_tokens_decoder":{"3":{"content":"<s>","special":true,"rstrip":true},)"
       R"("5":{"content":"<tool>","special":false,"normalized":false}}})"}};
  const auto t = load(files).tokenizer;
  CHECK(t->special().bos == 3);
  CHECK(t->special().eos == 4);
  CHECK(t->special().end_of_generation == std::vector<text::TokenId>{4});
  CHECK(show(t->encode("a<tool>b", kFull)) == "3 1 5 2 4 ");
  CHECK(t->size() == 6);
  CHECK(t->kind(5) == text::TokenKind::user_defined);
  files["tokenizer_config.json"] = R"({"bos_token":"<s>","add_bos_token":true})";
  files["special_tokens_map.json"] = R"({"bos_token":"a","eos_token":"</s>"})";
  files["generation_config.json"] = R"({"eos_token_id":[4,2,99]})";
  const auto u = load(files).tokenizer;
  CHECK(u->special().bos == 3);
  CHECK(u->special().end_of_generation == std::vector<text::TokenId>{2, 4});
  CHECK(show(u->encode("a", kFull)) == "3 1 ");
}

TEST_CASE("a folder's chat template comes from the first place that has one") {
  Files files = {{"tokenizer.json", kJson}};
  CHECK(load(files).chat_template.empty());
  files["chat_template.json"] = R"({"chat_template":"three"})";
  CHECK(load(files).chat_template == "three");
  files["tokenizer_config.json"] =
      R"({"chat_template":[{"name":"rag","template":"x"},{"name":"default","template":"two"}]})";
  CHECK(load(files).chat_template == "two");
  files["chat_template.jinja"] = "one";
  CHECK(load(files).chat_template == "one");
}

TEST_CASE("a folder without a tokenizer, or with a broken file, is refused by name") {
  check_refused({}, Code::not_found, "folder");
  check_refused({{"tokenizer.json", "{"}}, Code::corrupt, "folder/tokenizer.json");
  check_refused({{"tokenizer.json", kJson}, {"tokenizer_config.json", "[]"}}, Code::corrupt,
                "folder/tokenizer_config.json");
  check_refused({{"tokenizer.json", kJson}, {"added_tokens.json", R"({"x":"y"})"}}, Code::corrupt,
                "folder/added_tokens.json");
  check_refused({{"tokenizer.model", "\n"}}, Code::corrupt, "folder/tokenizer.model");
  check_refused({{"tokenizer.model", ""}}, Code::corrupt, "folder/tokenizer.model");
}

TEST_CASE("a SentencePiece model takes what the files beside it say") {
  const std::string model = read_bytes(trained_folder() + "/spm-llama/tokenizer.model");
  const auto plain = load({{"tokenizer.model", model}}).tokenizer;
  CHECK(plain->special().bos == 1);
  CHECK(plain->special().eos == 2);
  CHECK(plain->encode("a", kFull)[0] == 1);
  const std::string added = R"({"<tool>":)" + std::to_string(plain->size() + 1) + "}";
  const auto t =
      load({{"tokenizer.model", model},
            {"added_tokens.json", added},
            {"tokenizer_config.json", R"({"add_bos_token":false,"add_eos_token":true,"legacy":false})"}})
          .tokenizer;
  CHECK(t->size() == plain->size() + 2);
  const auto ids = t->encode("a<tool>a", kFull);
  REQUIRE(ids.size() == 4);
  CHECK(ids[1] == plain->size() + 1);
  CHECK(ids[3] == 2);
  CHECK(t->token_text(ids[0]) == "▁a");
  CHECK(t->token_text(ids[2]) == "a");  // not legacy: the prefix stands at the start alone
  CHECK(t->decode(ids, true) == "a<tool>a");
  // Control pieces are found in a text only when asked for.
  CHECK(plain->encode("<s>", {.parse_special = true}) == std::vector<text::TokenId>{1});
  CHECK(plain->encode("<s>", {}).size() > 1);
}

TEST_CASE("folders with a GGUF file beside them give its ids") {
  const std::string shared = shared_folder();
  if (shared.empty()) {
    WARN("skipped: no shared folder");
    return;
  }
  size_t n = 0;
  for (const auto& entry : std::filesystem::directory_iterator(shared + "/goldens/arch")) {
    const std::string folder = entry.path().string();
    if (!std::filesystem::exists(folder + "/model-f32.gguf")) continue;
    const auto ours = text::open_hugging_face_tokenizer(folder);
    const auto gguf = open_tokenizer(folder + "/model-f32.gguf");
    REQUIRE(ours);
    CHECK(ours->special().bos == gguf->special().bos);
    CHECK(ours->special().eos == gguf->special().eos);
    for (const char* text :
         {"Hello, world!", "  two  spaces\n\nand 1234 numbers", "naïve café — 中文 🦙", "a\tb  c"}) {
      INFO(folder << ": '" << text << "'");
      CHECK(show(ours->encode(text, kFull)) == show(gguf->encode(text, kFull)));
    }
    ++n;
  }
  CHECK(n >= 10);
}

TEST_CASE("a path is a tokenizer.json, a SentencePiece model, a folder, or nothing of the kind") {
  const std::string folder = trained_folder();
  CHECK(text::open_hugging_face_tokenizer(folder + "/bpe-gpt2/tokenizer.json"));
  CHECK(text::open_hugging_face_tokenizer(folder + "/unigram-t5/tokenizer.model"));
  CHECK(text::open_hugging_face_tokenizer(folder + "/spm-gemma"));
  CHECK_FALSE(text::open_hugging_face_tokenizer(INGLE_TEST_DATA "/text/small/bpe-gpt2.gguf"));
  CHECK_FALSE(text::open_hugging_face_tokenizer(folder + "/none"));
}
