// Codes and scales that a checkpoint holds apart, against what their references decode them to.
#include "quant/joined.h"

#include <filesystem>

#include "formats/folder.h"
#include "quant/weight.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/paths.h"
#include "support/temp.h"

using namespace ingle;
using namespace ingle::quant;

namespace {

// A folder with one of the references in tests/data/quant/joined as its weights.
formats::CheckpointPtr open_reference(const tests::TempDir& dir, const std::string& name,
                                      const std::string& config = "{}") {
  dir.write("config.json", config);
  std::filesystem::copy_file(tests::data_path("quant/joined/" + name + ".safetensors"),
                             dir.path() + "/model.safetensors");
  return formats::open_folder(dir.path(), dtype_table());
}

std::vector<float> decoded(const formats::Checkpoint& file, const std::string& name, Shape* shape = nullptr) {
  const formats::TensorInfo* info = file.find(name);
  REQUIRE(info);
  std::vector<std::byte> scratch;
  const QuantWeight w = block_weight(file.view(*info, scratch), name);
  std::vector<float> out(static_cast<size_t>(info->shape.elements()));
  w.format->decode_rows(w, 0, info->shape.rows(), out.data());
  if (shape) *shape = info->shape;
  return out;
}

}  // namespace

TEST_CASE("FP8 weights come with their scales", "[joined]") {
  for (const std::string name : {"fp8_block_ragged", "fp8_block_ue8m0", "fp8_block_deepseek_8x64",
                                 "ct_fp8_static_tensor", "ct_fp8_dynamic_channel", "ct_fp8_block128"}) {
    CAPTURE(name);
    const tests::TempDir dir;
    const std::string blocks =
        name.ends_with("8x64") ? R"({"quantization_config": {"weight_block_size": [8, 64]}})" : "{}";
    // The ragged reference has its own block size, which its shapes tell.
    const std::string config =
        name.ends_with("ragged") ? R"({"quantization_config": {"weight_block_size": [64, 64]}})" : blocks;
    const auto stored = open_reference(dir, name, config);
    const auto file = join_scales(stored);
    CHECK(file != stored);
    CHECK(file->tensors().size() == 2);  // "weight" and "expected"
    CHECK(file->find("weight")->type == DType::f32);
    CHECK(decoded(*file, "weight") == decoded(*file, "expected"));
  }
}

TEST_CASE("the experts of gpt-oss come as MXFP4", "[joined]") {
  const tests::TempDir dir;
  const auto file = join_scales(open_reference(dir, "mxfp4_gpt_oss"));
  Shape shape;
  const std::vector<float> got = decoded(*file, "gate_up_proj", &shape), turned = decoded(*file, "expected");
  CHECK(shape == Shape{2, 16, 128});
  CHECK(file->find("gate_up_proj")->type == find_format("mxfp4")->dtype.type);
  CHECK(file->find("gate_up_proj_blocks") == nullptr);
  CHECK(file->find("gate_up_proj_scales") == nullptr);
  // The reference is [expert, in, out].
  int wrong = 0;
  for (size_t e = 0; e < 2; ++e)
    for (size_t o = 0; o < 16; ++o)
      for (size_t i = 0; i < 128; ++i) wrong += got[(e * 16 + o) * 128 + i] != turned[(e * 128 + i) * 16 + o];
  CHECK(wrong == 0);
}

TEST_CASE("scales that do not fit their codes are an error", "[joined]") {
  const tests::TempDir dir;
  const auto file = open_reference(dir, "fp8_block_deepseek_8x64",
                                   R"({"quantization_config": {"weight_block_size": [16, 64]}})");
  const Error error = tests::error_of([&] { join_scales(file); });
  CHECK(error.code() == Code::corrupt);
  CHECK(tests::contains(error.what(), "weight_scale_inv"));
}

TEST_CASE("a checkpoint without scales stays what it is", "[joined]") {
  const tests::TempDir dir;
  dir.write("config.json", "{}");
  const auto file = formats::open_folder(dir.path(), dtype_table());
  CHECK(join_scales(file) == file);
}
