// Experts and latent attention from files: what cannot be is named, and layers that predict further tokens
// are left out.
#include "formats/folder.h"
#include "models/edit.h"
#include "support/temp.h"

#include <fstream>

using namespace ingle;
using namespace ingle::tests;

namespace {

const char* const kQwen = "qwen2-q8_0.gguf";

// A golden's folder with other text in its config.json.
class EditedFolder {
 public:
  explicit EditedFolder(const std::string& name) : from_(data_path("golden/arch/" + name)) {
    std::filesystem::copy(from_ + "/model.safetensors", dir_.path() + "/model.safetensors");
    std::ifstream in(from_ + "/config.json");
    config_.assign(std::istreambuf_iterator<char>(in), {});
  }
  void replace(const std::string& what, const std::string& with) {
    const size_t at = config_.find(what);
    REQUIRE(at != config_.npos);
    config_.replace(at, what.size(), with);
  }
  backends::Plan plan() const {
    std::ofstream(dir_.path() + "/config.json") << config_;
    return models::build_plan(formats::open_folder(dir_.path(), quant::dtype_table()), kv::StateType::f32);
  }

 private:
  TempDir dir_;
  std::string from_, config_;
};

}  // namespace

TEST_CASE("layers that predict further tokens are left out", "[models][experts]") {
  EditedModel model(kQwen);
  const size_t all = model.plan().parts[0].n_layers;
  EditedModel fewer(kQwen);
  fewer.set("qwen2.nextn_predict_layers", uint64_t{1});
  CHECK(fewer.plan().parts[0].n_layers == static_cast<int64_t>(all) - 1);
  EditedModel none(kQwen);
  none.set("qwen2.nextn_predict_layers", uint64_t{2});
  CHECK(contains(error_of([&] { none.plan(); }).what(), "qwen2.nextn_predict_layers"));
}

TEST_CASE("numbers of experts that cannot be are named", "[models][experts]") {
  const auto refused = [](const std::string& name, const std::string& what, const std::string& with) {
    EditedFolder folder(name);
    folder.plan();
    folder.replace(what, with);
    return std::string(error_of([&] { folder.plan(); }).what());
  };
  CHECK(contains(refused("gpt_oss", "\"num_experts_per_tok\": 2", "\"num_experts_per_tok\": 5"),
                 "num_experts_per_tok"));
  CHECK(contains(refused("gpt_oss", "\"num_local_experts\": 4", "\"num_local_experts\": 0"),
                 "num_local_experts"));
  CHECK(contains(refused("gpt_oss", "\"num_local_experts\": 4", "\"num_local_experts\": 5"), "mlp.router"));
  CHECK(contains(refused("deepseek_v3", "\"n_group\": 4", "\"n_group\": 3"), "groups"));
  CHECK(contains(refused("deepseek_v3", "\"topk_group\": 2", "\"topk_group\": 5"), "topk_group"));
  CHECK(contains(refused("deepseek_v3", "\"qk_nope_head_dim\": 16", "\"qk_nope_head_dim\": 1000000"),
                 "q_b_proj"));
  CHECK(
      contains(refused("deepseek_v3", "\"kv_lora_rank\": 32", "\"kv_lora_rank\": 31"), "kv_a_proj_with_mqa"));
  CHECK(contains(refused("deepseek_v3", "\"qk_rope_head_dim\": 16", "\"qk_rope_head_dim\": 15"),
                 "qk_rope_head_dim"));
}

TEST_CASE("experts of stacked and transposed tensors are slices", "[models][experts]") {
  const backends::Plan plan = EditedFolder("gpt_oss").plan();
  for (const Op& op : plan.ops) {
    const auto* moe = std::get_if<op::Moe>(&op);
    if (!moe) continue;
    for (int32_t e = 0; e < moe->gate.count; ++e) {
      const backends::PlanWeight& gate = plan.weights[static_cast<size_t>(moe->gate.weight + e)];
      const backends::PlanWeight& up = plan.weights[static_cast<size_t>(moe->up.weight + e)];
      CHECK(gate.tensor == up.tensor);
      CHECK((gate.transposed && up.transposed));
      CHECK(gate.first_row == int64_t{e} * gate.cols);
      CHECK(gate.source_row(3) == 6);
      CHECK(up.source_row(3) == 7);
    }
  }
}
