// The state of a sequence as records: what a saved session holds of it. See docs/contracts/session-file.md.
#pragma once
#include "core/records.h"
#include "kv/state.h"

namespace ingle::kv {

// Committed positions alone; of recurrent parts the current snapshot and the marked ones. An open reservation
// stays behind.
void write_state(const SequenceState& state, RecordWriter& out);
// Throws Code::corrupt for what no state can be, Code::unsupported when the state is of other parts than the
// pool's, Code::out_of_memory as reserve() does. A page is lent only once its record has begun.
SequenceState read_state(const StatePool& pool, RecordReader& in);

// What a part is: "window of 512, f16, 24 layers × 2 heads × (128 + 128)".
std::string describe(const PartSpec& part);

}  // namespace ingle::kv
