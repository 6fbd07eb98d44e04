// 256 values in 66 bytes: d * (code - 1), codes of 2 bits.
#include "quant/block_format.h"

namespace ingle::quant {
namespace {

struct Codes : UnitCodes<BlockTQ2_0, 256, 2, 1> {
  static void unpack(const BlockTQ2_0* b, uint8_t* codes) { unpack_crumbs(b->q, codes); }
};

}  // namespace

constinit const QuantFormat kTQ2_0 = block_format<BlockTQ2_0, 256, decode_codes<Codes>>("tq2_0", 35);
constinit const CodeFormat kTQ2_0Codes = code_format<Codes>("tq2_0");

}  // namespace ingle::quant
