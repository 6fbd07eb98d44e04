// What the tests of the C++ API share.
#pragma once
#include <string>
#include <vector>

#include "ingle/ingle.hpp"
#include "support/catch.h"
#include "support/paths.h"

namespace ingle::tests {

inline std::vector<TokenId> bytes_of(const std::string& text) {
  std::vector<TokenId> ids;
  for (const char c : text) ids.push_back(static_cast<unsigned char>(c));
  return ids;
}

inline Model scripted(const Runtime& runtime, const std::string& text,
                      const std::string& chat_template = "") {
  ScriptedModel script;
  script.ids = bytes_of(text);
  script.chat_template = chat_template;
  return Model::scripted(runtime, script);
}

inline Runtime one_thread() {
  RuntimeOptions options;
  options.threads = 1;
  return Runtime(options);
}

inline std::string tiny_model() { return data_path("models/qwen2-q8_0.gguf"); }

// What is held beside what is kept for later.
inline int64_t bytes_of_requests(const EngineStats& s) {
  return static_cast<int64_t>(s.state_bytes) - static_cast<int64_t>(s.prefix_bytes);
}

// The code of the error that f raises; ok when it raises none.
template <class F>
Code code_of(F f) {
  try {
    f();
  } catch (const Error& e) {
    return e.code();
  }
  return Code::ok;
}

}  // namespace ingle::tests
