// The protobuf of a SentencePiece model (sentencepiece_model.proto; the numbers are its fields').
#include <cmath>
#include <protozero/pbf_reader.hpp>

#include "core/error.h"
#include "text/hf/sentencepiece.h"

namespace ingle::text::hf {
namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;

constexpr int kUnigram = 1, kBpe = 2;

std::string_view view(protozero::data_view v) { return {v.data(), v.size()}; }

// pbf_reader::get_bool() reads a byte also where the message ends before it.
bool get_flag(pbf_reader& message) { return message.get_uint64() != 0; }

class Reader {
 public:
  explicit Reader(const std::string& file) : file_(file) { out.vocabulary.file = file; }

  void read(std::string_view bytes) {
    try {
      pbf_reader message(bytes.data(), bytes.size());
      while (message.next()) {
        switch (message.tag_and_type()) {
          case tag_and_type(1, pbf_wire_type::length_delimited):
            read_piece(message.get_message());
            break;
          case tag_and_type(2, pbf_wire_type::length_delimited):
            read_trainer(message.get_message());
            break;
          case tag_and_type(3, pbf_wire_type::length_delimited):
            read_normalizer(message.get_message());
            break;
          case tag_and_type(5, pbf_wire_type::length_delimited):
            read_denormalizer(message.get_message());
            break;
          default:
            message.skip();
        }
      }
    } catch (const protozero::exception& e) {
      fail(Code::corrupt, file_, format("is not a SentencePiece model: {}", e.what()));
    }
    check();
  }

  SentencePieceModel out;

 private:
  void read_piece(pbf_reader message) {
    Vocabulary& v = out.vocabulary;
    const size_t index = v.kinds.size();
    std::string_view text;
    float score = 0;
    int type = 1;
    while (message.next()) {
      switch (message.tag_and_type()) {
        case tag_and_type(1, pbf_wire_type::length_delimited):
          text = view(message.get_view());
          break;
        case tag_and_type(2, pbf_wire_type::fixed32):
          score = message.get_float();
          break;
        case tag_and_type(3, pbf_wire_type::varint):
          type = message.get_enum();
          break;
        default:
          message.skip();
      }
    }
    if (text.empty()) fail(Code::corrupt, file_, format("pieces[{}].piece is empty", index));
    if (type < 1 || type > 6)
      fail(Code::corrupt, file_, format("pieces[{}].type is {}, expected 1 to 6", index, type));
    if (!std::isfinite(score))
      fail(Code::corrupt, file_, format("pieces[{}].score is no finite number", index));
    if (index >= static_cast<size_t>(INT32_MAX / 2)) fail(Code::corrupt, file_, "has too many pieces");
    v.texts.push_back(text);
    v.scores.push_back(score);
    v.kinds.push_back(static_cast<TokenKind>(type));
  }

  void read_trainer(pbf_reader message) {
    while (message.next()) {
      switch (message.tag_and_type()) {
        case tag_and_type(3, pbf_wire_type::varint):
          model_type_ = message.get_enum();
          break;
        case tag_and_type(24, pbf_wire_type::varint):
          if (get_flag(message)) {
            fail(Code::unsupported, file_, "trainer_spec.treat_whitespace_as_suffix is true");
          }
          break;
        case tag_and_type(35, pbf_wire_type::varint):
          out.byte_fallback = get_flag(message);
          break;
        case tag_and_type(44, pbf_wire_type::length_delimited):
          out.unknown_surface = view(message.get_view());
          break;
        case tag_and_type(46, pbf_wire_type::length_delimited):
          out.bos_piece = view(message.get_view());
          break;
        case tag_and_type(47, pbf_wire_type::length_delimited):
          out.eos_piece = view(message.get_view());
          break;
        case tag_and_type(48, pbf_wire_type::length_delimited):
          out.pad_piece = view(message.get_view());
          break;
        default:
          message.skip();
      }
    }
  }

  void read_normalizer(pbf_reader message) {
    while (message.next()) {
      switch (message.tag_and_type()) {
        case tag_and_type(2, pbf_wire_type::length_delimited): {
          const std::string_view blob = view(message.get_view());
          out.vocabulary.charsmap.assign(blob.begin(), blob.end());
          break;
        }
        case tag_and_type(3, pbf_wire_type::varint):
          out.add_dummy_prefix = get_flag(message);
          break;
        case tag_and_type(4, pbf_wire_type::varint):
          out.remove_extra_whitespaces = get_flag(message);
          break;
        case tag_and_type(5, pbf_wire_type::varint):
          out.escape_whitespaces = get_flag(message);
          break;
        default:
          message.skip();
      }
    }
  }

  void read_denormalizer(pbf_reader message) {
    while (message.next()) {
      if (message.tag_and_type() == tag_and_type(2, pbf_wire_type::length_delimited) &&
          message.get_view().size() > 0) {
        fail(Code::unsupported, file_, "denormalizer_spec.precompiled_charsmap is not empty");
      } else if (message.tag() != 2) {
        message.skip();
      }
    }
  }

  void check() {
    Vocabulary& v = out.vocabulary;
    if (v.kinds.empty()) fail(Code::corrupt, file_, "has no pieces");
    if (model_type_ != kUnigram && model_type_ != kBpe) {
      fail(Code::unsupported, file_,
           format("trainer_spec.model_type is {}, expected 1 (unigram) or 2 (BPE)", model_type_));
    }
    v.model = model_type_ == kBpe ? VocabularyModel::sentencepiece_bpe : VocabularyModel::unigram;
    v.by_library = true;
    v.byte_tokens.fill(-1);
    for (int32_t id = 0; id < v.size(); ++id) {
      const TokenKind kind = v.kinds[static_cast<size_t>(id)];
      if (kind == TokenKind::unknown) {
        if (v.special.unknown)
          fail(Code::corrupt, file_, format("pieces[{}] is the second unknown piece", id));
        v.special.unknown = id;
      } else if (kind == TokenKind::byte) {
        const int byte = named_byte(v.texts[static_cast<size_t>(id)]);
        if (byte < 0) fail(Code::corrupt, file_, format("pieces[{}] is a byte, expected <0xHH>", id));
        if (out.byte_fallback) v.byte_tokens[static_cast<size_t>(byte)] = id;
      }
    }
    if (!v.special.unknown) fail(Code::corrupt, file_, "has no unknown piece");
    if (!out.byte_fallback) return;
    for (int b = 0; b < 256; ++b) {
      if (v.byte_tokens[static_cast<size_t>(b)] < 0)
        fail(Code::corrupt, file_, format("has no piece for byte {}", b));
    }
  }

  const std::string& file_;
  int model_type_ = kUnigram;
};

}  // namespace

SentencePieceModel read_sentencepiece(std::string_view bytes, const std::string& file) {
  Reader reader(file);
  reader.read(bytes);
  return std::move(reader.out);
}

}  // namespace ingle::text::hf
