#include "arguments.h"
#include "guard.h"
#include "handles.h"

namespace ingle::capi {
namespace {

// The public header leaves the range of single ids to the caller; here every id is checked.
int32_t id_argument(const Tokenizer& tokenizer, int32_t id) {
  if (id < 0 || id >= tokenizer.size())
    fail(Code::invalid_argument, "id", format("is {}, expected 0 to {}", id, tokenizer.size() - 1));
  return id;
}

const Tokenizer& of(const ingle_tokenizer* tokenizer) { return need(tokenizer, "tokenizer").tokenizer; }

}  // namespace
}  // namespace ingle::capi

using namespace ingle::capi;

ingle_code ingle_tokenizer_load(const char* path, ingle_tokenizer** out, ingle_error** err) {
  return guard(err, [&] {
    auto& result = out_argument(out, "out");
    result = new ingle_tokenizer(ingle::Tokenizer::load(string_argument(path, "path")));
  });
}
ingle_tokenizer* ingle_tokenizer_retain(ingle_tokenizer* tokenizer) { return retain(tokenizer); }
void ingle_tokenizer_release(ingle_tokenizer* tokenizer) { release(tokenizer); }

ingle_code ingle_tokenizer_encode(const ingle_tokenizer* tokenizer, const char* text, int64_t length,
                                  int32_t flags, ingle_tokens** out, ingle_error** err) {
  return guard(err, [&] {
    auto& result = out_argument(out, "out");
    const auto options = encode_flags(flags);
    result = new ingle_tokens(of(tokenizer).encode(text_argument(text, length, "text"), options));
  });
}

ingle_code ingle_tokenizer_decode(const ingle_tokenizer* tokenizer, const int32_t* ids, int64_t n_ids,
                                  int32_t flags, ingle_text** out, ingle_error** err) {
  return guard(err, [&] {
    auto& result = out_argument(out, "out");
    if (flags & ~INGLE_SKIP_SPECIAL)
      ingle::fail(ingle::Code::invalid_argument, "flags",
                  ingle::format("{}, expected 0 or INGLE_SKIP_SPECIAL (4)", flags));
    result = new ingle_text(of(tokenizer).decode(span_argument(ids, n_ids, "ids"), flags != 0));
  });
}

ingle_code ingle_tokenizer_token_text(const ingle_tokenizer* tokenizer, int32_t id, ingle_text** out,
                                      ingle_error** err) {
  return guard(err, [&] {
    auto& result = out_argument(out, "out");
    const auto& t = of(tokenizer);
    result = new ingle_text(t.token_text(id_argument(t, id)));
  });
}

ingle_code ingle_tokenizer_size(const ingle_tokenizer* tokenizer, int64_t* out, ingle_error** err) {
  return guard(err, [&] { out_argument(out, "out") = of(tokenizer).size(); });
}

ingle_code ingle_tokenizer_bos(const ingle_tokenizer* tokenizer, int32_t* out, ingle_error** err) {
  return guard(err, [&] { out_argument(out, "out") = of(tokenizer).bos(); });
}

ingle_code ingle_tokenizer_eos(const ingle_tokenizer* tokenizer, int32_t* out, ingle_error** err) {
  return guard(err, [&] { out_argument(out, "out") = of(tokenizer).eos(); });
}

ingle_code ingle_tokenizer_end_tokens(const ingle_tokenizer* tokenizer, ingle_tokens** out,
                                      ingle_error** err) {
  return guard(err, [&] {
    auto& result = out_argument(out, "out");
    result = new ingle_tokens(need(tokenizer, "tokenizer").tokenizer.end_tokens());
  });
}

ingle_code ingle_tokenizer_tokens_with(const ingle_tokenizer* tokenizer, const char* text, int64_t length,
                                       ingle_tokens** out, ingle_error** err) {
  return guard(err, [&] {
    auto& result = out_argument(out, "out");
    result = new ingle_tokens(
        need(tokenizer, "tokenizer").tokenizer.tokens_with(text_argument(text, length, "text")));
  });
}

ingle_code ingle_tokenizer_ends_generation(const ingle_tokenizer* tokenizer, int32_t id, int32_t* out,
                                           ingle_error** err) {
  return guard(err, [&] {
    auto& result = out_argument(out, "out");
    const auto& t = of(tokenizer);
    result = t.ends_generation(id_argument(t, id)) ? 1 : 0;
  });
}

ingle_code ingle_tokenizer_is_control(const ingle_tokenizer* tokenizer, int32_t id, int32_t* out,
                                      ingle_error** err) {
  return guard(err, [&] {
    auto& result = out_argument(out, "out");
    const auto& t = of(tokenizer);
    result = t.is_control(id_argument(t, id)) ? 1 : 0;
  });
}
