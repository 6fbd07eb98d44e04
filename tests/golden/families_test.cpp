// Every family of the goldens from its Hugging Face folder, and from its GGUF file or one that is made here
// of the folder's weights as llama.cpp's converter makes it, against transformers. All of them where
// ../shared is at hand, the copies in tests/data else.
#include <cstdio>
#include <filesystem>
#include <set>

#include "formats/folder.h"
#include "formats/json_flat.h"
#include "golden/families.h"
#include "golden/gguf_recipe.h"
#include "golden/support.h"
#include "support/errors.h"

using namespace ingle;
using namespace ingle::tests;

namespace {

// A float32 implementation lands within a few times the golden's own noise against float64.
constexpr double kTimesNoise = 5, kLeastNoise = 1e-5;

// What one container of a family gave.
struct Result {
  std::string refused;  // why the model was not loaded
  double worst = 0;     // log-probability difference on the reference backend
  double kl = 0;        // mean, of the default kernels from the reference
  std::vector<std::string> wrong;
};

double worst_difference(std::span<const float> a, std::span<const float> b, size_t width) {
  double worst = 0;
  for (size_t at = 0; at < a.size(); at += width) {
    const auto p = log_softmax(a.subspan(at, width)), q = log_softmax(b.subspan(at, width));
    for (size_t i = 0; i < width; ++i) worst = std::max(worst, std::abs(p[i] - q[i]));
  }
  return worst;
}

// Ids of the golden's continuation, as long as its margin exceeds the noise.
bool same_greedy(Loaded& model, const Golden& g, double noise) {
  const std::vector<int32_t> ids = greedy_after(model, g.ids, g.greedy.size());
  for (size_t i = 0; i < ids.size() && static_cast<double>(g.margin[i]) > 2 * noise; ++i)
    if (ids[i] != g.greedy[i]) return false;
  return true;
}

// Chunks change nothing there either, not even where a pass and its tokens one by one differ.
void check_default_kernels(const formats::CheckpointPtr& file, const std::vector<float>& reference,
                           const Golden& g, Result& r) {
  try {
    Loaded cpu(file, Setting{.backend = "cpu"});
    const std::vector<float> whole = logits_of(cpu, g.ids, 512);
    r.kl = compare(reference, whole, g.n_vocab, 0).mean_kl;
    if (!(r.kl <= 1e-3)) {
      // The rounding of the state may move a token to another expert: the reference over the same state
      // tells.
      Loaded rounded(file, Setting{.backend = "ref", .state_type = kv::StateType::f16});
      r.kl = compare(logits_of(rounded, g.ids, 512), whole, g.n_vocab, 0).mean_kl;
    }
    if (!(r.kl <= 1e-3)) r.wrong.push_back("default kernels");
    if (logits_of(cpu, g.ids, 5) != whole) r.wrong.push_back("default kernels, chunk by chunk");
  } catch (const Error& e) {
    r.refused = e.what();
  }
}

Result check(const formats::CheckpointPtr& file, const FamilyRecord& family, const Golden& g) {
  Result r;
  const double tolerance = kTimesNoise * std::max(family.noise, kLeastNoise);
  std::unique_ptr<Loaded> ref;
  try {
    ref = std::make_unique<Loaded>(file, Setting{.backend = "ref", .state_type = kv::StateType::f32});
  } catch (const Error& e) {
    r.refused = e.what();
    return r;
  }
  if (ref->plan().n_vocab != g.n_vocab) return r.wrong.push_back("size of the vocabulary"), r;
  const std::vector<float> whole = logits_of(*ref, g.ids, 512);
  r.worst = worst_difference(g.logits, whole, static_cast<size_t>(g.n_vocab));
  if (!(r.worst <= tolerance)) r.wrong.push_back("log-probabilities");
  if (family.steps_alike && logits_of(*ref, g.ids, 1) != whole) r.wrong.push_back("token by token");
  if (family.steps_alike && !same_greedy(*ref, g, tolerance)) r.wrong.push_back("greedy ids");
  check_default_kernels(file, whole, g, r);
  return r;
}

void print(const std::string& name, const char* container, const Result& r) {
  std::string verdict = r.wrong.empty() ? "right" : "WRONG:";
  if (!r.refused.empty()) verdict = "not supported: " + r.refused.substr(0, r.refused.find("; known"));
  for (const std::string& w : r.wrong) verdict += " " + w + ";";
  std::printf("| %-24s %-10s %10.2e %10.2e  %s\n", name.c_str(), container, r.worst, r.kl, verdict.c_str());
}

}  // namespace

TEST_CASE("every family gives transformers' log-probabilities", "[golden][families]") {
  const std::string root = families_root();
  std::printf("| %-24s %-10s %10s %10s\n", "family", "container", "worst", "KL");
  const TempDir dir;
  std::set<std::string> right;
  for (const FamilyRecord& family : read_families(root)) {
    const std::string folder = root + "/" + family.name;
    const Golden g = read_golden_of(folder);
    const auto run = [&](const formats::CheckpointPtr& file, const char* container) {
      const Result r = check(file, family, g);
      print(family.name, container, r);
      CAPTURE(family.name, container, r.worst, r.kl, r.wrong);
      CHECK(r.wrong.empty());
      if (r.refused.empty() && r.wrong.empty())
        right.insert(family.name + (*container == 'g' ? ".gguf" : ""));
    };
    run(formats::open_folder(folder, quant::dtype_table()), "folder");
    const std::string gguf = folder + "/model-f32.gguf";
    if (std::filesystem::exists(gguf)) {
      run(formats::open_gguf(gguf, quant::dtype_table()), "gguf");
    } else if (std::filesystem::exists(recipe_of(family.name))) {
      const std::string made = dir.path() + "/" + family.name + ".gguf";
      GgufRecipe(recipe_of(family.name), formats::open_folder(folder, quant::dtype_table())).write(made);
      run(formats::open_gguf(made, quant::dtype_table()), "gguf, made");
    }
  }
  for (const std::string& name : must_be_right()) {
    if (!has_family(root, name)) continue;
    CAPTURE(name);
    CHECK(right.contains(name));
  }
}

TEST_CASE("both spellings of config.json load alike", "[golden][families]") {
  const std::string root = families_root();
  for (const FamilyRecord& family : read_families(root)) {
    const std::string folder = root + "/" + family.name;
    if (!std::filesystem::exists(folder + "/config.v4.json")) continue;
    CAPTURE(family.name);
    std::unique_ptr<Loaded> now;
    try {
      now = std::make_unique<Loaded>(formats::open_folder(folder, quant::dtype_table()), Setting{});
    } catch (const Error&) {
      continue;  // the test above tells
    }
    Loaded older(formats::open_folder(folder, quant::dtype_table(), {.config = "config.v4.json"}), Setting{});
    const Golden g = read_golden_of(folder);
    CHECK(logits_of(older, g.ids, 512) == logits_of(*now, g.ids, 512));
  }
}

TEST_CASE("a GGUF file whose rows were reordered for another rotation is refused", "[golden][families]") {
  std::ifstream in(recipe_of("granitemoehybrid"));
  std::stringstream text;
  text << in.rdbuf();
  std::string recipe = text.str();
  for (const auto& [from, to] : {std::pair{"rope.dimension_count u32 16", "rope.dimension_count u32 8"},
                                 {"rope.scaling.finetuned bool 0", "rope.scaling.finetuned bool 1"}}) {
    const size_t at = recipe.find(from);
    REQUIRE(at != std::string::npos);
    recipe.replace(at, std::string_view(from).size(), to);
  }
  const TempDir dir;
  std::ofstream(dir.path() + "/recipe.txt") << recipe;
  const std::string made = dir.path() + "/made.gguf";
  GgufRecipe(dir.path() + "/recipe.txt",
             formats::open_folder(data_path("golden/arch/granitemoehybrid"), quant::dtype_table()))
      .write(made);
  const Error error = error_of([&] { Loaded(made, Setting{.backend = "ref"}); });
  CHECK(error.code() == Code::unsupported);
  CHECK(contains(error.what(), "rope.dimension_count"));
}

TEST_CASE("a position that a model does not have is refused", "[golden][families]") {
  const std::string folder = data_path("golden/arch/gpt_neo");
  Loaded model(formats::open_folder(folder, quant::dtype_table()), Setting{.backend = "ref"});
  engine::Sequence s = model.sequence();
  s.feed(std::vector<int32_t>(127, 3), {});
  const Error error = error_of([&] { s.feed(std::vector<int32_t>{1, 2}, {}); });
  CHECK(error.code() == Code::invalid_argument);
  CHECK(contains(error.what(), "position 128"));
  CHECK(s.length() == 127);
  s.feed(std::vector<int32_t>{1}, {});
}
