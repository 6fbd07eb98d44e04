// Runs a fuzz target without libFuzzer: every file of the folders named on the command line, and for each a
// fixed number of mutations, the same ones at every run. A fault ends the process, as under a fuzzer.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

constexpr int kMutations = 200;
constexpr size_t kMostMutatedBytes = 1 << 20;

// Marsaglia's xorshift: only has to be the same everywhere.
class Random {
 public:
  size_t below(size_t n) {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return n ? static_cast<size_t>(state_ % n) : 0;
  }

 private:
  uint64_t state_ = 0x9E3779B97F4A7C15;
};

void run(const std::vector<uint8_t>& bytes) {
  // A copy of exactly that size, so that the address sanitizer sees a read past the end.
  const std::vector<uint8_t> exact(bytes.begin(), bytes.end());
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

// Parsers break at numbers near a limit, in truncated files and at repeated pieces.
void mutate(std::vector<uint8_t>& bytes, Random& random) {
  static constexpr uint8_t kOdd[] = {0x00, 0x01, 0x7F, 0x80, 0xFE, 0xFF};
  if (bytes.empty()) return;
  const size_t at = random.below(bytes.size());
  switch (random.below(5)) {
    case 0:
      bytes[at] ^= static_cast<uint8_t>(1U << random.below(8));
      break;
    case 1:
      bytes[at] = kOdd[random.below(std::size(kOdd))];
      break;
    case 2:
      bytes.resize(at);
      break;
    case 3:
      for (size_t i = at; i < std::min(at + 8, bytes.size()); ++i)
        bytes[i] = kOdd[random.below(std::size(kOdd))];
      break;
    default: {
      const size_t count = std::min<size_t>(random.below(64) + 1, bytes.size() - at);
      const std::vector<uint8_t> piece(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                                       bytes.begin() + static_cast<std::ptrdiff_t>(at + count));
      bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(at), piece.begin(), piece.end());
    }
  }
}

std::vector<std::string> files_under(const char* argument) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(argument)) {
    if (entry.is_regular_file()) files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

int main(int argc, char** argv) {
  size_t n_files = 0, n_runs = 0;
  run({});
  for (int i = 1; i < argc; ++i) {
    if (!std::filesystem::is_directory(argv[i])) {
      std::fprintf(stderr, "%s is no folder\n", argv[i]);
      return EXIT_FAILURE;
    }
    for (const std::string& path : files_under(argv[i])) {
      std::ifstream in(path, std::ios::binary);
      const std::vector<uint8_t> original((std::istreambuf_iterator<char>(in)),
                                          std::istreambuf_iterator<char>());
      std::printf("%s\n", path.c_str());
      std::fflush(stdout);  // the last line names the culprit
      run(original);
      ++n_files, ++n_runs;
      if (original.size() > kMostMutatedBytes) continue;
      Random random;
      for (int m = 0; m < kMutations; ++m, ++n_runs) {
        std::vector<uint8_t> bytes = original;
        for (size_t edits = 1 + random.below(4); edits > 0; --edits) mutate(bytes, random);
        run(bytes);
      }
    }
  }
  std::printf("%zu files, %zu inputs\n", n_files, n_runs);
  return n_files > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
