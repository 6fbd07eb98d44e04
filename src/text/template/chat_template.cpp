#include "text/chat_template.h"

#include "core/error.h"
#include "text/template/compile.h"
#include "text/template/library.h"
#include "text/template/parser.h"
#include "text/template/utf8.h"

namespace ingle::text {
namespace jinja {
namespace {

using Variables = std::vector<std::pair<std::string, Value>>;

std::string place(const std::string& name, Pos pos) { return format("{}:{}:{}", name, pos.line, pos.column); }

class Compiled : public ChatTemplate {
 public:
  Compiled(std::unique_ptr<Template> tree, std::string source, std::string name, const Limits& limits)
      : tree_(std::move(tree)), source_(std::move(source)), name_(std::move(name)), limits_(limits) {}

  const std::string& source() const override { return source_; }

  std::string render(const TemplateContext& context) const override {
    return run(variables_for(context, false), context.now_unix);
  }

  MarkedText render_marked(const TemplateContext& context) const override {
    MarkedText out;
    out.text = run(variables_for(context, true), context.now_unix, &out.user);
    return out;
  }

  std::string render_json(std::string_view context, int64_t now_unix) const override {
    // As transformers passes them when its caller does not; a variable given twice keeps its last value.
    Variables all = {{"tools", Value::none()},
                     {"documents", Value::none()},
                     {"add_generation_prompt", Value::boolean(false)}};
    for (auto& each : variables_of(context, false)) all.push_back(std::move(each));
    return run(all, now_unix);
  }

 private:
  Variables variables_for(const TemplateContext& context, bool user) const {
    Variables variables = variables_of(context.extra_json, user);
    std::vector<Value> messages;
    for (const ChatMessage& message : context.messages) {
      auto map = std::make_shared<Map>();
      map->set(make_text(nullptr, "role"), checked("role", message.role));
      map->set(make_text(nullptr, "content"), checked("content", message.content, user));
      messages.push_back(make_map(nullptr, std::move(map)));
    }
    // Later entries win: the context's own members over the extra ones. tools and documents are None when
    // absent, as transformers passes them.
    Variables all = {{"tools", Value::none()}, {"documents", Value::none()}};
    if (messages.empty()) {
      all.emplace_back("messages", make_seq(nullptr, {}));
      all.emplace_back("add_generation_prompt", Value::boolean(context.add_generation_prompt));
    }
    for (auto& each : variables) all.push_back(std::move(each));
    if (!messages.empty()) {
      all.emplace_back("messages", make_seq(nullptr, std::move(messages)));
      all.emplace_back("add_generation_prompt", Value::boolean(context.add_generation_prompt));
    }
    all.emplace_back("bos_token", checked("bos_token", context.bos_token));
    all.emplace_back("eos_token", checked("eos_token", context.eos_token));
    return all;
  }

  Value checked(std::string_view what, const std::string& text, bool user = false) const {
    if (!is_utf8(text))
      fail(Code::invalid_argument, user ? std::string("message") : name_,
           format("{} is not valid UTF-8", what));
    Marks marks;
    if (user) add_range(marks, 0, text.size());
    return make_marked(nullptr, text, false, std::move(marks));
  }

  Variables variables_of(std::string_view json, bool user) const {
    if (json.empty()) return {};
    try {
      return parse_json_object(json, user);
    } catch (const Failure& f) {
      fail(f.code, name_, f.message);
    }
  }

  std::string run(const Variables& variables, int64_t now_unix, Marks* marks = nullptr) const {
    Interp interp(*tree_, limits_, now_unix);
    try {
      return interp.run(variables, marks);
    } catch (const Failure& f) {
      fail(f.code, place(name_, interp.pos()), f.message);
    }
  }

  std::unique_ptr<Template> tree_;
  std::string source_, name_;
  Limits limits_;
};

}  // namespace

std::shared_ptr<const ChatTemplate> compile(std::string_view source, std::string name, const Limits& limits) {
  if (source.size() > limits.source_bytes) {
    fail(Code::unsupported, name,
         format("the template has {} bytes, expected at most {}", source.size(), limits.source_bytes));
  }
  if (!is_utf8(source)) fail(Code::unsupported, name, "the template is not valid UTF-8");
  std::unique_ptr<Template> tree;
  try {
    tree = Parser(source, limits).run();
  } catch (const SyntaxError& e) {
    fail(e.failure.code, place(name, e.pos), e.failure.message);
  }
  return std::make_shared<Compiled>(std::move(tree), std::string(source), std::move(name), limits);
}

}  // namespace jinja

std::shared_ptr<const ChatTemplate> ChatTemplate::compile(std::string_view source, std::string name) {
  return jinja::compile(source, std::move(name), jinja::Limits());
}

}  // namespace ingle::text
