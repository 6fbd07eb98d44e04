#include "guard.h"
#include "host.h"
#include "messages.h"

namespace ingle::capi {
namespace {

ModelOptions load_options(const ingle_options* options, const ingle_progress* progress) {
  auto out = options_argument<ModelOptions>(options);
  out.progress = load_progress(progress);
  return out;
}

Fields info_fields(const ModelInfo& info) {
  return {{"name", info.name},
          {"architecture", info.architecture},
          {"kernels", info.kernels},
          {"n_parameters", info.n_parameters},
          {"n_layers", info.n_layers},
          {"n_embedding", info.n_embedding},
          {"n_vocab", info.n_vocab},
          {"n_context", info.n_context},
          {"file_bytes", static_cast<int64_t>(info.file_bytes)},
          {"weight_bytes", static_cast<int64_t>(info.weight_bytes)},
          {"cached", info.cached}};
}

template <class T>
T info_value(const ingle_model* model, const char* key_text, const char* type) {
  const Fields fields = info_fields(need(model, "model").model.info());
  const std::string key = string_argument(key_text, "key");
  std::vector<std::string_view> keys;
  for (const auto& [name, value] : fields) {
    keys.push_back(name);
    if (name != key) continue;
    if (const T* found = std::get_if<T>(&value)) return *found;
    fail(Code::invalid_argument, "key", format("\"{}\" is no {}", key, type));
  }
  fail(Code::not_found, "key", format("a model has no \"{}\"", key.substr(0, 64)), near_miss(key, keys));
}

}  // namespace
}  // namespace ingle::capi

using namespace ingle::capi;
using ingle::Model;

ingle_code ingle_model_load(const ingle_runtime* runtime, const char* path, const ingle_options* options,
                            const ingle_progress* progress, ingle_model** out, ingle_error** err) {
  return guard(err, [&] {
    auto& result = out_argument(out, "out");
    const Kept r(runtime, "runtime");
    result = new ingle_model(
        r->host, Model::load(r->runtime, string_argument(path, "path"), load_options(options, progress)));
  });
}

ingle_code ingle_model_load_memory(const ingle_runtime* runtime, const void* bytes, uint64_t n_bytes,
                                   const ingle_options* options, const ingle_progress* progress,
                                   ingle_model** out, ingle_error** err) {
  return guard(err, [&] {
    auto& result = out_argument(out, "out");
    const Kept r(runtime, "runtime");
    const auto n = static_cast<int64_t>(n_bytes);  // too many becomes negative, which is refused
    const auto data = span_argument(static_cast<const std::byte*>(bytes), n, "bytes");
    result = new ingle_model(r->host, Model::load(r->runtime, data, load_options(options, progress)));
  });
}

ingle_code ingle_model_load_reader(const ingle_runtime* runtime, const ingle_reader* reader,
                                   const ingle_options* options, const ingle_progress* progress,
                                   ingle_model** out, ingle_error** err) {
  return guard(err, [&] {
    auto& result = out_argument(out, "out");
    const Kept r(runtime, "runtime");
    const std::shared_ptr<Reader> kept = reader_argument(reader);
    result = new ingle_model(r->host,
                             Model::load(r->runtime, model_reader(kept), load_options(options, progress)));
    kept->lent = true;
  });
}

ingle_code ingle_model_scripted(const ingle_runtime* runtime, const ingle_options* script, ingle_model** out,
                                ingle_error** err) {
  return guard(err, [&] {
    auto& result = out_argument(out, "out");
    const Kept r(runtime, "runtime");
    result =
        new ingle_model(r->host, Model::scripted(r->runtime, options_argument<ingle::ScriptedModel>(script)));
  });
}
ingle_model* ingle_model_retain(ingle_model* model) { return retain(model); }
void ingle_model_release(ingle_model* model) { release(model); }

ingle_code ingle_model_info(const ingle_model* model, ingle_text** out, ingle_error** err) {
  return guard(err, [&] {
    auto& result = out_argument(out, "out");
    result = new ingle_text(write_json(info_fields(need(model, "model").model.info())));
  });
}

ingle_code ingle_model_info_int(const ingle_model* model, const char* key, int64_t* out, ingle_error** err) {
  return guard(err, [&] {
    auto& result = out_argument(out, "out");
    result = info_value<int64_t>(model, key, "whole number");
  });
}

ingle_code ingle_model_info_text(const ingle_model* model, const char* key, ingle_text** out,
                                 ingle_error** err) {
  return guard(err, [&] {
    auto& result = out_argument(out, "out");
    result = new ingle_text(info_value<std::string>(model, key, "text"));
  });
}

ingle_code ingle_model_tokenizer(const ingle_model* model, ingle_tokenizer** out, ingle_error** err) {
  return guard(err, [&] {
    auto& result = out_argument(out, "out");
    result = new ingle_tokenizer(need(model, "model").model.tokenizer());
  });
}

ingle_code ingle_model_has_chat_template(const ingle_model* model, int32_t* out, ingle_error** err) {
  return guard(err, [&] {
    auto& result = out_argument(out, "out");
    result = need(model, "model").model.has_chat_template() ? 1 : 0;
  });
}

ingle_code ingle_model_chat_template(const ingle_model* model, ingle_text** out, ingle_error** err) {
  return guard(err, [&] {
    auto& result = out_argument(out, "out");
    result = new ingle_text(need(model, "model").model.chat_template());
  });
}

ingle_code ingle_model_apply_chat_template(const ingle_model* model, const ingle_message* messages,
                                           int64_t n_messages, int32_t add_generation_prompt,
                                           ingle_text** out, ingle_error** err) {
  return guard(err, [&] {
    auto& result = out_argument(out, "out");
    const Model& m = need(model, "model").model;
    const auto list = messages_argument(messages, n_messages);
    result = new ingle_text(
        m.apply_chat_template(list, flag_argument(add_generation_prompt, "add_generation_prompt")));
  });
}

ingle_code ingle_model_apply_chat_template_json(const ingle_model* model, const char* json, int64_t length,
                                                int32_t add_generation_prompt, ingle_text** out,
                                                ingle_error** err) {
  return guard(err, [&] {
    auto& result = out_argument(out, "out");
    const Model& m = need(model, "model").model;
    const bool prompt = flag_argument(add_generation_prompt, "add_generation_prompt");
    result = new ingle_text(m.apply_chat_template_json(text_argument(json, length, "json"), prompt));
  });
}
