// Every fused op of the cpu backend against its expansion into plain ops on the reference backend, over all
// weight formats, odd shapes and every option of the ops. Outputs are seen through a head that is an identity
// matrix.
#include "backends/made_plan.h"

using namespace ingle;
using namespace ingle::tests;

namespace {

// Of a row's length: float weights; activations of 8 bits, or bf16, taken twice, as models below
// kPreciseBelow have it; taken once.
constexpr double kFloatError = 4e-6, kTwiceError = 2e-4, kOnceError = 3e-2;
// Float sums in another order, of values of which some cancel.
constexpr double kSumsError = 1e-4;
// Taken once, by weights that are drawn from a few blocks: their rows are much alike, and errors do not even
// out.
constexpr double kOnceByFewBlocks = 0.15;

struct Shapes {
  std::string format = "f32";                     // of all matrices but the head
  std::string wk_format, up_format, down_format;  // when others
  std::string head_format;                        // empty: an identity matrix
  int64_t width = 37, ffn = 45, vocab = 21;
  HeadShape heads{6, 2, 13, 7};
  int64_t rotated = 10, window = 0;
  kv::StateType state = kv::StateType::f32;
  bool centered = false;  // keys, which is to say that their bias is large
  NormKind norm = NormKind::rms;
  bool bias = false, head_norms = false, post_norms = false;
  float softcap = 0, embed_scale = 1;
  bool slopes = false;
  Activation act = Activation::silu;
  bool attention = true, ffn_block = true;
  int layers = 2;
};

backends::Plan make_plan(const Shapes& s, uint32_t seed = 1) {
  PlanMaker m(seed);
  const auto linear = [&](int64_t rows, int64_t cols, const std::string& format) {
    LinearSpec w{m.weight(rows, cols, format.empty() ? s.format : format)};
    if (s.bias) w.bias = m.vector(rows, 0);
    return w;
  };
  const HeadShape& h = s.heads;
  const Id x = m.buffer(s.width), q = m.buffer(h.n_heads * h.dk), attended = m.buffer(h.n_heads * h.dv);
  m.plan.ops.push_back(op::Embed{x, m.weight(s.vocab, s.width, s.format), s.embed_scale});
  const auto post = [&] { return m.norm(s.post_norms ? s.norm : NormKind::none, s.width, s.bias); };
  if (s.attention)
    m.plan.parts = {{s.window ? kv::PartKind::window : kv::PartKind::pages, s.state, s.layers, h.n_kv_heads,
                     h.dk, h.dv, s.window}};
  if (s.attention && s.state == kv::StateType::q4)
    m.plan.parts.push_back({kv::PartKind::tail, kv::StateType::f16, s.layers, h.n_kv_heads, h.dk, 0, 0});
  const Id rotation = s.rotated ? m.rotation(s.rotated) : kNone;
  for (int32_t layer = 0; layer < s.layers; ++layer) {
    if (s.attention) {
      op::AttentionInput in{};
      in.x = x;
      in.q = q;
      in.norm = m.norm(s.norm, s.width, s.bias);
      in.wq = linear(h.n_heads * h.dk, s.width, "");
      in.wk = linear(h.n_kv_heads * h.dk, s.width, s.wk_format);
      in.wv = linear(h.n_kv_heads * h.dv, s.width, "");
      if (s.head_norms) in.q_norm = m.norm(NormKind::rms, h.dk), in.k_norm = m.norm(NormKind::rms, h.dk);
      in.rotation = rotation;
      in.part = 0;
      in.layer = layer;
      in.heads = h;
      if (s.centered) {
        in.wk.bias = in.k_center = m.vector(h.n_kv_heads * h.dk, 0);
        for (float& v : m.plan.vectors[static_cast<size_t>(in.k_center)].values) v *= 100;
      }
      m.plan.ops.push_back(in);
      const float scale = 1 / std::sqrt(static_cast<float>(h.dk));
      op::Attend attend{q, attended, 0, layer, h, scale, s.softcap};
      if (s.slopes) attend.slopes = m.vector(h.n_heads, 0.2f);
      m.plan.ops.push_back(attend);
      m.plan.ops.push_back(op::ProjectResidual{attended, x, linear(s.width, h.n_heads * h.dv, ""), post()});
    }
    if (s.ffn_block) {
      op::GatedFfn f{};
      f.x = x;
      f.norm = m.norm(s.norm, s.width, s.bias);
      f.gate = linear(s.ffn, s.width, "");
      f.up = linear(s.ffn, s.width, s.up_format);
      f.down = linear(s.width, s.ffn, s.down_format);
      f.act = s.act;
      f.post = post();
      m.plan.ops.push_back(f);
    }
  }
  op::Head head{};
  head.x = x;
  head.w = {s.head_format.empty() ? m.identity(s.width) : m.weight(s.width, s.width, s.head_format)};
  head.scale = 1;
  m.plan.ops.push_back(head);
  m.plan.n_vocab = s.width;
  m.plan.n_context = 4096;
  return m.plan;
}

// Three sequences over four steps: prefill from nothing, chunks that go on, single tokens, all mixed.
std::vector<float> run_script(Running& on, int64_t vocab) {
  std::vector<float> out;
  std::vector<kv::SequenceState> states;
  for (int i = 0; i < 3; ++i) states.push_back(on.state());
  const size_t takes[][3] = {{33, 5, 1}, {1, 40, 0}, {70, 1, 33}, {1, 1, 1}};
  uint32_t seed = 1;
  for (const auto& take : takes) {
    std::vector<Running::Part> parts;
    for (size_t i = 0; i < 3; ++i)
      if (take[i])
        parts.push_back({&states[i], random_tokens(take[i], static_cast<int32_t>(vocab), ++seed),
                         static_cast<int64_t>(take[i])});
    const Running::Result r = on.step(parts);
    for (const backends::StepStatus s : r.status) REQUIRE(s == backends::StepStatus::ok);
    out.insert(out.end(), r.logits.begin(), r.logits.end());
  }
  return out;
}

// The largest error of a row, against the row's length.
double row_error(const std::vector<float>& expected, const std::vector<float>& found, int64_t width) {
  REQUIRE(expected.size() == found.size());
  double worst = 0;
  for (size_t at = 0; at < expected.size(); at += static_cast<size_t>(width)) {
    double off = 0, length = 0;
    for (size_t i = at; i < at + static_cast<size_t>(width); ++i) {
      const double d = double{expected[i]} - double{found[i]};
      off += d * d;
      length += double{expected[i]} * double{expected[i]};
    }
    worst = std::max(worst, std::sqrt(off / length));
  }
  return worst;
}

// Plug-ins take f32 rows and decoded weights, but for bf16 where a library multiplies it.
void check_conforms(const Shapes& s, double tolerance,
                    const std::vector<std::string>& plugins = plugin_backends()) {
  Running ref(make_plan(s), "ref"), cpu(make_plan(s), "cpu");
  const std::vector<float> expected = run_script(ref, s.vocab), found = run_script(cpu, s.vocab);
  {
    INFO("kernels: " << cpu.program().kernels());
    CHECK(row_error(expected, found, s.width) < tolerance);
  }
  const bool state_rounds = s.state != kv::StateType::f32;
  for (const std::string& name : plugins) {
    Running plugged(make_plan(s), name);
    const std::string kernels = plugged.program().kernels();
    INFO("kernels: " << kernels);
    const bool halves = kernels.find("_bf16") != std::string::npos && name == "onednn";
    CHECK(row_error(expected, run_script(plugged, s.vocab), s.width) < (halves         ? kOnceError
                                                                        : state_rounds ? tolerance
                                                                                       : kSumsError));
  }
}

bool is_plain(const std::string& format) { return format == "f32" || format == "f16" || format == "bf16"; }

// Whole blocks of every format.
Shapes whole_blocks(int64_t width) {
  Shapes s;
  s.width = width;
  s.ffn = 512;
  s.heads = {4, 2, 40, 64};
  s.rotated = 40;
  s.layers = 1;
  return s;
}

}  // namespace

TEST_CASE("fused ops equal their expansions for every weight format", "[backends]") {
  for (const quant::QuantFormat* f : quant::all_formats()) {
    if (f->dtype.ggml_id < 0) continue;
    const std::string name(f->name);
    if (f->dtype.block_elems == 1 && !is_plain(name)) continue;  // integers and doubles are no weights
    for (const int64_t width : {256, 768}) {
      if (kSanitized && width == 768 && !is_plain(name) && name != "q4_k") continue;
      CAPTURE(name, width);
      Shapes s = whole_blocks(width);
      s.format = name;
      const bool exact = name == "f32" || name == "f16";
      const double once = f->encode_row ? kOnceError : kOnceByFewBlocks;
      // Formats that are no type of backend.h differ in their decoding alone, so one plug-in stands for all.
      std::vector<std::string> plugins;
      if (is_plain(name) || name == "q4_k")
        plugins = plugin_backends();
      else if (width == 256)
        plugins = {plugin_backends().front()};
      check_conforms(s, exact ? kFloatError : width < 768 ? kTwiceError : once, plugins);
    }
  }
}

TEST_CASE("the head takes its activations twice where they are rounded", "[backends]") {
  for (const std::string format : {"bf16", "q8_0", "q4_k"}) {
    CAPTURE(format);
    Shapes s = whole_blocks(768);
    s.head_format = format;
    check_conforms(s, kTwiceError);
  }
}

TEST_CASE("fused ops equal their expansions for every option", "[backends]") {
  std::map<std::string, Shapes> cases;
  cases["odd shapes"];
  cases["attention alone"].ffn_block = false;
  cases["feed-forward alone"].attention = false;
  cases["no positions"].rotated = 0;
  cases["layer norms"].norm = NormKind::layer;
  cases["layer norms with biases"].norm = NormKind::layer;
  cases["layer norms with biases"].bias = true;
  cases["no norms"].norm = NormKind::none;
  cases["biases"].bias = true;
  cases["post norms"].post_norms = true;
  cases["head norms"].head_norms = true;
  cases["softcap"].softcap = 1.5f;
  cases["slopes"].slopes = true;
  cases["slopes"].rotated = 0;
  cases["slopes and a window"].slopes = true;
  cases["slopes and a window"].window = 33;
  cases["embedding scale"].embed_scale = 6.5f;
  cases["window of 1"].window = 1;
  cases["window of 7"].window = 7;
  cases["window of 32"].window = 32;
  cases["window of 64"].window = 64;
  cases["one head"].heads = {1, 1, 16, 16};
  cases["no sharing of heads"].heads = {3, 3, 12, 5};
  cases["many heads of one kv head"].heads = {17, 1, 11, 18};
  cases["wide heads"].heads = {2, 1, 288, 320};
  cases["narrow"].width = 5;
  cases["narrow"].ffn = 1;
  cases["feed-forward of several chunks"].ffn = 387;
  cases["everything"] = {
      .bias = true, .head_norms = true, .post_norms = true, .softcap = 2, .embed_scale = 3};
  cases["everything"].window = 20;
  for (int act = 0; act <= static_cast<int>(Activation::relu2); ++act)
    cases["activation " + std::to_string(act)].act = static_cast<Activation>(act);
  for (const auto& [label, s] : cases) {
    CAPTURE(label);
    check_conforms(s, kFloatError);
  }
}

TEST_CASE("state types round alike on every backend", "[backends]") {
  for (const kv::StateType type :
       {kv::StateType::f16, kv::StateType::bf16, kv::StateType::q8, kv::StateType::q4}) {
    CAPTURE(static_cast<int>(type));
    Shapes s;
    s.state = type;
    // Float noise before the rounding may move a value to the next step of its type.
    check_conforms(s, type == kv::StateType::f16 ? 5e-5 : type == kv::StateType::bf16 ? 4e-4 : 1e-3);
  }
}

TEST_CASE("8-bit keys are told apart beside what they have in common", "[backends]") {
  Shapes s;
  s.rotated = 0;
  s.centered = true;
  const auto outcome = [&](kv::StateType type, const char* backend) {
    s.state = type;
    Running on(make_plan(s), backend);
    return run_script(on, s.vocab);
  };
  const std::vector<float> exact = outcome(kv::StateType::f32, "ref");
  for (const char* backend : {"ref", "cpu"}) {
    CAPTURE(backend);
    CHECK(row_error(exact, outcome(kv::StateType::q8, backend), s.width) < 0.02);
  }
}

TEST_CASE("formats may differ within one op", "[backends]") {
  Shapes s = whole_blocks(256);
  s.format = "q4_k";
  s.wk_format = "f16";
  s.up_format = "f32";
  s.down_format = "q8_0";
  check_conforms(s, kTwiceError);
  s.format = "f32";
  s.wk_format = "q5_0";
  s.up_format = "q6_k";
  s.down_format = "bf16";
  check_conforms(s, kTwiceError);
  s.down_format = "iq4_xs";
  s.bias = s.post_norms = true;
  check_conforms(s, kTwiceError);
}

TEST_CASE("heads give the wanted rows, scaled and capped", "[backends]") {
  for (const std::string format : {"f32", "q8_0", "q4_k", "iq3_s"}) {
    for (const bool tied : {false, true}) {
      CAPTURE(format, tied);
      const bool f32 = format == "f32";
      const int64_t width = f32 ? 37 : 256, vocab = 531;
      PlanMaker m;
      const Id x = m.buffer(width), table = m.weight(vocab, width, format);
      m.plan.ops.push_back(op::Embed{x, table, 1.5f});
      op::Head head{};
      head.x = x;
      head.norm = m.norm(NormKind::rms, width);
      head.w.weight = tied ? table : m.weight(vocab, width, format);
      SECTION("plain " + format + (tied ? " tied" : "")) { head.scale = 1; }
      SECTION("all " + format + (tied ? " tied" : "")) {
        head.scale = 0.25f;
        head.softcap = 0.5f;
        head.w.bias = m.vector(vocab, 0);
      }
      if (head.scale == 0) continue;  // another section's turn
      m.plan.ops.push_back(head);
      m.plan.n_vocab = vocab;
      Running ref(m.plan, "ref"), cpu(m.plan, "cpu");
      kv::SequenceState a = ref.state(), b = ref.state(), c = ref.state();
      const auto run = [&](Running& on, std::vector<int64_t> wanted) {
        return on.step({{&a, random_tokens(9, 531, 1), wanted[0]},
                        {&b, random_tokens(4, 531, 2), wanted[1]},
                        {&c, random_tokens(3, 531, 3), wanted[2]}});
      };
      const Running::Result all = run(ref, {9, 4, 3});
      for (Running* on : {&ref, &cpu}) {
        const Running::Result some = run(*on, {2, 0, 3});
        std::vector<float> expected(all.logits.begin() + 7 * vocab, all.logits.begin() + 9 * vocab);
        expected.insert(expected.end(), all.logits.begin() + 13 * vocab, all.logits.end());
        CHECK(row_error(expected, some.logits, vocab) < (on == &ref ? 1e-12
                                                         : f32      ? kFloatError
                                                                    : kTwiceError));
        const Running::Result none = run(*on, {0, 0, 0});
        for (const backends::StepStatus s : none.status) CHECK(s == backends::StepStatus::ok);
      }
    }
  }
}

// Models from kPreciseBelow on take 16-bit activations of first positions alone; that, too, must not see the
// batch.
TEST_CASE("results do not depend on the batch, the threads or the instruction set", "[backends]") {
  const std::vector<std::vector<int32_t>> ids = {random_tokens(90, 21, 1), random_tokens(47, 21, 2),
                                                 random_tokens(33, 21, 3)};
  const std::vector<std::vector<size_t>> steps = {{40, 0, 1}, {1, 46, 31}, {48, 1, 0}, {1, 0, 1}};
  for (const std::string format : {"q4_k", "q8_0", "iq4_xs", "f16", "bf16"}) {
    if (kSanitized && format != "q4_k" && format != "f16") continue;  // slow; one of each kind
    Shapes s = whole_blocks(768);
    s.format = format;
    std::vector<std::vector<float>> alone(ids.size());
    Running one(make_plan(s), "cpu", 1);
    for (size_t i = 0; i < ids.size(); ++i) {
      kv::SequenceState state = one.state();
      for (const int32_t id : ids[i]) {
        const Running::Result r = one.step({{&state, {id}, 1}});
        alone[i].insert(alone[i].end(), r.logits.begin(), r.logits.end());
      }
    }
    for (const std::string kernel : {"", "plain", "avx2", "avx512", "avx512vnni"}) {
      CAPTURE(format, kernel);
      const CpuFeatures cpu = detect_cpu();
      if ((kernel == "avx2" && !cpu.avx2) || (kernel == "avx512" && !cpu.avx512) ||
          (kernel == "avx512vnni" && !cpu.avx512_vnni)) {
        WARN("skipped: this processor lacks " << kernel);
        continue;
      }
      Running on(make_plan(s), "cpu", 3, kernel);
      std::vector<kv::SequenceState> states;
      for (size_t i = 0; i < ids.size(); ++i) states.push_back(on.state());
      std::vector<std::vector<float>> together(ids.size());
      for (const std::vector<size_t>& step : steps) {
        std::vector<Running::Part> parts;
        for (size_t i = 0; i < ids.size(); ++i) {
          if (step[i] == 0) continue;
          const auto from = ids[i].begin() + states[i].length();
          parts.push_back({&states[i],
                           {from, from + static_cast<std::ptrdiff_t>(step[i])},
                           static_cast<int64_t>(step[i])});
        }
        const Running::Result r = on.step(parts);
        auto at = r.logits.begin();
        for (const Running::Part& p : parts) {
          std::vector<float>& out = together[static_cast<size_t>(p.state - states.data())];
          out.insert(out.end(), at, at + p.n_wanted * on.n_vocab());
          at += p.n_wanted * on.n_vocab();
        }
      }
      for (size_t i = 0; i < ids.size(); ++i) CHECK(together[i] == alone[i]);
    }
  }
}
