#include "constrain/formats.h"

#include <utility>

namespace ingle::constrain {
namespace {

#define INGLE_DATE                                                                                         \
  "(?:\\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|"          \
  "02-(?:0[1-9]|1\\d|2[0-8]))|(?:\\d{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-" \
  "02-29)"
#define INGLE_CLOCK "(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.\\d+)?(?:[Zz]|[+-](?:[01]\\d|2[0-3]):[0-5]\\d)"
#define INGLE_BYTE "(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)"
#define INGLE_IPV4 INGLE_BYTE "(?:\\." INGLE_BYTE "){3}"
#define INGLE_H16 "[0-9A-Fa-f]{1,4}"
#define INGLE_LS32 "(?:" INGLE_H16 ":" INGLE_H16 "|" INGLE_IPV4 ")"
#define INGLE_LABEL "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"

// RFC 3339, RFC 2673, RFC 4291, RFC 4122, RFC 1123, RFC 5321 without quoted local parts.
constexpr std::pair<std::string_view, const char*> kFormats[] = {
    {"date", INGLE_DATE},
    {"time", INGLE_CLOCK},
    {"date-time", INGLE_DATE "[Tt]" INGLE_CLOCK},
    {"duration",
     "P(?:\\d+W|(?:\\d+Y(?:\\d+M(?:\\d+D)?)?|\\d+M(?:\\d+D)?|\\d+D)(?:T(?:\\d+H(?:\\d+M(?:\\d+S)?)?|\\d+M(?:"
     "\\d+S)?|"
     "\\d+S))?|T(?:\\d+H(?:\\d+M(?:\\d+S)?)?|\\d+M(?:\\d+S)?|\\d+S))"},
    {"ipv4", INGLE_IPV4},
    {"ipv6", "(?:(?:" INGLE_H16 ":){6}" INGLE_LS32 "|::(?:" INGLE_H16 ":){5}" INGLE_LS32 "|(?:" INGLE_H16
             ")?::(?:" INGLE_H16 ":){4}" INGLE_LS32 "|(?:(?:" INGLE_H16 ":){0,1}" INGLE_H16
             ")?::(?:" INGLE_H16 ":){3}" INGLE_LS32 "|(?:(?:" INGLE_H16 ":){0,2}" INGLE_H16
             ")?::(?:" INGLE_H16 ":){2}" INGLE_LS32 "|(?:(?:" INGLE_H16 ":){0,3}" INGLE_H16 ")?::" INGLE_H16
             ":" INGLE_LS32 "|(?:(?:" INGLE_H16 ":){0,4}" INGLE_H16 ")?::" INGLE_LS32 "|(?:(?:" INGLE_H16
             ":){0,5}" INGLE_H16 ")?::" INGLE_H16 "|(?:(?:" INGLE_H16 ":){0,6}" INGLE_H16 ")?::)"},
    {"uuid", "[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}"},
    {"hostname", INGLE_LABEL "(?:\\." INGLE_LABEL ")*"},
    {"email", "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*@" INGLE_LABEL
              "(?:\\." INGLE_LABEL ")*"},
};

}  // namespace

const char* format_pattern(std::string_view name) {
  for (const auto& [known, pattern] : kFormats)
    if (known == name) return pattern;
  return nullptr;
}

}  // namespace ingle::constrain
