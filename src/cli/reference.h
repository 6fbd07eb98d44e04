// A reference for `ingle perplexity`: the log-probabilities that one model gave, to hold another against.
//
// The layout is that of llama.cpp's --kl-divergence-base, so either program's files serve the other.
// Little-endian:
//   "_logits_", int32 n_context, int32 n_vocab, int32 n_windows, int32 tokens[n_windows * n_context]
//   n_windows * n_scored(n_context) rows: float scale, float lowest, uint16 q[n_vocab], to an even number of
//   uint16
// A row's log-probabilities are lowest + scale * q; what is more than 16 below the likeliest is raised to
// that.
#pragma once
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ingle/ingle.hpp"

namespace ingle::cli {

// Tokens of a window whose probability is counted: those after the first half.
constexpr int64_t n_scored(int64_t n_context) { return n_context - 1 - n_context / 2; }

struct ReferenceHead {
  int64_t n_context = 0, n_vocab = 0, n_windows = 0;
  std::vector<TokenId> tokens;  // [n_windows * n_context]
};

struct CloseFile {
  void operator()(std::FILE* f) const { std::fclose(f); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

// Writes PATH.part, which becomes PATH when it is whole.
class ReferenceWriter {
 public:
  ReferenceWriter(std::string path, const ReferenceHead& head);
  ~ReferenceWriter();
  void row(std::span<const float> logits);
  void finish();

 private:
  void write(const void* data, size_t bytes);
  std::string path_, part_;
  File file_;
  std::vector<uint16_t> row_;
};

class ReferenceReader {
 public:
  explicit ReferenceReader(const std::string& path);  // throws Code::not_found, corrupt
  const ReferenceHead& head() const { return head_; }
  std::span<const float> row();  // the next one's log-probabilities [n_vocab]

 private:
  void read(void* data, size_t bytes);
  std::string path_;
  File file_;
  ReferenceHead head_;
  std::vector<uint16_t> packed_;
  std::vector<float> row_;
};

double log_sum_exp(std::span<const float> logits);

}  // namespace ingle::cli
