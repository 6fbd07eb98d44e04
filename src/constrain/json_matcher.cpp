#include "constrain/json_matcher.h"

#include <algorithm>

#include "constrain/number_inside.h"
#include "core/error.h"
#include "core/json.h"

namespace ingle::constrain {
namespace {

constexpr size_t kMaxThreads = 4096;
constexpr size_t kMostWritten = 256;  // shapes of an object: each token is tried in all of them

bool is_space(uint8_t byte) { return byte == ' ' || byte == '\n' || byte == '\t' || byte == '\r'; }

// Equal for equal values: members sorted, numbers by value.
void write_canonical(std::string& out, const Json& j) {
  switch (j.kind) {
    case Json::Kind::number: {
      const auto number = Decimal::parse(j.text);
      out += number ? number->key() : j.text;
      break;
    }
    case Json::Kind::array:
      out += '[';
      for (const Json& item : j.items) {
        write_canonical(out, item);
        out += ',';
      }
      out += ']';
      break;
    case Json::Kind::object: {
      auto members = j.members;
      std::sort(members.begin(), members.end(),
                [](const auto& a, const auto& b) { return a.first < b.first; });
      out += '{';
      for (const auto& [name, value] : members) {
        Json key;
        key.kind = Json::Kind::string;
        key.text = name;
        out += to_text(key) + ':';
        write_canonical(out, value);
        out += ',';
      }
      out += '}';
      break;
    }
    default:
      out += to_text(j);
  }
}

bool has(const std::vector<uint64_t>& bits, int32_t i) {
  return bits[static_cast<size_t>(i) / 64] >> (i % 64) & 1;
}
void set(std::vector<uint64_t>& bits, int32_t i) {
  bits[static_cast<size_t>(i) / 64] |= uint64_t{1} << (i % 64);
}

// Up to `n` texts that the automaton accepts from `state` on, short ones first. It is trimmed: each way leads
// to one.
std::vector<std::string> first_texts(const Dfa& dfa, int32_t state, size_t n) {
  std::vector<std::string> out;
  std::vector<std::pair<int32_t, std::string>> open{{state, ""}};
  for (size_t i = 0; i < open.size() && out.size() < n; ++i) {
    const auto [at, text] = open[i];
    if (dfa.label[static_cast<size_t>(at)] >= 0) out.push_back(text);
    for (int b = 0x20; b < 256 && open.size() < 64 * n; ++b) {
      if (b == '"' || b == '\\') continue;
      if (const int32_t to = dfa.step(at, static_cast<uint8_t>(b)); to >= 0)
        open.emplace_back(to, text + static_cast<char>(b));
    }
  }
  return out;
}

// Can infinitely many keys of its class still come wherever this one goes through?
bool among_endless(const ObjectShape& shape, std::string_view key, int32_t number) {
  int32_t state = shape.keys.start;
  for (size_t i = 0; state >= 0 && has(shape.endless[static_cast<size_t>(state)], number); ++i) {
    if (i == key.size()) return true;
    state = shape.keys.step(state, static_cast<uint8_t>(key[i]));
  }
  return state < 0;  // it stands for one that was not told
}

bool any_node(const std::vector<int32_t>& nodes) {
  return std::any_of(nodes.begin(), nodes.end(), [](int32_t n) { return n >= 0; });
}

}  // namespace

// A text may nest deeply: neither this nor the comparison recurses over its parents.
JsonMatcher::Frame::~Frame() {
  FramePtr above = std::move(parent);
  while (above && above.use_count() == 1) above = std::move(const_cast<Frame&>(*above).parent);
}

bool JsonMatcher::Frame::same_here(const Frame& o) const {
  return object == o.object && array == o.array && count == o.count && required == o.required &&
         fulfilled == o.fulfilled && item_begin == o.item_begin && finite_others == o.finite_others &&
         seen == o.seen && contains == o.contains && others == o.others && items == o.items;
}

bool JsonMatcher::Frame::operator==(const Frame& o) const {
  const Frame *a = this, *b = &o;
  for (; a && b && a != b; a = a->parent.get(), b = b->parent.get())
    if (!a->same_here(*b)) return false;
  return a == b;
}

bool JsonMatcher::Thread::operator==(const Thread& o) const {
  // What most often tells two readings apart comes first.
  if (frame != o.frame &&
      (!frame || !o.frame || frame->object != o.frame->object || frame->array != o.frame->array))
    return false;
  if (mode != o.mode || node != o.node || shape != o.shape || rule != o.rule || word != o.word ||
      !(string == o.string) || !(number == o.number) || key != o.key || allowed != o.allowed)
    return false;
  return frame == o.frame || (frame && o.frame && *frame == *o.frame);
}

JsonMatcher::JsonMatcher(std::shared_ptr<const JsonMachine> machine, Purpose purpose)
    : machine_(std::move(machine)), purpose_(purpose) {
  for (const JsonNode& n : machine_->nodes)
    if (writing() && n.objects.size() > kMostWritten)
      fail(Code::unsupported, "constraint",
           format("an object may be read in {} ways at once, expected at most {} to write by; texts can be "
                  "judged",
                  n.objects.size(), kMostWritten));
  Thread first;
  first.node = machine_->root;
  threads_.push_back(std::move(first));
}

bool JsonMatcher::advance(uint8_t byte) {
  if (machine_->remembers_text) text_ += static_cast<char>(byte);
  next_.clear();
  for (Thread& t : threads_) step(std::move(t), byte);
  std::swap(threads_, next_);
  spaces_ = is_space(byte) ? spaces_ + 1 : 0;
  if (machine_->remembers_text && !compares()) text_.clear();
  return !threads_.empty();
}

bool JsonMatcher::accepting() const {
  for (const Thread& t : threads_) {
    if (t.frame) continue;
    if (t.mode == Mode::after) return true;
    if (t.mode == Mode::number && holds(*t.rule, t.number)) return true;
  }
  return false;
}

bool JsonMatcher::same(const Matcher& other) const {
  const auto& o = static_cast<const JsonMatcher&>(other);
  return doubtful_ == o.doubtful_ && threads_ == o.threads_ && !compares();
}

size_t JsonMatcher::hash() const {
  size_t h = doubtful_;
  const auto mix = [&](size_t x) { h = ((h ^ x) + 0x9E3779B97F4A7C15u) * 0xBF58476D1CE4E5B9u ^ h >> 29; };
  for (const Thread& t : threads_) {
    mix(static_cast<size_t>(t.mode));
    mix(static_cast<size_t>(t.node));
    mix(static_cast<size_t>(t.string.state) << 32 ^ static_cast<size_t>(t.string.length) << 8 ^
        t.string.stage);
    mix(t.string.code);
    mix(std::hash<std::string>()(t.number.text) ^ t.number.stage);
    mix(reinterpret_cast<size_t>(t.shape) ^ reinterpret_cast<size_t>(t.rule) ^
        reinterpret_cast<size_t>(t.word));
    const Frame* frame = t.frame.get();  // (what is farther out seldom tells places apart)
    for (int depth = 0; frame && depth < 4; ++depth, frame = frame->parent.get()) {
      mix(reinterpret_cast<size_t>(frame->object) ^ reinterpret_cast<size_t>(frame->array));
      mix(static_cast<size_t>(frame->count) << 32 ^ static_cast<size_t>(frame->required) << 16 ^
          frame->fulfilled);
      for (const uint64_t seen : frame->seen) mix(seen);
      for (const std::string& other : frame->others) mix(std::hash<std::string>()(other));
    }
  }
  return h;
}

bool JsonMatcher::compares() const {
  return machine_->remembers_text && std::any_of(threads_.begin(), threads_.end(), [](const Thread& t) {
           return t.frame && t.frame->in_unique;
         });
}

int JsonMatcher::blanks() const {
  if (machine_->compact || !writing() || threads_.empty()) return -1;
  // (All readings of a text agree on where it is open.)
  const Thread& t = threads_.front();
  const bool between = t.mode == Mode::value || (t.mode >= Mode::key_or_close && t.mode != Mode::key);
  return between && (t.mode != Mode::after || t.frame) ? spaces_ : -1;
}

bool JsonMatcher::in_json() const {
  return std::all_of(threads_.begin(), threads_.end(),
                     [](const Thread& t) { return t.frame && t.mode != Mode::text && t.mode != Mode::key; });
}

bool JsonMatcher::remembers() const {
  return compares() ||
         std::any_of(threads_.begin(), threads_.end(), [](const Thread& t) { return !t.key.empty(); });
}

bool JsonMatcher::may_begin(uint8_t byte) const {
  if (is_space(byte)) return true;
  return std::any_of(threads_.begin(), threads_.end(), [&](const Thread& t) {
    switch (t.mode) {
      case Mode::value:
      case Mode::item:
        return byte == '"' || byte == '{' || byte == '[' || byte == '-' || (byte >= '0' && byte <= '9') ||
               byte == 't' || byte == 'f' || byte == 'n';
      case Mode::key_or_close:
        return byte == '"' || byte == '}';
      case Mode::key_quote:
        return byte == '"';
      case Mode::colon:
        return byte == ':';
      case Mode::after:
        return byte == ',' || byte == '}' || byte == ']';
      case Mode::number:
        return byte == ',' || byte == '}' || byte == ']' || byte == '.' || byte == '-' || byte == '+' ||
               byte == 'e' || byte == 'E' || (byte >= '0' && byte <= '9');
      default:
        return true;
    }
  });
}

void JsonMatcher::add(Thread thread) {
  for (const Thread& known : next_)
    if (known == thread) return;
  if (next_.size() >= kMaxThreads)
    fail(Code::unsupported, "constraint", format("more than {} readings of the text at once", kMaxThreads));
  next_.push_back(std::move(thread));
}

void JsonMatcher::step(Thread t, uint8_t byte) {
  const bool between = t.mode == Mode::value || t.mode >= Mode::key_or_close;
  if (between && t.mode != Mode::key && is_space(byte)) {
    const bool last = t.mode == Mode::after && !t.frame;
    if (machine_->compact || (writing() && (last || spaces_ >= kMostBlanks))) return;
    return add(std::move(t));
  }
  switch (t.mode) {
    case Mode::value:
      return begin_value(std::move(t), byte);
    case Mode::text: {
      const bool apart = writing() && unique(t.frame);
      if (apart && byte == '\\' && t.string.stage == 0) return;
      const Step s = t.string.take(byte, *t.shape->text, t.shape->high, apart ? &t.key : nullptr);
      // Lengths that no longer matter are not told apart.
      if (t.shape->high == kUnbounded) t.string.length = std::min(t.string.length, t.shape->low);
      if (s == Step::more && new_item(t)) add(std::move(t));
      if (s == Step::closed && t.string.length >= t.shape->low) end_value(std::move(t));
      return;
    }
    case Mode::number:
      return in_number(std::move(t), byte);
    case Mode::word:
      if (static_cast<uint8_t>(*t.word) != byte) return;
      ++t.word;
      return *t.word ? add(std::move(t)) : end_value(std::move(t));
    case Mode::key_or_close:
      if (byte == '}') return close(t);
      [[fallthrough]];
    case Mode::key_quote:
      if (byte == '"') begin_key(std::move(t));
      return;
    case Mode::key:
      return in_key(std::move(t), byte);
    case Mode::colon:
      if (byte != ':') return;
      t.mode = Mode::value;
      return add(std::move(t));
    case Mode::item_or_close:
      if (byte == ']') return close(t);
      [[fallthrough]];
    case Mode::item:
      return begin_item(t.frame, byte);
    case Mode::after:
      return after(t, byte);
  }
}

void JsonMatcher::begin_value(Thread t, uint8_t byte) {
  const JsonNode& node = machine_->nodes[static_cast<size_t>(t.node)];
  t.node = -1;
  const auto word = [&](bool allowed, const char* rest) {
    if (!allowed) return;
    t.mode = Mode::word;
    t.word = rest;
    if (new_item(t)) add(std::move(t));
  };
  switch (byte) {
    case 'n':
      return word(node.may_be_null, "ull");
    case 't':
      return word(node.may_be_true, "rue");
    case 'f':
      return word(node.may_be_false, "alse");
    case '"':
      for (const StringShape& shape : node.strings) {
        Thread own = t;
        own.mode = Mode::text;
        own.shape = &shape;
        own.string.state = shape.text->start;
        if (new_item(own)) add(std::move(own));
      }
      return;
    case '[':
      for (const ArrayShape& shape : node.arrays) {
        Thread own = t;
        auto frame = std::make_shared<Frame>();
        frame->parent = t.frame;
        frame->array = &shape;
        frame->in_unique = shape.unique || (t.frame && t.frame->in_unique);
        frame->contains.resize(shape.contains.size());
        own.frame = std::move(frame);
        own.mode = Mode::item_or_close;
        add(std::move(own));
      }
      return;
    case '{':
      for (const ObjectShape& shape : node.objects) {
        Thread own = t;
        auto frame = std::make_shared<Frame>();
        frame->parent = t.frame;
        frame->object = &shape;
        frame->in_unique = t.frame && t.frame->in_unique;
        frame->seen.resize((shape.classes.size() + 63) / 64);
        own.frame = std::move(frame);
        own.mode = Mode::key_or_close;
        add(std::move(own));
      }
      return;
    default:
      break;
  }
  if (byte != '-' && (byte < '0' || byte > '9')) return;
  for (const NumberRule& rule : node.numbers) {
    Thread own = t;
    own.mode = Mode::number;
    own.rule = &rule;
    in_number(std::move(own), byte);
  }
}

void JsonMatcher::in_number(Thread t, uint8_t byte) {
  if (t.number.complete() && (byte == ',' || byte == ']' || byte == '}' || is_space(byte))) {
    if (!holds(*t.rule, t.number)) return;
    Thread done;
    done.frame = t.frame;
    done.mode = Mode::after;
    if (unique(t.frame)) {
      // The byte at hand belongs to what follows.
      text_.pop_back();
      std::vector<Thread> kept;
      std::swap(kept, next_);
      end_value(std::move(done));
      std::swap(kept, next_);
      text_ += static_cast<char>(byte);
      for (Thread& each : kept) step(std::move(each), byte);
      return;
    }
    return step(std::move(done), byte);
  }
  if (!take(*t.rule, t.number, byte, writing(), !unique(t.frame))) return;
  if (new_item(t)) add(std::move(t));
}

// ---- Objects ----

bool JsonMatcher::may_be_unnamed(const Thread& t) const {
  const ObjectShape& shape = *t.frame->object;
  const auto& reach = shape.reach[static_cast<size_t>(t.string.state)];
  for (size_t w = 0; w < reach.size(); ++w)
    if (reach[w] & t.allowed[w] & shape.unnamed[w]) return true;
  return false;
}

// Can the key that has begun still become one that may come, and was not there?
bool JsonMatcher::new_key(const Thread& t) const {
  const ObjectShape& shape = *t.frame->object;
  const auto& reach = shape.reach[static_cast<size_t>(t.string.state)];
  bool unnamed = false;
  for (size_t w = 0; w < reach.size(); ++w) {
    if (reach[w] & t.allowed[w] & ~shape.unnamed[w]) return true;
    unnamed = unnamed || (reach[w] & t.allowed[w]) != 0;
  }
  const std::vector<std::string>& others = t.frame->others;
  if (!unnamed || !writing() || !t.frame->finite_others) return unnamed;
  // Whatever begins so is new where none of them does.
  if (std::none_of(others.begin(), others.end(), [&](const std::string& o) { return o.starts_with(t.key); }))
    return true;
  for (const std::string& rest :
       first_texts(shape.keys, t.string.state, others.size() + shape.classes.size() + 1)) {
    int32_t state = t.string.state;
    for (const char c : rest) state = shape.keys.step(state, static_cast<uint8_t>(c));
    const int32_t number = shape.keys.label[static_cast<size_t>(state)];
    if (has(t.allowed, number) && shape.classes[static_cast<size_t>(number)].name < 0 &&
        std::find(others.begin(), others.end(), t.key + rest) == others.end())
      return true;
  }
  return false;
}

void JsonMatcher::begin_key(Thread t) {
  const ObjectShape& shape = *t.frame->object;
  if (shape.keys.empty() || (shape.high != kUnbounded && t.frame->count >= shape.high)) return;
  const bool only_required =
      shape.high != kUnbounded && shape.high - t.frame->count <= shape.n_required - t.frame->required;
  t.allowed.assign(t.frame->seen.size(), 0);
  for (size_t c = 0; c < shape.classes.size(); ++c) {
    const auto number = static_cast<int32_t>(c);
    if (!has(t.frame->seen, number) && any_node(shape.classes[c].nodes) &&
        (!only_required || shape.classes[c].required))
      set(t.allowed, number);
  }
  t.mode = Mode::key;
  t.string = {};
  t.string.state = shape.keys.start;
  t.key.clear();
  if (new_key(t)) add(std::move(t));
}

void JsonMatcher::in_key(Thread t, uint8_t byte) {
  if (byte == '\\' && t.string.stage == 0 && writing()) return;
  const ObjectShape& shape = *t.frame->object;
  const Step s = t.string.take(byte, shape.keys, kUnbounded, &t.key);
  if (s == Step::closed) return end_key(t, shape.keys.label[static_cast<size_t>(t.string.state)]);
  if (s == Step::dead) return;
  if (!may_be_unnamed(t)) t.key.clear();  // it will not be asked for
  if (new_key(t)) add(std::move(t));
}

void JsonMatcher::end_key(const Thread& t, int32_t number) {
  const Frame& frame = *t.frame;
  const ObjectShape& shape = *frame.object;
  if (!has(t.allowed, number)) return;
  const KeyClass& c = shape.classes[static_cast<size_t>(number)];
  if (c.name < 0 && std::find(frame.others.begin(), frame.others.end(), t.key) != frame.others.end()) return;
  for (uint32_t mask = 0; mask < c.nodes.size(); ++mask) {
    if (c.nodes[mask] < 0 || (mask & frame.fulfilled)) continue;
    auto next = std::make_shared<Frame>(frame);
    ++next->count;
    next->required += c.required;
    next->fulfilled |= mask;
    if (c.name >= 0)
      set(next->seen, number);
    else {
      next->others.push_back(t.key);
      next->finite_others = next->finite_others || !among_endless(shape, t.key, number);
    }
    Thread value;
    value.frame = std::move(next);
    value.mode = Mode::colon;
    value.node = c.nodes[mask];
    add(std::move(value));
  }
}

// ---- Arrays ----

// Where items must differ, can the scalar that has begun still become one that was not there? Of arrays and
// objects as items this is not asked.
bool JsonMatcher::new_item(const Thread& t) {
  if (!writing() || !unique(t.frame) || t.frame->items.empty()) return true;
  const std::vector<std::string>& items = t.frame->items;
  const auto there = [&](const std::string& text) {
    return std::find(items.begin(), items.end(), text) != items.end();
  };
  if (t.mode == Mode::word) return !there(*t.word == 'u' ? "null" : *t.word == 'r' ? "true" : "false");
  if (t.mode == Mode::number) {
    if (t.number.stage >= 6) return false;
    NumberRule rule = *t.rule;
    for (const std::string& item : items)
      if (item[0] == '-' || (item[0] >= '0' && item[0] <= '9'))
        if (const auto value = Decimal::parse(item)) rule.not_equal.push_back(*value);
    return rule.can_begin(t.number.text);
  }
  if (t.shape->endless) return true;
  doubtful_ = doubtful_ || untold_;
  // One text more than there are items: one of them is new.
  for (const std::string& rest : first_texts(*t.shape->text, t.string.state, items.size() + 1)) {
    Json whole;
    whole.kind = Json::Kind::string;
    whole.text = t.key + rest;
    if (!there(to_text(whole))) return true;
  }
  return false;
}

bool JsonMatcher::another_item(const FramePtr& frame) {
  if (!writing() || !unique(frame)) return true;
  std::vector<Thread> kept;
  std::swap(kept, next_);
  for (const char byte : std::string_view("\"-0123456789tfn[{"))
    begin_item(frame, static_cast<uint8_t>(byte));
  const bool possible = !next_.empty();
  std::swap(kept, next_);
  return possible;
}

void JsonMatcher::begin_item(const FramePtr& frame, uint8_t byte) {
  const ArrayShape& shape = *frame->array;
  if (shape.high != kUnbounded && frame->count >= shape.high) return;
  const std::vector<int32_t>& nodes = shape.at(frame->count);
  for (uint32_t mask = 0; mask < nodes.size(); ++mask) {
    if (nodes[mask] < 0) continue;
    auto next = std::make_shared<Frame>(*frame);
    ++next->count;
    bool good = true;
    for (size_t c = 0; c < shape.contains.size(); ++c) {
      const ContainsRule& rule = shape.contains[c];
      const bool chosen = mask >> c & 1;
      // Enough is enough, where there is no upper bound.
      if (chosen && rule.high == kUnbounded && next->contains[c] >= rule.low) good = false;
      next->contains[c] += chosen;
      if (rule.high != kUnbounded && next->contains[c] > rule.high) good = false;
      if (shape.high != kUnbounded && rule.low - next->contains[c] > shape.high - next->count) good = false;
    }
    if (!good) continue;
    if (shape.unique) next->item_begin = text_.size() - 1;
    Thread value;
    value.frame = std::move(next);
    value.node = nodes[mask];
    begin_value(std::move(value), byte);
  }
}

void JsonMatcher::end_value(Thread t) {
  Thread done;
  done.mode = Mode::after;
  done.frame = t.frame;
  if (unique(t.frame) && untold_) {
    doubtful_ = doubtful_ || !t.frame->items.empty();
    auto next = std::make_shared<Frame>(*t.frame);
    next->items.emplace_back(kUntold);
    done.frame = std::move(next);
  } else if (unique(t.frame)) {
    std::string canonical;
    write_canonical(canonical, parse_json(std::string_view(text_).substr(t.frame->item_begin), "item"));
    const auto& items = t.frame->items;
    if (std::find(items.begin(), items.end(), canonical) != items.end()) return;
    auto next = std::make_shared<Frame>(*t.frame);
    next->items.push_back(std::move(canonical));
    done.frame = std::move(next);
  }
  add(std::move(done));
}

void JsonMatcher::after(const Thread& t, uint8_t byte) {
  if (!t.frame) return;
  if (t.frame->object) {
    if (byte == '}') return close(t);
    if (byte != ',') return;
    Thread next;
    next.frame = t.frame;
    next.mode = Mode::key_quote;
    // Only where some key can still come.
    std::vector<Thread> kept;
    std::swap(kept, next_);
    begin_key(next);
    const bool possible = !next_.empty();
    std::swap(kept, next_);
    if (possible) add(std::move(next));
    return;
  }
  if (byte == ']') return close(t);
  const ArrayShape& shape = *t.frame->array;
  if (byte != ',' || (shape.high != kUnbounded && t.frame->count >= shape.high)) return;
  if (!any_node(shape.at(t.frame->count)) || !another_item(t.frame)) return;
  Thread next;
  next.frame = t.frame;
  next.mode = Mode::item;
  add(std::move(next));
}

void JsonMatcher::close(const Thread& t) {
  const Frame& frame = *t.frame;
  if (frame.object) {
    const ObjectShape& shape = *frame.object;
    if (frame.count < shape.low || frame.required < shape.n_required || frame.fulfilled != shape.conditions)
      return;
  } else {
    const ArrayShape& shape = *frame.array;
    if (frame.count < shape.low) return;
    for (size_t c = 0; c < shape.contains.size(); ++c)
      if (frame.contains[c] < shape.contains[c].low) return;
  }
  Thread outer;
  outer.frame = frame.parent;
  end_value(std::move(outer));
}

}  // namespace ingle::constrain
