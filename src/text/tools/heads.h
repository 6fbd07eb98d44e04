// What stands between the beginning of a call and its arguments: kind, id, name.
#pragma once
#include <string>
#include <string_view>

#include "text/tools/reader.h"

namespace ingle::text {

struct CallHead {
  std::string name, id, why;

  Read read(const Dialect& d, Cursor& in) {
    if (d.name_end.empty()) return bare(in);
    if (scan_ == 0) scan_ = in.at;
    size_t end = search(in, d.name_end, scan_);
    if (end == std::string_view::npos)
      return in.text.size() - in.at > kMost ? fail("a name is too long") : Read::more;
    size_t after = end + d.name_end.size();
    if (!d.name_rest_end.empty()) {
      const size_t rest = in.text.find(d.name_rest_end, after);
      if (rest == std::string_view::npos)
        return in.text.size() - after > kMost ? fail("a name is too long") : Read::more;
      after = rest + d.name_rest_end.size();
    }
    std::string_view head = in.text.substr(in.at, end - in.at);
    if (head.size() > kMost) return fail("a name is too long");
    if (!split(d, head)) return Read::failed;
    in.at = after;
    return Read::done;
  }

 private:
  static constexpr size_t kMost = 2 * kMaxNameBytes;

  Read fail(std::string what) {
    why = std::move(what);
    return Read::failed;
  }

  static std::string_view trim(std::string_view s) {
    while (!s.empty() && Cursor::is_space(s.front())) s.remove_prefix(1);
    while (!s.empty() && Cursor::is_space(s.back())) s.remove_suffix(1);
    return s;
  }

  bool named(std::string_view text) {
    text = trim(text);
    // A name is one word: what holds white space or markers is no call.
    if (text.empty() || text.find_first_of(" \t\r\n<>(){}[]|=,'\"") != std::string_view::npos) {
      why = text.empty() ? "a call without a name" : "a name that is no word";
      return false;
    }
    name = text;
    return true;
  }

  bool split(const Dialect& d, std::string_view head) {
    if (!d.kind_end.empty())
      if (const size_t kind = head.find(d.kind_end); kind != std::string_view::npos)
        head.remove_prefix(kind + d.kind_end.size());
    if (!d.id_end.empty())
      if (const size_t place = head.find(d.id_end); place != std::string_view::npos) {
        id = trim(head.substr(0, place));
        head.remove_prefix(place + d.id_end.size());
      }
    if (!d.id_mark.empty())
      if (const size_t mark = head.find(d.id_mark); mark != std::string_view::npos) {
        id = trim(head.substr(mark + d.id_mark.size()));
        head = head.substr(0, mark);
      }
    if (d.numbered_name) {
      id = trim(head);
      head = id;
      if (head.starts_with("functions.")) head.remove_prefix(10);
      const size_t colon = head.rfind(':');
      if (colon != std::string_view::npos && colon + 1 < head.size() &&
          head.find_first_not_of("0123456789", colon + 1) == std::string_view::npos)
        head = head.substr(0, colon);
    }
    return named(head);
  }

  // Up to white space or '<', which stay.
  Read bare(Cursor& in) {
    if (scan_ == 0) {
      in.skip_space();
      if (in.empty()) return Read::more;
      scan_ = in.at;
    }
    const size_t end = in.text.find_first_of(" \t\r\n<", scan_);
    if (end == std::string_view::npos) {
      scan_ = in.text.size();
      return in.text.size() - in.at > kMost ? fail("a name is too long") : Read::more;
    }
    if (!named(in.text.substr(in.at, end - in.at))) return Read::failed;
    in.at = end;
    return Read::done;
  }

  size_t scan_ = 0;  // where the search goes on; 0: not begun (no head begins at 0: a marker stands before)
};

}  // namespace ingle::text
