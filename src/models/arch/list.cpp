// Every architecture, in the order of the docs. A static archive drops self-registering globals; a list does
// not.
#include "models/architecture.h"

namespace ingle::models {

extern const Architecture kLlama, kMistral, kQwen2, kQwen3, kGemma3;

std::span<const Architecture* const> all_architectures() {
  static constexpr const Architecture* kAll[] = {&kLlama, &kMistral, &kQwen2, &kQwen3, &kGemma3};
  return kAll;
}

}  // namespace ingle::models
