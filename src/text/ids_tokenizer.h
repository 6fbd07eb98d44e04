// The tokenizer of a model that came without one: ids have no text.
#pragma once
#include <memory>

#include "text/tokenizer.h"

namespace ingle::text {

// `where` names the model in errors: encode() and decode() throw Code::unsupported.
std::shared_ptr<const Tokenizer> make_ids_tokenizer(const std::string& where, int64_t size);

}  // namespace ingle::text
