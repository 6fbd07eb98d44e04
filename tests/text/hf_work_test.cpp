// Texts of one character through every trained tokenizer: linear work, little stack.
#include "hf_folder.h"
#include "small_stack.h"
#include "text/hf/json_tokenizer.h"
#include "text/hf/sentencepiece.h"

using namespace ingle;
using namespace ingle::tests;

namespace {

constexpr const char* kUnits[] = {"a", " ", "\n", "1", ".", "é", "中", "\xFF", "<", "▁"};

struct Counted {
  size_t ids;
  uint64_t work;
};
using Encode = std::function<Counted(std::string_view)>;

std::string repeated(const char* unit, size_t bytes) {
  std::string text;
  while (text.size() < bytes) text += unit;
  return text;
}

// Calls `check(name, encode)` with each of the small GGUF files, and each pre-tokenizer that such a file may
// name by itself: what it counts as ids are its pieces.
void for_each_gguf(const std::function<void(const std::string&, const Encode&)>& check) {
  size_t n = 0;
  for (const auto& entry : std::filesystem::directory_iterator(INGLE_TEST_DATA "/text/small")) {
    if (entry.path().extension() != ".gguf") continue;
    const auto tokenizer = open_tokenizer(entry.path().string());
    check(entry.path().string(), [&](std::string_view text) {
      text::Work work;
      const size_t ids = tokenizer->encode_counted(text, {.parse_special = true}, work).size();
      return Counted{ids, work.scanned + work.merges};
    });
    ++n;
  }
  CHECK(n >= 16);
  for (const text::PreTokenizerSpec& spec : text::pre_tokenizers()) {
    check("pre-tokenizer " + std::string(spec.name), [&](std::string_view text) {
      text::Work work;
      std::vector<size_t> ends;
      text::pre_tokenize(spec, text, ends, work);
      return Counted{ends.size(), work.scanned + work.merges};
    });
  }
}

// Calls `check(name, encode)` with each of the trained tokenizers.
void for_each_trained(const std::function<void(const std::string&, const Encode&)>& check) {
  size_t n = 0;
  for (const auto& entry : std::filesystem::directory_iterator(trained_folder())) {
    const std::string folder = entry.path().string();
    const auto counted = [](const auto& tokenizer) {
      return [&tokenizer](std::string_view text) {
        text::Work work;
        const size_t ids = tokenizer.encode_counted(text, {.parse_special = true}, work).size();
        return Counted{ids, work.scanned + work.merges};
      };
    };
    if (std::filesystem::exists(folder + "/tokenizer.json")) {
      const text::hf::JsonTokenizer tokenizer(read_bytes(folder + "/tokenizer.json"), folder, {});
      check(folder + " json", counted(tokenizer));
      ++n;
    }
    if (std::filesystem::exists(folder + "/tokenizer.model")) {
      const text::hf::SentencePieceTokenizer tokenizer(
          text::hf::read_sentencepiece(read_bytes(folder + "/tokenizer.model"), folder), {});
      check(folder + " model", counted(tokenizer));
      ++n;
    }
  }
  CHECK(n >= 27);
}

}  // namespace

TEST_CASE("twice the text is at most 2.1 times the work, on little stack") {
  on_small_stack([] {
    const auto check = [](const std::string& name, const Encode& encode) {
      for (const char* unit : kUnits) {
        const Counted once = encode(repeated(unit, 1 << 15)), twice = encode(repeated(unit, 1 << 16));
        INFO(name << " '" << unit << "': " << once.work << ", then " << twice.work);
        CHECK(once.work >= (1 << 15) / 8);
        CHECK(twice.work * 10 <= once.work * 21);
      }
    };
    for_each_trained(check);
    for_each_gguf(check);
  });
}

TEST_CASE("10 MiB of one character encode on a stack of 256 KiB", "[long]") {
  constexpr size_t kSize = 10 << 20;
  on_small_stack([] {
    const auto check = [](const std::string& name, const Encode& encode) {
      for (const char* unit : {"a", " "}) {
        INFO(name << " '" << unit << "'");
        const Counted counted = encode(repeated(unit, kSize));
        CHECK(counted.work >= kSize / 8);
        CHECK(counted.work <= 64 * kSize);
      }
    };
    for_each_trained(check);
    for_each_gguf(check);
  });
}

TEST_CASE("an expression that would take a square of the text gives up and says so") {
  const std::string json =
      R"({"pre_tokenizer":{"type":"Split","pattern":{"Regex":"(a|b)*c|a"},"behavior":"Isolated","invert":false},)"
      R"("model":{"type":"BPE","vocab":{"a":0,"b":1},"merges":[]}})";
  const auto tokenizer = text::load_tokenizer_json(json, "made.json");
  CHECK(show(tokenizer->encode("aab", {})) == "0 0 1 ");
  on_small_stack([&] {
    try {
      tokenizer->encode(repeated("a", 1 << 20), {});
      FAIL("not refused");
    } catch (const Error& e) {
      CHECK(e.code() == Code::unsupported);
      CHECK(std::string(e.what()).find("(a|b)*c|a") != std::string::npos);
    }
  });
}
