#include "ingle/model.hpp"

#include "api/impl.h"
#include "backends/scripted/scripted.h"
#include "core/error.h"
#include "formats/folder.h"
#include "formats/gguf.h"
#include "graph/expand.h"
#include "models/architecture.h"
#include "quant/weight.h"
#include "text/byte_tokenizer.h"
#include "text/hugging_face.h"
#include "text/ids_tokenizer.h"

namespace ingle {
namespace {

ModelInfo describe(const formats::Checkpoint& file, const models::Config& config) {
  ModelInfo info;
  const std::string* name = file.find_string("general.name");
  info.name = name && !name->empty() ? *name : file.name();
  info.architecture = config.architecture();
  info.n_layers = config.n_layers;
  info.n_embedding = config.hidden;
  info.n_vocab = config.n_vocab;
  info.n_context = config.n_context;
  for (const formats::TensorInfo& t : file.tensors()) {
    info.n_parameters += t.shape.elements();
    info.file_bytes += t.bytes;
  }
  return info;
}

struct TextSide {
  std::shared_ptr<const text::Tokenizer> tokenizer;
  std::string chat_template;  // empty: none
};

// A folder without a tokenizer still runs, on ids.
TextSide load_text(const formats::Checkpoint& file, const text::GoOn& go_on) {
  if (file.naming() == formats::Naming::gguf) {
    const std::string* source = file.find_string("tokenizer.chat_template");
    return {text::load_gguf_tokenizer(file, go_on), source ? *source : std::string()};
  }
  const auto read = [&file](const std::string& name) -> std::optional<std::string> {
    const ByteSourcePtr source = file.companion(name);
    if (!source) return std::nullopt;
    constexpr uint64_t kMostBytes = uint64_t{1} << 30;
    if (source->size() > kMostBytes) fail(Code::unsupported, source->name(), "is larger than 1 GiB");
    std::string out(static_cast<size_t>(source->size()), '\0');
    source->read(0, std::as_writable_bytes(std::span(out)));
    return out;
  };
  if (!file.companion("tokenizer.json") && !file.companion("tokenizer.model")) {
    return {text::make_ids_tokenizer(file.name(), models::Config(file).n_vocab), {}};
  }
  text::FolderTokenizer folder = text::load_folder_tokenizer(read, file.name());
  return {std::move(folder.tokenizer), std::move(folder.chat_template)};
}

void compile_template(std::string source, Model::Impl& model) {
  if (source.empty()) return;
  model.template_source = std::move(source);
  try {
    model.chat_template = text::ChatTemplate::compile(model.template_source, "chat_template");
  } catch (const Error& e) {
    if (e.code() == Code::out_of_memory) throw;
    model.template_error = e.what();  // the model still runs on raw text
  }
}

Model load_checkpoint(const Runtime& runtime, const formats::CheckpointPtr& file,
                      const ModelOptions& options) {
  if (file->tensors().empty()) fail(Code::unsupported, file->name(), "holds no weights");
  const auto begin = [&] {  // what comes next takes a while, and is not told of in between
    if (options.progress && !options.progress(0))
      fail(Code::cancelled, file->name(), "loading was cancelled");
  };
  begin();
  TextSide text = load_text(*file, [&] { return !options.progress || options.progress(0); });
  begin();
  auto model = std::make_shared<Model::Impl>(Tokenizer(std::move(text.tokenizer)));
  model->runtime = runtime.impl();
  model->checkpoint = file;
  const auto backend = backends::make_backend(options.backend, model->runtime->backend_context());
  backends::Plan plan = models::build_plan(file, state_type_of(options.state_type, *backend));
  if (model->tokenizer.size() > plan.n_vocab)
    fail(Code::corrupt, file->name(),
         format("the vocabulary has {} tokens but the embedding only {} rows", model->tokenizer.size(),
                plan.n_vocab));
  plan = graph::expand(std::move(plan), [&](const Op& op) { return backend->takes(op); });
  model->sample = sample_weights(*file);
  backends::PrepareOptions prepare;
  prepare.progress = options.progress;
  prepare.content = model->sample;
  std::shared_ptr<const backends::Program> program =
      backend->prepare(std::make_shared<const backends::Plan>(std::move(plan)), prepare);
  model->info = describe(*file, models::Config(*file));
  model->info.weight_bytes = program->weight_bytes();
  model->info.kernels = program->kernels();
  model->info.cached = program->cached();
  model->runner = std::make_unique<engine::Runner>(std::move(program));
  model->backend = options.backend;
  compile_template(std::move(text.chat_template), *model);
  return Model(std::move(model));
}

}  // namespace

kv::StateType state_type_of(const std::string& name, const backends::Backend& backend) {
  if (name.empty()) return backend.default_state_type();
  if (name == "f32") return kv::StateType::f32;
  if (name == "f16") return kv::StateType::f16;
  if (name == "bf16") return kv::StateType::bf16;
  if (name == "q8") return kv::StateType::q8;
  if (name == "q4") return kv::StateType::q4;
  fail(Code::invalid_argument, "option state_type",
       format("is '{}', expected f32, f16, bf16, q8 or q4", name));
}

Model Model::load(const Runtime& runtime, const std::string& path, const ModelOptions& options) {
  return load_checkpoint(runtime, formats::open_checkpoint(path, quant::dtype_table(), options.map), options);
}

Model Model::load(const Runtime& runtime, std::span<const std::byte> bytes, const ModelOptions& options) {
  return load_checkpoint(runtime, formats::open_gguf({from_memory("memory", bytes)}, quant::dtype_table()),
                         options);
}

Model Model::load(const Runtime& runtime, ModelReader reader, const ModelOptions& options) {
  if (!reader.read_at) fail(Code::invalid_argument, "reader", "has no read_at function");
  ByteSourcePtr source = from_reader(std::move(reader.name), reader.size, std::move(reader.read_at));
  return load_checkpoint(runtime, formats::open_gguf({std::move(source)}, quant::dtype_table()), options);
}

Model Model::scripted(const Runtime& runtime, const ScriptedModel& script) {
  auto model = std::make_shared<Model::Impl>(Tokenizer(text::make_byte_tokenizer()));
  if (script.n_context < 1)
    fail(Code::invalid_argument, "script, n_context", format("is {}, expected 1 or more", script.n_context));
  model->runtime = runtime.impl();
  Sha256 digest;
  digest.add(std::as_bytes(std::span(script.ids)));
  for (const auto& row : script.logits) digest.add(std::as_bytes(std::span(row)));
  model->backend = "scripted";
  model->sample = digest.finish();
  backends::Script s{script.ids, script.logits, text::kByteEnd, model->tokenizer.size(), script.n_context};
  model->runner = std::make_unique<engine::Runner>(
      std::shared_ptr<const backends::Program>(backends::make_scripted_program(std::move(s))));
  model->info.name = model->info.architecture = "scripted";
  model->info.n_vocab = model->tokenizer.size();
  model->info.n_context = script.n_context;
  model->info.kernels = model->runner->program().kernels();
  if (!script.chat_template.empty()) {
    model->template_source = script.chat_template;
    model->chat_template = text::ChatTemplate::compile(script.chat_template, "chat_template");
  }
  return Model(std::move(model));
}

const ModelInfo& Model::info() const { return impl_->info; }
const Tokenizer& Model::tokenizer() const { return impl_->tokenizer; }
bool Model::has_chat_template() const { return impl_->chat_template != nullptr; }
std::string Model::chat_template() const { return impl_->template_source; }
std::string Model::apply_chat_template(std::span<const Message> messages, bool add_generation_prompt) const {
  return impl_->render(messages, add_generation_prompt);
}

}  // namespace ingle
