// Chat templates on their own: Jinja as transformers runs it, compiled once, run within bounds.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "ingle/error.hpp"

namespace ingle {

namespace text {
class ChatTemplate;
}  // namespace text

// A light handle; copies share one compiled template. Rendering may run on any number of threads.
class ChatTemplate {
 public:
  // `name` stands in errors. Throws Code::unsupported naming line, column and construct when the source
  // cannot be held exactly.
  static ChatTemplate compile(std::string_view source, std::string name = "template");
  // A model's own (a GGUF file or a folder), or the source in a file of its own. Throws Code::unsupported
  // when the model has none.
  static ChatTemplate load(const std::string& path);
  // load() found it in a model: Tokenizer::load() of the same path gives its bos_token and eos_token, unless
  // a folder holds the template alone (Code::not_found).
  bool of_model() const { return of_model_; }

  // Renders with the members of one JSON object as variables: messages, tools, documents,
  // add_generation_prompt, bos_token, eos_token, … Members that are absent are undefined, but for tools and
  // documents, which are none, and add_generation_prompt, which is false, as transformers passes them.
  // `now_unix` is what strftime_now tells, in seconds since 1970, UTC.
  // Throws Code::invalid_argument with the template's own words when it raises, or when `context` is not an
  // object; Code::unsupported when a bound (steps, depth, memory, output) is passed.
  std::string render(std::string_view context, int64_t now_unix) const;

  explicit ChatTemplate(std::shared_ptr<const text::ChatTemplate> impl, bool of_model = false)
      : impl_(std::move(impl)), of_model_(of_model) {}
  const text::ChatTemplate& impl() const { return *impl_; }

 private:
  std::shared_ptr<const text::ChatTemplate> impl_;
  bool of_model_ = false;
};

}  // namespace ingle
