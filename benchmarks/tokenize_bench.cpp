// Speed of tokenizers on one thread: MB of text a second, best of several runs in thread CPU time.
// Usage: bench_tokenize TEXT_FILE TOKENIZER…   each a tokenizer.json, a tokenizer.model, a folder or a GGUF
// file
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <sstream>
#include <string>

#include "core/error.h"
#include "formats/gguf.h"
#include "quant/weight.h"
#include "text/hugging_face.h"

using namespace ingle;

namespace {

double seconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

int run(const std::string& text, const char* path) {
  double start = seconds();
  auto tokenizer = text::open_hugging_face_tokenizer(path);
  double opened = 0;
  if (!tokenizer) {
    const formats::CheckpointPtr file = formats::open_gguf(path, quant::dtype_table());
    opened = seconds() - start;
    start += opened;
    tokenizer = text::load_gguf_tokenizer(*file);
  }
  const double loaded = seconds() - start;
  double best = 1e30;
  size_t ids = 0;
  for (int repeat = 0; repeat < 7; ++repeat) {
    const double before = seconds();
    ids = tokenizer->encode(text, {}).size();
    best = std::min(best, seconds() - before);
  }
  std::printf("%-60s open %5.1f load %5.1f ms  %6.1f MB/s  %.2f bytes a token\n", path, opened * 1e3,
              loaded * 1e3, static_cast<double>(text.size()) / best / 1e6,
              static_cast<double>(text.size()) / static_cast<double>(ids));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return std::fprintf(stderr, "usage: bench_tokenize TEXT_FILE TOKENIZER…\n"), 2;
  std::ifstream in(argv[1], std::ios::binary);
  std::stringstream all;
  all << in.rdbuf();
  try {
    int failed = 0;
    for (int i = 2; i < argc; ++i) failed |= run(all.str(), argv[i]);
    return failed;
  } catch (const Error& e) {
    return std::fprintf(stderr, "%s\n", e.what()), 1;
  }
}
