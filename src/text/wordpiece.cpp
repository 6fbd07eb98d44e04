#include "core/error.h"
#include "text/encoder.h"
namespace ingle::text {
std::unique_ptr<Encoder> make_wordpiece(const Vocabulary& v) { fail(Code::unsupported, v.file, "bert"); }
}  // namespace ingle::text
