// Hybrid families from folders: what config.json says wrongly is named.
#include <filesystem>
#include <fstream>
#include <sstream>

#include "formats/folder.h"
#include "models/architecture.h"
#include "quant/weight.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/paths.h"
#include "support/temp.h"

using namespace ingle;
using namespace ingle::tests;

namespace {

// The plan of a golden's folder with `from` replaced by `to` in its config.json.
backends::Plan plan_with(const std::string& family, const std::string& from, const std::string& to) {
  const TempDir dir;
  const std::string source = data_path("golden/arch/" + family), target = dir.path() + "/model";
  std::filesystem::create_directory(target);
  std::filesystem::copy_file(source + "/model.safetensors", target + "/model.safetensors");
  std::stringstream text;
  text << std::ifstream(source + "/config.json").rdbuf();
  std::string config = text.str();
  if (!from.empty()) {
    REQUIRE(config.find(from) != std::string::npos);
    config.replace(config.find(from), from.size(), to);
  }
  std::ofstream(target + "/config.json") << config;
  return models::build_plan(formats::open_folder(target, quant::dtype_table()), kv::StateType::f32);
}

void check_refused(const std::string& family, const std::string& from, const std::string& to, Code code,
                   std::initializer_list<const char*> names) {
  CAPTURE(family, from, to);
  const Error error = error_of([&] { plan_with(family, from, to); });
  INFO(error.what());
  CHECK(error.code() == code);
  for (const char* name : names) CHECK(std::string(error.what()).find(name) != std::string::npos);
}

}  // namespace

TEST_CASE("hybrids keep recurrent parts beside attention", "[models]") {
  const backends::Plan plan = plan_with("qwen3_5_text", "", "");
  int recurrent = 0, pages = 0;
  for (const kv::PartSpec& p : plan.parts) {
    recurrent += p.kind == kv::PartKind::recurrent;
    pages += p.kind == kv::PartKind::pages;
  }
  CHECK(recurrent == 2);  // of the delta net, and of the convolution before it
  CHECK(pages == 1);
}

TEST_CASE("what a hybrid's configuration says wrongly is named", "[models]") {
  check_refused("lfm2", "\"conv\"", "\"convolution\"", Code::unsupported, {"layer_types", "convolution"});
  check_refused("lfm2", "\"conv_L_cache\": 3", "\"conv_L_cache\": 1", Code::corrupt, {"conv_L_cache", "1"});
  check_refused("lfm2", "\"conv_L_cache\": 3", "\"conv_L_cache\": 4", Code::corrupt, {"conv.conv.weight"});
  check_refused("lfm2", "\"num_hidden_layers\": 3", "\"num_hidden_layers\": 4", Code::corrupt,
                {"layer_types", "4"});
  check_refused("qwen3_5_text", "\"linear_num_value_heads\": 4", "\"linear_num_value_heads\": 3",
                Code::corrupt, {"linear_num_value_heads", "3"});
  check_refused("mamba2", "\"n_groups\": 2", "\"n_groups\": 3", Code::corrupt, {"num_heads", "3"});
  check_refused("gemma4_text", "\"num_kv_shared_layers\": 2", "\"num_kv_shared_layers\": 5",
                Code::unsupported, {"num_kv_shared_layers"});
}
