// Owners for the handles, and errors that tests can look at.
#pragma once
#include <ingle/ingle.h>

#include <string>
#include <string_view>
#include <utility>

#include "support/catch.h"

namespace ingle::tests {

// A handle that is released with its owner.
template <class T, void (*Release)(T*)>
class Owned {
 public:
  Owned() = default;
  Owned(Owned&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Owned() { Release(handle_); }
  operator T*() const { return handle_; }
  T** out() {  // for a call that fills it
    reset();
    return &handle_;
  }
  void reset() { Release(std::exchange(handle_, nullptr)); }

 private:
  T* handle_ = nullptr;
};
using Options = Owned<ingle_options, ingle_options_release>;
using Runtime = Owned<ingle_runtime, ingle_runtime_release>;
using Model = Owned<ingle_model, ingle_model_release>;
using Tokenizer = Owned<ingle_tokenizer, ingle_tokenizer_release>;
using Template = Owned<ingle_template, ingle_template_release>;
using Grammar = Owned<ingle_grammar, ingle_grammar_release>;
using Sampler = Owned<ingle_sampler, ingle_sampler_release>;
using Session = Owned<ingle_session, ingle_session_release>;
using Tokens = Owned<ingle_tokens, ingle_tokens_release>;
using Text = Owned<ingle_text, ingle_text_release>;

inline std::string str(const ingle_text* text) { return {ingle_text_data(text), ingle_text_length(text)}; }

// The last parameter of a call: `ingle_x(…, err)`.
class Err {
 public:
  ~Err() { ingle_error_release(error_); }
  operator ingle_error**() {
    ingle_error_release(error_);
    error_ = nullptr;
    return &error_;
  }
  ingle_error* get() const { return error_; }
  ingle_code code() const { return ingle_error_code(error_); }
  std::string where() const { return ingle_error_where(error_); }
  std::string message() const { return ingle_error_message(error_); }
  std::string hint() const { return ingle_error_hint(error_); }

 private:
  ingle_error* error_ = nullptr;
};

inline bool contains(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

#define REQUIRE_OK(call)                                             \
  do {                                                               \
    const ingle_code code_of_call = (call);                          \
    INFO(err.where() << ": " << err.message() << " " << err.hint()); \
    REQUIRE(code_of_call == INGLE_OK);                               \
  } while (false)
// The code, an error with the same code, and the name of what was wrong.
#define CHECK_FAILS(call, expected, named)                                   \
  do {                                                                       \
    const ingle_code code_of_call = (call);                                  \
    INFO(err.where() << ": " << err.message() << " (" << err.hint() << ")"); \
    CHECK(code_of_call == (expected));                                       \
    CHECK(err.code() == code_of_call);                                       \
    CHECK(contains(err.where() + ": " + err.message(), named));              \
  } while (false)

inline Runtime make_runtime() {
  Err err;
  Options options;
  Runtime runtime;
  REQUIRE_OK(ingle_options_create("runtime", options.out(), err));
  REQUIRE_OK(ingle_options_set_int(options, "threads", 2, err));
  REQUIRE_OK(ingle_runtime_create(options, nullptr, nullptr, runtime.out(), err));
  return runtime;
}

// A scripted model; `json` are options of the kind "script".
inline Model make_scripted(const ingle_runtime* runtime, const std::string& json) {
  Err err;
  Options script;
  Model model;
  REQUIRE_OK(ingle_options_create("script", script.out(), err));
  REQUIRE_OK(ingle_options_set_json(script, json.c_str(), -1, err));
  REQUIRE_OK(ingle_model_scripted(runtime, script, model.out(), err));
  return model;
}

inline Options make_options(const char* kind, const std::string& json) {
  Err err;
  Options options;
  REQUIRE_OK(ingle_options_create(kind, options.out(), err));
  REQUIRE_OK(ingle_options_set_json(options, json.c_str(), -1, err));
  return options;
}

inline Sampler make_greedy() {
  Err err;
  Sampler sampler;
  REQUIRE_OK(ingle_sampler_greedy(sampler.out(), err));
  return sampler;
}

inline Session make_session(const ingle_model* model, const std::string& prompt = "") {
  Err err;
  Session session;
  REQUIRE_OK(ingle_session_create(model, nullptr, session.out(), err));
  if (!prompt.empty())
    REQUIRE_OK(ingle_session_feed_text(session, prompt.data(), static_cast<int64_t>(prompt.size()), 0,
                                       nullptr, err));
  return session;
}

inline std::string model_path() { return INGLE_TEST_DATA "/models/qwen2-q8_0.gguf"; }

}  // namespace ingle::tests
