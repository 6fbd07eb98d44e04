// What a host program lends: allocator, logger, reader.
#pragma once
#include "arguments.h"
#include "handles.h"

namespace ingle::capi {

// Checks both and puts them into the options of the runtime to come. They are given back (close) when the
// last copy of the pointer goes, if `lent` was set until then.
HostPtr lend(const ingle_allocator* allocator, const ingle_logger* logger, RuntimeOptions& options);

// A reader that the model keeps. `lent` is set after the load succeeded.
struct Reader {
  explicit Reader(const ingle_reader& r) : reader(r) {}
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader() {
    if (lent && reader.close) reader.close(reader.user);
  }
  ingle_reader reader;
  bool lent = false;
};
std::shared_ptr<Reader> reader_argument(const ingle_reader* reader);
ModelReader model_reader(const std::shared_ptr<Reader>& reader);

// A sampler's stage, which the options and the samplers made of them keep. `lent` is set after it was added.
struct LentStage {
  explicit LentStage(const ingle_stage& s) : stage(s), name(s.name) {}
  LentStage(const LentStage&) = delete;
  LentStage& operator=(const LentStage&) = delete;
  ~LentStage() {
    if (lent && stage.close) stage.close(stage.user);
  }
  ingle_stage stage;
  std::string name;
  bool lent = false;
};
std::shared_ptr<LentStage> stage_argument(const ingle_stage* stage);
CustomStage custom_stage(const std::shared_ptr<LentStage>& lent);

// A session's tap. `lent` is set after the session took it.
struct LentTap {
  explicit LentTap(const ingle_tap& t) : tap(t) {}
  LentTap(const LentTap&) = delete;
  LentTap& operator=(const LentTap&) = delete;
  ~LentTap() {
    if (lent && tap.close) tap.close(tap.user);
  }
  ingle_tap tap;
  bool lent = false;
};
std::shared_ptr<LentTap> tap_argument(const ingle_tap* tap);

}  // namespace ingle::capi
