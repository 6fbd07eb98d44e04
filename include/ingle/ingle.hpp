// Ingle's C++ API: Runtime → Model → Session, with Tokenizer and Sampler beside them. Source-compatible
// within a major version; for a stable ABI use ingle.h.
#pragma once
#include "ingle/answer.hpp"
#include "ingle/batch.hpp"
#include "ingle/beams.hpp"
#include "ingle/chat.hpp"
#include "ingle/engine.hpp"
#include "ingle/error.hpp"
#include "ingle/grammar.hpp"
#include "ingle/memory.hpp"
#include "ingle/model.hpp"
#include "ingle/runtime.hpp"
#include "ingle/sampler.hpp"
#include "ingle/session.hpp"
#include "ingle/tokenizer.hpp"
