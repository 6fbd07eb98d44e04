// The decoders of tokenizer.json, as a chain through which token texts stream.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "text/hf/json_reader.h"

namespace ingle::text::hf {

// One decoder under way. Texts come in one by one; what it is sure of goes on to `out`.
class DecodeStage {
 public:
  virtual ~DecodeStage() = default;
  virtual void push(std::string text, std::vector<std::string>& out) = 0;
  virtual void finish(std::vector<std::string>& /*out*/) {}
  virtual std::unique_ptr<DecodeStage> clone() const = 0;
};

// Makes the stages of one sequence.
class Decoder {
 public:
  virtual ~Decoder() = default;
  virtual void append(std::vector<std::unique_ptr<DecodeStage>>& stages) const = 0;
};

struct DecoderChain {
  std::unique_ptr<Decoder> decoder;
  // Token texts are GPT-2's alphabet of bytes; "<0xHH>" is a byte.
  bool byte_level = false, byte_fallback = false;
  std::vector<std::unique_ptr<DecodeStage>> stages() const;
};

// Of a null node: texts joined by spaces. Throws Code::unsupported naming a type that is not known.
DecoderChain read_decoder(const Node& node);

}  // namespace ingle::text::hf
