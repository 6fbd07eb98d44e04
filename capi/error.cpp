#include <new>

#include "core/error.h"
#include "guard.h"
#include "handle.h"

using ingle::capi::Kind;

struct ingle_error : ingle::capi::Handle {
  static constexpr Kind kKind = Kind::error;
  constexpr ingle_error(ingle_code c, const char* m, const char* w, const char* h, int32_t count)
      : Handle(kKind, count), code(c), message(m), where(w), hint(h) {}
  ingle_code code;
  const char *message, *where, *hint;
};

namespace ingle::capi {
namespace {

struct OwnedError : ingle_error {
  explicit OwnedError(const Error& e)
      : ingle_error(static_cast<ingle_code>(e.code()), "", "", "", 1),
        message_text(e.message()),
        where_text(e.where()),
        hint_text(e.hint()) {
    message = message_text.c_str(), where = where_text.c_str(), hint = hint_text.c_str();
  }
  std::string message_text, where_text, hint_text;
};

// Never counted, so never written: the one object that needs no memory.
constinit ingle_error kOutOfMemory(INGLE_E_OUT_OF_MEMORY, "the system has no memory left", "memory", "",
                                   kImmortal);

ingle_code report_as(const Error& e, ingle_error** err) {
  if (err) *err = new OwnedError(e);
  return static_cast<ingle_code>(e.code());
}

ingle_code report_out_of_memory(ingle_error** err) {
  if (err) *err = &kOutOfMemory;
  return INGLE_E_OUT_OF_MEMORY;
}

}  // namespace

ingle_code report(ingle_error** err) noexcept {
  try {
    try {
      throw;
    } catch (const Error& e) {
      return report_as(e, err);
    } catch (const std::bad_alloc&) {
      return report_out_of_memory(err);
    } catch (const std::length_error& e) {  // a container was asked for more than it can ever hold
      return report_as(Error(Code::out_of_memory, "memory", e.what()), err);
    } catch (const std::exception& e) {
      return report_as(Error(Code::internal, "ingle", e.what(), "please report it"), err);
    } catch (...) {
      return report_as(Error(Code::internal, "ingle", "an exception of unknown kind",
                             "callbacks must not throw; if none did, please report it"),
                       err);
    }
  } catch (...) {  // while describing it
    return report_out_of_memory(err);
  }
}

}  // namespace ingle::capi

using namespace ingle::capi;

ingle_error* ingle_error_retain(ingle_error* error) { return retain(error); }
void ingle_error_release(ingle_error* error) {
  // Counted errors are all OwnedErrors.
  if (is(error, Kind::error) && error->references.load() != kImmortal)
    release(static_cast<OwnedError*>(error));
}
ingle_code ingle_error_code(const ingle_error* error) {
  return is(error, Kind::error) ? error->code : INGLE_OK;
}
const char* ingle_error_message(const ingle_error* error) {
  return is(error, Kind::error) ? error->message : "";
}
const char* ingle_error_where(const ingle_error* error) { return is(error, Kind::error) ? error->where : ""; }
const char* ingle_error_hint(const ingle_error* error) { return is(error, Kind::error) ? error->hint : ""; }

const char* ingle_code_name(ingle_code code) { return ingle::code_name(static_cast<ingle::Code>(code)); }
