// Conversations, as an array of structs or as JSON.
#pragma once
#include <ingle/ingle.h>

#include <string_view>
#include <vector>

#include "ingle/model.hpp"

namespace ingle::capi {

// The stride is the first element's struct_size, which is that of the program's version.
std::vector<Message> messages_argument(const ingle_message* messages, int64_t n);
// [{"role": "user", "content": "…"}, …]. Any other key, or a content that is not a text: Code::unsupported.
std::vector<Message> read_messages(std::string_view json);

}  // namespace ingle::capi
