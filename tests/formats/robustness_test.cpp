// Damage without a plan: every truncation, every flipped bit, every failing read and every failing allocation
// ends in an Error or in a checkpoint that can be read, never in anything else.
#include <cstdlib>
#include <functional>
#include <new>

#include "formats/gguf.h"
#include "formats/safetensors.h"
#include "gguf_builder.h"
#include "support.h"

using namespace ingle;
using namespace ingle::formats;
using namespace ingle::formats::test;

namespace {
thread_local int64_t allocations_left = -1;  // negative: no limit

void* allocate(size_t bytes) {
  if (allocations_left == 0) throw std::bad_alloc();
  if (allocations_left > 0) --allocations_left;
  if (void* memory = std::malloc(bytes ? bytes : 1)) return memory;
  throw std::bad_alloc();
}
}  // namespace

void* operator new(size_t bytes) { return allocate(bytes); }
void* operator new[](size_t bytes) { return allocate(bytes); }
// The nothrow forms too: they must pair with the deletes below.
void* operator new(size_t bytes, const std::nothrow_t&) noexcept { return std::malloc(bytes ? bytes : 1); }
void* operator new[](size_t bytes, const std::nothrow_t&) noexcept { return std::malloc(bytes ? bytes : 1); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }

namespace {

using Opener = std::function<CheckpointPtr(ByteSourcePtr)>;

CheckpointPtr gguf(ByteSourcePtr source) { return open_gguf({std::move(source)}, types()); }
CheckpointPtr safetensors(ByteSourcePtr source) { return open_safetensors(std::move(source), types()); }

// True when it loads; then all of it can be read. False for an Error; anything else fails the test.
bool loads(const Opener& open, ByteSourcePtr source) {
  try {
    const CheckpointPtr file = open(std::move(source));
    std::vector<std::byte> scratch;
    for (const TensorInfo& tensor : file->tensors()) {
      const TensorView view = file->view(tensor, scratch);
      volatile std::byte last{};
      if (view.bytes) last = view.data[view.bytes - 1];
      (void)last;
      if (file->find(tensor.name) != &tensor) throw std::logic_error("find() gives another tensor");
    }
    for (const std::string& key : file->meta_keys()) {
      if (!file->meta(key)) throw std::logic_error("a listed key is not there");
    }
    return true;
  } catch (const Error& error) {
    if (error.code() != Code::corrupt && error.code() != Code::unsupported) throw;
    if (error.message().empty()) throw std::logic_error("an error that says nothing");
    return false;
  }
}

struct Minimal {
  const char* name;
  Opener open;
  std::string bytes;
  size_t header_bytes;
};

std::vector<Minimal> minimal_files() {
  GgufFile vocabulary = small_gguf();
  vocabulary.tensors.clear();
  vocabulary.data.clear();
  vocabulary.keys.push_back({"tokens", 9, le(8u) + le<uint64_t>(2) + gguf_string("a") + gguf_string("bc")});
  const std::string st =
      R"({"__metadata__":{"format":"pt"},"b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  return {{"gguf", gguf, small_gguf().bytes(), small_gguf().header().size()},
          {"gguf vocabulary", gguf, vocabulary.header(), vocabulary.header().size()},
          {"gguf golden", gguf, read_file(data_path("container_v3.gguf")), 0x340},
          {"safetensors", safetensors, le<uint64_t>(st.size()) + st + std::string(8, 'x'), 8 + st.size()}};
}

}  // namespace

TEST_CASE("every truncation is refused", "[robustness]") {
  for (const Minimal& file : minimal_files()) {
    REQUIRE(loads(file.open, in_memory(file.bytes)));
    for (size_t n = 0; n < file.bytes.size(); ++n) {
      const std::string cut(file.bytes, 0, n);
      if (loads(file.open, in_memory(cut))) {
        // Only padding after the last tensor may go.
        INFO(file.name << " cut to " << n);
        CHECK(file.bytes.size() - n < 32);
        CHECK(file.bytes.find_first_not_of('\0', n) == std::string::npos);
      }
      if (n % 7 == 0) CHECK(loads(file.open, behind_reader(cut)) == loads(file.open, in_memory(cut)));
    }
  }
}

TEST_CASE("every flipped header bit is refused or loads", "[robustness]") {
  for (const Minimal& file : minimal_files()) {
    size_t refused = 0;
    for (size_t bit = 0; bit < file.header_bytes * 8; ++bit) {
      std::string flipped = file.bytes;
      flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
      if (!loads(file.open, in_memory(flipped))) ++refused;
    }
    INFO(file.name);
    CHECK(refused > file.header_bytes);  // far from all: names and values have no wrong bits
  }
}

TEST_CASE("a read that fails, whichever it is, is an input error", "[robustness]") {
  for (const Minimal& file : minimal_files()) {
    for (int fails_at = 0;; ++fails_at) {
      int reads = 0;
      const auto source =
          from_reader("remote", file.bytes.size(), [&](uint64_t offset, std::span<std::byte> out) {
            std::memcpy(out.data(), file.bytes.data() + offset, out.size());
            return reads++ != fails_at;
          });
      const Error error = tests::error_of([&] { file.open(source); });
      if (reads <= fails_at) break;  // fewer reads than that: it loaded
      INFO(file.name << ", read " << fails_at);
      CHECK(error.code() == Code::io);
      CHECK(tests::contains(error.what(), "remote"));
    }
  }
}

TEST_CASE("an allocation that fails, whichever it is, leaks nothing and leaves by exception",
          "[robustness]") {
  for (const Minimal& file : minimal_files()) {
    bool loaded = false;
    int64_t n = 0;
    for (; !loaded && n < 100000; ++n) {
      const ByteSourcePtr source = in_memory(file.bytes);
      allocations_left = n;
      try {
        const CheckpointPtr checkpoint = file.open(source);
        loaded = checkpoint != nullptr;
      } catch (const std::bad_alloc&) {
      }
      allocations_left = -1;
    }
    INFO(file.name << " after " << n);
    CHECK(loaded);
    CHECK(n > 5);
  }
}
