#include "arguments.h"
#include "guard.h"
#include "handles.h"
#include "messages.h"
#include "value.h"

namespace ingle::capi {
namespace {

// What a listener lends. `lent` is set after the engine was made.
struct LentListener {
  explicit LentListener(const ingle_listener& l) : listener(l) {}
  LentListener(const LentListener&) = delete;
  LentListener& operator=(const LentListener&) = delete;
  ~LentListener() {
    if (lent && listener.close) listener.close(listener.user);
  }
  ingle_listener listener;
  bool lent = false;
};

std::shared_ptr<LentListener> listener_argument(const ingle_listener* listener) {
  if (!listener) return nullptr;
  const ingle_listener& l = struct_argument(listener, "listener");
  check_reserved(l.reserved == 0 && !l.reserved_pointer, "listener");
  if (!l.hear) fail(Code::invalid_argument, "listener.hear", "is NULL");
  return std::make_shared<LentListener>(l);
}

ingle_error* error_object(const Error& error) {
  ingle_error* out = nullptr;
  try {
    throw Error(error);
  } catch (...) {
    report(&out);
  }
  return out;
}

Request request_argument(const ingle_request* given) {
  const ingle_request& r = struct_argument(given, "request");
  Request request = options_argument<Request>(r.scheduling);
  request.sampler = options_argument<SamplerOptions>(r.sampler);
  request.generate = options_argument<GenerateOptions>(r.generate);
  request.encode = encode_flags(r.flags);
  check_reserved(!r.reserved, "request");
  if ((r.ids != nullptr) + (r.text != nullptr) + (r.messages != nullptr) + (r.chat != nullptr) != 1)
    fail(Code::invalid_argument, "request", "expected one of ids, text, messages and chat");
  if (r.ids) {
    const auto ids = span_argument(r.ids, r.n_ids, "request.ids");
    request.prompt = std::vector<TokenId>(ids.begin(), ids.end());
  } else if (r.text) {
    request.prompt = std::string(text_argument(r.text, r.text_length, "request.text"));
  } else if (r.chat) {
    request.prompt = ChatJson{std::string(text_argument(r.chat, r.text_length, "request.chat"))};
  } else {
    request.prompt = messages_argument(r.messages, r.n_messages);
  }
  return request;
}

// -1: without end.
double seconds_argument(int64_t milliseconds) {
  if (milliseconds < -1)
    fail(Code::invalid_argument, "timeout_ms", format("is {}, expected -1 or more", milliseconds));
  return milliseconds < 0 ? -1 : static_cast<double>(milliseconds) / 1000;
}

Value histogram(const Histogram& h) {
  List bounds, counts;
  for (const double b : h.bounds) bounds.emplace_back(b);
  for (const uint64_t c : h.counts) counts.emplace_back(static_cast<int64_t>(c));
  return Fields{{"bounds", std::move(bounds)},
                {"counts", std::move(counts)},
                {"sum", h.sum},
                {"count", static_cast<int64_t>(h.count)}};
}

Value told(const EngineStats& s) {
  constexpr const char* kFinishes[] = {"none",      "end",     "stop",     "length",
                                       "cancelled", "context", "deadline", "error"};
  Fields finished;
  for (size_t i = 1; i < std::size(kFinishes); ++i) finished.emplace_back(kFinishes[i], s.finished[i]);
  return Fields{{"submitted", s.submitted},
                {"refused", s.refused},
                {"finished", std::move(finished)},
                {"prompt_tokens", s.prompt_tokens},
                {"cached_tokens", s.cached_tokens},
                {"generated_tokens", s.generated_tokens},
                {"recomputed_tokens", s.recomputed_tokens},
                {"preemptions", s.preemptions},
                {"steps", s.steps},
                {"running", s.running},
                {"waiting", s.waiting},
                {"waiting_tokens", s.waiting_tokens},
                {"state_bytes", static_cast<int64_t>(s.state_bytes)},
                {"state_budget_bytes", static_cast<int64_t>(s.state_budget_bytes)},
                {"prefix_bytes", static_cast<int64_t>(s.prefix_bytes)},
                {"prefix_blocks", s.prefix_blocks},
                {"prefix_evictions", s.prefix_evictions},
                {"prefix_spilled", s.prefix_spilled},
                {"prefix_loaded", s.prefix_loaded},
                {"estimated_wait_s", s.estimated_wait_s},
                {"queue_s", histogram(s.queue)},
                {"first_token_s", histogram(s.first_token)},
                {"between_tokens_s", histogram(s.between_tokens)},
                {"prefill_s", histogram(s.prefill)},
                {"decode_s", histogram(s.decode)},
                {"end_to_end_s", histogram(s.end_to_end)},
                {"step_s", histogram(s.step)},
                {"host_s", histogram(s.host)},
                {"step_tokens", histogram(s.step_tokens)},
                {"prompt_length", histogram(s.prompt_length)},
                {"generated_length", histogram(s.generated_length)}};
}

}  // namespace
}  // namespace ingle::capi

using namespace ingle::capi;

ingle_code ingle_engine_create(const ingle_model* model, const ingle_options* options,
                               const ingle_listener* listener, ingle_engine** out, ingle_error** err) {
  return guard(err, [&] {
    auto& result = out_argument(out, "out");
    const auto& m = need(model, "model");
    auto wanted = options_argument<ingle::EngineOptions>(options);
    const auto lent = listener_argument(listener);
    if (lent)  // with the host: the engine's last thread may outlive the handle
      wanted.on_event = [lent, host = m.host](const ingle::EngineEvent& e) {
        HeldEvent held;
        held.hold(e.event);
        ingle_event event = INGLE_EVENT_INIT;
        held.tell(event);
        ingle_error* failure = e.error ? error_object(*e.error) : nullptr;
        lent->listener.hear(e.request, &event, failure, lent->listener.user);
        ingle_error_release(failure);
      };
    result = new ingle_engine(m.host, ingle::Engine(m.model, wanted));
    if (lent) lent->lent = true;
  });
}
ingle_engine* ingle_engine_retain(ingle_engine* engine) { return retain(engine); }
void ingle_engine_release(ingle_engine* engine) { release(engine); }

ingle_code ingle_engine_submit(ingle_engine* engine, const ingle_request* request, uint64_t* id,
                               ingle_error** err) {
  return guard(err, [&] {
    auto& result = out_argument(id, "id");
    const Kept e(engine, "engine");
    result = e->engine.submit(request_argument(request));
  });
}

ingle_code ingle_engine_cancel(ingle_engine* engine, uint64_t id, int32_t* found, ingle_error** err) {
  return guard(err, [&] {
    if (found) *found = 0;
    const Kept e(engine, "engine");
    const bool there = e->engine.cancel(id);
    if (found) *found = there ? 1 : 0;
  });
}

ingle_code ingle_engine_next(ingle_engine* engine, int64_t timeout_ms, uint64_t* request, ingle_event* event,
                             ingle_error** failure, ingle_error** err) {
  return guard(err, [&] {
    if (failure) *failure = nullptr;
    auto& from = out_argument(request, "request");
    auto& result = out_struct_argument(event, "event");
    result.id = -1;
    const Exclusive e(engine, "engine");
    e->held.make_room();
    std::optional<ingle::EngineEvent> next = e->engine.next(seconds_argument(timeout_ms));
    if (!next) return;
    e->held.hold(std::move(next->event));
    if (failure && next->error) *failure = error_object(*next->error);
    e->held.tell(result);
    from = next->request;
  });
}

ingle_code ingle_engine_descriptor(const ingle_engine* engine, int32_t* out, ingle_error** err) {
  return guard(err, [&] {
    auto& result = out_argument(out, "out");
    result = need(engine, "engine").engine.event_descriptor();
  });
}

ingle_code ingle_engine_step(ingle_engine* engine, double seconds, int32_t* more, ingle_error** err) {
  return guard(err, [&] {
    auto& result = out_argument(more, "more");
    if (!(seconds >= 0 && seconds <= 1e6))
      ingle::fail(ingle::Code::invalid_argument, "seconds",
                  ingle::format("is {}, expected 0 to 1000000", seconds));
    const Kept e(engine, "engine");
    result = e->engine.step(seconds) ? 1 : 0;
  });
}

ingle_code ingle_engine_pause(ingle_engine* engine, int32_t paused, ingle_error** err) {
  return guard(err, [&] {
    const Kept e(engine, "engine");
    if (flag_argument(paused, "paused"))
      e->engine.pause();
    else
      e->engine.resume();
  });
}

ingle_code ingle_engine_drain(ingle_engine* engine, int64_t timeout_ms, int32_t* done, ingle_error** err) {
  return guard(err, [&] {
    auto& result = out_argument(done, "done");
    const Kept e(engine, "engine");
    result = e->engine.drain(seconds_argument(timeout_ms)) ? 1 : 0;
  });
}

ingle_code ingle_engine_stats(const ingle_engine* engine, ingle_text** out, ingle_error** err) {
  return guard(err, [&] {
    auto& result = out_argument(out, "out");
    result = new ingle_text(write_json(told(need(engine, "engine").engine.stats())));
  });
}
