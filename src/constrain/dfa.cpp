#include "constrain/dfa.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "constrain/utf8_ranges.h"
#include "core/error.h"

namespace ingle::constrain {
namespace {

std::vector<char> live_states(const Dfa& dfa) {
  const auto n = static_cast<size_t>(dfa.size()), width = static_cast<size_t>(dfa.n_classes);
  std::vector<std::vector<int32_t>> before(n);
  for (size_t s = 0; s < n; ++s)
    for (size_t c = 0; c < width; ++c)
      if (const int32_t to = dfa.next[s * width + c]; to >= 0)
        before[static_cast<size_t>(to)].push_back(static_cast<int32_t>(s));
  std::vector<char> live(n);
  std::vector<int32_t> open;
  for (size_t s = 0; s < n; ++s)
    if (dfa.label[s] >= 0) {
      live[s] = 1;
      open.push_back(static_cast<int32_t>(s));
    }
  while (!open.empty()) {
    const auto s = static_cast<size_t>(open.back());
    open.pop_back();
    for (const int32_t b : before[s])
      if (!live[static_cast<size_t>(b)]) {
        live[static_cast<size_t>(b)] = 1;
        open.push_back(b);
      }
  }
  return live;
}

}  // namespace

size_t StatesHash::operator()(const std::vector<int32_t>& states) const {
  uint64_t h = 0x9E3779B97F4A7C15u;
  for (const int32_t x : states) h = (h ^ static_cast<uint32_t>(x)) * 0xBF58476D1CE4E5B9u + (h >> 29);
  return static_cast<size_t>(h);
}

void Budget::take(int64_t Budget::*field, int64_t n, const std::string& where) {
  if (n > this->*field) exceeded(where);
  this->*field -= n;
  if (field != &Budget::steps) step(n, where);
}

void Budget::exceeded(const std::string& where) {
  fail(Code::unsupported, where, "is too large to compile within the budget",
       "bound its repetitions, lengths or alternatives more tightly");
}

void Budget::step(int64_t n, const std::string& where) {
  constexpr int64_t kUnasked = 4096;
  take(&Budget::steps, n, where);
  unasked_ += n;
  if (unasked_ < kUnasked) return;
  unasked_ = 0;
  if (go_on && !go_on()) fail(Code::cancelled, where, "compiling was cancelled");
}

void Budget::check_source(std::string_view source, const std::string& where) const {
  if (static_cast<int64_t>(source.size()) > bytes)
    fail(Code::unsupported, where, format("has {} bytes, expected at most {}", source.size(), bytes));
}

bool Dfa::accepts(std::string_view text) const {
  int32_t s = start;
  for (size_t i = 0; i < text.size() && s >= 0; ++i) s = step(s, static_cast<uint8_t>(text[i]));
  return s >= 0 && label[static_cast<size_t>(s)] >= 0;
}

Dfa trim(const Dfa& dfa) {
  Dfa out;
  out.classes = dfa.classes;
  out.n_classes = dfa.n_classes;
  if (dfa.start < 0) return out;
  const std::vector<char> live = live_states(dfa);
  if (!live[static_cast<size_t>(dfa.start)]) return out;
  const auto width = static_cast<size_t>(dfa.n_classes);
  std::vector<int32_t> number(live.size(), -1), order{dfa.start};
  number[static_cast<size_t>(dfa.start)] = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    const auto s = static_cast<size_t>(order[i]);
    out.label.push_back(dfa.label[s]);
    for (size_t c = 0; c < width; ++c) {
      const int32_t to = dfa.next[s * width + c];
      if (to < 0 || !live[static_cast<size_t>(to)]) {
        out.next.push_back(-1);
        continue;
      }
      int32_t& n = number[static_cast<size_t>(to)];
      if (n < 0) {
        n = static_cast<int32_t>(order.size());
        order.push_back(to);
      }
      out.next.push_back(n);
    }
  }
  out.start = 0;
  return out;
}

// Those from which there is no way on are taken out; what is left leads round in circles.
std::vector<char> endless(const Dfa& dfa, std::vector<char> states) {
  const auto n = static_cast<size_t>(dfa.size()), width = static_cast<size_t>(dfa.n_classes);
  std::vector<char> plain(width);
  for (int b = 0x20; b < 256; ++b)
    if (b != '"' && b != '\\') plain[dfa.classes[static_cast<size_t>(b)]] = 1;
  std::vector<int32_t> ways(n);
  std::vector<std::vector<int32_t>> before(n);
  for (size_t s = 0; s < n; ++s)
    for (size_t c = 0; c < width && states[s]; ++c) {
      const int32_t to = plain[c] ? dfa.next[s * width + c] : -1;
      if (to < 0 || !states[static_cast<size_t>(to)]) continue;
      ++ways[s];
      before[static_cast<size_t>(to)].push_back(static_cast<int32_t>(s));
    }
  std::vector<size_t> open;
  for (size_t s = 0; s < n; ++s)
    if (states[s] && ways[s] == 0) open.push_back(s);
  while (!open.empty()) {
    const size_t last = open.back();
    open.pop_back();
    states[last] = 0;
    for (const int32_t s : before[last])
      if (--ways[static_cast<size_t>(s)] == 0) open.push_back(static_cast<size_t>(s));
  }
  return states;
}

DfaPtr any_text() {
  static const DfaPtr any = [] {
    // States: 0 between characters; 1, 2, 3: so many continuation bytes to come; 4, 5: after E0 (A0–BF) and
    // ED (80–9F), one more; 6, 7: after F0 (90–BF) and F4 (80–8F), two more.
    Dfa d;
    for (int b = 0; b < 256; ++b) {
      uint8_t& c = d.classes[static_cast<size_t>(b)];
      if (b < 0x80)
        c = 0;
      else if (b < 0x90)
        c = 1;
      else if (b < 0xA0)
        c = 2;
      else if (b < 0xC0)
        c = 3;
      else if (b < 0xC2 || b > 0xF4)
        c = 4;
      else if (b < 0xE0)
        c = 5;
      else if (b == 0xE0)
        c = 6;
      else if (b == 0xED)
        c = 7;
      else if (b < 0xF0)
        c = 8;
      else if (b == 0xF0)
        c = 9;
      else
        c = b == 0xF4 ? 10 : 11;
    }
    d.n_classes = 12;
    d.next = {
        0,  -1, -1, -1, -1, 1,  4,  5,  2,  6,  7,  3,   // 0
        -1, 0,  0,  0,  -1, -1, -1, -1, -1, -1, -1, -1,  // 1
        -1, 1,  1,  1,  -1, -1, -1, -1, -1, -1, -1, -1,  // 2
        -1, 2,  2,  2,  -1, -1, -1, -1, -1, -1, -1, -1,  // 3
        -1, -1, -1, 1,  -1, -1, -1, -1, -1, -1, -1, -1,  // 4
        -1, 1,  1,  -1, -1, -1, -1, -1, -1, -1, -1, -1,  // 5
        -1, -1, 2,  2,  -1, -1, -1, -1, -1, -1, -1, -1,  // 6
        -1, 2,  -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,  // 7
    };
    d.label = {0, -1, -1, -1, -1, -1, -1, -1};
    d.start = 0;
    return std::make_shared<const Dfa>(std::move(d));
  }();
  return any;
}

Dfa of_texts(std::span<const std::string> texts) {
  std::array<char, 256> used{};
  for (const std::string& t : texts)
    for (const char c : t) used[static_cast<uint8_t>(c)] = 1;
  Dfa d;
  for (size_t b = 0; b < 256; ++b) d.classes[b] = used[b] ? static_cast<uint8_t>(d.n_classes++ - 1) : 255;
  // The last class is of the bytes in no text; with all 256 in use it does not exist.
  const bool rest = d.n_classes <= 256;
  if (!rest) d.n_classes = 256;
  for (uint8_t& c : d.classes)
    if (rest && c == 255) c = static_cast<uint8_t>(d.n_classes - 1);
  const auto width = static_cast<size_t>(d.n_classes);
  d.label.push_back(-1);
  d.next.resize(width, -1);
  d.start = 0;
  for (size_t i = 0; i < texts.size(); ++i) {
    size_t s = 0;
    for (const char c : texts[i]) {
      const size_t edge = s * width + d.classes[static_cast<uint8_t>(c)];
      if (d.next[edge] < 0) {
        d.next[edge] = d.size();
        d.label.push_back(-1);
        d.next.resize(d.next.size() + width, -1);
      }
      s = static_cast<size_t>(d.next[edge]);
    }
    d.label[s] = static_cast<int32_t>(i);
  }
  if (texts.empty()) d.start = -1;
  return d;
}

Dfa product(std::span<const Dfa* const> parts, std::span<const char> required, const Labeller& label,
            Budget& budget, const std::string& where) {
  Dfa out;
  // Bytes that every part takes for the same share a class.
  std::map<std::string, uint8_t> kinds;
  std::vector<uint8_t> sample;  // a byte of each class
  for (int b = 0; b < 256; ++b) {
    std::string kind;
    for (const Dfa* p : parts) kind += static_cast<char>(p->classes[static_cast<size_t>(b)]);
    const auto [at, fresh] = kinds.emplace(std::move(kind), static_cast<uint8_t>(kinds.size()));
    if (fresh) sample.push_back(static_cast<uint8_t>(b));
    out.classes[static_cast<size_t>(b)] = at->second;
  }
  out.n_classes = static_cast<int32_t>(kinds.size());

  std::vector<int32_t> first;
  for (size_t i = 0; i < parts.size(); ++i) {
    first.push_back(parts[i]->start);
    if (required[i] && parts[i]->start < 0) return out;
  }
  std::unordered_map<std::vector<int32_t>, int32_t, StatesHash> numbers{{first, 0}};
  std::vector<std::vector<int32_t>> order{first};
  for (size_t i = 0; i < order.size(); ++i) {
    budget.take(&Budget::dfa_states, 1, where);
    const std::vector<int32_t> here = order[i];
    out.label.push_back(label(here));
    for (const uint8_t byte : sample) {
      std::vector<int32_t> to(parts.size());
      bool dead = false;
      for (size_t p = 0; p < parts.size() && !dead; ++p) {
        to[p] = here[p] < 0 ? -1 : parts[p]->step(here[p], byte);
        dead = required[p] && to[p] < 0;
      }
      if (dead) {
        out.next.push_back(-1);
        continue;
      }
      const auto [at, fresh] = numbers.emplace(to, static_cast<int32_t>(order.size()));
      if (fresh) order.push_back(std::move(to));
      out.next.push_back(at->second);
    }
  }
  out.start = 0;
  return trim(out);
}

Dfa with_length(const Dfa& dfa, int64_t low, int64_t high, Budget& budget, const std::string& where) {
  if (dfa.empty() || (high >= 0 && low > high)) return {};
  // Lengths from `cap` on are told apart no more: the last one counted, or "enough".
  const int64_t cap = high >= 0 ? high : low;
  Dfa out;
  out.classes = dfa.classes;
  out.n_classes = dfa.n_classes;
  // A class may hold lead and continuation bytes; text is UTF-8, so split classes by that first.
  std::map<std::pair<uint8_t, bool>, uint8_t> kinds;
  std::vector<uint8_t> sample;
  for (size_t b = 0; b < 256; ++b) {
    const bool lead = (b & 0xC0) != 0x80;
    const auto [at, fresh] =
        kinds.emplace(std::pair{dfa.classes[b], lead}, static_cast<uint8_t>(kinds.size()));
    if (fresh) sample.push_back(static_cast<uint8_t>(b));
    out.classes[b] = at->second;
  }
  out.n_classes = static_cast<int32_t>(kinds.size());

  std::map<std::pair<int32_t, int64_t>, int32_t> numbers{{{dfa.start, 0}, 0}};
  std::vector<std::pair<int32_t, int64_t>> order{{dfa.start, 0}};
  for (size_t i = 0; i < order.size(); ++i) {
    budget.take(&Budget::dfa_states, 1, where);
    const auto [state, length] = order[i];
    out.label.push_back(length >= low ? dfa.label[static_cast<size_t>(state)] : -1);
    for (const uint8_t byte : sample) {
      const int32_t to = dfa.step(state, byte);
      int64_t n = length + ((byte & 0xC0) != 0x80);
      if (n > cap && high < 0) n = cap;
      if (to < 0 || n > cap) {
        out.next.push_back(-1);
        continue;
      }
      const auto [at, fresh] = numbers.emplace(std::pair{to, n}, static_cast<int32_t>(order.size()));
      if (fresh) order.emplace_back(to, n);
      out.next.push_back(at->second);
    }
  }
  out.start = 0;
  return trim(out);
}

int32_t step_code_point(const Dfa& dfa, int32_t state, uint32_t code_point) {
  uint8_t bytes[4];
  const int n = encode_utf8(code_point, bytes);
  for (int i = 0; i < n && state >= 0; ++i) state = dfa.step(state, bytes[i]);
  return state;
}

void find_need(Dfa& dfa) {
  constexpr int32_t kFar = INT32_MAX / 2;
  const auto n = static_cast<size_t>(dfa.size());
  const auto width = static_cast<size_t>(dfa.n_classes);
  std::vector<char> leads(width), continues(width);
  for (size_t b = 0; b < 256; ++b) ((b & 0xC0) == 0x80 ? continues : leads)[dfa.classes[b]] = 1;
  dfa.need.assign(n, kFar);
  for (size_t s = 0; s < n; ++s)
    if (dfa.label[s] >= 0) dfa.need[s] = 0;
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t s = n; s-- > 0;)
      for (size_t c = 0; c < width; ++c) {
        const int32_t to = dfa.next[s * width + c];
        if (to < 0) continue;
        const int32_t more = dfa.need[static_cast<size_t>(to)] + !continues[c];
        if (more >= dfa.need[s]) continue;
        dfa.need[s] = more;
        changed = true;
      }
  }
}

bool steps_on_range(const Dfa& dfa, int32_t state, uint32_t low, uint32_t high, int64_t room) {
  bool found = false;
  utf8_ranges(low, high, [&](const ByteRange* ranges, int n) {
    std::vector<int32_t> at{state};
    for (int i = 0; i < n && !found && !at.empty(); ++i) {
      std::vector<int32_t> to;
      for (const int32_t s : at)
        for (int b = ranges[i].low; b <= ranges[i].high; ++b)
          if (const int32_t t = dfa.step(s, static_cast<uint8_t>(b)); t >= 0) to.push_back(t);
      std::sort(to.begin(), to.end());
      to.erase(std::unique(to.begin(), to.end()), to.end());
      at = std::move(to);
    }
    for (const int32_t s : at) found = found || dfa.ends_within(s, 0, room);
  });
  return found;
}

}  // namespace ingle::constrain
