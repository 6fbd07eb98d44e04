#include "core/memory.h"

#include <cstdint>
#include <cstdlib>
#include <limits>
#include <utility>

#include "core/error.h"
#include "support/catch.h"
#include "support/errors.h"

using namespace ingle;
using tests::error_of;

namespace {

struct Ledger {
  size_t live_bytes = 0;
  int allocations = 0, releases = 0;
};

Allocator counting(Ledger* ledger) {
  return {[](size_t bytes, size_t alignment, void* user) {
            auto* l = static_cast<Ledger*>(user);
            l->live_bytes += bytes;
            ++l->allocations;
            return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
          },
          [](void* memory, size_t bytes, void* user) {
            auto* l = static_cast<Ledger*>(user);
            l->live_bytes -= bytes;
            ++l->releases;
            std::free(memory);
          },
          ledger};
}

}  // namespace

TEST_CASE("a buffer is aligned and writable", "[core]") {
  for (const size_t bytes : {0, 1, 63, 64, 65, 100'000}) {
    Buffer buffer(bytes);
    CHECK(buffer.size() == bytes);
    CHECK(reinterpret_cast<uintptr_t>(buffer.data()) % Buffer::kAlignment == 0);
    buffer.fill_zero();
    for (size_t i = 0; i < bytes; ++i) {
      if (buffer.as<uint8_t>()[i] != 0) FAIL("byte " << i << " is not zero");
    }
  }
}

TEST_CASE("a buffer returns what it took, with the same size, once", "[core]") {
  Ledger ledger;
  {
    Buffer a(counting(&ledger), 100);
    Buffer b(std::move(a));
    CHECK(a.data() == nullptr);
    CHECK(a.size() == 0);
    CHECK(b.size() == 100);
    Buffer c;
    c = std::move(b);
    CHECK(c.size() == 100);
    CHECK(ledger.live_bytes == 100);
    Buffer d(counting(&ledger), 7);
    d = std::move(c);
    CHECK(d.size() == 100);
  }
  CHECK(ledger.live_bytes == 0);
  CHECK(ledger.allocations == 2);
  CHECK(ledger.releases == 2);
}

TEST_CASE("an allocator that has nothing left is an error", "[core]") {
  const Allocator broke = {[](size_t, size_t, void*) -> void* { return nullptr; },
                           [](void*, size_t, void*) { FAIL("nothing was allocated"); }};
  const Error e = error_of([&] { Buffer(broke, 12345); });
  CHECK(e.code() == Code::out_of_memory);
  CHECK(tests::contains(e.message(), "12345"));
}

TEST_CASE("a size that overflows when rounded is an error", "[core]") {
  const auto take = [](size_t bytes) { return error_of([&] { Buffer{bytes}; }).code(); };
  CHECK(take(std::numeric_limits<size_t>::max()) == Code::out_of_memory);
}
