// Errors of the C++ API. Every failure names what went wrong, where, what was found and what was expected.
#pragma once
#include <cstdint>
#include <exception>
#include <string>
#include <utility>

namespace ingle {

// The numbers are pinned (they are the C ABI's `ingle_code`); new ones are appended.
enum class Code : int32_t {
  ok = 0,
  invalid_argument = 1,  // an argument or option is out of its range, or of the wrong kind
  not_found = 2,         // no such file, tensor, option, …
  io = 3,                // the operating system, or a user's reader, failed
  corrupt = 4,           // a file breaks its own format's rules
  unsupported = 5,       // well-formed, but not something this build can hold
  out_of_memory = 6,
  context_full = 7,  // the prompt or the answer does not fit the session's context
  cancelled = 8,
  busy = 9,
  numeric = 10,   // NaN or infinity where a finite number must be
  internal = 11,  // a bug in Ingle; please report it
};

const char* code_name(Code code) noexcept;

class Error : public std::exception {
 public:
  Error(Code code, std::string where, std::string message, std::string hint = {});
  Code code() const noexcept { return code_; }
  const std::string& where() const noexcept { return where_; }      // file, tensor, option, offset, …
  const std::string& message() const noexcept { return message_; }  // what was found and what was expected
  const std::string& hint() const noexcept { return hint_; }        // what to do about it; may be empty
  const char* what() const noexcept override { return what_.c_str(); }  // "where: message (hint)"

 private:
  Code code_;
  std::string where_, message_, hint_, what_;
};

}  // namespace ingle
