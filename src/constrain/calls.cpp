#include "constrain/calls.h"

#include <algorithm>

#include "constrain/triggers.h"
#include "core/error.h"

namespace ingle::constrain {
namespace {

struct Plan {
  std::vector<Call> calls;
  CallsOptions options;
  Triggers triggers;    // of options.trigger
  Triggers letters;     // of options.not_in_free
  Dfa first, next;      // what opens the first call and the ones that follow, labelled with the call
  int32_t opened = -1;  // in first, behind the trigger
};

class CallsMatcher : public Matcher {
 public:
  CallsMatcher(std::shared_ptr<const Plan> plan, Purpose purpose) : plan_(std::move(plan)) {
    auto arguments = std::make_shared<std::vector<std::unique_ptr<Matcher>>>();
    for (const Call& call : plan_->calls) arguments->push_back(call.arguments->matcher(purpose));
    arguments_ = std::move(arguments);
    const CallsOptions& o = plan_->options;
    const bool must = o.must || o.trigger.empty();
    if (!must) {
      Thread t;
      t.mode = o.free_begin.empty() ? Mode::free : Mode::free_begin;
      t.fresh = t.mode == Mode::free && !o.not_free.empty();
      add(std::move(t));
    }
    if ((!must && !o.at_start) || o.never) return;
    Thread call;
    call.mode = Mode::first;
    call.at = o.at_start ? plan_->opened : plan_->first.start;
    add(std::move(call));
  }

  using Matcher::advance;
  bool advance(uint8_t byte) override {
    std::vector<Thread> before;
    std::swap(before, threads_);
    for (Thread& t : before) step(t, byte);
    return !threads_.empty();
  }
  bool accepting() const override {
    return std::any_of(threads_.begin(), threads_.end(), [](const Thread& t) {
      return t.mode == Mode::over || (t.mode == Mode::free && t.character == 0);
    });
  }
  std::unique_ptr<Matcher> clone() const override { return std::make_unique<CallsMatcher>(*this); }
  void assign(const Matcher& other) override { *this = static_cast<const CallsMatcher&>(other); }
  bool same(const Matcher& other) const override {
    const auto& o = static_cast<const CallsMatcher&>(other);
    if (plan_ != o.plan_ || threads_ != o.threads_) return false;
    if (inner()) return true;
    for (size_t i = 0; i < threads_.size(); ++i)  // blanks() does not tell them
      if (threads_[i].arguments.at &&
          threads_[i].arguments.at->blanks() != o.threads_[i].arguments.at->blanks())
        return false;
    return true;
  }
  size_t hash() const override {
    size_t h = 0;
    for (const Thread& t : threads_) {
      for (const int32_t part :
           {static_cast<int32_t>(t.mode), t.call, t.at, t.character, int32_t{t.fresh}, t.letters})
        h = (h ^ static_cast<size_t>(static_cast<uint32_t>(part))) * 0xBF58476D1CE4E5B9u;
      if (t.arguments.at) h ^= t.arguments.at->hash();
    }
    return h;
  }
  bool remembers() const override {
    return std::any_of(threads_.begin(), threads_.end(),
                       [](const Thread& t) { return t.arguments.at && t.arguments.at->remembers(); });
  }
  bool doubtful() const override {
    return std::any_of(threads_.begin(), threads_.end(),
                       [](const Thread& t) { return t.arguments.at && t.arguments.at->doubtful(); });
  }

  // While a call's arguments are all that is open, their parts are the parts.
  size_t n_parts() const override {
    const Matcher* own = inner();
    const size_t n = own ? own->n_parts() : 0;
    for (size_t i = 0; i < n; ++i)
      if (!own->part_key(i).owner) return 0;
    return n;
  }
  PartKey part_key(size_t i) const override { return inner()->part_key(i); }
  std::unique_ptr<Matcher> inside(size_t i) const override { return inner()->inside(i); }
  std::unique_ptr<Matcher> outside(size_t i, int32_t exit) const override {
    auto out = std::make_unique<CallsMatcher>(*this);
    Thread t = std::move(out->threads_[0]);
    out->threads_.clear();
    t.arguments.at = t.arguments.at->outside(i, exit);
    if (!t.arguments.at) return nullptr;
    out->add(std::move(t));
    return out;
  }
  std::vector<std::string> refused(size_t i) const override { return inner()->refused(i); }
  bool may_end(size_t i) const override { return inner()->may_end(i); }
  Text text(size_t i) const override { return inner()->text(i); }
  bool in_number() const override { return inner() && inner()->in_number(); }
  int blanks() const override { return inner() ? inner()->blanks() : -1; }
  bool in_json() const override { return inner() && inner()->in_json(); }

 private:
  enum class Mode : uint8_t { free_begin, free, first, next, arguments, end, foot, over };
  struct Arguments {  // its own for each thread
    std::unique_ptr<Matcher> at;
    Arguments() = default;
    Arguments(const Arguments& o) : at(o.at ? o.at->clone() : nullptr) {}
    Arguments(Arguments&&) noexcept = default;
    Arguments& operator=(Arguments o) noexcept {
      std::swap(at, o.at);
      return *this;
    }
    bool operator==(const Arguments& o) const { return at && o.at ? at->same(*o.at) : !at && !o.at; }
  };
  struct Thread {
    Mode mode = Mode::free;
    int32_t call = -1;
    int32_t at = 0;  // a state, or how much of a text is written
    // In free text: a state of any_text(), or where a control token has begun, less so many of its bytes.
    int32_t character = 0;
    bool fresh = false;   // free text in which only white space has come
    int32_t letters = 0;  // of free text, in plan_->letters
    Arguments arguments;
    bool operator==(const Thread&) const = default;
  };

  const Matcher* inner() const {
    return threads_.size() == 1 && threads_[0].mode == Mode::arguments ? threads_[0].arguments.at.get()
                                                                       : nullptr;
  }

  void step(Thread& t, uint8_t byte) {
    switch (t.mode) {
      case Mode::free_begin:
        if (static_cast<uint8_t>(plan_->options.free_begin[static_cast<size_t>(t.at)]) != byte) return;
        if (static_cast<size_t>(++t.at) == plan_->options.free_begin.size()) {
          t.mode = Mode::free;
          t.at = 0;
        }
        return add(std::move(t));
      case Mode::free:
        return free_text(t, byte);
      case Mode::first:
      case Mode::next:
        t.at = (t.mode == Mode::first ? plan_->first : plan_->next).step(t.at, byte);
        if (t.at >= 0) add(std::move(t));
        return;
      case Mode::arguments:
        if (t.arguments.at->advance(byte)) add(std::move(t));
        return;
      case Mode::end:
      case Mode::foot: {
        const std::string& text = literal(t);
        if (static_cast<uint8_t>(text[static_cast<size_t>(t.at)]) != byte) return;
        ++t.at;
        return add(std::move(t));
      }
      case Mode::over:
        return;
    }
  }

  void free_text(Thread& t, uint8_t byte) {
    if (t.fresh && plan_->options.not_free.find(static_cast<char>(byte)) != std::string::npos) return;
    t.fresh = t.fresh && (byte == ' ' || byte == '\n' || byte == '\t' || byte == '\r');
    const bool control = t.character < 0 || (t.character == 0 && byte == kControlByte);
    if (control) {
      if (t.character < 0 && (byte & 0xC0) != 0x80) return;
      t.character = t.character - 1 == -static_cast<int32_t>(kControlBytes) ? 0 : t.character - 1;
    } else {
      t.character = any_text()->step(t.character, byte);
      if (t.character < 0) return;
    }
    if (!plan_->options.not_in_free.empty()) {
      t.letters = plan_->letters.steps.step(t.letters, byte);
      if (!plan_->letters.ended[static_cast<size_t>(t.letters)].empty()) return;
    }
    t.at = plan_->triggers.steps.step(t.at, byte);
    if (plan_->triggers.ended[static_cast<size_t>(t.at)].empty()) return add(std::move(t));
    if (plan_->options.never || plan_->options.only_start) return;
    Thread opened;
    opened.mode = Mode::first;
    opened.at = plan_->opened;
    add(std::move(opened));
  }

  const std::string& literal(const Thread& t) const {
    return t.mode == Mode::end ? plan_->calls[static_cast<size_t>(t.call)].end : plan_->options.foot;
  }

  // A place, and those that are reached from it by no byte.
  void add(Thread t) {
    if (t.mode == Mode::first || t.mode == Mode::next) {
      const Dfa& dfa = t.mode == Mode::first ? plan_->first : plan_->next;
      if (const int32_t call = dfa.label[static_cast<size_t>(t.at)]; call >= 0) {
        Thread own;
        own.mode = Mode::arguments;
        own.call = call;
        own.arguments.at = (*arguments_)[static_cast<size_t>(call)]->clone();
        add(std::move(own));
        bool more = false;
        for (int b = 0; b < 256; ++b) more = more || dfa.step(t.at, static_cast<uint8_t>(b)) >= 0;
        if (!more) return;
      }
    }
    if (t.mode == Mode::arguments && t.arguments.at->accepting()) {
      Thread end;
      end.mode = Mode::end;
      end.call = t.call;
      add(std::move(end));
    }
    if (t.mode == Mode::end && static_cast<size_t>(t.at) == literal(t).size()) {
      if (plan_->options.many) {
        Thread next;
        next.mode = Mode::next;
        next.at = plan_->next.start;
        add(std::move(next));
      }
      t = {};
      t.mode = Mode::foot;
    }
    if (t.mode == Mode::foot && static_cast<size_t>(t.at) == literal(t).size()) {
      t = {};
      t.mode = Mode::over;
    }
    if (std::find(threads_.begin(), threads_.end(), t) == threads_.end()) threads_.push_back(std::move(t));
  }

  std::shared_ptr<const Plan> plan_;
  std::shared_ptr<const std::vector<std::unique_ptr<Matcher>>> arguments_;  // each at its start
  std::vector<Thread> threads_;
};

class CallsGrammar : public Grammar {
 public:
  explicit CallsGrammar(Plan plan) : plan_(std::make_shared<const Plan>(std::move(plan))) {}
  std::unique_ptr<Matcher> matcher(Purpose purpose) const override {
    return std::make_unique<CallsMatcher>(plan_, purpose);
  }

 private:
  std::shared_ptr<const Plan> plan_;
};

}  // namespace

std::string control_spelling(int32_t token) {
  std::string out(1, static_cast<char>(kControlByte));
  for (int shift = 18; shift >= 0; shift -= 6) out += static_cast<char>(0x80 | (token >> shift & 0x3F));
  return out;
}

GrammarPtr calls_grammar(std::vector<Call> calls, const CallsOptions& options, const std::string& where) {
  if (calls.empty() && !options.never) fail(Code::invalid_argument, where, "no tools to call");
  Plan plan;
  plan.options = options;
  std::vector<std::string> first, next;
  for (const Call& call : calls) {
    first.push_back(options.head + call.begin);
    next.push_back(options.separator + call.begin);
    if (!options.only_start && !first.back().starts_with(options.trigger))
      fail(Code::invalid_argument, where, "what opens a call does not begin all of them");
  }
  plan.first = of_texts(first);
  plan.next = of_texts(next);
  if (!options.not_in_free.empty()) plan.letters = find_triggers({options.not_in_free});
  if (!options.trigger.empty()) {
    plan.triggers = find_triggers({options.trigger});
    plan.opened = plan.first.start;
    const size_t n = options.only_start ? 0 : options.trigger.size();
    for (size_t i = 0; i < n && plan.opened >= 0; ++i)
      plan.opened = plan.first.step(plan.opened, static_cast<uint8_t>(options.trigger[i]));
  }
  plan.calls = std::move(calls);
  return std::make_shared<CallsGrammar>(std::move(plan));
}

}  // namespace ingle::constrain
