#include "ingle/beams.hpp"

#include <algorithm>
#include <cmath>

#include "api/session_impl.h"
#include "core/error.h"

namespace ingle {
namespace {

void check_range(const char* name, double value, double low, double high) {
  if (!(value >= low && value <= high))  // also a NaN
    fail(Code::invalid_argument, std::string("option ") + name,
         format("is {}, expected {} to {}", value, low, high));
}

void check(const BeamOptions& o) {
  check_range("beams", o.beams, 1, 64);
  check_range("groups", o.groups, 1, o.beams);
  if (o.beams % o.groups != 0)
    fail(Code::invalid_argument, "option groups", format("{} does not divide {} beams", o.groups, o.beams));
  check_range("diversity", o.diversity, 0, 100);
  check_range("length_penalty", o.length_penalty, -100, 100);
  check_range("early_stopping", static_cast<int32_t>(o.early_stopping), 0, 2);
  check_range("max_tokens", o.max_tokens, 1, 1 << 20);
  check_range("results", o.results, 1, o.beams);
}

struct Running {
  engine::Sequence sequence;
  std::vector<TokenId> ids;
  double sum = 0;  // of log-probabilities, less what diversity took off
};

struct Choice {
  double sum;
  size_t beam;  // whose continuation it is
  TokenId id;
};
bool ranks_before(const Choice& a, const Choice& b) {
  if (a.sum != b.sum) return a.sum > b.sum;
  return a.beam != b.beam ? a.beam < b.beam : a.id < b.id;
}

// A group of beams that looks at itself alone, but for the diversity among groups.
class Group {
 public:
  Group(const BeamOptions& o, const std::vector<TokenId>& ends, int64_t most, const engine::Sequence& start)
      : o_(o), ends_(ends), most_(most), size_(static_cast<size_t>(o.beams / o.groups)) {
    running_.push_back({start.fork(), {}, 0});
  }
  bool done() const { return done_; }

  // One more token for each running beam. `taken` holds those that earlier groups took in this step.
  void step(std::vector<TokenId>& taken, const engine::FeedOptions& feed) {
    const std::vector<Choice> choices = best_choices(taken);
    std::vector<Choice> next;
    for (size_t rank = 0; rank < choices.size() && next.size() < size_; ++rank) {
      const Choice& c = choices[rank];
      if (!ends(c.id)) {
        next.push_back(c);
      } else if (rank < size_) {  // an end that is not among the best is no end of anything
        std::vector<TokenId> ids = running_[c.beam].ids;
        ids.push_back(c.id);
        add(std::move(ids), c.sum, Finish::end);
      }
    }
    ++length_;
    done_ = next.empty() || is_done(choices.front().sum);
    if (done_) return;
    advance(next, feed);
    for (const Choice& c : next) taken.push_back(c.id);
  }

  // The ended beams, and if the group was not done, those that run.
  std::vector<Beam> finish(Finish how) {
    if (!done_)
      for (Running& r : running_) add(std::move(r.ids), r.sum, how);
    return std::move(ended_);
  }

 private:
  bool ends(TokenId id) const {
    return !o_.ignore_end && std::find(ends_.begin(), ends_.end(), id) != ends_.end();
  }
  double score(double sum, int64_t length) const {
    return sum / std::pow(static_cast<double>(length), static_cast<double>(o_.length_penalty));
  }

  // Ends may take up places, so more are looked at than there are beams.
  std::vector<Choice> best_choices(const std::vector<TokenId>& taken) const {
    const size_t keep = std::max<size_t>(2, 1 + ends_.size()) * size_;
    std::vector<Choice> all;
    for (size_t b = 0; b < running_.size(); ++b)
      for (const TokenLogprob& t :
           top_logprobs(running_[b].sequence.logits(), static_cast<int32_t>(keep + taken.size()))) {
        const auto times = static_cast<double>(std::count(taken.begin(), taken.end(), t.id));
        all.push_back({running_[b].sum + (t.logprob - static_cast<double>(o_.diversity) * times), b, t.id});
      }
    std::sort(all.begin(), all.end(), ranks_before);
    all.resize(std::min(all.size(), keep));
    return all;
  }

  void add(std::vector<TokenId> ids, double sum, Finish how) {
    Beam beam;
    beam.score = score(sum, static_cast<int64_t>(ids.size()));
    beam.ids = std::move(ids);
    beam.finish = how;
    const auto worse = [](const Beam& a, const Beam& b) { return a.score > b.score; };
    ended_.insert(std::upper_bound(ended_.begin(), ended_.end(), beam, worse), std::move(beam));
    if (ended_.size() > size_) ended_.pop_back();
  }

  bool is_done(double best_sum) const {
    if (ended_.size() < size_) return false;
    if (o_.early_stopping == EarlyStopping::yes) return true;
    const bool farthest = o_.early_stopping == EarlyStopping::never && o_.length_penalty > 0;
    return ended_.back().score >= score(best_sum, farthest ? most_ : length_);
  }

  void advance(const std::vector<Choice>& next, const engine::FeedOptions& feed) {
    std::vector<size_t> uses(running_.size());
    for (const Choice& c : next) ++uses[c.beam];
    std::vector<Running> grown;
    for (const Choice& c : next) {
      Running& parent = running_[c.beam];
      const bool last = --uses[c.beam] == 0;  // the last child takes its parent over
      Running child{last ? std::move(parent.sequence) : parent.sequence.fork(), parent.ids, c.sum};
      child.ids.push_back(c.id);
      grown.push_back(std::move(child));
    }
    running_ = std::move(grown);
    if (length_ >= most_) return;  // nobody will ask for what comes next
    for (Running& r : running_) r.sequence.feed({&r.ids.back(), 1}, feed);
  }

  const BeamOptions& o_;
  const std::vector<TokenId>& ends_;
  int64_t most_, length_ = 0;  // tokens
  size_t size_;
  bool done_ = false;
  std::vector<Running> running_;
  std::vector<Beam> ended_;  // best first, at most size_
};

std::string text_of(const text::Tokenizer& tokenizer, std::span<const TokenId> ids) {
  text::Detokenizer detokenizer(tokenizer, true);
  std::string text;
  for (const TokenId id : ids) text += detokenizer.push(id);
  return text + detokenizer.finish();
}

}  // namespace

std::vector<Beam> beam_search(Session& session, const BeamOptions& options) {
  check(options);
  Session::Impl& s = *session.impl_;
  s.logits();  // drops what was not told, computes what is pending, and says what is missing
  const int64_t room = s.options.context - static_cast<int64_t>(s.all.size());
  if (room < 1) fail(Code::context_full, "beam search", format("all {} tokens are taken", s.options.context));
  const int64_t most = std::min<int64_t>(options.max_tokens, room);
  const std::vector<TokenId>& ends = s.m().tokenizer.impl().special().end_of_generation;

  std::vector<Group> groups;
  groups.reserve(static_cast<size_t>(options.groups));
  for (int32_t g = 0; g < options.groups; ++g) groups.emplace_back(options, ends, most, s.sequence);
  engine::FeedOptions feed = s.feed_options();
  feed.taps = nullptr;  // most of what is computed comes to nothing
  s.cancellable([&] {
    for (int64_t length = 0; length < most; ++length) {
      if (s.cancelled) fail(Code::cancelled, "beam search", "cancelled");
      std::vector<TokenId> taken;
      bool running = false;
      for (Group& g : groups) {
        if (!g.done()) g.step(taken, feed);
        running |= !g.done();
      }
      if (!running) return;
    }
  });

  std::vector<Beam> all;
  for (Group& g : groups)
    for (Beam& b : g.finish(most < options.max_tokens ? Finish::context : Finish::length))
      all.push_back(std::move(b));
  std::stable_sort(all.begin(), all.end(), [](const Beam& a, const Beam& b) { return a.score > b.score; });
  all.resize(std::min(all.size(), static_cast<size_t>(options.results)));
  for (Beam& b : all) {
    const size_t n = b.ids.size() - (b.finish == Finish::end ? 1 : 0);
    b.text = text_of(s.m().tokenizer.impl(), std::span(b.ids).first(n));
  }
  return all;
}

}  // namespace ingle
