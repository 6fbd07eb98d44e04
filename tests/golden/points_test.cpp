// The points within a step that can be looked at: every family has them, in the same places whatever the
// backend made of its ops.
#include "golden/families.h"
#include "golden/support.h"
#include "models/config.h"

using namespace ingle;
using namespace ingle::tests;

namespace {

// [point][position]: the rows of all points.
using Rows = std::vector<std::vector<std::vector<float>>>;

struct Looked {
  Rows rows;
  std::vector<float> logits;  // of the last position
};

Looked look(Loaded& model, std::span<const int32_t> ids, bool tapped) {
  std::vector<size_t> points(model.plan().points.size());
  for (size_t i = 0; i < points.size(); ++i) points[i] = i;
  Looked out;
  out.rows.resize(points.size());
  engine::Taps taps(points, false, [&](int32_t point, int64_t, int32_t, std::span<const float> values) {
    out.rows[static_cast<size_t>(point)].emplace_back(values.begin(), values.end());
    return true;
  });
  engine::Sequence s = model.sequence();
  engine::FeedOptions options;
  if (tapped) options.taps = &taps;
  s.feed(ids, options);
  out.logits.assign(s.logits().begin(), s.logits().end());
  return out;
}

double cosine(std::span<const float> a, std::span<const float> b) {
  double ab = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < a.size(); ++i)
    ab += double{a[i]} * b[i], aa += double{a[i]} * a[i], bb += double{b[i]} * b[i];
  return ab / std::sqrt(aa * bb);
}

}  // namespace

TEST_CASE("every family has a point before each layer, behind the last, and at the head",
          "[golden][families]") {
  const std::string root = families_root();
  for (const FamilyRecord& family : read_families(root)) {
    CAPTURE(family.name);
    std::unique_ptr<Loaded> ref, cpu;
    formats::CheckpointPtr file;
    try {
      file = formats::open_folder(root + "/" + family.name, quant::dtype_table());
      ref = std::make_unique<Loaded>(file, Setting{.backend = "ref", .state_type = kv::StateType::f16});
      cpu = std::make_unique<Loaded>(file, Setting{.backend = "cpu"});
    } catch (const Error&) {
      continue;  // the families' own test tells
    }
    const Golden g = read_golden_of(root + "/" + family.name);
    const Looked a = look(*ref, g.ids, true), b = look(*cpu, g.ids, true);
    REQUIRE(static_cast<int64_t>(a.rows.size()) == models::Config(*file).n_layers + 2);
    REQUIRE(a.rows.size() == b.rows.size());
    for (size_t p = 0; p < a.rows.size(); ++p) {
      CAPTURE(p);
      REQUIRE(a.rows[p].size() == g.ids.size());
      REQUIRE(b.rows[p].size() == g.ids.size());
      double worst = 1;
      for (size_t r = 0; r < g.ids.size(); ++r) worst = std::min(worst, cosine(a.rows[p][r], b.rows[p][r]));
      CHECK(worst > 0.99);
      if (p + 2 < a.rows.size()) CHECK(a.rows[p] != a.rows[p + 1]);
    }
    CHECK(look(*ref, g.ids, false).logits == a.logits);
    CHECK(look(*cpu, g.ids, false).logits == b.logits);
  }
}

// What the points are said to be, by the file's own tensors: the embedding is the token's row of the table,
// the final norm is the norm of the last layer's stream, and the logits are the head's rows times it.
TEST_CASE("the embedding, the final norm and the logits are what the weights make of them", "[golden]") {
  const auto file = formats::open_checkpoint(data_path("models/qwen2/model-f32.gguf"), quant::dtype_table());
  Loaded ref(file, Setting{.backend = "ref", .state_type = kv::StateType::f32});
  const Golden g = read_golden("qwen2");
  const Looked seen = look(ref, g.ids, true);
  const std::vector<float> table = floats_in(*file, "token_embd.weight"),
                           norm = floats_in(*file, "output_norm.weight"),
                           head = floats_in(
                               *file, file->find("output.weight") ? "output.weight" : "token_embd.weight");
  const size_t width = norm.size(), n_points = seen.rows.size();
  const auto dot = [&](std::span<const float> a, std::span<const float> b) {
    double sum = 0;
    for (size_t i = 0; i < width; ++i) sum += double{a[i]} * b[i];
    return sum;
  };
  for (size_t r = 0; r < g.ids.size(); ++r) {
    const std::vector<float>&first = seen.rows[0][r], &last = seen.rows[n_points - 2][r],
          &normed = seen.rows[n_points - 1][r];
    const auto row = std::span(table).subspan(static_cast<size_t>(g.ids[r]) * width, width);
    CHECK(std::equal(row.begin(), row.end(), first.begin(), first.end()));
    const double scale = 1 / std::sqrt(dot(last, last) / static_cast<double>(width) + 1e-6);
    for (size_t i = 0; i < width; ++i) CHECK(normed[i] == Approx(last[i] * scale * norm[i]).margin(1e-5));
    for (size_t v = 0; v < static_cast<size_t>(g.n_vocab); v += 37)
      CHECK(dot(std::span(head).subspan(v * width, width), normed) ==
            Approx(g.logits[r * static_cast<size_t>(g.n_vocab) + v]).margin(1e-4));
  }
}
