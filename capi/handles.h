// What the handles hold.
#pragma once
#include <ingle/ingle.h>

#include <memory>
#include <string>
#include <vector>

#include "handle.h"
#include "ingle/ingle.hpp"
#include "options.h"

namespace ingle::capi {

// What a runtime's creator lent, given back when the last handle that could call it is gone.
struct Host {
  ingle_allocator allocator = INGLE_ALLOCATOR_INIT;
  ingle_logger logger = INGLE_LOGGER_INIT;
  bool lent = false;  // only after success
  Host() = default;
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;
  ~Host() {
    if (!lent) return;
    if (logger.close) logger.close(logger.user);
    if (allocator.close) allocator.close(allocator.user);
  }
};
using HostPtr = std::shared_ptr<Host>;

// An event that the caller's points into.
struct HeldEvent {
  TokenEvent event;
  std::vector<int32_t> top_ids;
  std::vector<float> top_logprobs;

  // Before an event is taken, so that holding it cannot fail and lose it.
  void make_room() {
    constexpr size_t kMostTop = 64;  // the bound of top_logprobs
    top_ids.reserve(kMostTop);
    top_logprobs.reserve(kMostTop);
  }
  void hold(TokenEvent e) {
    event = std::move(e);
    top_ids.clear();
    top_logprobs.clear();
    for (const TokenLogprob& t : event.top) {
      top_ids.push_back(t.id);
      top_logprobs.push_back(t.logprob);
    }
  }
  void tell(ingle_event& out) const {
    out.id = event.id;
    out.logprob = event.logprob;
    out.finish = static_cast<int32_t>(event.finish);
    out.time_ms = event.time_ms;
    out.text = event.text.c_str();
    out.text_length = event.text.size();
    out.top_ids = top_ids.data();
    out.top_logprobs = top_logprobs.data();
    out.n_top = top_ids.size();
  }
};

}  // namespace ingle::capi

// `host` stands first, so that it goes last.
struct ingle_text : ingle::capi::Handle {
  static constexpr auto kKind = ingle::capi::Kind::text;
  explicit ingle_text(std::string v) : Handle(kKind), value(std::move(v)) {}
  std::string value;
};

struct ingle_tokens : ingle::capi::Handle {
  static constexpr auto kKind = ingle::capi::Kind::tokens;
  explicit ingle_tokens(std::vector<int32_t> v) : Handle(kKind), ids(std::move(v)) {}
  std::vector<int32_t> ids;
};

struct ingle_options : ingle::capi::Handle {
  static constexpr auto kKind = ingle::capi::Kind::options;
  explicit ingle_options(ingle::capi::Target t) : Handle(kKind), target(std::move(t)) {}
  ingle::capi::Target target;
};

struct ingle_runtime : ingle::capi::Handle {
  static constexpr auto kKind = ingle::capi::Kind::runtime;
  ingle_runtime(ingle::capi::HostPtr h, ingle::Runtime r)
      : Handle(kKind), host(std::move(h)), runtime(std::move(r)) {}
  ingle::capi::HostPtr host;
  ingle::Runtime runtime;
};

struct ingle_model : ingle::capi::Handle {
  static constexpr auto kKind = ingle::capi::Kind::model;
  ingle_model(ingle::capi::HostPtr h, ingle::Model m)
      : Handle(kKind), host(std::move(h)), model(std::move(m)) {}
  ingle::capi::HostPtr host;
  ingle::Model model;
};

struct ingle_tokenizer : ingle::capi::Handle {
  static constexpr auto kKind = ingle::capi::Kind::tokenizer;
  explicit ingle_tokenizer(ingle::Tokenizer t) : Handle(kKind), tokenizer(std::move(t)) {}
  ingle::Tokenizer tokenizer;
};

struct ingle_template : ingle::capi::Handle {
  static constexpr auto kKind = ingle::capi::Kind::chat_template;
  explicit ingle_template(ingle::ChatTemplate t) : Handle(kKind), chat_template(std::move(t)) {}
  ingle::ChatTemplate chat_template;
};

struct ingle_grammar : ingle::capi::Handle {
  static constexpr auto kKind = ingle::capi::Kind::grammar;
  explicit ingle_grammar(ingle::Grammar g) : Handle(kKind), grammar(std::move(g)) {}
  ingle::Grammar grammar;
};

struct ingle_sampler : ingle::capi::Handle {
  static constexpr auto kKind = ingle::capi::Kind::sampler;
  explicit ingle_sampler(ingle::Sampler s) : Handle(kKind), sampler(std::move(s)) {}
  ingle::Sampler sampler;
  std::atomic<bool> in_use{false};
};

struct ingle_session : ingle::capi::Handle {
  static constexpr auto kKind = ingle::capi::Kind::session;
  ingle_session(ingle::capi::HostPtr h, ingle::Session s)
      : Handle(kKind), host(std::move(h)), session(std::move(s)) {}
  ingle::capi::HostPtr host;
  ingle::Session session;
  std::atomic<bool> in_use{false};
  ingle::capi::HeldEvent held;  // the last one
};

struct ingle_engine : ingle::capi::Handle {
  static constexpr auto kKind = ingle::capi::Kind::engine;
  ingle_engine(ingle::capi::HostPtr h, ingle::Engine e)
      : Handle(kKind), host(std::move(h)), engine(std::move(e)) {}
  ingle::capi::HostPtr host;
  ingle::Engine engine;
  std::atomic<bool> in_use{false};  // by ingle_engine_next
  ingle::capi::HeldEvent held;      // the last one that it gave
};

struct ingle_parser : ingle::capi::Handle {
  static constexpr auto kKind = ingle::capi::Kind::parser;
  explicit ingle_parser(ingle::AnswerParser p) : Handle(kKind), parser(std::move(p)) {}
  ingle::AnswerParser parser;
  std::atomic<bool> in_use{false};
};
