#include "arguments.h"
#include "guard.h"
#include "handles.h"

using namespace ingle::capi;
using SamplerUse = Exclusive<ingle_sampler>;

ingle_code ingle_sampler_create(const ingle_options* options, ingle_sampler** out, ingle_error** err) {
  return guard(err, [&] {
    auto& result = out_argument(out, "out");
    result = new ingle_sampler(ingle::Sampler(options_argument<ingle::SamplerOptions>(options)));
  });
}

ingle_code ingle_sampler_greedy(ingle_sampler** out, ingle_error** err) {
  return guard(err, [&] {
    auto& result = out_argument(out, "out");
    result = new ingle_sampler(ingle::Sampler::greedy());
  });
}

ingle_code ingle_sampler_clone(ingle_sampler* sampler, ingle_sampler** out, ingle_error** err) {
  return guard(err, [&] {
    auto& result = out_argument(out, "out");
    const SamplerUse s(sampler, "sampler");
    result = new ingle_sampler(s->sampler);
  });
}
ingle_sampler* ingle_sampler_retain(ingle_sampler* sampler) { return retain(sampler); }
void ingle_sampler_release(ingle_sampler* sampler) { release(sampler); }

ingle_code ingle_sampler_sample(ingle_sampler* sampler, const float* logits, int64_t n_logits, int32_t* out,
                                ingle_error** err) {
  return guard(err, [&] {
    auto& result = out_argument(out, "out");
    result = -1;
    const auto row = span_argument(logits, n_logits, "logits");
    const SamplerUse s(sampler, "sampler");
    if (row.empty()) ingle::fail(ingle::Code::invalid_argument, "logits", "a row of no logits");
    result = s->sampler.sample(row);
  });
}

ingle_code ingle_sampler_accept(ingle_sampler* sampler, int32_t id, ingle_error** err) {
  return guard(err, [&] {
    constexpr int32_t kMost = (1 << 21) - 1;  // no vocabulary is larger
    const SamplerUse s(sampler, "sampler");
    if (id < 0 || id > kMost)
      ingle::fail(ingle::Code::invalid_argument, "id", ingle::format("is {}, expected 0 to {}", id, kMost));
    s->sampler.accept(id);
  });
}

ingle_code ingle_sampler_describe(ingle_sampler* sampler, ingle_text** out, ingle_error** err) {
  return guard(err, [&] {
    auto& result = out_argument(out, "out");
    const SamplerUse s(sampler, "sampler");
    result = new ingle_text(s->sampler.describe());
  });
}
