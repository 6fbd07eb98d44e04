// Where keys and values lie inside a page.
#include "kv/state.h"

namespace ingle::kv {
namespace {

int64_t element_bytes(StateType type) { return type == StateType::f32 ? 4 : type == StateType::q8 ? 1 : 2; }
// Of n values for each token of a page.
int64_t half_bytes(StateType type, int64_t n) {
  return kPageTokens * (n * element_bytes(type) + (type == StateType::q8 ? 2 : 0));
}
int64_t key_bytes(const PartSpec& p) {
  return p.type == StateType::q4 ? p.dk * (kPageTokens / 2 + 4) : half_bytes(p.type, p.dk);
}
int64_t value_bytes(const PartSpec& p) {
  return p.type == StateType::q4 ? kPageTokens * (q4_row_bytes(p.dv) + 2) : half_bytes(p.type, p.dv);
}

}  // namespace

// But for q8 and q4, both halves of a tile are multiples of 32 elements of at least 2 bytes, so every tile, K
// and V starts on a cache line when the page does.
int64_t PartSpec::tile_bytes() const {
  return kind == PartKind::recurrent ? dk * dv * 4 : key_bytes(*this) + value_bytes(*this);
}
int64_t PartSpec::page_bytes() const { return n_layers * n_kv_heads * tile_bytes(); }
int64_t PartSpec::k_offset(int64_t layer, int64_t head) const { return tile_offset(layer, head); }
int64_t PartSpec::v_offset(int64_t layer, int64_t head) const {
  return k_offset(layer, head) + key_bytes(*this);
}

const char* name_of(StateType type) {
  switch (type) {
    case StateType::f32:
      return "f32";
    case StateType::f16:
      return "f16";
    case StateType::bf16:
      return "bf16";
    case StateType::q8:
      return "q8";
    case StateType::q4:
      return "q4";
  }
  return "unknown type";
}

}  // namespace ingle::kv
