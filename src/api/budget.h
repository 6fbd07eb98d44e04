// What compiling a grammar may spend.
#pragma once
#include "constrain/grammar.h"
#include "ingle/grammar.hpp"

namespace ingle {

constrain::Budget budget_of(const CompileLimits& limits);

}  // namespace ingle
