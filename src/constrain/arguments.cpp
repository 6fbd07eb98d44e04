#include "constrain/arguments.h"

#include <algorithm>

#include "constrain/triggers.h"
#include "core/error.h"

namespace ingle::constrain {
namespace {

constexpr size_t kMostArguments = 64;  // a bit for each

struct Plan {
  WrittenArguments all;
  Dfa marker;  // one state on from a state where it has just ended: none is left
  std::vector<char> ended;
  uint64_t required = 0;
};

// A byte of a text as a JSON string has it.
std::string escaped(uint8_t byte) {
  constexpr char kHex[] = "0123456789abcdef";
  switch (byte) {
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      if (byte < 0x20) return std::string("\\u00") + kHex[byte >> 4] + kHex[byte & 15];
      return std::string(1, static_cast<char>(byte));
  }
}

class ArgumentsMatcher : public Matcher {
 public:
  ArgumentsMatcher(std::shared_ptr<const Plan> plan, Purpose purpose) : plan_(std::move(plan)) {
    auto values = std::make_shared<std::vector<std::unique_ptr<Matcher>>>();
    for (const WrittenArgument& a : plan_->all.arguments) {
      values->push_back(a.value->matcher(purpose));
      if (a.raw && !values->back()->advance(uint8_t{'"'})) values->back().reset();  // no text fits
    }
    values_ = std::move(values);
    threads_.emplace_back();
  }

  using Matcher::advance;
  bool advance(uint8_t byte) override {
    std::vector<Thread> before;
    std::swap(before, threads_);
    for (Thread& t : before) step(t, byte);
    return !threads_.empty();
  }
  bool accepting() const override {
    return std::any_of(threads_.begin(), threads_.end(), [&](const Thread& t) {
      return t.mode == Mode::between && (t.done & plan_->required) == plan_->required;
    });
  }
  std::unique_ptr<Matcher> clone() const override { return std::make_unique<ArgumentsMatcher>(*this); }
  void assign(const Matcher& other) override { *this = static_cast<const ArgumentsMatcher&>(other); }
  bool same(const Matcher& other) const override {
    const auto& o = static_cast<const ArgumentsMatcher&>(other);
    return plan_ == o.plan_ && threads_ == o.threads_;
  }
  size_t hash() const override {
    size_t h = 0;
    for (const Thread& t : threads_) {
      for (const uint64_t part : {static_cast<uint64_t>(t.mode), static_cast<uint64_t>(t.argument),
                                  static_cast<uint64_t>(t.at), t.done})
        h = (h ^ part) * 0xBF58476D1CE4E5B9u;
      if (t.value.at) h ^= t.value.at->hash();
    }
    return h;
  }
  bool remembers() const override {
    return std::any_of(threads_.begin(), threads_.end(),
                       [](const Thread& t) { return t.value.at && t.value.at->remembers(); });
  }

 private:
  enum class Mode : uint8_t { between, open, value, end };
  struct Value {  // its own for each thread
    std::unique_ptr<Matcher> at;
    Value() = default;
    Value(const Value& o) : at(o.at ? o.at->clone() : nullptr) {}
    Value(Value&&) noexcept = default;
    Value& operator=(Value o) noexcept {
      std::swap(at, o.at);
      return *this;
    }
    bool operator==(const Value& o) const {
      if (!at || !o.at) return !at && !o.at;
      return at->same(*o.at) && at->blanks() == o.at->blanks();  // which same() does not tell
    }
  };
  struct Thread {
    Mode mode = Mode::between;
    int32_t argument = -1;
    int32_t at = 0;       // of the text that opens or ends it; in a value: of the marker
    uint64_t done = 0;    // arguments, this one too
    bool escape = false;  // in a value: behind a backslash
    Value value;
    bool operator==(const Thread&) const = default;
  };

  const WrittenArgument& of(const Thread& t) const {
    return plan_->all.arguments[static_cast<size_t>(t.argument)];
  }
  static uint64_t bit(int32_t argument) { return uint64_t{1} << argument; }
  // What opens the thread's argument.
  const std::string& opening(const Thread& t) const {
    return t.done == bit(t.argument) ? of(t).first : of(t).next;
  }

  void step(Thread& t, uint8_t byte) {
    switch (t.mode) {
      case Mode::between:
        for (int32_t a = 0; a < static_cast<int32_t>(values_->size()); ++a) {
          if ((t.done & bit(a)) != 0) continue;
          Thread open;
          open.mode = Mode::open;
          open.argument = a;
          open.done = t.done | bit(a);
          const std::string& text = opening(open);
          spell(std::move(open), text, byte);
        }
        return;
      case Mode::open:
      case Mode::end: {
        const std::string& text = t.mode == Mode::open ? opening(t) : of(t).end;
        return spell(std::move(t), text, byte);
      }
      case Mode::value:
        if (takes(t, byte)) add(std::move(t));
    }
  }

  void spell(Thread t, const std::string& text, uint8_t byte) {
    if (static_cast<uint8_t>(text[static_cast<size_t>(t.at)]) != byte) return;
    ++t.at;
    add(std::move(t));
  }

  bool takes(Thread& t, uint8_t byte) const {
    if (!plan_->all.marker.empty()) {
      t.at = plan_->marker.step(t.at, byte);
      if (t.at < 0 || plan_->ended[static_cast<size_t>(t.at)]) return false;
    }
    if (of(t).raw) return t.value.at->advance(escaped(byte));
    if (plan_->all.no_slash_escape && t.escape && byte == '/') return false;
    t.escape = byte == '\\' && !t.escape;
    return t.value.at->advance(byte);
  }

  bool whole(const Thread& t) const {
    if (!of(t).raw) return t.value.at->accepting();
    const auto closed = t.value.at->clone();
    return closed->advance(uint8_t{'"'}) && closed->accepting();
  }

  // A place, and those that are reached from it by no byte.
  void add(Thread t) {
    if (t.mode == Mode::open && static_cast<size_t>(t.at) == opening(t).size()) {
      const auto& start = (*values_)[static_cast<size_t>(t.argument)];
      if (!start) return;
      t.mode = Mode::value;
      t.at = plan_->all.marker.empty() ? 0 : plan_->marker.start;
      t.value.at = start->clone();
    }
    if (t.mode == Mode::value && whole(t)) {
      Thread end;
      end.mode = Mode::end;
      end.argument = t.argument;
      end.done = t.done;
      add(std::move(end));
    }
    if (t.mode == Mode::end && static_cast<size_t>(t.at) == of(t).end.size()) {
      Thread between;
      between.done = t.done;
      t = std::move(between);
    }
    if (std::find(threads_.begin(), threads_.end(), t) == threads_.end()) threads_.push_back(std::move(t));
  }

  std::shared_ptr<const Plan> plan_;
  std::shared_ptr<const std::vector<std::unique_ptr<Matcher>>> values_;  // each at its start; null: none fits
  std::vector<Thread> threads_;
};

class ArgumentsGrammar : public Grammar {
 public:
  explicit ArgumentsGrammar(Plan plan) : plan_(std::make_shared<const Plan>(std::move(plan))) {}
  std::unique_ptr<Matcher> matcher(Purpose purpose) const override {
    return std::make_unique<ArgumentsMatcher>(plan_, purpose);
  }

 private:
  std::shared_ptr<const Plan> plan_;
};

// Where the marker's end is none of its beginning, and it holds no white space, the first one behind a value
// without it is the one that ends the value.
bool ends_by_itself(const std::string& marker) {
  if (marker.find_first_of(" \t\r\n") != std::string::npos) return false;
  for (size_t n = 1; n < marker.size(); ++n)
    if (marker.ends_with(marker.substr(0, n))) return false;
  return true;
}

}  // namespace

GrammarPtr arguments_grammar(WrittenArguments arguments, const std::string& where) {
  if (arguments.arguments.size() > kMostArguments)
    fail(Code::unsupported, where,
         format("{} arguments, expected at most {}", arguments.arguments.size(), kMostArguments));
  Plan plan;
  for (size_t i = 0; i < arguments.arguments.size(); ++i)
    if (arguments.arguments[i].required) plan.required |= uint64_t{1} << i;
  if (!arguments.marker.empty()) {
    if (!ends_by_itself(arguments.marker))
      fail(Code::unsupported, where,
           format("the end of \"{}\" may be taken for its beginning", arguments.marker));
    const Triggers found = find_triggers({arguments.marker});
    plan.marker = found.steps;
    for (const auto& ended : found.ended) plan.ended.push_back(!ended.empty());
  }
  plan.all = std::move(arguments);
  return std::make_shared<ArgumentsGrammar>(std::move(plan));
}

}  // namespace ingle::constrain
