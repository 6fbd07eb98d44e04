#include "messages.h"

#include "arguments.h"

namespace ingle::capi {

std::vector<Message> messages_argument(const ingle_message* messages, int64_t n) {
  span_argument(messages, n, "messages");
  std::vector<Message> out;
  if (n == 0) return out;
  const uint32_t stride = messages->struct_size;  // of the program's version, which may be a newer one
  check_struct_size(stride, sizeof(ingle_message), "messages");
  const auto* bytes = reinterpret_cast<const char*>(messages);
  for (int64_t i = 0; i < n; ++i) {
    const std::string name = format("messages[{}]", i);
    ingle_message m;
    std::memcpy(&m, bytes + static_cast<size_t>(i) * stride, sizeof m);
    if (m.struct_size != stride)
      fail(Code::invalid_argument, name,
           format("struct_size is {}, but that of messages[0] {}", m.struct_size, stride));
    check_struct_tail(bytes + static_cast<size_t>(i) * stride, stride, sizeof m, name.c_str());
    check_reserved(m.reserved == 0, name.c_str());
    out.push_back({string_argument(m.role, (name + ".role").c_str()),
                   std::string(text_argument(m.content, m.length, (name + ".content").c_str()))});
  }
  return out;
}

}  // namespace ingle::capi
