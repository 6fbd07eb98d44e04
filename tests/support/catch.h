// Catch2 2 (Debian 12) and 3 name their headers differently.
#pragma once
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
#endif

namespace ingle::tests {

// Is the library under test a sanitized one? It is slow: long loops leave out what tells it nothing new.
#ifdef INGLE_SANITIZED
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

}  // namespace ingle::tests
