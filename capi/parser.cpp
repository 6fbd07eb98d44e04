#include "arguments.h"
#include "guard.h"
#include "handles.h"
#include "value.h"

namespace ingle::capi {
namespace {

using ParserUse = Exclusive<ingle_parser>;

const char* part_name(AnswerPart part) {
  constexpr const char* kNames[] = {"content", "reasoning", "call", "arguments", "call_end", "error"};
  return kNames[static_cast<size_t>(part)];
}

ingle_text* events_text(const std::vector<AnswerEvent>& events) {
  List out;
  for (const AnswerEvent& e : events) {
    Fields fields = {{"part", std::string(part_name(e.part))}};
    if (e.index >= 0) fields.emplace_back("index", e.index);
    if (e.part == AnswerPart::call) {
      fields.emplace_back("id", e.id);
      fields.emplace_back("name", e.name);
    } else if (e.part != AnswerPart::call_end) {
      fields.emplace_back("text", e.text);
    }
    if (e.part == AnswerPart::error) fields.emplace_back("message", e.message);
    out.emplace_back(std::move(fields));
  }
  return new ingle_text(write_json(out));
}

Value answer_value(const ParsedAnswer& answer) {
  List calls, errors;
  for (const ToolCall& c : answer.calls)
    calls.emplace_back(
        Fields{{"id", c.id}, {"name", c.name}, {"arguments", c.arguments}, {"complete", c.complete}});
  for (const AnswerError& e : answer.errors)
    errors.emplace_back(
        Fields{{"fault", std::string(e.fault == AnswerFault::truncated ? "truncated" : "malformed")},
               {"offset", e.offset},
               {"index", e.index},
               {"message", e.message},
               {"text", e.text}});
  return Fields{{"raw", answer.raw},
                {"content", answer.content},
                {"reasoning", answer.reasoning},
                {"calls", std::move(calls)},
                {"errors", std::move(errors)}};
}

ingle_text* format_text(const ChatFormat& found) {
  return new ingle_text(write_json(
      Fields{{"dialect", found.dialect}, {"reasoning", found.reasoning}, {"unknown", found.unknown}}));
}

}  // namespace
}  // namespace ingle::capi

using namespace ingle::capi;

ingle_code ingle_model_chat_format(const ingle_model* model, ingle_text** out, ingle_error** err) {
  return guard(err, [&] {
    auto& result = out_argument(out, "out");
    result = format_text(ingle::chat_format(need(model, "model").model));
  });
}

ingle_code ingle_model_tool_grammar(const ingle_model* model, const char* tools, int64_t length,
                                    const ingle_options* options, const ingle_progress* progress,
                                    ingle_grammar** out, ingle_error** err) {
  return guard(err, [&] {
    auto& result = out_argument(out, "out");
    const Kept m(model, "model");
    const std::string_view text = text_argument(tools, length, "tools");
    GrammarOptions o = options_argument<GrammarOptions>(options);
    if (const auto report = progress_argument(progress)) o.limits.go_on = [report] { return report(0); };
    result =
        new ingle_grammar(ingle::tool_grammar(m->model, text, {o.tool_choice, o.parallel_calls}, o.limits));
  });
}

ingle_code ingle_template_chat_format(const ingle_template* chat_template, ingle_text** out,
                                      ingle_error** err) {
  return guard(err, [&] {
    auto& result = out_argument(out, "out");
    result = format_text(ingle::chat_format(need(chat_template, "chat_template").chat_template));
  });
}

ingle_code ingle_parser_create(const ingle_template* chat_template, const ingle_options* options,
                               const char* prompt, int64_t length, ingle_parser** out, ingle_error** err) {
  return guard(err, [&] {
    auto& result = out_argument(out, "out");
    const auto& compiled = need(chat_template, "chat_template").chat_template;
    result = new ingle_parser(ingle::AnswerParser(compiled, options_argument<ingle::AnswerOptions>(options),
                                                  text_argument(prompt, length, "prompt")));
  });
}

ingle_code ingle_session_parser(ingle_session* session, const ingle_options* options, ingle_parser** out,
                                ingle_error** err) {
  return guard(err, [&] {
    auto& result = out_argument(out, "out");
    const Exclusive<ingle_session> s(session, "session");
    result =
        new ingle_parser(ingle::AnswerParser(s->session, options_argument<ingle::AnswerOptions>(options)));
  });
}

ingle_parser* ingle_parser_retain(ingle_parser* parser) { return retain(parser); }
void ingle_parser_release(ingle_parser* parser) { release(parser); }

ingle_code ingle_parser_feed(ingle_parser* parser, const char* text, int64_t length, ingle_text** events,
                             ingle_error** err) {
  return guard(err, [&] {
    auto& result = out_argument(events, "events");
    const ParserUse p(parser, "parser");
    result = events_text(p->parser.feed(text_argument(text, length, "text")));
  });
}

ingle_code ingle_parser_finish(ingle_parser* parser, ingle_text** events, ingle_error** err) {
  return guard(err, [&] {
    auto& result = out_argument(events, "events");
    const ParserUse p(parser, "parser");
    result = events_text(p->parser.finish());
  });
}

ingle_code ingle_parser_answer(ingle_parser* parser, ingle_text** out, ingle_error** err) {
  return guard(err, [&] {
    auto& result = out_argument(out, "out");
    const ParserUse p(parser, "parser");
    result = new ingle_text(write_json(answer_value(p->parser.answer())));
  });
}
