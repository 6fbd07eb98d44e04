// Files that are wrong in a few places and right in all others: each is an error or a model that works.
// Memory stays below the file's size and 64 MiB more, and so many bytes are read as the file's size allows.
#include "api/mutants.h"

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>

#include "api/support.h"
#include "formats/safetensors.h"
#include "quant/catalog.h"
#include "support/temp.h"

// Bytes of this program, which memory_test.cpp counts.
extern std::atomic<int64_t> n_live, n_peak;

using namespace ingle;
using namespace ingle::tests;

namespace {

constexpr int64_t kMoreThanTheFile = 64 << 20;

std::string bytes_in(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Weights, state and workspaces count as the rest does.
Runtime counting_runtime() {
  RuntimeOptions o;
  o.threads = 1;
  o.allocate = [](size_t n, size_t alignment, void*) -> void* {
    void* memory = std::aligned_alloc(alignment, (n + alignment - 1) / alignment * alignment);
    const int64_t now = memory ? n_live += static_cast<int64_t>(n) : n_live.load();
    for (int64_t peak = n_peak; now > peak && !n_peak.compare_exchange_weak(peak, now);) {
    }
    return memory;
  };
  o.release = [](void* p, size_t n, void*) {
    n_live -= static_cast<int64_t>(n);
    std::free(p);
  };
  return Runtime(o);
}

struct Tally {
  std::map<Code, int> codes;
  int64_t most = 0;  // bytes beyond the file
  void tell(const char* what) const {
    std::string all;
    for (const auto& [code, n] : codes) all += std::to_string(n) + " " + code_name(code) + ", ";
    WARN(what << ": " << all << "at most " << most / 1024 << " KiB beyond the file");
  }
  int of(Code code) const { return codes.contains(code) ? codes.at(code) : 0; }
  int total() const {
    int n = 0;
    for (const auto& [code, count] : codes) n += count;
    return n;
  }
};

// f loads a file of so many bytes and works with it.
template <class F>
void attempt(size_t file_bytes, Tally& tally, F f) {
  const int64_t before = n_live;
  n_peak = before;
  Code code = Code::ok;
  try {
    f();
  } catch (const Error& e) {
    code = e.code();
    CAPTURE(e.what());
    REQUIRE_FALSE(e.message().empty());
    REQUIRE(code != Code::internal);
    REQUIRE(code != Code::out_of_memory);  // it was asked for what the file cannot need
  }
  ++tally.codes[code];
  tally.most = std::max(tally.most, n_peak - before - static_cast<int64_t>(file_bytes));
  REQUIRE(n_peak - before <= static_cast<int64_t>(file_bytes) + kMoreThanTheFile);
  REQUIRE(n_live - before < (1 << 20));
}

void work_with(const Model& model) {
  Session session(model);
  session.feed(std::vector<TokenId>{0, 1, static_cast<TokenId>(model.info().n_vocab - 1)});
  Sampler greedy = Sampler::greedy();
  session.next(greedy);
  (void)model.tokenizer().encode("Once upon a time, 12 <|im_end|>");
  (void)model.has_chat_template();
}

// Through a reader, which counts.
void load_by_reader(const Runtime& runtime, const std::string& file) {
  std::atomic<uint64_t> n_read{0};
  ModelReader reader{"mutant", file.size(), [&](uint64_t offset, std::span<std::byte> out) {
                       if (offset > file.size() || out.size() > file.size() - offset) return false;
                       std::memcpy(out.data(), file.data() + offset, out.size());
                       n_read += out.size();
                       return true;
                     }};
  try {
    (void)Model::load(runtime, std::move(reader));
  } catch (...) {
    REQUIRE(n_read <= 4 * file.size() + (1 << 16));
    throw;
  }
  REQUIRE(n_read <= 4 * file.size() + (1 << 16));
}

void try_gguf(int n) {
  const std::string good = bytes_in(tiny_model());
  const GgufFields fields(good);
  REQUIRE(fields.bytes() == good);
  const Runtime runtime = counting_runtime();
  Dice dice(20);
  Tally tally;
  for (int i = 0; i < n; ++i) {
    GgufFields mutant = fields;
    for (size_t edits = 1 + dice.below(3); edits > 0; --edits) mutate(mutant, dice);
    const std::string bytes = mutant.bytes();
    CAPTURE(i);
    attempt(bytes.size(), tally, [&] {
      if (i % 4 == 0) return load_by_reader(runtime, bytes);
      work_with(Model::load(runtime, std::as_bytes(std::span(bytes))));
    });
  }
  tally.tell("GGUF");
  CHECK(tally.total() == n);
  CHECK(tally.of(Code::ok) > n / 20);
  CHECK(tally.of(Code::corrupt) > n / 4);
}

// A safetensors file by its header and its data.
std::string safetensors_bytes(const Json& header, const std::string& data, Dice& dice, bool wrong_length) {
  std::string text = to_text(header), out;
  text.resize((text.size() + 7) / 8 * 8, ' ');
  put(out, wrong_length ? dice.odd() : uint64_t{text.size()});
  return out + text + data;
}

struct Safetensors {
  Json header;
  std::string data;
  explicit Safetensors(const std::string& file) {
    uint64_t n = 0;
    std::memcpy(&n, file.data(), 8);
    header = parse_json(std::string_view(file).substr(8, n), "header");
    data = file.substr(8 + n);
  }
};

void try_safetensors(int n) {
  const Safetensors good(bytes_in(data_path("golden/arch/phi4_mini/model.safetensors")));
  Dice dice(21);
  Tally tally;
  for (int i = 0; i < n; ++i) {
    Json header = good.header;
    const bool wrong_length = dice.below(12) == 0;
    for (size_t edits = wrong_length ? 0 : 1 + dice.below(3); edits > 0; --edits) mutate(header, dice);
    std::string data = good.data;
    if (dice.below(12) == 0) data.resize(dice.below(data.size()));
    const std::string bytes = safetensors_bytes(header, data, dice, wrong_length);
    CAPTURE(i);
    attempt(bytes.size(), tally, [&] {
      const auto file = formats::open_safetensors(from_memory("mutant", std::as_bytes(std::span(bytes))),
                                                  quant::dtype_table());
      std::vector<std::byte> scratch;
      for (const formats::TensorInfo& tensor : file->tensors()) {
        const TensorView view = file->view(tensor, scratch);
        volatile std::byte last{};
        if (view.bytes) last = view.data[view.bytes - 1];
        (void)last;
      }
    });
  }
  tally.tell("safetensors");
  CHECK(tally.total() == n);
  CHECK(tally.of(Code::ok) > n / 500);
  CHECK(tally.of(Code::corrupt) > n / 4);
}

// A folder whose config.json, or whose tensors' header, is wrong: as a whole model.
void try_folders(int n) {
  const std::string from = data_path("golden/arch/phi4_mini");
  const std::string weights = bytes_in(from + "/model.safetensors");
  const Safetensors good(weights);
  const Json config = parse_json(bytes_in(from + "/config.json"), "config.json");
  const TempDir dir;
  dir.write("model.safetensors", weights);
  const Runtime runtime = counting_runtime();
  Dice dice(22);
  Tally tally;
  for (int i = 0; i < n; ++i) {
    Json settings = config, header = good.header;
    const bool of_tensors = i % 4 == 3;
    for (size_t edits = 1 + dice.below(3); edits > 0; --edits) mutate(of_tensors ? header : settings, dice);
    dir.write("config.json", to_text(settings));
    if (of_tensors) dir.write("model.safetensors", safetensors_bytes(header, good.data, dice, false));
    CAPTURE(i, to_text(settings));
    attempt(weights.size(), tally, [&] {
      const Model model = Model::load(runtime, dir.path());
      Session session(model);
      session.feed(std::vector<TokenId>{0, 1});
    });
    if (of_tensors) dir.write("model.safetensors", weights);
  }
  tally.tell("folders");
  CHECK(tally.total() == n);
  CHECK(tally.of(Code::ok) > n / 20);
  CHECK(tally.total() - tally.of(Code::ok) > n / 4);
}

}  // namespace

// Saved sessions have theirs beside the other tests of them (saved_session_test.cpp).
TEST_CASE("10,000 mutants of GGUF files are errors or models", "[api]") { try_gguf(10000); }
TEST_CASE("10,000 mutants of safetensors files are errors or can be read", "[api]") {
  try_safetensors(10000);
}
TEST_CASE("10,000 mutants of folders are errors or models", "[api]") { try_folders(10000); }
