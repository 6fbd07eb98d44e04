// A model's folder: what is read of it, and each thing that can be wrong with one.
#include "formats/folder.h"

#include "formats/json_flat.h"
#include "gguf_builder.h"
#include "support.h"

using namespace ingle;
using namespace ingle::formats;
using namespace ingle::formats::test;

namespace {

// A safetensors file of F32 tensors with one value each.
std::string weights(const std::vector<std::string>& names) {
  std::string header = "{", data;
  for (const std::string& name : names) {
    header += (data.empty() ? "\"" : ",\"") + name + R"(":{"dtype":"F32","shape":[1],"data_offsets":[)" +
              std::to_string(data.size()) + "," + std::to_string(data.size() + 4) + "]}";
    data += le<float>(static_cast<float>(data.size()));
  }
  header += "}";
  return le<uint64_t>(header.size()) + header + data;
}

struct Made {
  tests::TempDir dir;
  void write(const std::string& name, const std::string& text) const { dir.write(name, text); }
  CheckpointPtr open(const FolderOptions& options = {}) const {
    return open_folder(dir.path(), types(), options);
  }
};

// Two shards: a and b, c.
void write_sharded(const Made& m) {
  m.write("config.json", R"({"model_type": "made"})");
  m.write("model-1.safetensors", weights({"a"}));
  m.write("model-2.safetensors", weights({"b", "c"}));
  m.write("model.safetensors.index.json",
          R"({"metadata": {"total_size": 12}, "weight_map": {"a": "model-1.safetensors",)"
          R"( "b": "model-2.safetensors", "c": "model-2.safetensors"}})");
}

std::string index_of(const std::string& entries) { return R"({"weight_map": {)" + entries + "}}"; }

}  // namespace

TEST_CASE("a folder with one file of weights loads", "[folder]") {
  for (const bool map : {true, false}) {
    Made m;
    m.write("config.json",
            R"({"model_type": "made", "rope": {"theta": 1e4, "kinds": ["a", "b"]}, "none": null})");
    m.write("generation_config.json", R"({"eos_token_id": [1, 2], "temperature": 0.5})");
    m.write("tokenizer.json", "{}");
    m.write("model.safetensors", weights({"a", "b"}));
    const CheckpointPtr file = m.open({.map = map});
    CHECK(file->name() == m.dir.path());
    CHECK(file->naming() == Naming::hugging_face);
    CHECK(file->tensors().size() == 2);
    CHECK(file->need_string("model_type") == "made");
    CHECK(file->need_float("rope.theta") == 1e4);
    CHECK(*file->find_strings("rope.kinds") == std::vector<std::string>{"a", "b"});
    CHECK(file->meta("none") == nullptr);
    CHECK(*file->find_ints("generation_config.eos_token_id") == std::vector<int64_t>{1, 2});
    REQUIRE(file->companion("tokenizer.json"));
    CHECK(file->companion("tokenizer.json")->size() == 2);
    CHECK(file->companion("tokenizer.model") == nullptr);
  }
}

TEST_CASE("shards are one checkpoint", "[folder]") {
  Made m;
  write_sharded(m);
  const CheckpointPtr file = m.open();
  CHECK(file->tensors().size() == 3);
  CHECK(bytes_in(*file, "a").size() == 4);
  CHECK(bytes_in(*file, "c") == bytes_in(*open_folder(m.dir.path() + "//", types()), "c"));
  CHECK(file->find("a")->source != file->find("b")->source);
}

TEST_CASE("another configuration, no weights", "[folder]") {
  Made m;
  m.write("config.json", R"({"model_type": "made"})");
  m.write("older.json", R"({"model_type": "older"})");
  CHECK(m.open()->tensors().empty());
  CHECK(m.open({.config = "older.json"})->need_string("model_type") == "older");
  check_refused([&] { m.open({.config = "../older.json"}); }, Code::invalid_argument, {"'../older.json'"});
  check_refused([&] { m.open({.config = "absent.json"}); }, Code::not_found, {"absent.json", m.dir.path()});
}

TEST_CASE("what is wrong with a folder is named", "[folder]") {
  struct Wrong {
    const char* name;
    std::string file, text;
    Code code;
    std::vector<std::string> says;
  };
  const std::string index = "model.safetensors.index.json";
  const std::vector<Wrong> cases = {
      {"missing shard",
       index,
       index_of(R"("a": "model-1.safetensors", "d": "model-3.safetensors")"),
       Code::not_found,
       {"model-3.safetensors", "'d'"}},
      {"missing tensor",
       index,
       index_of(R"("a": "model-1.safetensors", "d": "model-1.safetensors")"),
       Code::corrupt,
       {"'d'", "model-1.safetensors"}},
      {"tensor that is not listed",
       index,
       index_of(R"("a": "model-1.safetensors", "b": "model-2.safetensors")"),
       Code::corrupt,
       {"'c'", "model-2.safetensors"}},
      {"path out of the folder",
       index,
       index_of(R"("a": "../model-1.safetensors")"),
       Code::corrupt,
       {"'a'", "'../model-1.safetensors'"}},
      {"absolute path", index, index_of(R"("a": "/etc/passwd")"), Code::corrupt, {"'a'", "'/etc/passwd'"}},
      {"hidden file", index, index_of(R"("a": "..")"), Code::corrupt, {"'a'", "'..'"}},
      {"file that is no string", index, index_of(R"("a": 1)"), Code::corrupt, {"'a'"}},
      {"no tensors", index, index_of(""), Code::corrupt, {"weight_map", index}},
      {"tensor listed twice",
       index,
       index_of(R"("a": "model-1.safetensors", "a": "model-1.safetensors")"),
       Code::corrupt,
       {"'weight_map.a'", "twice"}},
      {"tensor in two shards", "model-2.safetensors", weights({"a", "b", "c"}), Code::corrupt, {"'a'"}},
      {"configuration that is no JSON", "config.json", "{", Code::corrupt, {"config.json", "not valid JSON"}},
      {"configuration that is no object", "config.json", "[1]", Code::corrupt, {"config.json", "object"}},
      {"configuration that is a number", "config.json", "1", Code::corrupt, {"config.json", "object"}},
      {"key that comes twice", "config.json", R"({"a": 1, "a": 2})", Code::corrupt, {"'a'", "twice"}},
      {"zero byte", "config.json", std::string("{}\0", 3), Code::corrupt, {"config.json", "zero byte"}},
      {"too deep",
       "config.json",
       std::string(100, '[') + std::string(100, ']'),
       Code::corrupt,
       {"config.json"}},
      {"too deep in an object",
       "config.json",
       R"({"a":)" + std::string(100, '[') + std::string(100, ']') + "}",
       Code::corrupt,
       {"32 levels"}},
      {"long key", "config.json", "{\"" + std::string(2000, 'k') + "\": 1}", Code::corrupt, {"1024"}},
  };
  for (const Wrong& wrong : cases) {
    DYNAMIC_SECTION(wrong.name) {
      Made m;
      write_sharded(m);
      m.write(wrong.file, wrong.text);
      check_refused([&] { m.open(); }, wrong.code, wrong.says);
    }
  }
}

TEST_CASE("a folder without config.json, and companions that are no names, are refused", "[folder]") {
  Made m;
  m.write("model.safetensors", weights({"a"}));
  check_refused([&] { m.open(); }, Code::not_found, {"config.json", m.dir.path()});
  m.write("config.json", "{}");
  for (const char* name : {"../x", "/etc/passwd", "", "..", "a/b"})
    check_refused([&] { m.open()->companion(name); }, Code::invalid_argument, {m.dir.path()});
}

TEST_CASE("JSON becomes a flat list", "[folder]") {
  const auto flat = [](const std::string& text) {
    return flatten_json(*from_memory("test.bin", std::as_bytes(std::span(text))), 1000, "p.");
  };
  CHECK(flat("{}").empty());
  const MetaList list = flat(R"({"a": {"b": {"c": true}}, "mixed": [1, "x", null, {"y": 2}], "n": [1, 2.5],)"
                             R"( "deep": [[["g", "l"], 3]], "empty": []})");
  std::vector<std::string> keys;
  for (const auto& [key, value] : list) keys.push_back(key);
  CHECK(keys == std::vector<std::string>{"p.a.b.c", "p.mixed.3.y", "p.mixed.0", "p.mixed.1", "p.n",
                                         "p.deep.0.0", "p.deep.0.1", "p.empty"});
  CHECK(std::get<std::vector<double>>(std::get<MetaArray>(list[4].second)) == std::vector<double>{1, 2.5});
  CHECK_THROWS_AS(flat("{\"a\": \"" + std::string(1000, 'x') + "\"}"), Error);
}

TEST_CASE("of a model with several parts the one for text is opened", "[folder]") {
  Made m;
  m.write("config.json", R"({"model_type": "both", "hidden_size": 7, "image_token_id": 3,)"
                         R"( "text_config": {"model_type": "made", "hidden_size": 5},)"
                         R"( "vision_config": {"model_type": "eye", "hidden_size": 9}})");
  m.write("model.safetensors", weights({"model.language_model.norm.weight", "language_model.model.layers.0.a",
                                        "language_model.lm_head.weight", "model.visual.blocks.0.a",
                                        "vision_tower.b", "multi_modal_projector.c", "model.other.d"}));
  const CheckpointPtr file = m.open();
  CHECK(file->need_string("model_type") == "made");
  CHECK(file->need_int("hidden_size") == 5);
  CHECK(file->need_int("image_token_id") == 3);
  CHECK(file->need_string("vision_config.model_type") == "eye");
  CHECK(file->meta("text_config.model_type") == nullptr);
  CHECK(file->tensors().size() == 4);
  for (const char* name : {"model.norm.weight", "model.layers.0.a", "lm_head.weight", "model.other.d"})
    CHECK(file->find(name) != nullptr);
  CHECK(*file->find_strings("other_parts") ==
        std::vector<std::string>{"model.visual.blocks.0.a", "vision_tower.b", "multi_modal_projector.c"});
}

TEST_CASE("where the whole and its text disagree on the output's table the tensors tell", "[folder]") {
  for (const auto& [outer, inner, expected] : {std::tuple{"true", "false", ""},
                                               {"false", "true", ""},
                                               {"true", "true", "1"},
                                               {"false", "false", "0"}}) {
    CAPTURE(outer, inner);
    Made m;
    m.write("config.json", std::string(R"({"model_type": "both", "tie_word_embeddings": )") + outer +
                               R"(, "text_config": {"model_type": "made", "tie_word_embeddings": )" + inner +
                               "}}");
    m.write("model.safetensors", weights({"language_model.model.norm.weight"}));
    const auto tied = m.open()->find_bool("tie_word_embeddings");
    CHECK((tied ? std::to_string(*tied) : "") == expected);
  }
}
