#include "core/format.h"

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "support/catch.h"

using ingle::format;

TEST_CASE("format writes each kind of argument", "[core]") {
  CHECK(format("plain") == "plain");
  CHECK(format("{}", true) == "true");
  CHECK(format("{} {}", -7, 7u) == "-7 7");
  CHECK(format("{}", std::numeric_limits<int64_t>::min()) == "-9223372036854775808");
  CHECK(format("{}", std::numeric_limits<uint64_t>::max()) == "18446744073709551615");
  CHECK(format("{} {}", 0.5, 0.25F) == "0.5 0.25");
  CHECK(format("{:.2f}", 1.0 / 3) == "0.33");
  CHECK(format("{:#x}", uint8_t{255}) == "0xff");
  CHECK(format("{:>4}|{:<4}|", 1, 2) == "   1|2   |");
  CHECK(format("{1} {0}", "a", "b") == "b a");
  CHECK(format("{{}}") == "{}");
}

TEST_CASE("format takes every kind of text", "[core]") {
  const std::string owned = "owned";
  const char* null = nullptr;
  CHECK(format("{} {} {} {}", owned, std::string_view("view"), "literal", null) ==
        "owned view literal (null)");
  CHECK(format("{}", std::string_view("a\0b", 3)) == std::string("a\0b", 3));
}

TEST_CASE("a bad pattern comes back as it is", "[core]") {
  CHECK(format("{} {}", 1) == "{} {}");
  CHECK(format("{", 1) == "{");
  CHECK(format("{:d}", "text") == "{:d}");
}
