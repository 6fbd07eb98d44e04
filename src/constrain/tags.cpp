// Free text with spans that are held to grammars.
#include <algorithm>

#include "constrain/grammar.h"
#include "constrain/triggers.h"
#include "core/error.h"

namespace ingle::constrain {
namespace {

constexpr size_t kMostThreads = 4096;

struct Plan {
  std::vector<Tag> tags;
  TagOptions options;
  Triggers triggers;
  std::vector<std::vector<int32_t>> opened;  // by trigger: the tags
};

class TagsMatcher : public Matcher {
 public:
  TagsMatcher(std::shared_ptr<const Plan> plan, Purpose purpose) : plan_(std::move(plan)) {
    auto contents = std::make_shared<std::vector<std::unique_ptr<Matcher>>>();
    for (const Tag& tag : plan_->tags) contents->push_back(tag.content->matcher(purpose));
    contents_ = std::move(contents);
    threads_.push_back({});
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
      if (t.mode == Mode::over) return true;
      return t.mode == Mode::free && t.character == 0 && (t.used || !plan_->options.at_least_one);
    });
  }
  std::unique_ptr<Matcher> clone() const override { return std::make_unique<TagsMatcher>(*this); }
  void assign(const Matcher& other) override { *this = static_cast<const TagsMatcher&>(other); }
  bool same(const Matcher& other) const override {
    const auto& o = static_cast<const TagsMatcher&>(other);
    if (plan_ != o.plan_ || threads_ != o.threads_) return false;
    if (in_content()) return true;
    for (size_t i = 0; i < threads_.size(); ++i)  // blanks() does not tell them
      if (threads_[i].content.at && threads_[i].content.at->blanks() != o.threads_[i].content.at->blanks())
        return false;
    return true;
  }
  size_t hash() const override {
    size_t h = 0;
    for (const Thread& t : threads_) {
      for (const int32_t part : {static_cast<int32_t>(t.mode), t.tag, t.at, t.character})
        h = (h ^ static_cast<size_t>(static_cast<uint32_t>(part))) * 0xBF58476D1CE4E5B9u;
      if (t.content.at) h ^= t.content.at->hash();
    }
    return h;
  }
  bool remembers() const override {
    return std::any_of(threads_.begin(), threads_.end(),
                       [](const Thread& t) { return t.content.at && t.content.at->remembers(); });
  }

  std::vector<std::string> refused(size_t i) const override { return threads_[0].content.at->refused(i); }
  bool in_number() const override { return in_content() && threads_[0].content.at->in_number(); }
  bool may_end(size_t i) const override { return threads_[0].content.at->may_end(i); }
  Text text(size_t i) const override { return threads_[0].content.at->text(i); }
  int blanks() const override { return in_content() ? threads_[0].content.at->blanks() : -1; }
  bool in_json() const override { return in_content() && threads_[0].content.at->in_json(); }
  bool doubtful() const override {
    return std::any_of(threads_.begin(), threads_.end(),
                       [](const Thread& t) { return t.content.at && t.content.at->doubtful(); });
  }
  bool may_begin(uint8_t byte) const override {
    return std::any_of(threads_.begin(), threads_.end(), [&](const Thread& t) {
      return t.mode != Mode::content || t.content.at->may_begin(byte);
    });
  }

  // While a tag's content is all that is open, its parts are the parts.
  size_t n_parts() const override {
    if (!in_content()) return 0;
    const Matcher& content = *threads_[0].content.at;
    const size_t n = content.n_parts();
    for (size_t i = 0; i < n; ++i)
      if (!content.part_key(i).owner) return 0;
    return n;
  }
  PartKey part_key(size_t i) const override { return threads_[0].content.at->part_key(i); }
  std::unique_ptr<Matcher> inside(size_t i) const override { return threads_[0].content.at->inside(i); }
  std::unique_ptr<Matcher> outside(size_t i, int32_t exit) const override {
    auto out = std::make_unique<TagsMatcher>(*this);
    Thread t = std::move(out->threads_[0]);
    out->threads_.clear();
    t.content.at = t.content.at->outside(i, exit);
    if (!t.content.at) return nullptr;
    out->add(std::move(t));
    return out;
  }

 private:
  enum class Mode : uint8_t { free, begin, content, end, over };
  // Its own for each thread: matchers of other answers may be on other threads of the processor.
  struct Content {
    std::unique_ptr<Matcher> at;
    Content() = default;
    Content(const Content& o) : at(o.at ? o.at->clone() : nullptr) {}
    Content(Content&&) noexcept = default;
    Content& operator=(Content o) noexcept {
      std::swap(at, o.at);
      return *this;
    }
    bool operator==(const Content& o) const { return at && o.at ? at->same(*o.at) : !at && !o.at; }
  };
  struct Thread {
    Mode mode = Mode::free;
    bool used = false;  // a tag stood before
    int32_t tag = -1;
    int32_t at = 0;         // a state of the triggers, or how much of the tag's begin or end is written
    int32_t character = 0;  // a state of any_text(), in free text
    Content content;
    bool operator==(const Thread&) const = default;
  };

  // Is a tag's content all that is open?
  bool in_content() const { return threads_.size() == 1 && threads_[0].mode == Mode::content; }

  void step(Thread& t, uint8_t byte) {
    switch (t.mode) {
      case Mode::free:
        return free_text(t, byte);
      case Mode::begin:
      case Mode::end: {
        const Tag& tag = plan_->tags[static_cast<size_t>(t.tag)];
        const std::string& text = t.mode == Mode::begin ? tag.begin : tag.end;
        if (static_cast<uint8_t>(text[static_cast<size_t>(t.at)]) != byte) return;
        ++t.at;
        return add(std::move(t));
      }
      case Mode::content:
        if (t.content.at->advance(byte)) add(std::move(t));
        return;
      case Mode::over:
        return;
    }
  }

  void free_text(Thread& t, uint8_t byte) {
    t.character = any_text()->step(t.character, byte);
    if (t.character < 0) return;
    t.at = plan_->triggers.steps.step(t.at, byte);
    const auto& ended = plan_->triggers.ended[static_cast<size_t>(t.at)];
    if (ended.empty()) return add(std::move(t));
    for (const int32_t trigger : ended)
      for (const int32_t tag : plan_->opened[static_cast<size_t>(trigger)]) open(t, trigger, tag);
  }

  void open(const Thread& from, int32_t trigger, int32_t number) {
    const Tag& tag = plan_->tags[static_cast<size_t>(number)];
    const std::string& written = plan_->options.triggers[static_cast<size_t>(trigger)];
    Thread t;
    t.used = from.used;
    t.tag = number;
    if (tag.begin_in_content) {
      t.mode = Mode::content;
      t.content.at = (*contents_)[static_cast<size_t>(number)]->clone();
      if (!t.content.at->advance(written)) return;
    } else {
      t.mode = Mode::begin;
      t.at = static_cast<int32_t>(written.size());
    }
    add(std::move(t));
  }

  void add(Thread t) {
    if (t.mode == Mode::begin && at_end(t)) {
      t.mode = Mode::content;
      t.at = 0;
      t.content.at = (*contents_)[static_cast<size_t>(t.tag)]->clone();
    }
    if (t.mode == Mode::content && t.content.at->accepting()) {
      Thread closing;
      closing.mode = Mode::end;
      closing.tag = t.tag;
      add(std::move(closing));
    }
    if (t.mode == Mode::end && at_end(t)) {
      t = {};
      t.mode = plan_->options.stop_after_first ? Mode::over : Mode::free;
      t.used = true;
    }
    if (std::find(threads_.begin(), threads_.end(), t) != threads_.end()) return;
    if (threads_.size() >= kMostThreads)
      fail(Code::unsupported, "structural tags",
           format("more than {} readings of the text at once", kMostThreads));
    threads_.push_back(std::move(t));
  }

  bool at_end(const Thread& t) const {
    const Tag& tag = plan_->tags[static_cast<size_t>(t.tag)];
    return static_cast<size_t>(t.at) == (t.mode == Mode::begin ? tag.begin : tag.end).size();
  }

  std::shared_ptr<const Plan> plan_;
  std::shared_ptr<const std::vector<std::unique_ptr<Matcher>>> contents_;  // each at its start
  std::vector<Thread> threads_;
};

class TagsGrammar : public Grammar {
 public:
  explicit TagsGrammar(Plan plan) : plan_(std::make_shared<const Plan>(std::move(plan))) {}
  std::unique_ptr<Matcher> matcher(Purpose purpose) const override {
    return std::make_unique<TagsMatcher>(plan_, purpose);
  }

 private:
  std::shared_ptr<const Plan> plan_;
};

void check(const std::string& text, const std::string& where, const char* what, Budget& budget) {
  if (!any_text()->accepts(text)) fail(Code::invalid_argument, where, format("a {} that is not UTF-8", what));
  budget.check_source(text, where);
  budget.take(&Budget::dfa_states, static_cast<int64_t>(text.size()) + 1, where);
}

}  // namespace

GrammarPtr tags_grammar(std::vector<Tag> tags, const TagOptions& options, const std::string& where,
                        Budget budget) {
  if (tags.empty()) fail(Code::invalid_argument, where, "no tags");
  Plan plan;
  plan.options = options;
  std::vector<std::string>& triggers = plan.options.triggers;
  if (triggers.empty())
    for (const Tag& tag : tags)
      if (std::find(triggers.begin(), triggers.end(), tag.begin) == triggers.end())
        triggers.push_back(tag.begin);
  for (const std::string& trigger : triggers) {
    if (trigger.empty()) fail(Code::invalid_argument, where, "a tag's beginning or trigger is empty");
    if (std::count(triggers.begin(), triggers.end(), trigger) != 1)
      fail(Code::invalid_argument, where, format("the trigger \"{}\" twice", trigger));
    check(trigger, where, "trigger", budget);
  }
  plan.opened.resize(triggers.size());
  for (size_t i = 0; i < tags.size(); ++i) {
    check(tags[i].begin, where, "tag's beginning", budget);
    check(tags[i].end, where, "tag's end", budget);
    bool opened = false;
    for (size_t t = 0; t < triggers.size(); ++t) {
      if (tags[i].begin_in_content ? tags[i].begin != triggers[t] : !tags[i].begin.starts_with(triggers[t]))
        continue;
      plan.opened[t].push_back(static_cast<int32_t>(i));
      opened = true;
    }
    if (!opened)
      fail(Code::invalid_argument, where, format("no trigger opens the tag \"{}\"", tags[i].begin));
  }
  for (size_t t = 0; t < triggers.size(); ++t)
    if (plan.opened[t].empty())
      fail(Code::invalid_argument, where, format("the trigger \"{}\" opens no tag", triggers[t]));
  plan.triggers = find_triggers(triggers);
  plan.tags = std::move(tags);
  return std::make_shared<TagsGrammar>(std::move(plan));
}

}  // namespace ingle::constrain
