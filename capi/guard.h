// Nothing escapes: the body of every exported function that can fail is `return guard(err, [&] { … });`.
#pragma once
#include <ingle/ingle.h>

namespace ingle::capi {

// The code of the exception in flight; *err becomes an object that describes it, or the static object that
// says that memory ran out.
ingle_code report(ingle_error** err) noexcept;

template <class Body>
ingle_code guard(ingle_error** err, Body&& body) noexcept {
  if (err) *err = nullptr;
  try {
    body();
    return INGLE_OK;
  } catch (...) {
    return report(err);
  }
}

}  // namespace ingle::capi
