#include "arguments.h"
#include "guard.h"
#include "handles.h"

using namespace ingle::capi;

ingle_code ingle_template_compile(const char* source, int64_t length, const char* name, ingle_template** out,
                                  ingle_error** err) {
  return guard(err, [&] {
    auto& result = out_argument(out, "out");
    const auto text = text_argument(source, length, "source");
    result = new ingle_template(
        ingle::ChatTemplate::compile(text, name ? string_argument(name, "name") : "template"));
  });
}

ingle_code ingle_template_load(const char* path, ingle_template** out, ingle_error** err) {
  return guard(err, [&] {
    auto& result = out_argument(out, "out");
    result = new ingle_template(ingle::ChatTemplate::load(string_argument(path, "path")));
  });
}

ingle_template* ingle_template_retain(ingle_template* chat_template) { return retain(chat_template); }
void ingle_template_release(ingle_template* chat_template) { release(chat_template); }

ingle_code ingle_template_render(const ingle_template* chat_template, const char* json, int64_t length,
                                 int64_t now_unix, ingle_text** out, ingle_error** err) {
  return guard(err, [&] {
    auto& result = out_argument(out, "out");
    const auto& compiled = need(chat_template, "chat_template").chat_template;
    result = new ingle_text(compiled.render(text_argument(json, length, "json"), now_unix));
  });
}
