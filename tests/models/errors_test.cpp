// What a file lacks, has too much of, or says that cannot be: each an error that names it.
#include <cmath>
#include <functional>
#include <limits>

#include "models/edit.h"

using namespace ingle;
using namespace ingle::tests;

namespace {

using Ints = std::vector<uint64_t>;

struct Case {
  std::string label;
  std::function<void(EditedModel&)> edit;
  Code code;
  std::vector<std::string> names;  // what the error has to say
};

void check_refused(const std::string& file, const Case& c) {
  CAPTURE(file, c.label);
  EditedModel model(file);
  c.edit(model);
  const Error error = error_of([&] { model.plan(); });
  INFO("error: " << error.what());
  CHECK(error.code() == c.code);
  for (const std::string& name : c.names) {
    CAPTURE(name);
    CHECK(contains(error.what(), name));
  }
  CHECK(contains(error.where(), "edited.gguf"));
}

// A key of architecture qwen2 with a value that cannot be.
Case key(const std::string& name, formats::MetaValue value, std::vector<std::string> also = {},
         Code code = Code::corrupt) {
  also.push_back("qwen2." + name);
  return {name, [=](EditedModel& m) { m.set("qwen2." + name, value); }, code, also};
}
Case no_key(const std::string& name) {
  return {"no " + name, [=](EditedModel& m) { m.drop(name); }, Code::corrupt, {name, "missing"}};
}

constexpr const char* kQwen = "qwen2-q8_0.gguf";
constexpr const char* kLlama = "llama3/model-q8_0.gguf";
constexpr const char* kGemma = "gemma3_text/model-q8_0.gguf";

}  // namespace

TEST_CASE("tensors that are missing, unused or of another shape are named", "[models]") {
  const std::vector<Case> cases = {
      {"missing matrix",
       [](EditedModel& m) { m.drop_tensor("blk.1.ffn_up.weight"); },
       Code::corrupt,
       {"'blk.1.ffn_up.weight' is missing"}},
      {"missing bias",
       [](EditedModel& m) { m.drop_tensor("blk.0.attn_k.bias"); },
       Code::corrupt,
       {"'blk.0.attn_k.bias' is missing"}},
      {"missing norm",
       [](EditedModel& m) { m.drop_tensor("output_norm.weight"); },
       Code::corrupt,
       {"'output_norm.weight' is missing"}},
      {"missing embedding",
       [](EditedModel& m) { m.drop_tensor("token_embd.weight"); },
       Code::corrupt,
       {"'token_embd.weight' is missing"}},
      {"unused tensor",
       [](EditedModel& m) {
         m.add_tensor("blk.0.attn_gate.weight", {2}, {1, 2});
       },
       Code::unsupported,
       {"1 tensors", "blk.0.attn_gate.weight"}},
      {"a layer less than there is",
       [](EditedModel& m) { m.set("qwen2.block_count", uint64_t{1}); },
       Code::unsupported,
       {"blk.1.attn_"}},
      {"a layer more than there is",
       [](EditedModel& m) { m.set("qwen2.block_count", uint64_t{3}); },
       Code::corrupt,
       {"'blk.2.attn_norm.weight' is missing"}},
      {"another width",
       [](EditedModel& m) { m.set("qwen2.embedding_length", uint64_t{64}); },
       Code::corrupt,
       {"token_embd.weight", "[320, 32]", "[320, 64]"}},
      {"another feed-forward width",
       [](EditedModel& m) { m.set("qwen2.feed_forward_length", uint64_t{96}); },
       Code::corrupt,
       {"blk.0.ffn_gate.weight", "[64, 32]", "[96, 32]"}},
      {"a head of another size",
       [](EditedModel& m) {
         const size_t i = m.index_of("output.weight");
         m.tensors[i].shape = {m.tensors[i].shape[0] / 2, 32};
         m.bytes[i].resize(m.bytes[i].size() / 2);
       },
       Code::corrupt,
       {"output.weight", "[160, 32]", "[320, 32]"}},
      {"a vector of another length",
       [](EditedModel& m) {
         m.drop_tensor("output_norm.weight");
         m.add_tensor("output_norm.weight", {31}, std::vector<float>(31));
       },
       Code::corrupt,
       {"output_norm.weight", "[31]", "[32]"}},
      {"three dimensions",
       [](EditedModel& m) {
         m.tensors[m.index_of("blk.0.ffn_gate.weight")].shape = {2, 32, 32};
       },
       Code::corrupt,
       {"blk.0.ffn_gate.weight", "[2, 32, 32]"}},
  };
  for (const Case& c : cases) check_refused(kQwen, c);
}

TEST_CASE("keys that are missing are named", "[models]") {
  for (const char* name : {"general.architecture", "qwen2.block_count", "qwen2.embedding_length",
                           "qwen2.feed_forward_length", "qwen2.context_length", "qwen2.attention.head_count",
                           "qwen2.attention.layer_norm_rms_epsilon", "qwen2.rope.freq_base"})
    check_refused(kQwen, no_key(name));
  check_refused(kGemma, no_key("gemma3.attention.sliding_window"));
}

TEST_CASE("configurations that cannot be are refused", "[models]") {
  const std::vector<Case> cases = {
      key("attention.head_count", uint64_t{0}, {"is 0"}),
      key("attention.head_count", int64_t{-2}, {"is -2"}),
      key("attention.head_count", uint64_t{65537}, {"is 65537"}),
      key("attention.head_count", uint64_t{1} << 62),
      key("attention.head_count", std::string("two")),
      key("attention.head_count", Ints{2, 2}),
      key("attention.head_count_kv", uint64_t{0}, {"is 0"}),
      key("attention.head_count_kv", uint64_t{3}),
      key("attention.head_count_kv", int64_t{-1}),
      key("attention.head_count_kv", Ints{1, 2}, {}, Code::unsupported),
      key("attention.head_count_kv", Ints{}, {}, Code::unsupported),
      key("attention.head_count_kv", Ints{uint64_t{1} << 63, uint64_t{1} << 63}),
      key("attention.key_length", uint64_t{0}),
      key("attention.key_length", uint64_t{1} << 40),
      key("attention.value_length", int64_t{-16}),
      key("rope.dimension_count", uint64_t{15}, {"even"}),
      key("rope.dimension_count", uint64_t{18}),
      key("block_count", uint64_t{0}),
      key("block_count", uint64_t{1} << 40),
      key("embedding_length", int64_t{-32}),
      key("embedding_length", uint64_t{1} << 50),
      key("context_length", uint64_t{0}),
      key("attention.sliding_window", int64_t{-4}, {"is -4"}),
      key("attention.sliding_window", uint64_t{1} << 40),
      key("attention.layer_norm_rms_epsilon", 0.0, {"is 0"}),
      key("attention.layer_norm_rms_epsilon", -1e-5),
      key("attention.layer_norm_rms_epsilon", std::nan("")),
      key("rope.freq_base", 0.0, {"is 0"}),
      key("rope.freq_base", -1.0),
      key("rope.freq_base", std::numeric_limits<double>::infinity()),
      key("rope.scaling.type", std::string("ntk"), {"ntk"}, Code::unsupported),
      key("rope.scaling.type", std::string("longrope"), {"longrope"}, Code::unsupported),
      key("rope.scaling.factor", 0.0, {"is 0"}),
      key("rope.scaling.factor", -2.0),
      key("rope.scale_linear", 2.0, {}, Code::unsupported),
  };
  for (const Case& c : cases) check_refused(kQwen, c);
  check_refused(kQwen, {"unknown architecture",
                        [](EditedModel& m) { m.set("general.architecture", std::string("qwen99")); },
                        Code::unsupported,
                        {"'qwen99' is not known", "llama", "gemma3"}});
  check_refused(kQwen, {"linear scaling without its factor",
                        [](EditedModel& m) { m.set("qwen2.rope.scaling.type", std::string("linear")); },
                        Code::corrupt,
                        {"qwen2.rope.scaling.factor"}});
  check_refused(
      kQwen,
      {"more heads than values",
       [](EditedModel& m) {
         m.set("qwen2.attention.head_count", uint64_t{64});
         for (const char* name : {"attention.key_length", "attention.value_length", "rope.dimension_count"})
           std::erase_if(m.meta, [&](const auto& k) { return k.first == std::string("qwen2.") + name; });
       },
       Code::corrupt,
       {"qwen2.attention.head_count"}});
  check_refused(kGemma, {"base of the sliding layers",
                         [](EditedModel& m) { m.set("gemma3.rope.freq_base_swa", 0.0); },
                         Code::corrupt,
                         {"gemma3.rope.freq_base_swa", "is 0"}});
  check_refused(kGemma, {"softcap",
                         [](EditedModel& m) { m.set("gemma3.final_logit_softcapping", -30.0); },
                         Code::corrupt,
                         {"gemma3.final_logit_softcapping", "is -30"}});
  check_refused(kLlama, {"frequency factor of zero",
                         [](EditedModel& m) {
                           m.drop_tensor("rope_freqs.weight");
                           m.add_tensor("rope_freqs.weight", {8}, {1, 1, 1, 0, 1, 1, 1, 1});
                         },
                         Code::corrupt,
                         {"rope_freqs.weight", "factor is 0"}});
}
