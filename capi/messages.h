// Conversations as an array of structs.
#pragma once
#include <ingle/ingle.h>

#include <vector>

#include "ingle/model.hpp"

namespace ingle::capi {

// The stride is the first element's struct_size, which is that of the program's version.
std::vector<Message> messages_argument(const ingle_message* messages, int64_t n);

}  // namespace ingle::capi
