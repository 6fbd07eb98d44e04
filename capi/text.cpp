// Strings and token ids that the library hands out.
#include "handles.h"

using namespace ingle::capi;

ingle_text* ingle_text_retain(ingle_text* text) { return retain(text); }
void ingle_text_release(ingle_text* text) { release(text); }
const char* ingle_text_data(const ingle_text* text) {
  return is(text, Kind::text) ? text->value.c_str() : "";
}
uint64_t ingle_text_length(const ingle_text* text) { return is(text, Kind::text) ? text->value.size() : 0; }

ingle_tokens* ingle_tokens_retain(ingle_tokens* tokens) { return retain(tokens); }
void ingle_tokens_release(ingle_tokens* tokens) { release(tokens); }
const int32_t* ingle_tokens_data(const ingle_tokens* tokens) {
  return is(tokens, Kind::tokens) ? tokens->ids.data() : nullptr;
}
uint64_t ingle_tokens_length(const ingle_tokens* tokens) {
  return is(tokens, Kind::tokens) ? tokens->ids.size() : 0;
}

const char* ingle_version(void) { return ingle::version(); }
int32_t ingle_version_number(void) {
  return INGLE_VERSION_MAJOR * 1000000 + INGLE_VERSION_MINOR * 1000 + INGLE_VERSION_PATCH;
}
