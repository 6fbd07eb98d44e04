#include "core/error.h"
#include "text/encoder.h"
namespace ingle::text {
std::unique_ptr<Encoder> make_unigram(const Vocabulary& v) { fail(Code::unsupported, v.file, "t5"); }
}  // namespace ingle::text
