// Models with parts for images or sound: the part for text runs, and says what transformers says. The texts
// of tests/data/golden/parts (made by parts_golden.py) have no image at all; the shared goldens' prompts have
// one, and what stands before it does not depend on it. A few of the models are in tests/data.
#include <cstdio>
#include <filesystem>

#include "golden/families.h"
#include "golden/support.h"

using namespace ingle;
using namespace ingle::tests;

namespace {

constexpr double kTolerance = 5e-5;  // 5 times the least noise that the other families are granted
constexpr int32_t kFirstMark = 250;  // ids from here on stand for images and sound in these models

// Empty: the model is not at hand.
std::string folder_of(const std::string& name) {
  for (const std::string& root : {families_root(), data_path("golden/parts")})
    if (std::filesystem::exists(root + "/" + name + "/model.safetensors")) return root + "/" + name;
  return {};
}

std::vector<std::string> names() {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(data_path("golden/parts")))
    if (entry.path().extension() == ".safetensors") out.push_back(entry.path().stem().string());
  std::sort(out.begin(), out.end());
  return out;
}

double worst_of(std::span<const float> a, std::span<const float> b, size_t width) {
  REQUIRE(a.size() == b.size());
  double worst = 0;
  for (size_t at = 0; at < a.size(); at += width) {
    const auto p = log_softmax(a.subspan(at, width)), q = log_softmax(b.subspan(at, width));
    for (size_t i = 0; i < width; ++i) worst = std::max(worst, std::abs(p[i] - q[i]));
  }
  return worst;
}

struct Text {
  std::vector<int32_t> ids;
  std::vector<float> logits;
};
Text read_text(const std::string& path) {
  const auto file = formats::open_safetensors(path, quant::dtype_table());
  return {ids_in(*file, "input_ids"), floats_in(*file, "logits")};
}

// What stands before the first image.
Text before_marks(Text whole) {
  const size_t width = whole.logits.size() / whole.ids.size();
  const auto mark =
      std::find_if(whole.ids.begin(), whole.ids.end(), [](int32_t id) { return id >= kFirstMark; });
  whole.ids.erase(mark, whole.ids.end());
  whole.logits.resize(whole.ids.size() * width);
  return whole;
}

}  // namespace

TEST_CASE("the text's part of a model with several gives transformers' log-probabilities",
          "[golden][parts]") {
  size_t seen = 0;
  for (const std::string& name : names()) {
    const std::string folder = folder_of(name);
    if (folder.empty()) continue;
    ++seen;
    CAPTURE(name);
    const auto file = formats::open_folder(folder, quant::dtype_table());
    Loaded ref(file, Setting{.backend = "ref", .state_type = kv::StateType::f32});
    const auto width = static_cast<size_t>(ref.plan().n_vocab);
    std::vector<Text> texts = {read_text(data_path("golden/parts/" + name + ".safetensors"))};
    if (std::filesystem::exists(folder + "/golden.safetensors"))
      texts.push_back(before_marks(read_text(folder + "/golden.safetensors")));
    double worst = 0;
    for (const Text& text : texts) {
      REQUIRE(text.ids.size() >= 3);
      const std::vector<float> whole = logits_of(ref, text.ids, 512);
      worst = std::max(worst, worst_of(text.logits, whole, width));
      CHECK(logits_of(ref, text.ids, 1) == whole);
      Loaded cpu(file, Setting{.backend = "cpu"});
      CHECK(compare(whole, logits_of(cpu, text.ids, 512), ref.plan().n_vocab, 0).mean_kl <= 1e-3);
    }
    std::printf("| %-24s %-10s %10.2e  %s\n", name.c_str(), "text part", worst,
                worst <= kTolerance ? "right" : "WRONG");
    CHECK(worst <= kTolerance);
  }
  CHECK(seen >= 2);
}
