#include "host.h"

namespace ingle::capi {
namespace {

void* allocate(size_t bytes, size_t alignment, void* user) {
  const auto& a = static_cast<Host*>(user)->allocator;
  void* memory = a.allocate(bytes, alignment, a.user);
  // Kernels rely on the alignment: better no memory than memory that crashes them.
  if (reinterpret_cast<uintptr_t>(memory) % alignment == 0) return memory;
  a.release(memory, bytes, a.user);
  return nullptr;
}

void release_memory(void* memory, size_t bytes, void* user) {
  const auto& a = static_cast<Host*>(user)->allocator;
  a.release(memory, bytes, a.user);
}

}  // namespace

HostPtr lend(const ingle_allocator* allocator, const ingle_logger* logger, RuntimeOptions& options) {
  auto host = std::make_shared<Host>();
  if (allocator) {
    host->allocator = struct_argument(allocator, "allocator");
    check_reserved(allocator->reserved == 0, "allocator");
    if (!allocator->allocate || !allocator->release)
      fail(Code::invalid_argument, "allocator", "allocate or release is NULL");
    options.allocate = allocate;
    options.release = release_memory;
    options.allocator_user = host.get();
  }
  if (logger) {
    host->logger = struct_argument(logger, "logger");
    check_reserved(!logger->reserved, "logger");
    if (!logger->log) fail(Code::invalid_argument, "logger", "log is NULL");
    if (logger->level < INGLE_LOG_DEBUG || logger->level > INGLE_LOG_ERROR)
      fail(Code::invalid_argument, "logger", format("level is {}, expected 0 to 3", logger->level));
    // A copy, not the host: whatever holds the runtime may log until it goes.
    options.log = [l = host->logger](LogLevel level, std::string_view text) {
      if (static_cast<int32_t>(level) < l.level) return;
      const std::string terminated(text);
      l.log(static_cast<int32_t>(level), terminated.c_str(), terminated.size(), l.user);
    };
  }
  return host;
}

std::shared_ptr<Reader> reader_argument(const ingle_reader* reader) {
  const ingle_reader& r = struct_argument(reader, "reader");
  check_reserved(r.reserved == 0, "reader");
  if (!r.read_at) fail(Code::invalid_argument, "reader", "read_at is NULL");
  return std::make_shared<Reader>(r);
}

ModelReader model_reader(const std::shared_ptr<Reader>& reader) {
  ModelReader out;
  out.name = reader->reader.name ? reader->reader.name : "reader";
  out.size = reader->reader.size;
  out.read_at = [reader](uint64_t offset, std::span<std::byte> bytes) {
    return reader->reader.read_at(offset, bytes.data(), bytes.size(), reader->reader.user) == 0;
  };
  return out;
}

std::shared_ptr<LentStage> stage_argument(const ingle_stage* stage) {
  const ingle_stage& s = struct_argument(stage, "stage");
  check_reserved(s.reserved == 0, "stage");
  if (!s.name) fail(Code::invalid_argument, "stage", "name is NULL");
  if (!s.apply) fail(Code::invalid_argument, "stage", "apply is NULL");
  return std::make_shared<LentStage>(s);
}

std::shared_ptr<LentTap> tap_argument(const ingle_tap* tap) {
  const ingle_tap& t = struct_argument(tap, "tap");
  check_reserved(t.reserved == 0 && !t.reserved_pointer, "tap");
  if (!t.hear) fail(Code::invalid_argument, "tap", "hear is NULL");
  return std::make_shared<LentTap>(t);
}

CustomStage custom_stage(const std::shared_ptr<LentStage>& lent) {
  CustomStage out;
  out.name = lent->name;
  out.apply = [lent](std::span<const TokenId> accepted, std::span<const TokenId> ids,
                     std::span<float> logits) {
    const int32_t code = lent->stage.apply(accepted.data(), static_cast<int64_t>(accepted.size()), ids.data(),
                                           logits.data(), static_cast<int64_t>(ids.size()), lent->stage.user);
    if (code != 0)
      fail(Code::invalid_argument, "sampler stage " + lent->name, format("its function returned {}", code));
  };
  return out;
}

}  // namespace ingle::capi
