#include "backends/ref/ref.h"

#include "backends/ref/program.h"

namespace ingle::backends {
namespace {

class RefBackend final : public Backend {
 public:
  explicit RefBackend(const BackendContext& context) : context_(context) {}
  std::string_view name() const override { return "ref"; }
  kv::StateType default_state_type() const override { return kv::StateType::f32; }
  bool takes(const Op& op) const override {
    return op.index() <= Op(op::Output{}).index();
  }  // the plain ones
  std::unique_ptr<Program> prepare(PlanPtr plan, const PrepareOptions& options) const override {
    return std::make_unique<RefProgram>(context_, std::move(plan), options);
  }

 private:
  BackendContext context_;
};

}  // namespace

std::unique_ptr<Backend> make_ref_backend(const BackendContext& context) {
  return std::make_unique<RefBackend>(context);
}

}  // namespace ingle::backends
