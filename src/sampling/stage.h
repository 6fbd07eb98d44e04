// Sampling as a chain of small stages that work in place on the candidates of one row.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ingle::sampling {

struct Candidate {
  int32_t id;
  float logit;
};

// The one order of candidates: by descending logit, ties by ascending id.
constexpr bool ranks_before(const Candidate& a, const Candidate& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
}

// Rows, ids and sums of weights (math.h) are checked against this bound once, and cannot overflow afterwards.
constexpr int64_t kMaxVocab = int64_t{1} << 21;

// The candidates still standing. A stage removes some, changes logits, or reorders; ties go to the lowest id.
struct Candidates {
  std::vector<Candidate> list;  // storage is kept from step to step, so no allocation once warm
  bool sorted = false;          // by ranks_before
  bool by_id = false;           // ascending, as built from a row; a stage that reorders clears it
  int32_t chosen = -1;          // set by the last stage

  void sort();                  // no-op when sorted
  float max_logit() const;      // of a list that is not empty
  Candidate best() const;       // the same
  Candidate* find(int32_t id);  // null when it is not standing; fast while by_id
  template <class Keep>
  void keep_if(Keep keep) {  // preserves the order
    std::erase_if(list, [&](const Candidate& c) { return !keep(c); });
  }
  // Everything of a row that is not banned (-inf).
  void build(std::span<const float> row);
};

class Stage {
 public:
  virtual ~Stage() = default;
  virtual std::string_view name() const = 0;
  virtual void apply(Candidates& c) = 0;
  // The first stage of a chain may work on the row as it stands, before a list of the whole vocabulary is
  // built. The outcome is that of build() and apply(); false means that those are to be used. The row holds
  // at least one finite logit, and otherwise finite ones and -inf.
  virtual bool apply_row(std::span<const float> /*row*/, Candidates& /*c*/) { return false; }
  virtual void accept(int32_t /*id*/) {}   // the sequence grew by this id, in [0, kMaxVocab)
  virtual void rollback(int32_t /*n*/) {}  // the last n accepted ids are taken back
  virtual std::unique_ptr<Stage> clone() const = 0;
};

}  // namespace ingle::sampling
