// One message of gpt-oss's harmony format: "<|start|>assistant to=functions.f<|channel|>commentary
// json<|message|>…".
#include "core/format.h"
#include "text/tools/reader.h"

namespace ingle::text {
namespace {

constexpr std::string_view kMessage = "<|message|>", kChannel = "<|channel|>";
constexpr std::string_view kEnds[] = {"<|end|>", "<|call|>", "<|return|>"};
constexpr std::string_view kNext[] = {"<|start|>", "<|channel|>"};  // the end of a message that has none

class Harmony : public CallReader {
 public:
  explicit Harmony(bool in_channel) : in_channel_(in_channel) {}
  std::unique_ptr<CallReader> clone() const override { return std::make_unique<Harmony>(*this); }

  Read read(Cursor& in, CallSink& out) override {
    if (at_ == At::header) {
      const Read step = header(in, out);
      if (step != Read::done) return step;
    }
    if (at_ == At::text) return text(in, out);
    if (at_ == At::arguments) {
      const Read step = arguments(in, out);
      if (step != Read::done) return step;
    }
    return end(in, out);
  }

 private:
  enum class At { header, text, arguments, end };

  static std::string_view word_after(std::string_view header, std::string_view mark) {
    const size_t place = header.find(mark);
    if (place == std::string_view::npos) return {};
    header.remove_prefix(place + mark.size());
    return header.substr(0, header.find_first_of(" \t\r\n<"));
  }

  Read header(Cursor& in, CallSink& out) {
    if (scan_ < in.at) scan_ = in.at;
    const size_t place = search(in, kMessage, scan_);
    if ((place == std::string_view::npos ? in.text.size() : place) - in.at > kMaxNameBytes)
      return failed("a message's header is too long");
    if (place == std::string_view::npos) return Read::more;
    const std::string_view head = in.text.substr(in.at, place - in.at);
    const std::string_view channel =
        in_channel_ ? head.substr(0, head.find_first_of(" \t\r\n<")) : word_after(head, kChannel);
    std::string_view recipient = word_after(head, "to=");
    in.at = place + kMessage.size();
    if (recipient.starts_with("functions.")) recipient.remove_prefix(10);
    reasoning_ = channel == "analysis";
    at_ = recipient.empty() ? At::text : At::arguments;
    if (!recipient.empty()) out.begin(std::string(recipient), "");
    return Read::done;
  }

  Read text(Cursor& in, CallSink& out) {
    const auto tell = [&](size_t to) {
      const std::string_view piece = in.text.substr(in.at, to - in.at);
      if (!piece.empty()) reasoning_ ? out.reasoning(piece) : out.content(piece);
      in.at = to;
    };
    for (size_t i = in.at;; ++i) {
      i = in.text.find('<', i);
      if (i == std::string_view::npos) break;
      bool maybe = false;
      for (const std::string_view mark : kEnds) {
        const Match found = in.match_at(i, mark);
        maybe = maybe || found == Match::maybe;
        if (found != Match::yes) continue;
        tell(i);
        in.at += mark.size();
        return Read::done;
      }
      for (const std::string_view mark : kNext) {
        const Match found = in.match_at(i, mark);
        maybe = maybe || found == Match::maybe;
        if (found != Match::yes) continue;
        tell(i);
        return Read::done;
      }
      if (!maybe || in.ended) continue;
      tell(i);
      return Read::more;
    }
    tell(in.text.size());
    return in.ended ? Read::done : Read::more;
  }

  Read arguments(Cursor& in, CallSink& out) {
    if (!begun_) in.skip_space();
    if (!begun_ && in.empty()) return Read::more;
    begun_ = true;
    const Read got = span_.take(in);
    if (const std::string_view fresh = span_.fresh(in); !fresh.empty()) out.arguments(fresh);
    if (got == Read::failed) return failed("arguments that are no JSON");
    if (got == Read::more) return got;
    at_ = At::end;
    return Read::done;
  }

  Read end(Cursor& in, CallSink& out) {
    in.skip_space();
    if (in.empty()) {
      if (!in.ended) return Read::more;
      out.end();
      return Read::done;
    }
    for (const std::string_view mark : kEnds) {
      const Match found = in.match(mark);
      if (found == Match::maybe) return Read::more;
      if (found != Match::yes) continue;
      in.at += mark.size();
      out.end();
      return Read::done;
    }
    for (const std::string_view mark : kNext) {
      const Match found = in.match(mark);
      if (found == Match::maybe) return Read::more;
      if (found != Match::yes) continue;
      out.end();
      return Read::done;
    }
    return failed("the call does not end");
  }

  bool in_channel_;
  At at_ = At::header;
  bool reasoning_ = false, begun_ = false;
  size_t scan_ = 0;
  JsonSpan span_;
};

}  // namespace

std::unique_ptr<CallReader> make_harmony(bool in_channel) { return std::make_unique<Harmony>(in_channel); }

}  // namespace ingle::text
