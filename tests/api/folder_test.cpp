// A model's folder wherever a file is asked for.
#include "support.h"
#include "support/errors.h"

using namespace ingle;
using namespace ingle::tests;

namespace {

std::string folder() { return data_path("golden/arch/llama_sharded"); }

}  // namespace

TEST_CASE("a folder loads as a file does, on ids where it has no tokenizer", "[api]") {
  const Runtime runtime = one_thread();
  const Model model = Model::load(runtime, folder());
  CHECK(model.info().architecture == "llama");
  CHECK(model.info().n_vocab == 256);
  CHECK(model.info().n_layers == 2);
  CHECK(model.info().n_context == 128);
  CHECK(model.info().n_parameters == 34976);
  CHECK_FALSE(model.has_chat_template());
  CHECK(model.tokenizer().size() == 256);
  CHECK(code_of([&] { model.tokenizer().encode("a"); }) == Code::unsupported);
  Session session(model);
  session.feed(std::vector<TokenId>{1, 2, 3});
  CHECK(session.logits().size() == 256);
  Sampler sampler;
  GenerateOptions generate;
  generate.max_tokens = 4;
  generate.ignore_end = true;
  session.generate(sampler, generate);
  CHECK(session.tokens().size() == 7);
  ModelOptions plain;
  plain.map = false;
  Session again(Model::load(runtime, folder() + "/", plain));
  again.feed(std::vector<TokenId>{1, 2, 3});
  session.truncate(0);
  session.feed(std::vector<TokenId>{1, 2, 3});
  CHECK(std::vector<float>(again.logits().begin(), again.logits().end()) ==
        std::vector<float>(session.logits().begin(), session.logits().end()));
}

TEST_CASE("a folder is inspected as a file is", "[api]") {
  const FileReport report = inspect(folder());
  CHECK(report.container == "safetensors");
  CHECK(report.tensors.size() == 21);
  bool found = false;
  for (const auto& [key, value] : report.metadata) found |= key == "model_type" && value == "llama";
  CHECK(found);
}
