// The places of a schema seen as parts, for masks: each reading of the text is one, and within a string or a
// key what may come until it ends depends on that alone.
#include <algorithm>

#include "constrain/json_matcher.h"
#include "constrain/number_inside.h"

namespace ingle::constrain {
bool JsonMatcher::is_text(const Thread& t) const {
  // (Within a character a bound would have to count from its middle.)
  return t.mode == Mode::text && t.string.stage == 0 &&
         (!(writing() && unique(t.frame)) || t.shape->endless) &&
         (t.string.open_bytes == 0 || t.shape->high == kUnbounded);
}

bool JsonMatcher::is_key(const Thread& t) const {
  return t.mode == Mode::key && t.string.stage == 0 && writing() && !t.frame->finite_others;
}

bool JsonMatcher::is_number(const Thread& t) const {
  return t.mode == Mode::number && writing() && !unique(t.frame);
}

bool JsonMatcher::in_number() const {
  return std::all_of(threads_.begin(), threads_.end(), [&](const Thread& t) { return is_number(t); });
}

bool JsonMatcher::may_end(size_t i) const {
  const Thread& t = threads_[i];
  return is_number(t) && holds(*t.rule, t.number);
}

size_t JsonMatcher::n_parts() const {
  constexpr size_t kMost = 64;
  if (threads_.size() > kMost || (compares() && !writing())) return 0;
  const bool any = std::any_of(threads_.begin(), threads_.end(),
                               [&](const Thread& t) { return is_text(t) || is_key(t) || is_number(t); });
  return any ? threads_.size() : 0;
}

Matcher::PartKey JsonMatcher::part_key(size_t i) const {
  const Thread& t = threads_[i];
  if (is_text(t)) return {t.shape->text.get(), t.string.state, {unique(t.frame)}};
  if (is_key(t)) return {t.frame->object, t.string.state, t.allowed};
  if (!is_number(t)) return {};
  return {t.rule, t.number.stage, std::vector<uint64_t>(t.number.text.begin(), t.number.text.end())};
}

std::unique_ptr<Matcher> JsonMatcher::inside(size_t i) const {
  if (is_number(threads_[i])) return number_inside(*threads_[i].rule, threads_[i].number);
  auto alone = std::make_unique<JsonMatcher>(*this);
  std::swap(alone->threads_[0], alone->threads_[i]);
  alone->threads_.resize(1);
  return alone;
}

std::unique_ptr<Matcher> JsonMatcher::outside(size_t i, int32_t exit) const {
  auto out = std::make_unique<JsonMatcher>(*this);
  out->next_.clear();
  out->spaces_ = 0;
  out->untold_ = compares();
  Thread t = threads_[i];
  if (t.mode == Mode::key) {
    // Which key it is matters to later ones alone: a text stands for it that none can be.
    const ObjectShape& shape = *t.frame->object;
    const std::vector<std::string>& others = t.frame->others;
    const bool again = std::find(others.begin(), others.end(), kUntold) != others.end();
    out->doubtful_ = shape.classes[static_cast<size_t>(exit)].name < 0 &&
                     (again || !shape.classes[static_cast<size_t>(exit)].endless);
    t.key.assign(again ? others.size() + 1 : 1, kUntold[0]);
    out->end_key(t, exit);
  } else if (t.mode == Mode::number) {
    Thread done;
    done.mode = Mode::after;
    done.frame = t.frame;
    out->add(std::move(done));
  } else if (unique(t.frame)) {
    // It differs from those that refused() tells.
    auto frame = std::make_shared<Frame>(*t.frame);
    out->doubtful_ = std::find(frame->items.begin(), frame->items.end(), kUntold) != frame->items.end();
    frame->items.emplace_back(kUntold);
    Thread done;
    done.mode = Mode::after;
    done.frame = std::move(frame);
    out->add(std::move(done));
  } else {
    out->end_value(std::move(t));
  }
  std::swap(out->threads_, out->next_);
  if (out->threads_.empty()) return nullptr;
  return out;
}

Matcher::Text JsonMatcher::text(size_t i) const {
  const Thread& t = threads_[i];
  if (is_text(t))
    return {t.shape->text.get(), t.string, !unique(t.frame), t.shape->low, t.shape->high, nullptr, {}};
  if (is_key(t)) {
    const ObjectShape& shape = *t.frame->object;
    return {&shape.keys, t.string, false, 0, -1, &shape.reach, t.allowed};
  }
  return {};
}

std::vector<std::string> JsonMatcher::refused(size_t i) const {
  const Thread& t = threads_[i];
  std::vector<std::string> out;
  if (t.mode == Mode::key)
    for (const std::string& other : t.frame->others)
      if (other.starts_with(t.key)) out.push_back(other.substr(t.key.size()) + '"');
  if (t.mode == Mode::text && unique(t.frame))
    for (const std::string& item : t.frame->items) {
      // (What needs escapes is not written here.)
      if (item[0] != '"' || item.find('\\') != std::string::npos) continue;
      if (const std::string_view text = std::string_view(item).substr(1); text.starts_with(t.key))
        out.emplace_back(text.substr(t.key.size()));
    }
  return out;
}

}  // namespace ingle::constrain
