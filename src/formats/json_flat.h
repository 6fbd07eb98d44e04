// A JSON document as a flat list: {"a": {"b": 1}} is the entry "a.b" = 1.
#pragma once
#include "formats/basic_checkpoint.h"

namespace ingle::formats {

// Arrays of one kind of scalar are one entry (integers beside fractions are fractions); of any other array
// item i is the entry "name.i". null gives no entry. Every key has `prefix` before it. Throws Code::corrupt
// naming the file when it is larger than `max_bytes`, is no object, nests deeper than 32 or has a key twice.
MetaList flatten_json(const ByteSource& source, uint64_t max_bytes, const std::string& prefix = {});

}  // namespace ingle::formats
