#include "sampling/row.h"
#include "sampling/select.h"
#include "sampling/stages.h"

namespace ingle::sampling {
namespace {

class Greedy final : public Stage {
 public:
  std::string_view name() const override { return "greedy"; }
  void apply(Candidates& c) override {
    if (!c.list.empty()) choose(c, c.best());
  }
  bool apply_row(std::span<const float> row, Candidates& c) override {
    choose(c, best_of_row(row));
    return true;
  }
  StagePtr clone() const override { return std::make_unique<Greedy>(); }
};

}  // namespace

StagePtr make_greedy() { return std::make_unique<Greedy>(); }

}  // namespace ingle::sampling
