// Where keys and values lie inside a page.
#include "kv/state.h"

namespace ingle::kv {
namespace {

int64_t element_bytes(StateType type) { return type == StateType::f32 ? 4 : 2; }

}  // namespace

// Both halves of a tile are multiples of 32 elements of at least 2 bytes, so every tile, K and V starts on a
// cache line when the page does.
int64_t PartSpec::tile_bytes() const {
  return kind == PartKind::recurrent ? dk * dv * 4 : (dk + dv) * kPageTokens * element_bytes(type);
}
int64_t PartSpec::page_bytes() const { return n_layers * n_kv_heads * tile_bytes(); }
int64_t PartSpec::k_offset(int64_t layer, int64_t head) const { return tile_offset(layer, head); }
int64_t PartSpec::v_offset(int64_t layer, int64_t head) const {
  return k_offset(layer, head) + dk * kPageTokens * element_bytes(type);
}

}  // namespace ingle::kv
