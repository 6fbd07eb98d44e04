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
