// Checks that an expression fails as an ingle::Error with a code, and gives the error back for a closer look.
#pragma once
#include <string>

#include "ingle/error.hpp"
#include "support/catch.h"

namespace ingle::tests {

// Error(Code::ok, …) when nothing was thrown, so that a check on the code fails.
template <class F>
Error error_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e;
  }
  return Error(Code::ok, "", "nothing was thrown");
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace ingle::tests
