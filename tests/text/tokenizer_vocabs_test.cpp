// The real vocabularies of many families, against the ids of the tokenizers library and of llama.cpp.
#include <sstream>

#include "vocabs.h"

using namespace ingle;
using namespace ingle::tests;

namespace {

constexpr const char* kVocabs[] = {"bert-bge", "command-r", "deepseek-coder", "deepseek-llm", "falcon",
                                   "gemma-4",  "gpt-2",     "llama-bpe",      "llama-spm",    "mpt",
                                   "phi-3",    "qwen2",     "qwen35",         "refact",       "starcoder"};

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream all;
  all << in.rdbuf();
  return all.str();
}

void check_cases(const std::string& name, const std::string& folder) {
  const auto tokenizer = open_tokenizer(folder + "/ggml-vocab-" + name + ".gguf");
  const auto cases = read_jsonl(INGLE_TEST_DATA "/text/vocab-" + name + ".cases.jsonl");
  REQUIRE(cases.size() >= 100);
  for (const JsonObject& c : cases) {
    std::string text = c.at("text").text;
    if (c.count("nfc")) text = text::normalize_nfc(text);
    INFO(name << ": '" << text << "'");
    const auto ids = tokenizer->encode(text, {});
    CHECK(show(ids) == show(c.at("ids").numbers));
    if (c.count("decoded") && name != "bert-bge") {
      CHECK(tokenizer->decode(ids, false) == c.at("decoded").text);
    }
  }
}

// llama.cpp's own pairs: texts between separator lines, one line of ids for each.
void check_pairs(const std::string& name, const std::string& folder) {
  const std::string path = folder + "/ggml-vocab-" + name + ".gguf";
  const auto tokenizer = open_tokenizer(path);
  const std::string input = read_file(path + ".inp");
  std::istringstream output(read_file(path + ".out"));
  const std::string separator = "\n__ggml_vocab_test__\n";
  size_t n = 0;
  for (size_t begin = 0; begin < input.size(); ++n) {
    size_t end = input.find(separator, begin);
    if (end == input.npos) end = input.size();
    const std::string text = input.substr(begin, end - begin);
    std::string line;
    if (!std::getline(output, line)) break;
    std::istringstream numbers(line);
    std::vector<text::TokenId> want;
    for (text::TokenId id = 0; numbers >> id;) want.push_back(id);
    INFO(name << " pair " << n << ": '" << text << "'");
    CHECK(show(tokenizer->encode(text, {})) == show(want));
    begin = end + separator.size();
  }
  CHECK(n >= 30);
}

}  // namespace

TEST_CASE("real vocabularies give the reference's ids") {
  const std::string folder = vocab_folder();
  if (folder.empty()) {
    WARN("skipped: no vocabularies; cmake/fetch_vocabs.py fetches them");
    return;
  }
  for (const std::string name : kVocabs) {
    DYNAMIC_SECTION(name << " cases") { check_cases(name, folder); }
    DYNAMIC_SECTION(name << " pairs") { check_pairs(name, folder); }
  }
}
