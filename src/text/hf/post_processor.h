// The post-processors of tokenizer.json: what stands before and behind the ids of a single text.
#pragma once
#include <vector>

#include "text/hf/json_reader.h"
#include "text/tokenizer.h"

namespace ingle::text::hf {

struct Frame {
  std::vector<TokenId> prefix, suffix;
};

// `size`: ids are below it. Throws Code::unsupported naming a type or an order that cannot be held.
Frame read_post_processor(const Node& node, int32_t size);

}  // namespace ingle::text::hf
