#include "constrain/code_points.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>

#include "constrain/utf8_ranges.h"

namespace ingle::constrain {
namespace {

struct Category {
  std::string_view shortest, longest;
};
// In the order of utf8proc's numbers.
constexpr std::array<Category, 30> kCategories{{{"Cn", "Unassigned"},
                                                {"Lu", "Uppercase_Letter"},
                                                {"Ll", "Lowercase_Letter"},
                                                {"Lt", "Titlecase_Letter"},
                                                {"Lm", "Modifier_Letter"},
                                                {"Lo", "Other_Letter"},
                                                {"Mn", "Nonspacing_Mark"},
                                                {"Mc", "Spacing_Mark"},
                                                {"Me", "Enclosing_Mark"},
                                                {"Nd", "Decimal_Number"},
                                                {"Nl", "Letter_Number"},
                                                {"No", "Other_Number"},
                                                {"Pc", "Connector_Punctuation"},
                                                {"Pd", "Dash_Punctuation"},
                                                {"Ps", "Open_Punctuation"},
                                                {"Pe", "Close_Punctuation"},
                                                {"Pi", "Initial_Punctuation"},
                                                {"Pf", "Final_Punctuation"},
                                                {"Po", "Other_Punctuation"},
                                                {"Sm", "Math_Symbol"},
                                                {"Sc", "Currency_Symbol"},
                                                {"Sk", "Modifier_Symbol"},
                                                {"So", "Other_Symbol"},
                                                {"Zs", "Space_Separator"},
                                                {"Zl", "Line_Separator"},
                                                {"Zp", "Paragraph_Separator"},
                                                {"Cc", "Control"},
                                                {"Cf", "Format"},
                                                {"Cs", "Surrogate"},
                                                {"Co", "Private_Use"}}};
constexpr std::array<Category, 8> kGroups{{{"L", "Letter"},
                                           {"M", "Mark"},
                                           {"N", "Number"},
                                           {"P", "Punctuation"},
                                           {"S", "Symbol"},
                                           {"Z", "Separator"},
                                           {"C", "Other"},
                                           {"LC", "Cased_Letter"}}};

}  // namespace

CodePoints normalised(CodePoints set) {
  std::sort(set.begin(), set.end());
  CodePoints out;
  for (const auto& [low, high] : set) {
    if (!out.empty() && low <= out.back().second + 1)
      out.back().second = std::max(out.back().second, high);
    else
      out.emplace_back(low, high);
  }
  return out;
}

CodePoints complement(const CodePoints& set) {
  CodePoints out;
  uint32_t from = 0;
  for (const auto& [low, high] : set) {
    if (from < low) out.emplace_back(from, low - 1);
    from = high + 1;
  }
  if (from <= kMaxCodePoint) out.emplace_back(from, kMaxCodePoint);
  return out;
}

const CodePoints& digits() {
  static const CodePoints set{{'0', '9'}};
  return set;
}
const CodePoints& word() {
  static const CodePoints set{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
  return set;
}
const CodePoints& white_space() {
  static const CodePoints set{{0x9, 0xD},       {0x20, 0x20},     {0xA0, 0xA0},     {0x1680, 0x1680},
                              {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F},
                              {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};
  return set;
}

bool unicode_property(std::string_view name, CodePoints& out) {
  for (const std::string_view prefix : {"General_Category=", "gc="})
    if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  out.clear();
  if (name == "Any") {
    out = {{0, kMaxCodePoint}};
    return true;
  }
  if (name == "ASCII") {
    out = {{0, 0x7F}};
    return true;
  }
  std::array<bool, kCategories.size()> wanted{};
  bool known = false;
  for (size_t i = 0; i < kCategories.size(); ++i)
    known |= wanted[i] = name == kCategories[i].shortest || name == kCategories[i].longest;
  for (const Category& group : kGroups) {
    if (name != group.shortest && name != group.longest) continue;
    known = true;
    for (size_t i = 0; i < kCategories.size(); ++i)
      wanted[i] = group.shortest == "LC" ? i >= 1 && i <= 3 : kCategories[i].shortest[0] == group.shortest[0];
  }
  if (!known) return false;
  for (uint32_t c = 0; c <= kMaxCodePoint; ++c) {
    const auto category = static_cast<size_t>(utf8proc_category(static_cast<utf8proc_int32_t>(c)));
    if (category >= wanted.size() || !wanted[category]) continue;
    if (!out.empty() && out.back().second + 1 == c)
      out.back().second = c;
    else
      out.emplace_back(c, c);
  }
  return true;
}

}  // namespace ingle::constrain
