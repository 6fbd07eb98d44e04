#include "handle.h"

#include "core/error.h"

namespace ingle::capi {
namespace {

const char* kind_name(uint32_t kind) {
  constexpr const char* kNames[] = {"",
                                    "an ingle_error",
                                    "an ingle_text",
                                    "an ingle_tokens",
                                    "an ingle_options",
                                    "an ingle_runtime",
                                    "an ingle_model",
                                    "an ingle_tokenizer",
                                    "an ingle_sampler",
                                    "an ingle_session",
                                    "an ingle_template",
                                    "an ingle_engine",
                                    "an ingle_grammar",
                                    "an ingle_parser"};
  return kind < std::size(kNames) ? kNames[kind] : "";
}

}  // namespace

void refuse_handle(const Handle* handle, Kind wanted, const char* argument) {
  const char* expected = kind_name(static_cast<uint32_t>(wanted));
  if (!handle) fail(Code::invalid_argument, argument, format("is NULL, expected {}", expected));
  const uint32_t kind = handle->tag.load(std::memory_order_relaxed) - kTagBase;
  if (kind == 0) fail(Code::invalid_argument, argument, format("was released, expected {}", expected));
  const std::string found = kind_name(kind);
  fail(Code::invalid_argument, argument,
       format("is {}, expected {}", found.empty() ? "no handle of Ingle's" : found, expected));
}

void refuse_busy(const char* argument) {
  fail(Code::busy, argument, "another call is inside it",
       "one call at a time; give each thread its own (fork, clone)");
}

}  // namespace ingle::capi
