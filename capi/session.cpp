#include "arguments.h"
#include "guard.h"
#include "handles.h"
#include "host.h"
#include "messages.h"

namespace ingle::capi {
namespace {

using SessionUse = Exclusive<ingle_session>;
using SamplerUse = Exclusive<ingle_sampler>;

// The next event, kept in the session for the caller's to point into.
template <class Next>
const TokenEvent& advance(ingle_session& s, Next next) {
  s.held.make_room();
  TokenEvent event;
  try {
    event = next();
  } catch (const Error& e) {  // a cancel while the token was computed ends the answer like any other
    if (e.code() != Code::cancelled) throw;
    event.finish = Finish::cancelled;
  }
  s.held.hold(std::move(event));
  return s.held.event;
}

}  // namespace
}  // namespace ingle::capi

using namespace ingle::capi;

ingle_code ingle_session_create(const ingle_model* model, const ingle_options* options, ingle_session** out,
                                ingle_error** err) {
  return guard(err, [&] {
    auto& result = out_argument(out, "out");
    const auto& m = need(model, "model");
    result =
        new ingle_session(m.host, ingle::Session(m.model, options_argument<ingle::SessionOptions>(options)));
  });
}
ingle_session* ingle_session_retain(ingle_session* session) { return retain(session); }
void ingle_session_release(ingle_session* session) { release(session); }

ingle_code ingle_session_feed_tokens(ingle_session* session, const int32_t* ids, int64_t n_ids,
                                     const ingle_progress* progress, ingle_error** err) {
  return guard(err, [&] {
    const SessionUse s(session, "session");
    s->session.feed(span_argument(ids, n_ids, "ids"), feed_progress(progress));
  });
}

ingle_code ingle_session_feed_text(ingle_session* session, const char* text, int64_t length, int32_t flags,
                                   const ingle_progress* progress, ingle_error** err) {
  return guard(err, [&] {
    const SessionUse s(session, "session");
    s->session.feed_text(text_argument(text, length, "text"), encode_flags(flags), feed_progress(progress));
  });
}

ingle_code ingle_session_feed_chat(ingle_session* session, const ingle_message* messages, int64_t n_messages,
                                   const ingle_progress* progress, ingle_error** err) {
  return guard(err, [&] {
    const SessionUse s(session, "session");
    s->session.feed_chat(messages_argument(messages, n_messages), feed_progress(progress));
  });
}

ingle_code ingle_session_feed_chat_json(ingle_session* session, const char* json, int64_t length,
                                        const ingle_progress* progress, ingle_error** err) {
  return guard(err, [&] {
    const SessionUse s(session, "session");
    s->session.feed_chat_json(text_argument(json, length, "json"), feed_progress(progress));
  });
}

ingle_code ingle_session_begin(ingle_session* session, const ingle_options* options, ingle_error** err) {
  return guard(err, [&] {
    const SessionUse s(session, "session");
    s->session.begin(options_argument<ingle::GenerateOptions>(options));
  });
}

ingle_code ingle_session_next(ingle_session* session, ingle_sampler* sampler, ingle_event* event,
                              ingle_error** err) {
  return guard(err, [&] {
    auto& result = out_struct_argument(event, "event");
    result.id = -1;
    const SessionUse s(session, "session");
    const SamplerUse chooser(sampler, "sampler");
    advance(*s, [&] { return s->session.next(chooser->sampler); });
    s->held.tell(result);
  });
}

ingle_code ingle_session_next_guided(ingle_session* session, ingle_session* negative, double scale,
                                     ingle_sampler* sampler, ingle_event* event, ingle_error** err) {
  return guard(err, [&] {
    auto& result = out_struct_argument(event, "event");
    result.id = -1;
    if (session && session == negative)
      ingle::fail(ingle::Code::invalid_argument, "negative", "is the session itself");
    const SessionUse s(session, "session");
    const SessionUse n(negative, "negative");
    const SamplerUse chooser(sampler, "sampler");
    advance(*s,
            [&] { return s->session.next_guided(chooser->sampler, n->session, static_cast<float>(scale)); });
    s->held.tell(result);
  });
}

ingle_code ingle_session_beam_search(ingle_session* session, const ingle_options* options, ingle_text** out,
                                     ingle_error** err) {
  return guard(err, [&] {
    auto& result = out_argument(out, "out");
    const SessionUse s(session, "session");
    List beams;
    for (const ingle::Beam& b :
         ingle::beam_search(s->session, options_argument<ingle::BeamOptions>(options))) {
      List ids;
      for (const ingle::TokenId id : b.ids) ids.emplace_back(static_cast<int64_t>(id));
      beams.emplace_back(Fields{{"text", b.text},
                                {"ids", std::move(ids)},
                                {"score", b.score},
                                {"finish", static_cast<int64_t>(b.finish)}});
    }
    result = new ingle_text(write_json(beams));
  });
}

ingle_code ingle_session_generate(ingle_session* session, ingle_sampler* sampler,
                                  const ingle_options* options, ingle_event_callback callback, void* user,
                                  int32_t* finish, ingle_text** out, ingle_error** err) {
  return guard(err, [&] {
    if (finish) *finish = INGLE_FINISH_NONE;
    if (out) *out = nullptr;
    const SessionUse s(session, "session");
    const SamplerUse chooser(sampler, "sampler");
    s->session.begin(options_argument<ingle::GenerateOptions>(options));
    std::string text;
    int32_t how = INGLE_FINISH_NONE;
    while (how == INGLE_FINISH_NONE) {
      const ingle::TokenEvent& event = advance(*s, [&] { return s->session.next(chooser->sampler); });
      how = static_cast<int32_t>(event.finish);
      if (out) text += event.text;
      if (!callback) continue;
      ingle_event told = INGLE_EVENT_INIT;
      s->held.tell(told);
      if (callback(&told, user) == 0 || how != INGLE_FINISH_NONE) continue;
      s->session.cancel();  // so that the session knows too that the answer has ended
      const ingle::TokenEvent& last = advance(*s, [&] { return s->session.next(chooser->sampler); });
      how = static_cast<int32_t>(last.finish);
      if (out) text += last.text;
    }
    if (out) *out = new ingle_text(std::move(text));
    if (finish) *finish = how;
  });
}

ingle_code ingle_session_cancel(ingle_session* session, ingle_error** err) {
  return guard(err, [&] { need(session, "session").session.cancel(); });
}

ingle_code ingle_session_logits(ingle_session* session, const float** out, int64_t* n, ingle_error** err) {
  return guard(err, [&] {
    auto& result = out_argument(out, "out");
    auto& count = out_argument(n, "n");
    const SessionUse s(session, "session");
    const std::span<const float> row = s->session.logits();
    result = row.data();
    count = static_cast<int64_t>(row.size());
  });
}

ingle_code ingle_session_score(ingle_session* session, const int32_t* ids, int64_t n_ids,
                               ingle_score_callback callback, void* user, ingle_error** err) {
  return guard(err, [&] {
    const SessionUse s(session, "session");
    const auto list = span_argument(ids, n_ids, "ids");
    if (!callback) ingle::fail(ingle::Code::invalid_argument, "callback", "is NULL");
    s->session.score(list, [&](int64_t position, std::span<const float> row) {
      if (callback(position, row.data(), static_cast<int64_t>(row.size()), user) != 0)
        ingle::fail(ingle::Code::cancelled, "score", "cancelled by the callback");
    });
  });
}

ingle_code ingle_session_tap(ingle_session* session, const int32_t* points, int64_t n_points,
                             const ingle_tap* tap, ingle_error** err) {
  return guard(err, [&] {
    const SessionUse s(session, "session");
    const auto wanted = span_argument(points, n_points, "points");
    if (wanted.empty()) return s->session.tap({}, {});
    const auto lent = tap_argument(tap);
    s->session.tap(wanted, [lent](const ingle::TapRow& row) {
      return lent->tap.hear(row.point, row.position, row.token, row.values.data(),
                            static_cast<int64_t>(row.values.size()), lent->tap.user) == 0;
    });
    lent->lent = true;
  });
}

ingle_code ingle_session_tokens(ingle_session* session, ingle_tokens** out, ingle_error** err) {
  return guard(err, [&] {
    auto& result = out_argument(out, "out");
    const SessionUse s(session, "session");
    const auto ids = s->session.tokens();
    result = new ingle_tokens({ids.begin(), ids.end()});
  });
}

ingle_code ingle_session_truncate(ingle_session* session, int64_t n_tokens, ingle_error** err) {
  return guard(err, [&] { SessionUse(session, "session")->session.truncate(n_tokens); });
}

ingle_code ingle_session_fork(ingle_session* session, ingle_session** out, ingle_error** err) {
  return guard(err, [&] {
    auto& result = out_argument(out, "out");
    const SessionUse s(session, "session");
    result = new ingle_session(s->host, s->session.fork());
  });
}

ingle_code ingle_session_save(ingle_session* session, const char* path, ingle_error** err) {
  return guard(err, [&] { SessionUse(session, "session")->session.save(string_argument(path, "path")); });
}

ingle_code ingle_session_load(const ingle_model* model, const char* path, const ingle_options* options,
                              ingle_session** out, ingle_error** err) {
  return guard(err, [&] {
    auto& result = out_argument(out, "out");
    const auto& m = need(model, "model");
    result =
        new ingle_session(m.host, ingle::Session::load(m.model, string_argument(path, "path"),
                                                       options_argument<ingle::SessionOptions>(options)));
  });
}

ingle_code ingle_session_stats(ingle_session* session, ingle_stats* stats, ingle_error** err) {
  return guard(err, [&] {
    auto& result = out_struct_argument(stats, "stats");
    const SessionUse s(session, "session");
    const ingle::SessionStats& found = s->session.stats();
    result.prompt_tokens = found.prompt_tokens;
    result.generated_tokens = found.generated_tokens;
    result.prefill_ms = found.prefill_ms;
    result.decode_ms = found.decode_ms;
  });
}
