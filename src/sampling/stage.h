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

// The candidates still standing. A stage removes some, changes logits, or reorders; ties go to the lowest id.
struct Candidates {
  std::vector<Candidate> list;  // storage is kept from step to step, so no allocation once warm
  bool sorted = false;          // by descending logit, then ascending id
  int32_t chosen = -1;          // set by the last stage
  void sort();                  // no-op when sorted
};

class Stage {
 public:
  virtual ~Stage() = default;
  virtual std::string_view name() const = 0;
  virtual void apply(Candidates& c) = 0;
  virtual void accept(int32_t /*id*/) {}   // the sequence grew by this id
  virtual void rollback(int32_t /*n*/) {}  // the last n accepted ids are taken back
  virtual std::unique_ptr<Stage> clone() const = 0;
};

}  // namespace ingle::sampling
