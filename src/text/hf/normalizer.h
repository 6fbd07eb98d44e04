// The normalisers of tokenizer.json: each rewrites a whole text before it is cut.
#pragma once
#include <memory>
#include <string>

#include "text/hf/json_reader.h"
#include "text/pretokenize.h"

namespace ingle::text::hf {

class Normalizer {
 public:
  virtual ~Normalizer() = default;
  virtual void apply(std::string& text, Work& work) const = 0;
  // Writes the text in GPT-2's alphabet of bytes.
  virtual bool maps_bytes() const { return false; }
};

// Null where the node is null. Throws Code::unsupported naming a type that is not known.
std::unique_ptr<Normalizer> read_normalizer(const Node& node);

// The bytes of `text` in GPT-2's alphabet, appended to `out`.
void map_byte_level(std::string_view text, std::string& out);

// "Precompiled", by itself for its length; `blob` is in base64.
std::unique_ptr<Normalizer> make_precompiled(const Node& node);

}  // namespace ingle::text::hf
