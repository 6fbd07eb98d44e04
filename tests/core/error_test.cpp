#include "core/error.h"

#include <string>

#include "support/catch.h"
#include "support/errors.h"

using namespace ingle;
using tests::error_of;

TEST_CASE("an error carries its code, place, message and hint", "[core]") {
  const Error e =
      error_of([] { fail(Code::corrupt, "model.gguf", "magic is 0, expected GGUF", "fetch it again"); });
  CHECK(e.code() == Code::corrupt);
  CHECK(e.where() == "model.gguf");
  CHECK(e.message() == "magic is 0, expected GGUF");
  CHECK(e.hint() == "fetch it again");
  CHECK(std::string(e.what()) == "model.gguf: magic is 0, expected GGUF (fetch it again)");
}

TEST_CASE("an error's texts are bounded, whatever they quote, and cut between characters", "[core]") {
  for (size_t shift = 0; shift < 3; ++shift) {
    std::string name(shift, 'x');
    for (int i = 0; i < 100000; ++i) name += "\u20AC";
    const Error e = error_of([&] { fail(Code::corrupt, name, name + "!", name); });
    for (const std::string* text : {&e.where(), &e.message(), &e.hint()}) {
      CHECK(text->size() < 2200);
      const size_t gap = text->find(" \u2026 ");
      REQUIRE(gap != std::string::npos);
      CHECK((gap - shift) % 3 == 0);
      CHECK(text->find("bytes \u2026 \u20AC") != std::string::npos);
    }
    CHECK(e.message().back() == '!');
  }
}

TEST_CASE("an error without place or hint reads as its message", "[core]") {
  CHECK(std::string(Error(Code::io, "", "broken").what()) == "broken");
  CHECK(std::string(Error(Code::io, "f", "broken").what()) == "f: broken");
}

TEST_CASE("every code has a name and a pinned number", "[core]") {
  const struct {
    Code code;
    int number;
  } rows[] = {{Code::ok, 0},
              {Code::invalid_argument, 1},
              {Code::not_found, 2},
              {Code::io, 3},
              {Code::corrupt, 4},
              {Code::unsupported, 5},
              {Code::out_of_memory, 6},
              {Code::context_full, 7},
              {Code::cancelled, 8},
              {Code::busy, 9},
              {Code::numeric, 10},
              {Code::internal, 11}};
  for (const auto& row : rows) {
    CHECK(static_cast<int>(row.code) == row.number);
    CHECK(std::string(code_name(row.code)) != "unknown");
  }
  CHECK(std::string(code_name(static_cast<Code>(999))) == "unknown");
}
