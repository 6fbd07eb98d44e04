#include "text/hf/scripts.h"

#include <algorithm>
#include <iterator>

#include "text/hf/scripts_table.h"

namespace ingle::text::hf {

int script_class(const Char& c, int before) {
  if (c.code == ' ') return before;
  if (c.code == 0x30FC) return kScriptHan;  // ー
  const auto* above =
      std::upper_bound(std::begin(kScriptStarts), std::end(kScriptStarts), c.code << 8 | 0xFF);
  const int script = static_cast<int>(*std::prev(above) & 0xFF);
  if (script == 0) return before;
  return script == kScriptHiragana || script == kScriptKatakana ? kScriptHan : script;
}

}  // namespace ingle::text::hf
