#include "core/records.h"

#include <string>

#include "core/error.h"
#include "support/catch.h"
#include "support/errors.h"

using namespace ingle;
using namespace ingle::tests;

namespace {

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

std::string hex(const Digest& digest) {
  std::string out;
  for (const std::byte b : digest) {
    out += "0123456789abcdef"[std::to_integer<int>(b) >> 4];
    out += "0123456789abcdef"[std::to_integer<int>(b) & 15];
  }
  return out;
}

constexpr uint32_t kOne = record_tag("ONE."), kTwo = record_tag("TWO.");

std::string two_records() {
  std::string out;
  RecordWriter writer(
      [&](std::span<const std::byte> b) { out.append(reinterpret_cast<const char*>(b.data()), b.size()); });
  writer.write(kOne, bytes_of("first"));
  writer.write(kTwo, {});
  return out;
}

RecordReader reader_of(const std::string& text, size_t& at) {
  return RecordReader(
      [&](std::span<std::byte> out) {
        if (out.size() > text.size() - at) return false;
        std::memcpy(out.data(), text.data() + at, out.size());
        at += out.size();
        return true;
      },
      "test");
}

void read_both(const std::string& text) {
  size_t at = 0;
  RecordReader in = reader_of(text, at);
  char first[5];
  in.read(kOne, std::as_writable_bytes(std::span(first)));
  if (std::string_view(first, 5) != "first") FAIL("damage went unseen");
  in.read(kTwo, {});
}

}  // namespace

TEST_CASE("checksums are those of their standards", "[core]") {
  CHECK(crc32c(bytes_of("123456789")) == 0xE3069283u);
  CHECK(crc32c({}) == 0);
  const std::vector<std::byte> zeros(32);
  CHECK(crc32c(zeros) == 0x8A9136AAu);  // RFC 3720, B.4
  CHECK(crc32c(bytes_of("456789"), crc32c(bytes_of("123"))) == crc32c(bytes_of("123456789")));
  CHECK(hex(sha256({})) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(hex(sha256(bytes_of("abc"))) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(hex(sha256(bytes_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"))) ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  const std::string million(1000000, 'a');
  Sha256 pieces;
  for (size_t at = 0, n = 1; at < million.size(); at += n, n = n % 200 + 1)
    pieces.add(bytes_of(std::string_view(million).substr(at, n)));
  CHECK(hex(pieces.finish()) == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("a sum of words finds each changed bit and byte of length", "[core]") {
  CHECK(checksum64({}) == 0x1ae07b2be7b805a7u);  // by another program, after the same rule
  CHECK(checksum64(bytes_of("abc")) == 0x6fad414619d1b057u);
  std::vector<std::byte> bytes(256);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i);
  CHECK(checksum64(bytes) == 0x7691fada0d0cfca3u);
  for (const size_t n : {size_t{1}, size_t{31}, size_t{32}, size_t{33}, size_t{256}}) {
    const std::span<std::byte> some = std::span(bytes).first(n);
    const uint64_t right = checksum64(some);
    for (size_t bit = 0; bit < 8 * n; ++bit) {
      some[bit / 8] ^= std::byte{1} << bit % 8;
      CHECK(checksum64(some) != right);
      some[bit / 8] ^= std::byte{1} << bit % 8;
    }
    CHECK(checksum64(some) == right);
    CHECK(checksum64(some.first(n - 1)) != right);
  }
  const std::vector<std::byte> zeros(64);
  CHECK(checksum64(zeros) != checksum64(std::span(zeros).first(63)));
}

TEST_CASE("records come back, and no damaged bit goes unseen", "[core]") {
  const std::string good = two_records();
  read_both(good);
  for (size_t n = 0; n < good.size(); ++n)
    CHECK(error_of([&] { read_both(good.substr(0, n)); }).code() == Code::corrupt);
  for (size_t bit = 0; bit < 8 * good.size(); ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
    CHECK(error_of([&] { read_both(bad); }).code() == Code::corrupt);
  }
  const std::string swapped = good.substr(21) + good.substr(0, 21);
  CHECK(error_of([&] { read_both(swapped); }).code() == Code::corrupt);
}

TEST_CASE("a record of a length that cannot be is not allocated", "[core]") {
  std::string huge = two_records();
  huge[15] = 0x7F;  // 2^62 bytes
  size_t at = 0;
  RecordReader in = reader_of(huge, at);
  const Error e = error_of([&] { in.read_up_to(kOne, 100); });
  CHECK(e.code() == Code::corrupt);
  CHECK(contains(e.what(), "at most 100"));
  CHECK(contains(e.where(), "ONE."));
}

TEST_CASE("fields past a record's end are zero, and it shows", "[core]") {
  FieldWriter out;
  out.add(int32_t{-7}).add(2.5);
  FieldReader in(out.bytes());
  CHECK(in.get<int32_t>() == -7);
  CHECK_FALSE(in.at_end());
  CHECK(in.get<double>() == 2.5);
  CHECK(in.at_end());
  CHECK(in.get<int64_t>() == 0);
  CHECK_FALSE(in.ok());
}
