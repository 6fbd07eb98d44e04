#include "common.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <system_error>

namespace ingle::cli {
namespace {

int64_t now_ms() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(steady_clock::now().time_since_epoch()).count();
}

std::atomic<Session*> running_session{nullptr};
std::atomic<bool> in_scope{false};
std::atomic<int> interrupting{0};  // the signal

void on_interrupt(int number) {
  if (!in_scope || interrupting.exchange(number) != 0) _exit(128 + number);
  if (Session* session = running_session.load()) session->cancel();
}

}  // namespace

int exit_code(const Error& error) {
  switch (error.code()) {
    case Code::not_found:
      return kNotFound;
    case Code::corrupt:
    case Code::unsupported:
      return kBadModel;
    case Code::out_of_memory:
      return kNoMemory;
    case Code::context_full:
      return kContextFull;
    case Code::cancelled:
      return InterruptScope::exit_code();
    case Code::invalid_argument:
      return kUsage;
    default:
      return kFailure;
  }
}

int report(const Error& error) {
  if (error.code() != Code::cancelled) {
    const std::string what = error.where().empty() ? error.message() : error.where() + ": " + error.message();
    std::fprintf(stderr, "ingle: %s\n", printable(what).c_str());
    if (!error.hint().empty()) std::fprintf(stderr, "  %s\n", printable(error.hint()).c_str());
  }
  return exit_code(error);
}

Progress::Progress(std::string label, bool enabled)
    : label_(std::move(label)), enabled_(enabled && isatty(STDERR_FILENO)), start_ms_(now_ms()) {}

Progress::~Progress() {
  if (shown_) std::fprintf(stderr, "\r\033[K");
}

void Progress::update(float fraction) {
  constexpr int kWidth = 40;
  if (!enabled_ || now_ms() - start_ms_ < 1000) return;
  const int done = static_cast<int>(fraction * kWidth);
  if (done == last_) return;
  last_ = done;
  shown_ = true;
  std::fprintf(stderr, "\r%s [%-*s] %3d %%", label_.c_str(), kWidth,
               std::string(static_cast<size_t>(done), '#').c_str(), static_cast<int>(fraction * 100));
}

void catch_interrupts() {
  std::signal(SIGXFSZ, SIG_IGN);  // a file that grows too large is then an error like a full disk
  for (const int number : {SIGINT, SIGTERM}) {
    struct sigaction action {};
    sigaction(number, nullptr, &action);
    if (action.sa_handler == SIG_IGN) continue;  // a job in the background stays undisturbed
    action = {};
    action.sa_handler = on_interrupt;
    action.sa_flags = SA_RESTART;
    sigaction(number, &action, nullptr);
  }
}

InterruptScope::InterruptScope(Session* session) : before_(in_scope) {
  running_session = session;
  in_scope = true;
}
InterruptScope::~InterruptScope() {
  running_session = nullptr;
  in_scope = before_;
}
void InterruptScope::watch(Session& session) { running_session = &session; }
bool InterruptScope::interrupted() { return interrupting != 0; }
bool InterruptScope::terminated() { return interrupting == SIGTERM; }
int InterruptScope::exit_code() { return terminated() ? kTerminated : kInterrupted; }
void InterruptScope::check() {
  if (interrupted()) throw Error(Code::cancelled, "ingle", "interrupted");
}
void InterruptScope::clear() { interrupting = 0; }

void open_missing_descriptors() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd)
    if (fcntl(fd, F_GETFD) < 0) {
      const int placeholder = open("/dev/null", O_RDONLY);  // the lowest that is free: `fd` itself
      if (placeholder >= 0 && placeholder != fd) close(placeholder);
    }
}

namespace {

[[noreturn]] void fail_with_errno(const std::string& where, int number) {
  const bool absent = number == ENOENT || number == ENOTDIR;
  throw Error(absent ? Code::not_found : Code::io, where.empty() ? "''" : where,
              "cannot be read: " + std::generic_category().message(number));
}

std::string read_to_end(int fd, const std::string& where) {
  constexpr size_t kMost = size_t{1} << 30;
  std::string text;
  std::vector<char> block(size_t{1} << 16);
  for (;;) {
    const ssize_t n = read(fd, block.data(), block.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_with_errno(where, errno);
    if (n == 0) return text;
    if (text.size() + static_cast<size_t>(n) > kMost)
      throw Error(Code::io, where, "does not end within 1 GiB, the most that is taken");
    text.append(block.data(), static_cast<size_t>(n));
  }
}

}  // namespace

std::string read_stdin() { return read_to_end(STDIN_FILENO, "stdin"); }

std::string read_text_file(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) fail_with_errno(path, errno);
  const std::unique_ptr<const int, void (*)(const int*)> closer(&fd, [](const int* f) { close(*f); });
  return read_to_end(fd, path);
}

bool read_line(std::string& line) {
  constexpr size_t kMost = size_t{64} << 20;
  line.clear();
  std::streambuf& in = *std::cin.rdbuf();
  for (int c; (c = in.sbumpc()) != EOF;) {
    if (c == '\n') return true;
    if (line.size() == kMost)
      throw Error(Code::io, "stdin", "a line is longer than 64 MiB, the most that is taken");
    line += static_cast<char>(c);
  }
  const int number = errno;
  if (std::ferror(stdin)) fail_with_errno("stdin", number);  // the stream itself takes that for the end
  return !line.empty();
}

void check_stdout() {
  if (std::ferror(stdout)) throw Error(Code::io, "stdout", "cannot be written");
}

void print_answer(const std::string& text) {
  const std::string shown = isatty(STDOUT_FILENO) ? printable(text) : text;
  std::fwrite(shown.data(), 1, shown.size(), stdout);
  std::fflush(stdout);
  check_stdout();
}

void print_stats(const Session& session, const Model& model) {
  const SessionStats& s = session.stats();
  const auto rate = [](int64_t n, double ms) { return ms > 0 ? 1000.0 * static_cast<double>(n) / ms : 0.0; };
  std::fprintf(stderr, "prompt %lld tokens, %.1f/s; answer %lld tokens, %.1f/s; kernels: %s\n",
               static_cast<long long>(s.prompt_tokens), rate(s.prompt_tokens, s.prefill_ms),
               static_cast<long long>(s.generated_tokens), rate(s.generated_tokens, s.decode_ms),
               model.info().kernels.c_str());
}

std::string finish_name(Finish finish) {
  static constexpr const char* kNames[] = {"none",      "end",     "stop",     "length",
                                           "cancelled", "context", "deadline", "error"};
  return kNames[static_cast<int>(finish)];
}

std::string printable(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    // C0 but newline and tab, DEL, and C1 (U+0080 to U+009F, two bytes).
    const bool c1 = c == 0xC2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xA0;
    if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7F || c1) {
      char hex[8];
      std::snprintf(hex, sizeof hex, "\\x%02x", c1 ? static_cast<unsigned char>(text[++i]) : c);
      out += hex;
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace ingle::cli
