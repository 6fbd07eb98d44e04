// Every architecture, in the order of the docs. A static archive drops self-registering globals; a list does
// not.
#include "models/architecture.h"

namespace ingle::models {

extern const Architecture kLlama, kMistral, kMinistral3, kQwen2, kQwen3, kGemma, kGemma2, kVaultGemma,
    kGemma3, kPhi, kPhi3, kSmolLm3, kGranite, kOlmo, kOlmo2, kCohere, kCohere2, kGlm, kGlm4, kErnie45,
    kExaone, kExaone4, kHunyuanDense, kSeedOss, kArcee, kApertus, kHelium, kInternLm3, kNemotron, kJais2,
    kNanoChat, kBitNet, kStableLm, kStarCoder2, kGpt2, kGptBigCode, kGptNeo, kGptNeoX, kGptJ, kFalcon, kMpt,
    kBloom, kOpt, kBioGpt, kXglm, kPersimmon;

std::span<const Architecture* const> all_architectures() {
  static constexpr const Architecture* kAll[] = {
      &kLlama,      &kMistral,      &kMinistral3, &kQwen2,    &kQwen3,    &kGemma,      &kGemma2,
      &kVaultGemma, &kGemma3,       &kPhi,        &kPhi3,     &kSmolLm3,  &kGranite,    &kOlmo,
      &kOlmo2,      &kCohere,       &kCohere2,    &kGlm,      &kGlm4,     &kErnie45,    &kExaone,
      &kExaone4,    &kHunyuanDense, &kSeedOss,    &kArcee,    &kApertus,  &kHelium,     &kInternLm3,
      &kNemotron,   &kJais2,        &kNanoChat,   &kBitNet,   &kStableLm, &kStarCoder2, &kGpt2,
      &kGptBigCode, &kGptNeo,       &kGptNeoX,    &kGptJ,     &kFalcon,   &kMpt,        &kBloom,
      &kOpt,        &kBioGpt,       &kXglm,       &kPersimmon};
  return kAll;
}

}  // namespace ingle::models
