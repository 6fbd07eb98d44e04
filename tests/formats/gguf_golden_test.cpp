// Files written by the reference writer (gguf-py), read back.
#include "formats/gguf.h"
#include "formats/safetensors.h"
#include "support.h"

using namespace ingle;
using namespace ingle::formats;
using namespace ingle::formats::test;

TEST_CASE("container goldens load with every scalar and array type", "[gguf]") {
  for (const char* name : {"container_v2.gguf", "container_v3.gguf", "container_v3_align128.gguf"}) {
    INFO(name);
    const CheckpointPtr file = open_gguf(data_path(name), types());
    CHECK(file->naming() == Naming::gguf);
    CHECK(file->need_string("general.architecture") == "llama");
    CHECK(file->need_int("llama.block_count") == 1);
    CHECK(file->need_int("llama.context_length") == 128);
    CHECK(file->need_int("t.u8") == 200);
    CHECK(file->need_int("t.i8") == -5);
    CHECK(file->need_int("t.u16") == 65000);
    CHECK(file->need_int("t.i16") == -300);
    CHECK(file->need_int("t.u32") == 4000000000);
    CHECK(file->need_int("t.i32") == -70000);
    CHECK(file->need_float("t.f32") == 1.5);
    CHECK(std::get<uint64_t>(*file->meta("t.u64")) == 0x8000000000000005u);
    CHECK(file->need_int("t.i64") == -(int64_t{1} << 40));
    CHECK(file->need_float("t.f64") == 0.1);
    CHECK(file->find_bool("t.bool") == true);
    CHECK(file->need_string("t.str") == "h\xc3\xa9llo");
    CHECK(*file->find_strings("t.arr.str") == std::vector<std::string>{"a", "", "ccc"});
    CHECK(*file->find_ints("t.arr.i32") == std::vector<int64_t>{1, -2, 3});
    CHECK(*file->find_floats("t.arr.f32") == std::vector<double>{0.5, -1.25});
    CHECK(file->meta("t.absent") == nullptr);
    CHECK(file->find("absent") == nullptr);
  }
}

TEST_CASE("container goldens hold the reference's bytes", "[gguf]") {
  const CheckpointPtr expected = open_safetensors(data_path("container_gguf_expected.safetensors"), types());
  const std::pair<const char*, const char*> pairs[] = {{"token_embd.weight", "token_embd.weight"},
                                                       {"blk.0.attn_q.weight", "blk.0.attn_q.weight.packed"},
                                                       {"blk.0.attn_k.weight", "blk.0.attn_k.weight.packed"},
                                                       {"blk.0.ffn_up.weight", "blk.0.ffn_up.weight.packed"}};
  for (const char* name : {"container_v2.gguf", "container_v3.gguf", "container_v3_align128.gguf"}) {
    for (const bool map : {true, false}) {
      const CheckpointPtr file = open_gguf(data_path(name), types(), map);
      for (const auto& [tensor, packed] : pairs) {
        INFO(name << " " << tensor << " mapped " << map);
        CHECK(bytes_in(*file, tensor) == bytes_in(*expected, packed));
      }
    }
  }
  const CheckpointPtr file = open_gguf(data_path("container_v3.gguf"), types());
  REQUIRE(file->tensors().size() == 5);
  CHECK(file->tensors()[0].name == "output_norm.weight");
  CHECK(file->tensors()[0].shape == Shape{64});
  CHECK(file->find("token_embd.weight")->shape == Shape{6, 64});
  CHECK(file->find("token_embd.weight")->type == DType::f16);
  CHECK(file->find("blk.0.attn_q.weight")->type == kQ4_0);
  CHECK(file->find("blk.0.ffn_up.weight")->shape == Shape{5, 256});
}

TEST_CASE("a big-endian file is refused as what it is", "[gguf]") {
  check_refused([] { open_gguf(data_path("container_v3_bigendian.gguf"), types()); }, Code::unsupported,
                {"container_v3_bigendian.gguf", "big-endian"});
}

TEST_CASE("the first part of a split checkpoint opens the others", "[gguf][split]") {
  for (const bool map : {true, false}) {
    const CheckpointPtr whole = open_gguf(data_path("split-00001-of-00002.gguf"), types(), map);
    CHECK(whole->tensors().size() == static_cast<size_t>(whole->need_int("split.tensors.count")));
    CHECK(whole->need_string("general.architecture") == "llama");
    CHECK(whole->find("token_embd.weight") != nullptr);
    bool from_second = false;
    for (const TensorInfo& tensor : whole->tensors()) {
      from_second |= tensor.source == 1;
      std::vector<std::byte> scratch;
      CHECK(whole->view(tensor, scratch).bytes == tensor.bytes);
      whole->forget(tensor);
    }
    CHECK(from_second);
  }
}

TEST_CASE("another part of a split checkpoint names the first", "[gguf][split]") {
  check_refused([] { open_gguf(data_path("split-00002-of-00002.gguf"), types()); }, Code::invalid_argument,
                {"part 2 of 2", "split-00001-of-00002.gguf"});
}
