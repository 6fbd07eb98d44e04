// Wide products of f32 and bf16 weights by our own kernels and by the plug-ins that this build has, on one
// thread. A Catch2 program: bench_plugins [name of a test or a tag] --benchmark-samples 10
#define CATCH_CONFIG_RUNNER
#define CATCH_CONFIG_ENABLE_BENCHMARKING
#include <catch2/catch.hpp>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "backends/plugin/find.h"
#include "backends/plugin/plugin.h"
#include "core/cpu.h"
#include "core/error.h"
#include "core/random.h"
#include "kernels/matmul.h"

using namespace ingle;
using namespace ingle::kernels;

namespace {

constexpr int64_t kN = 2048, kK = 2048;

// One weight, packed by whoever runs it.
struct Subject {
  std::string name;
  std::shared_ptr<backends::Plugin> plugin;
  std::unique_ptr<backends::Plugin::Weight> held;
  PackedWeight packed;
};

std::vector<std::byte> values_of(const quant::QuantFormat& f) {
  const size_t row_bytes = kK * f.dtype.block_bytes;
  std::vector<std::byte> out(row_bytes * kN);
  std::vector<float> row(kK);
  for (int64_t r = 0; r < kN; ++r) {
    for (int64_t i = 0; i < kK; ++i)
      row[static_cast<size_t>(i)] = 2 * uniform(1, static_cast<uint64_t>(r * kK + i)) - 1;
    f.encode_row(row.data(), kK, nullptr, out.data() + static_cast<size_t>(r) * row_bytes);
  }
  return out;
}

Subject ours(const quant::QuantWeight& w) {
  Subject s;
  s.packed.row = select_matmul({w.format, kN, kK}, {detect_cpu(), {}});
  s.name = s.packed.row->name;
  s.packed.format = w.format;
  s.packed.n = kN;
  s.packed.k = kK;
  s.packed.data = Buffer(packed_bytes(*s.packed.row, *w.format, kN, kK));
  pack_groups(w, nullptr, 0, kN / kGroupRows, s.packed);
  return s;
}

Subject plugged(const backends::PluginReport& report, const quant::QuantWeight& w) {
  Subject s;
  s.plugin = backends::Plugin::load(report.path, 1, {});
  const int32_t type = s.plugin->matrix_type(*w.format);
  std::vector<float> decoded;
  ingle_backend_matrix m{sizeof m, type, kN, kK, w.parts[0].data, "weight"};
  if (type == INGLE_BACKEND_F32 && w.format->name != "f32") {
    decoded.resize(kN * kK);
    w.format->decode_rows(w, 0, kN, decoded.data());
    m.data = decoded.data();
  }
  s.held = s.plugin->prepare(m, "benchmark");
  s.packed.row = &s.plugin->row(type);
  s.name = s.packed.row->name;
  s.packed.n = kN;
  s.packed.k = kK;
  const backends::Plugin::Weight* held = s.held.get();
  s.packed.data = Buffer(sizeof held);
  std::memcpy(s.packed.data.data(), &held, sizeof held);
  return s;
}

void measure(const std::string& format) {
  const quant::QuantFormat& f = *quant::find_format(format);
  const std::vector<std::byte> values = values_of(f);
  const quant::QuantWeight w =
      quant::block_weight({f.dtype.type, Shape{kN, kK}, values.data(), values.size()}, "weight");
  std::vector<Subject> subjects;
  subjects.push_back(ours(w));
  for (const backends::PluginReport& r :
       backends::report_plugins(backends::plugin_folders(INGLE_PLUGIN_FOLDER)))
    if (r.runs) subjects.push_back(plugged(r, w));
  for (const int64_t m : {1, 16, 512}) {
    std::vector<float> x(static_cast<size_t>(m * kK)), y(static_cast<size_t>(m * kN));
    for (size_t i = 0; i < x.size(); ++i) x[i] = 2 * uniform(2, i) - 1;
    const Activations rows{m, kK, x.data(), kK};
    for (const Subject& s : subjects) {
      Buffer scratch(static_cast<size_t>(s.packed.row->scratch_bytes(m, kK)) + 64);
      std::memset(scratch.data(), 0, 64);
      const MatmulArgs args{s.packed.data.as<const uint8_t>(),
                            kN,
                            kK,
                            rows,
                            nullptr,
                            y.data(),
                            kN,
                            0,
                            0,
                            kN / kGroupRows,
                            scratch.as<uint8_t>()};
      BENCHMARK(s.name + ", " + std::to_string(m) + " tokens") {
        s.packed.row->run(&args);
        return y[0];
      };
    }
  }
}

}  // namespace

TEST_CASE("f32 weights", "[f32]") { measure("f32"); }
TEST_CASE("bf16 weights", "[bf16]") { measure("bf16"); }

int main(int argc, char** argv) { return Catch::Session().run(argc, argv); }
