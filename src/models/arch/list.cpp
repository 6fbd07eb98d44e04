// Every architecture, in the order of the docs. A static archive drops self-registering globals; a list does
// not.
#include "models/architecture.h"

namespace ingle::models {

extern const Architecture kLlama, kMistral, kMinistral3, kQwen2, kQwen3, kGemma, kGemma2, kVaultGemma,
    kGemma3, kPhi, kPhi3, kSmolLm3, kGranite, kOlmo, kOlmo2, kCohere, kCohere2, kGlm, kGlm4, kErnie45,
    kExaone, kExaone4, kHunyuanDense, kSeedOss, kArcee, kApertus, kHelium, kInternLm3, kNemotron, kJais2,
    kNanoChat, kBitNet, kStableLm, kStarCoder2, kGpt2, kGptBigCode, kGptNeo, kGptNeoX, kGptJ, kFalcon, kMpt,
    kBloom, kOpt, kBioGpt, kXglm, kPersimmon;

// Mixtures of experts, and latent attention.
extern const Architecture kMixtral, kQwen2Moe, kQwen3Moe, kPhiMoe, kDbrx, kCohere2Moe, kOlmoe, kFlexOlmo,
    kJetMoe, kGraniteMoe, kDeepseekV2, kDeepseekV3, kYoutu, kMiniCpm3, kMistral4, kGlm4Moe, kSolarOpen,
    kDots1, kGptOss, kMiniMaxM2, kErnie45Moe, kHunyuanV1Moe, kHyV3, kExaoneMoe, kLlama4, kAfmoe, kLaguna,
    kMimoV2Flash, kMellum;
// Recurrent state, alone or between attention; and layers that share.
extern const Architecture kQwen3Next, kGemma4, kGemma3n, kLfm2, kLfm3, kJamba, kMamba, kMamba2,
    kGraniteHybrid, kBamba, kFalconH1, kNemotronH;

std::span<const Architecture* const> all_architectures() {
  static constexpr const Architecture* kAll[] = {
      &kLlama, &kMistral, &kMinistral3, &kQwen2, &kQwen3, &kGemma, &kGemma2, &kVaultGemma, &kGemma3, &kPhi,
      &kPhi3, &kSmolLm3, &kGranite, &kOlmo, &kOlmo2, &kCohere, &kCohere2, &kGlm, &kGlm4, &kErnie45, &kExaone,
      &kExaone4, &kHunyuanDense, &kSeedOss, &kArcee, &kApertus, &kHelium, &kInternLm3, &kNemotron, &kJais2,
      &kNanoChat, &kBitNet, &kStableLm, &kStarCoder2, &kGpt2, &kGptBigCode, &kGptNeo, &kGptNeoX, &kGptJ,
      &kFalcon, &kMpt, &kBloom, &kOpt, &kBioGpt, &kXglm, &kPersimmon,
      // Mixtures of experts, and latent attention.
      &kMixtral, &kQwen2Moe, &kQwen3Moe, &kPhiMoe, &kDbrx, &kCohere2Moe, &kOlmoe, &kFlexOlmo, &kJetMoe,
      &kGraniteMoe, &kDeepseekV2, &kDeepseekV3, &kYoutu, &kMiniCpm3, &kMistral4, &kGlm4Moe, &kSolarOpen,
      &kDots1, &kGptOss, &kMiniMaxM2, &kErnie45Moe, &kHunyuanV1Moe, &kHyV3, &kExaoneMoe, &kLlama4, &kAfmoe,
      &kLaguna, &kMimoV2Flash, &kMellum,
      // Recurrent state, alone or between attention; and layers that share.
      &kQwen3Next, &kGemma4, &kGemma3n, &kLfm2, &kLfm3, &kJamba, &kMamba, &kMamba2, &kGraniteHybrid, &kBamba,
      &kFalconH1, &kNemotronH};
  return kAll;
}

}  // namespace ingle::models
