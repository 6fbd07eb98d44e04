// What a folder's configuration says that cannot be, lacks, or is not understood: each an error that names
// it.
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

std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

// The plan of a folder of the goldens in whose config.json `from` was replaced by `to`.
backends::Plan edited(const std::string& family, const std::string& from, const std::string& to) {
  const std::string folder = data_path("golden/arch/" + family);
  TempDir dir;
  std::string config = text_of(folder + "/config.json");
  const size_t at = config.find(from);
  if (at == config.npos) throw std::runtime_error("no " + from + " in " + folder);
  config.replace(at, from.size(), to);
  dir.write("config.json", config);
  dir.write("model.safetensors", text_of(folder + "/model.safetensors"));
  return models::build_plan(formats::open_folder(dir.path(), quant::dtype_table(), {.map = false}),
                            kv::StateType::f32);
}

struct Case {
  const char *family, *from, *to;
  Code code;
  std::vector<std::string> names;
};

}  // namespace

TEST_CASE("what is wrong with a folder's configuration is named", "[models]") {
  const std::vector<Case> cases = {
      {"llama_rope_yarn",
       R"("model_type": "llama")",
       R"("model_type": "elsewhere")",
       Code::unsupported,
       {"'elsewhere'", "model_type", "qwen2"}},
      {"llama_rope_yarn", R"("model_type": "llama")", R"("model_type": 7)", Code::corrupt, {"model_type"}},
      {"llama_rope_yarn",
       R"("rope_type": "yarn")",
       R"("rope_type": "spiral")",
       Code::unsupported,
       {"'spiral'", "rope_parameters.rope_type"}},
      {"llama_rope_yarn",
       R"("factor": 4.0)",
       R"("factor": -4.0)",
       Code::corrupt,
       {"rope_parameters.factor", "-4"}},
      {"llama_rope_yarn", R"("factor": 4.0,)", "", Code::corrupt, {"factor", "missing"}},
      {"llama_rope_yarn", R"("rope_theta": 10000.0,)", "", Code::corrupt, {"rope_theta"}},
      {"llama_rope_yarn",
       R"("num_hidden_layers": 2)",
       R"("num_hidden_layers": 3)",
       Code::corrupt,
       {"model.layers.2.input_layernorm.weight", "missing"}},
      {"llama_rope_yarn",
       R"("num_hidden_layers": 2)",
       R"("num_hidden_layers": 1)",
       Code::unsupported,
       {"model.layers.1."}},
      {"llama_rope_yarn",
       R"("num_hidden_layers": 2)",
       R"("num_hidden_layers": -2)",
       Code::corrupt,
       {"num_hidden_layers", "-2"}},
      {"llama_rope_yarn",
       R"("intermediate_size": 64)",
       R"("intermediate_size": 65)",
       Code::corrupt,
       {"mlp.gate_proj.weight", "[64, 32]", "[65, 32]"}},
      {"llama_rope_yarn",
       R"("attention_bias": false)",
       R"("attention_bias": true)",
       Code::corrupt,
       {"self_attn.q_proj.bias", "missing"}},
      {"llama_rope_yarn", R"("head_dim": 16)", R"("head_dim": 15)", Code::corrupt, {"15", "even"}},
      {"llama_rope_yarn",
       R"("num_key_value_heads": 1)",
       R"("num_key_value_heads": 3)",
       Code::corrupt,
       {"num_key_value_heads", "3"}},
      {"phi3_longrope_long",
       R"("long_factor": [)",
       R"("long_factor": [ 1.0,)",
       Code::corrupt,
       {"long_factor", "8 numbers"}},
      {"ministral",
       R"("full_attention")",
       R"("chunked_attention")",
       Code::unsupported,
       {"layer_types", "chunked_attention"}},
      {"gpt_neo", R"("gelu_new")", R"("mystery")", Code::unsupported, {"activation_function", "'mystery'"}},
      {"bloom",
       R"("apply_residual_connection_post_layernorm": false)",
       R"("apply_residual_connection_post_layernorm": true)",
       Code::unsupported,
       {"apply_residual_connection_post_layernorm"}},
  };
  for (const Case& c : cases) {
    CAPTURE(c.family, c.from, c.to);
    const Error error = error_of([&] { edited(c.family, c.from, c.to); });
    INFO("error: " << error.what());
    CHECK(error.code() == c.code);
    for (const std::string& name : c.names) {
      CAPTURE(name);
      CHECK(contains(error.what(), name));
    }
  }
}

TEST_CASE("a head that is tied has its own copy left out, one that is not must be there", "[models]") {
  const backends::Plan own =
      edited("llama_rope_yarn", R"("tie_word_embeddings": false)", R"("tie_word_embeddings": false)");
  const backends::Plan tied =
      edited("llama_rope_yarn", R"("tie_word_embeddings": false)", R"("tie_word_embeddings": true)");
  CHECK(own.weights.size() == tied.weights.size() + 1);
  const Error error = error_of(
      [&] { edited("vaultgemma", R"("tie_word_embeddings": true)", R"("tie_word_embeddings": false)"); });
  CHECK(contains(error.what(), "lm_head.weight"));
}

TEST_CASE("what is special in a family stands in its plan", "[models]") {
  const auto plan_of = [](const std::string& family) {
    return edited(family, "\"model_type\"", "\"model_type\"");
  };
  CHECK(plan_of("gpt_neo").n_positions == 128);
  CHECK(plan_of("opt").n_positions == 128);  // the table has two more rows, which come first
  CHECK(plan_of("bloom").n_positions == 0);
  CHECK(plan_of("llama_rope_dynamic").n_context == 64);  // 32, times the factor
  const backends::Plan dynamic = plan_of("llama_rope_dynamic");
  REQUIRE(dynamic.rotations.size() == 1);
  CHECK(dynamic.rotations[0].trained == 32);
  CHECK(dynamic.rotations[0].ntk_factor == 2);
  const backends::Plan longer = plan_of("phi3_longrope_long");
  CHECK(longer.rotations[0].trained == 32);
  CHECK(longer.rotations[0].when_long.size() == longer.rotations[0].inverse_frequency.size());
  CHECK(plan_of("nanochat").rotations[0].inverse_frequency[0] == -1);
  CHECK(plan_of("ministral").parts.size() == 2);
}
