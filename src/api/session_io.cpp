// Sessions to files and back: see docs/contracts/session-file.md.
#include <cstring>

#include "api/session_impl.h"
#include "core/error.h"
#include "core/file.h"
#include "core/records.h"
#include "formats/atomic_file.h"

namespace ingle {
namespace {

constexpr char kMagic[8] = {'I', 'N', 'G', 'L', 'E', 'S', 'E', 'S'};
// Raised with the layout, and when the numeric contract changes what a state's bits are.
constexpr uint32_t kVersion = 1;
constexpr uint32_t kHead = record_tag("HEAD"), kEnd = record_tag("END.");
constexpr size_t kHeadBytes = 32 + 16;

void write(const Session::Impl& session, RecordWriter& out) {
  uint32_t version[2] = {kVersion, 0};
  out.raw(std::as_bytes(std::span(kMagic)));
  out.raw(std::as_bytes(std::span(version)));
  FieldWriter head;
  for (const std::byte b : session.m().fingerprint()) head.add(std::to_integer<uint8_t>(b));
  head.add(static_cast<int64_t>(session.all.size())).add(int64_t{session.pending ? *session.pending : -1});
  out.write(kHead, head.bytes());
  session.sequence.save(out);
  out.write(kEnd, {});
}

void check_start(RecordReader& in) {
  char magic[sizeof kMagic];
  uint32_t version[2];
  in.raw(std::as_writable_bytes(std::span(magic)));
  if (std::memcmp(magic, kMagic, sizeof magic) != 0)
    fail(Code::corrupt, in.name(), "does not begin as a saved session does");
  in.raw(std::as_writable_bytes(std::span(version)));
  if (version[0] != kVersion)
    fail(Code::unsupported, in.name(),
         format("is of version {} of the format, and this build reads version {}", version[0], kVersion));
  if (version[1] != 0)
    fail(Code::corrupt, in.name(), format("reserved bytes are {}, expected 0", version[1]));
}

void read(Session::Impl& session, RecordReader& in) {
  check_start(in);
  std::byte head[kHeadBytes];
  in.read(kHead, head);
  if (std::memcmp(head, session.m().fingerprint().data(), sizeof(Digest)) != 0)
    fail(Code::unsupported, in.name(), "is a session of another model or backend",
         "load it with the file and the backend that it was saved with");
  const std::span<const std::byte> numbers = std::span(head).subspan(sizeof(Digest));
  FieldReader fields(numbers);
  const auto n_all = fields.get<int64_t>(), pending = fields.get<int64_t>();
  session.sequence = engine::Sequence::load(*session.m().runner, *session.pool, in, session.options.context);
  const auto held = session.sequence.tokens();
  const bool has_pending = pending != -1;
  if (pending < -1 || pending >= session.m().runner->plan().n_vocab ||
      n_all != static_cast<int64_t>(held.size()) + has_pending)
    in.refuse(kHead, format("{} tokens with {} of them computed, pending {}", n_all, held.size(), pending));
  if (n_all > session.options.context)
    fail(Code::context_full, in.name(),
         format("holds {} tokens, and the context {}", n_all, session.options.context));
  in.read(kEnd, {});
  session.all.assign(held.begin(), held.end());
  if (!has_pending) return;
  session.pending = static_cast<TokenId>(pending);
  session.all.push_back(*session.pending);
}

}  // namespace

void Session::save(const std::string& path) const {
  impl_->drop_ahead();
  formats::AtomicFile file(path);
  RecordWriter out([&](std::span<const std::byte> bytes) { file.write(bytes); });
  write(*impl_, out);
  file.commit();
}

void Session::save(const Sink& sink) const {
  if (!sink) fail(Code::invalid_argument, "sink", "is empty");
  impl_->drop_ahead();
  RecordWriter out([&](std::span<const std::byte> bytes) {
    if (!bytes.empty() && !sink(bytes)) fail(Code::io, "sink", format("did not take {} bytes", bytes.size()));
  });
  write(*impl_, out);
}

Session Session::load(const Model& model, const std::string& path, const SessionOptions& options) {
  const ByteSourcePtr file = open_plain(path);
  uint64_t at = 0;
  RecordReader in(
      [&](std::span<std::byte> bytes) {
        if (bytes.size() > file->size() - at) return false;
        if (!bytes.empty()) file->read(at, bytes);
        at += bytes.size();
        return true;
      },
      path);
  Session session(model, options);
  read(*session.impl_, in);
  if (at != file->size())
    fail(Code::corrupt, path, format("goes on for {} bytes after its end", file->size() - at));
  return session;
}

Session Session::load(const Model& model, const Source& source, const SessionOptions& options) {
  if (!source) fail(Code::invalid_argument, "source", "is empty");
  RecordReader in([&](std::span<std::byte> bytes) { return bytes.empty() || source(bytes); },
                  "saved session");
  Session session(model, options);
  read(*session.impl_, in);
  return session;
}

}  // namespace ingle
