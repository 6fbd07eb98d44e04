// For plug-ins written in C++ within this tree: makes the table of backend.h out of a class, and turns what
// it throws into codes. The class has
//   static constexpr const char kName[];  static constexpr uint32_t kTypes;
//   static const char* about();
//   explicit Library(const ingle_backend_host&);
//   struct Weight;  std::unique_ptr<Weight> prepare(const ingle_backend_matrix&, uint64_t& bytes);
//   void multiply(const Weight&, const ingle_backend_product&);
#pragma once
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <string>

#include "ingle/backend.h"

namespace ingle::plugins {

struct Refused final : std::exception {
  explicit Refused(std::string text) : why(std::move(text)) {}
  const char* what() const noexcept override { return why.c_str(); }
  std::string why;
};

template <class F>
int32_t guarded(ingle_backend_error* error, F f) noexcept {
  const auto say = [&](const char* text) {
    if (error) std::strncat(error->message, text, sizeof(error->message) - 1);
  };
  if (error) error->message[0] = 0;
  try {
    f();
    return INGLE_BACKEND_OK;
  } catch (const Refused& e) {
    say(e.what());
    return INGLE_BACKEND_UNSUPPORTED;
  } catch (const std::bad_alloc&) {
    say("out of memory");
    return INGLE_BACKEND_OUT_OF_MEMORY;
  } catch (const std::exception& e) {
    say(e.what());
  } catch (...) {
    say("unknown exception");
  }
  return INGLE_BACKEND_FAILED;
}

template <class Library>
const ingle_backend* table(uint32_t version) {
  using Weight = typename Library::Weight;
  if (version != INGLE_BACKEND_VERSION) return nullptr;
  static const ingle_backend made = {
      sizeof(ingle_backend),
      INGLE_BACKEND_VERSION,
      Library::kName,
      Library::about(),
      Library::kTypes,
      0,
      [](const ingle_backend_host* host, void** self, ingle_backend_error* error) -> int32_t {
        return guarded(error, [&] { *self = new Library(*host); });
      },
      [](void* self) { delete static_cast<Library*>(self); },
      [](void* self, const ingle_backend_matrix* matrix, void** weight, uint64_t* bytes,
         ingle_backend_error* error) -> int32_t {
        return guarded(error,
                       [&] { *weight = static_cast<Library*>(self)->prepare(*matrix, *bytes).release(); });
      },
      [](void*, void* weight) { delete static_cast<Weight*>(weight); },
      [](void* self, const void* weight, const ingle_backend_product* product,
         ingle_backend_error* error) -> int32_t {
        return guarded(error, [&] {
          static_cast<Library*>(self)->multiply(*static_cast<const Weight*>(weight), *product);
        });
      },
      nullptr,
      nullptr};
  return &made;
}

}  // namespace ingle::plugins
