#include "reference.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

namespace ingle::cli {
namespace {

constexpr char kMagic[8] = {'_', 'l', 'o', 'g', 'i', 't', 's', '_'};
constexpr float kRange = 16, kSteps = 65535;
constexpr int64_t kMostContext = 1 << 24, kMostVocab = 1 << 24;

size_t row_words(int64_t n_vocab) { return static_cast<size_t>((n_vocab + 1) / 2 * 2 + 4); }

}  // namespace

double log_sum_exp(std::span<const float> logits) {
  const float most = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float v : logits) sum += std::exp(v - most);
  return most + std::log(sum);
}

ReferenceWriter::ReferenceWriter(std::string path, const ReferenceHead& head)
    : path_(std::move(path)),
      part_(path_ + ".part"),
      file_(std::fopen(part_.c_str(), "wb")),
      row_(row_words(head.n_vocab)) {
  if (!file_) throw Error(Code::io, path_, std::string("cannot be written: ") + std::strerror(errno));
  write(kMagic, sizeof kMagic);
  const int32_t numbers[] = {static_cast<int32_t>(head.n_context), static_cast<int32_t>(head.n_vocab),
                             static_cast<int32_t>(head.n_windows)};
  write(numbers, sizeof numbers);
  write(head.tokens.data(), head.tokens.size() * sizeof(TokenId));
}

ReferenceWriter::~ReferenceWriter() {
  if (file_) std::remove(part_.c_str());
}

void ReferenceWriter::write(const void* data, size_t bytes) {
  if (std::fwrite(data, 1, bytes, file_.get()) != bytes)
    throw Error(Code::io, part_, std::string("cannot be written: ") + std::strerror(errno));
}

void ReferenceWriter::row(std::span<const float> logits) {
  const auto [low, high] = std::minmax_element(logits.begin(), logits.end());
  const float floor = std::max(*low, *high - kRange), scale = (*high - floor) / kSteps;
  const float head[2] = {scale, static_cast<float>(floor - log_sum_exp(logits))};
  std::memcpy(row_.data(), head, sizeof head);
  for (size_t i = 0; i < logits.size(); ++i) {
    const float steps = scale > 0 ? (logits[i] - floor) / scale : 0;
    row_[4 + i] = static_cast<uint16_t>(std::clamp(std::nearbyint(steps), 0.0f, kSteps));
  }
  write(row_.data(), row_.size() * sizeof(uint16_t));
}

void ReferenceWriter::finish() {
  if (std::fclose(file_.release()) != 0 || std::rename(part_.c_str(), path_.c_str()) != 0) {
    const int error = errno;
    std::remove(part_.c_str());
    throw Error(Code::io, path_, std::string("cannot be written: ") + std::strerror(error));
  }
}

ReferenceReader::ReferenceReader(const std::string& path)
    : path_(path), file_(std::fopen(path.c_str(), "rb")) {
  struct stat status {};
  if (!file_ || fstat(fileno(file_.get()), &status) != 0)
    throw Error(errno == ENOENT ? Code::not_found : Code::io, path_,
                std::string("cannot be read: ") + std::strerror(errno));
  char magic[sizeof kMagic];
  int32_t numbers[3];
  read(magic, sizeof magic);
  if (std::memcmp(magic, kMagic, sizeof magic) != 0)
    throw Error(Code::corrupt, path_, "does not begin with \"_logits_\"",
                "`ingle perplexity --save-reference` writes such files");
  read(numbers, sizeof numbers);
  head_.n_context = numbers[0], head_.n_vocab = numbers[1], head_.n_windows = numbers[2];
  if (head_.n_context < 4 || head_.n_context > kMostContext || head_.n_vocab < 1 ||
      head_.n_vocab > kMostVocab || head_.n_windows < 1)
    throw Error(Code::corrupt, path_,
                "has windows of " + std::to_string(numbers[0]) + " tokens, a vocabulary of " +
                    std::to_string(numbers[1]) + " and " + std::to_string(numbers[2]) + " windows");
  // Each window's tokens and rows, at most 2^24 * 2^26 bytes: no overflow, and the file must hold them all.
  const int64_t window = head_.n_context * static_cast<int64_t>(sizeof(TokenId)) +
                         n_scored(head_.n_context) * static_cast<int64_t>(row_words(head_.n_vocab) * 2);
  const int64_t body =
      static_cast<int64_t>(status.st_size) - static_cast<int64_t>(sizeof magic + sizeof numbers);
  if (body / window != head_.n_windows || body % window != 0)
    throw Error(Code::corrupt, path_,
                "has " + std::to_string(body) + " bytes after its head, expected " +
                    std::to_string(head_.n_windows) + " times " + std::to_string(window));
  head_.tokens.resize(static_cast<size_t>(head_.n_windows * head_.n_context));
  read(head_.tokens.data(), head_.tokens.size() * sizeof(TokenId));
  packed_.resize(row_words(head_.n_vocab));
  row_.resize(static_cast<size_t>(head_.n_vocab));
}

void ReferenceReader::read(void* data, size_t bytes) {
  if (std::fread(data, 1, bytes, file_.get()) == bytes) return;
  if (std::ferror(file_.get()))
    throw Error(Code::io, path_, std::string("cannot be read: ") + std::strerror(errno));
  throw Error(Code::corrupt, path_, "ends too early");
}

std::span<const float> ReferenceReader::row() {
  read(packed_.data(), packed_.size() * sizeof(uint16_t));
  float head[2];
  std::memcpy(head, packed_.data(), sizeof head);
  if (!std::isfinite(head[0]) || !std::isfinite(head[1]) || head[0] < 0)
    throw Error(Code::corrupt, path_, "has a row of which scale or lowest are no numbers");
  for (size_t i = 0; i < row_.size(); ++i) row_[i] = head[1] + head[0] * static_cast<float>(packed_[4 + i]);
  return row_;
}

}  // namespace ingle::cli
