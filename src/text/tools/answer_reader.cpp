#include "text/tools/answer_reader.h"

#include <algorithm>

#include "core/error.h"

namespace ingle::text {

std::string AnswerFormat::opened_by(std::string_view prompt) const {
  if (tools && tools->form == Form::harmony) {
    const size_t start = prompt.rfind(tools->section_begin);
    if (start == std::string_view::npos || prompt.size() - start > kMaxNameBytes) return {};
    const std::string_view tail = prompt.substr(start);
    return tail.find("<|end|>") == std::string_view::npos ? std::string(tail) : std::string();
  }
  if (tools && !tools->content_name.empty() && prompt.ends_with(tools->call_begin))
    return std::string(tools->call_begin);
  if (!reasoning) return {};
  // Nothing but white space may follow, so that no text of a user's counts.
  while (!prompt.empty() && Cursor::is_space(prompt.back())) prompt.remove_suffix(1);
  std::string_view begin = reasoning->begin;
  while (!begin.empty() && Cursor::is_space(begin.back())) begin.remove_suffix(1);
  return prompt.ends_with(begin) ? std::string(reasoning->begin) : std::string();
}

AnswerReader::AnswerReader(const AnswerFormat& format, std::shared_ptr<const ToolSchemas> schemas,
                           ReasoningUse use, int64_t first_index, std::string_view opening)
    : format_(format), schemas_(std::move(schemas)), use_(use), first_index_(first_index) {
  const Dialect* tools = format_.tools;
  const bool harmony = tools && tools->form == Form::harmony;
  if (tools) {
    add_mark(tools->trigger(), MarkKind::call);
    if (harmony || tools->form == Form::json) add_mark(tools->call_begin, MarkKind::call);
    for (const std::string_view noise : tools->noise) add_mark(noise, MarkKind::noise);
    may_anchor_ = tools->anchored;
  }
  if (format_.reasoning && use_ != ReasoningUse::pass && !harmony) {
    add_mark(format_.reasoning->begin, MarkKind::reasoning);
    add_mark(format_.reasoning->end, MarkKind::reasoning_end);
    for (const std::string_view noise : format_.reasoning->noise) add_mark(noise, MarkKind::noise);
  }
  const bool opens_reasoning = format_.reasoning && opening == format_.reasoning->begin;
  if (opens_reasoning && use_ == ReasoningUse::pass) opening = {};
  text_ = opening;
  opening_ = opening.size();
  run();
}

AnswerReader::AnswerReader(const AnswerReader& other)
    : format_(other.format_),
      schemas_(other.schemas_),
      use_(other.use_),
      first_index_(other.first_index_),
      marks_(other.marks_),
      begins_(other.begins_),
      text_(other.text_),
      opening_(other.opening_),
      at_(other.at_),
      scan_(other.scan_),
      ended_(other.ended_),
      closed_(other.closed_),
      state_(other.state_),
      may_anchor_(other.may_anchor_),
      content_seen_(other.content_seen_),
      skip_space_(other.skip_space_),
      skip_reasoning_space_(other.skip_reasoning_space_),
      space_(other.space_),
      reasoning_space_(other.reasoning_space_),
      reader_(other.reader_ ? other.reader_->clone() : nullptr),
      call_from_(other.call_from_),
      guess_(other.guess_),
      call_open_(other.call_open_),
      call_met_(other.call_met_),
      why_(other.why_),
      ids_(other.ids_),
      answer_(other.answer_) {}

void AnswerReader::add_mark(std::string_view text, MarkKind kind) {
  if (text.empty()) return;
  for (const Mark& mark : marks_)
    if (mark.text == text) return;
  marks_.push_back({text, kind});
  begins_[static_cast<unsigned char>(text.front())] = true;
}

std::vector<AnswerEvent> AnswerReader::feed(std::string_view text) {
  if (closed_) fail(Code::invalid_argument, "answer", "more text after the answer has ended");
  text_ += text;
  answer_.raw += text;
  return run();
}

std::vector<AnswerEvent> AnswerReader::finish() {
  if (closed_) return {};
  ended_ = closed_ = true;
  std::vector<AnswerEvent> events = run();
  // What stood at the end, before no marker, is the user's.
  if (state_ == State::free && content_seen_ && !space_.empty()) add(AnswerPart::content, space_);
  space_.clear();
  std::move(events_.begin(), events_.end(), std::back_inserter(events));
  events_.clear();
  return events;
}

std::vector<AnswerEvent> AnswerReader::run() {
  Cursor in{text_, at_, ended_};
  while (step(in)) {
  }
  at_ = in.at;
  return std::exchange(events_, {});
}

bool AnswerReader::step(Cursor& in) {
  switch (state_) {
    case State::free:
      return free_text(in);
    case State::reasoning:
      return reasoning_text(in);
    case State::call:
      return call(in);
    default:
      return recover(in);
  }
}

// Calls without a marker may begin where the content would: at the start, and behind another call. None: what
// is there is to be read as free text.
std::optional<bool> AnswerReader::begin_anchored(Cursor& in) {
  const Dialect& d = *format_.tools;
  Cursor ahead = in;
  ahead.at = std::max(in.at, scan_);
  ahead.skip_space();
  scan_ = ahead.at;
  if (ahead.empty()) {
    if (in.ended) may_anchor_ = false;
    return in.ended;
  }
  const char c = ahead.peek();
  const bool list = c == '[' && d.form == Form::json && d.python_too;
  bool json = c == '{' && d.form == Form::json, python = c == '[' && d.form == Form::python;
  if (list) {  // of either: its first byte tells
    Cursor inside = ahead;
    ++inside.at;
    inside.skip_space();
    if (inside.empty() && !in.ended) return false;
    json = inside.empty() || inside.peek() == '{';
    python = !json;
  }
  if (!json && !python) {
    // Behind a mark there may be a call all the same.
    may_anchor_ = std::any_of(marks_.begin(), marks_.end(), [&](const Mark& mark) {
      const Match match = ahead.match(mark.text);
      return match == Match::yes || (match == Match::maybe && !in.ended);
    });
    return std::nullopt;
  }
  const size_t from = in.at;
  in.at = ahead.at;
  begin_call(from, json ? make_json_calls(d) : make_python_calls(d, *schemas_, false), true);
  return true;
}

bool AnswerReader::free_text(Cursor& in) {
  if (may_anchor_ && in.match(format_.tools->trigger()) == Match::no)
    if (const auto begun = begin_anchored(in)) return *begun;
  for (size_t i = std::max(scan_, in.at); i < in.text.size(); ++i) {
    if (!begins_[static_cast<unsigned char>(in.text[i])]) continue;
    const Mark* found = nullptr;
    bool maybe = false;
    for (const Mark& mark : marks_) {
      const Match match = in.match_at(i, mark.text);
      maybe = maybe || (match == Match::maybe && !in.ended);
      if (match == Match::yes && (!found || mark.text.size() > found->text.size())) found = &mark;
    }
    if (maybe) {
      add_content(in.text.substr(in.at, i - in.at));
      in.at = scan_ = i;
      return false;
    }
    if (!found) continue;
    const size_t before = in.at;
    // A marker of reasoning in the middle of an answer that may not stand there is text.
    const bool early_only = !format_.reasoning || !format_.reasoning->anywhere;
    const bool of_reasoning = found->kind == MarkKind::reasoning || found->kind == MarkKind::reasoning_end;
    const std::string_view piece = in.text.substr(before, i - before);
    const bool seen = content_seen_ || piece.find_first_not_of(" \t\r\n") != std::string_view::npos;
    if (of_reasoning && early_only && seen) continue;
    add_content(piece);
    in.at = i;
    return met(in, *found);
  }
  add_content(in.text.substr(in.at));
  in.at = scan_ = in.text.size();
  return false;
}

bool AnswerReader::met(Cursor& in, const Mark& mark) {
  const size_t from = in.at;
  in.at = scan_ = from + mark.text.size();
  if (mark.kind == MarkKind::noise) return true;
  space_.clear();
  skip_space_ = true;
  if (mark.kind == MarkKind::reasoning_end) return true;
  if (mark.kind == MarkKind::reasoning) {
    state_ = State::reasoning;
    skip_reasoning_space_ = true;
    reasoning_space_.clear();
    return true;
  }
  const Dialect& d = *format_.tools;
  std::unique_ptr<CallReader> reader;
  switch (d.form) {
    case Form::json:
      if (d.python_too) {  // a name there, no object: wait for its first byte
        Cursor ahead = in;
        ahead.skip_space();
        if (ahead.empty() && !in.ended) {
          in.at = scan_ = from;
          return false;
        }
        if (!ahead.empty() && ahead.peek() != '{' && ahead.peek() != '[') {
          reader = make_python_calls(d, *schemas_, true);
          break;
        }
      }
      reader = make_json_calls(d);
      break;
    case Form::named:
      reader = make_named_calls(d);
      break;
    case Form::tagged:
      reader = make_tagged_calls(d, *schemas_);
      break;
    case Form::nested:
      reader = make_nested_calls(d, *schemas_);
      break;
    case Form::python:
      reader = make_python_calls(d, *schemas_, true);
      break;
    case Form::braces:
      reader = make_braces_calls(d);
      break;
    case Form::harmony:
      reader = make_harmony(mark.text == d.call_begin);
      break;
  }
  may_anchor_ = false;
  begin_call(from, std::move(reader), d.plain);
  return true;
}

void AnswerReader::begin_call(size_t from, std::unique_ptr<CallReader> reader, bool guess) {
  state_ = State::call;
  reader_ = std::move(reader);
  call_from_ = from;
  guess_ = guess;
  call_open_ = call_met_ = false;
}

void AnswerReader::leave_call(const Cursor& in) {
  state_ = State::free;
  reader_.reset();
  scan_ = in.at;
  if (!call_met_) return;
  content_seen_ = false;
  skip_space_ = true;
  space_.clear();
  may_anchor_ = format_.tools->anchored;
}

bool AnswerReader::call(Cursor& in) {
  const Read got = reader_->read(in, *this);
  if (got == Read::done) {
    leave_call(in);
    return true;
  }
  if (got == Read::more && !in.ended) return false;
  if (guess_ && !call_met_) {  // it was text for the user
    const std::string_view marker = format_.tools->trigger();
    in.at = call_from_;
    if (in.match(marker) == Match::yes) {
      in.at += marker.size();
      if (call_from_ >= opening_) add_content(marker);
    }
    may_anchor_ = false;
    leave_call(in);
    return true;
  }
  if (got == Read::more) {
    in.at = in.text.size();
    add_error(AnswerFault::truncated, "the answer ends within a call", in.text.substr(call_from_));
    leave_call(in);
    return false;
  }
  why_ = reader_->why();
  state_ = State::recover;
  scan_ = in.at;
  return true;
}

// After a call that cannot be read, its end is looked for, so that what follows is read again.
bool AnswerReader::recover(Cursor& in) {
  const Dialect& d = *format_.tools;
  const std::string_view end = d.section_end.empty() || d.form == Form::harmony ? d.call_end : d.section_end;
  if (!end.empty()) {
    const size_t found = search(in, end, scan_);
    if (found == std::string_view::npos && !in.ended) return false;
    in.at = found == std::string_view::npos ? in.text.size() : found + end.size();
  }
  call_met_ = true;
  add_error(AnswerFault::malformed, why_, in.text.substr(call_from_, in.at - call_from_));
  leave_call(in);
  return true;
}

void AnswerReader::add_error(AnswerFault fault, std::string why, std::string_view text) {
  // A call's text that began in the prompt is told from where the answer begins.
  const size_t from = std::max(call_from_, opening_);
  text.remove_prefix(std::min(text.size(), from - call_from_));
  AnswerError error;
  error.fault = fault;
  error.offset = static_cast<int64_t>(from - opening_);
  error.index = call_open_ ? static_cast<int64_t>(answer_.calls.size()) - 1 : -1;
  error.message = std::move(why);
  error.text = text;
  AnswerEvent event;
  event.part = AnswerPart::error;
  event.index = error.index;
  event.text = error.text;
  event.message = error.message;
  call_open_ = false;
  events_.push_back(std::move(event));
  answer_.errors.push_back(std::move(error));
}

void AnswerReader::add(AnswerPart part, std::string_view text) {
  (part == AnswerPart::content ? answer_.content : answer_.reasoning) += text;
  if (!events_.empty() && events_.back().part == part) {
    events_.back().text += text;
    return;
  }
  AnswerEvent event;
  event.part = part;
  event.text = text;
  events_.push_back(std::move(event));
}

namespace {

// Cuts the white space at the end off `text`.
std::string_view space_at_end(std::string_view& text) {
  const size_t last = text.find_last_not_of(" \t\r\n");
  const size_t keep = last == std::string_view::npos ? 0 : last + 1;
  const std::string_view space = text.substr(keep);
  text = text.substr(0, keep);
  return space;
}

}  // namespace

void AnswerReader::add_content(std::string_view text) {
  if (skip_space_) text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  if (text.empty()) return;
  skip_space_ = false;
  const std::string_view space = space_at_end(text);
  if (!text.empty()) {
    if (!space_.empty()) add(AnswerPart::content, std::exchange(space_, {}));
    add(AnswerPart::content, text);
    content_seen_ = true;
  }
  space_ += space;
}

void AnswerReader::add_reasoning(std::string_view text) {
  if (use_ == ReasoningUse::drop) return;
  if (use_ == ReasoningUse::pass) return add_content(text);  // harmony: it has no marks to show
  if (skip_reasoning_space_) text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  if (text.empty()) return;
  skip_reasoning_space_ = false;
  const std::string_view space = space_at_end(text);
  if (!text.empty()) {
    if (!reasoning_space_.empty()) add(AnswerPart::reasoning, std::exchange(reasoning_space_, {}));
    add(AnswerPart::reasoning, text);
  }
  reasoning_space_ += space;
}

bool AnswerReader::reasoning_text(Cursor& in) {
  const std::string_view end = format_.reasoning->end;
  for (size_t i = in.at; i < in.text.size(); ++i) {
    i = in.text.find(end.front(), i);
    if (i == std::string_view::npos) break;
    const Match match = in.match_at(i, end);
    if (match == Match::no || (match == Match::maybe && in.ended)) continue;
    add_reasoning(in.text.substr(in.at, i - in.at));
    in.at = i;
    if (match == Match::maybe) return false;
    in.at = scan_ = i + end.size();
    state_ = State::free;
    skip_space_ = true;
    reasoning_space_.clear();
    return true;
  }
  add_reasoning(in.text.substr(in.at));
  in.at = in.text.size();
  return false;
}

void AnswerReader::begin(std::string name, std::string id) {
  ToolCall made;
  made.name = std::move(name);
  const auto taken = [&](const std::string& wanted) { return ids_.count(wanted) > 0; };
  int64_t number = first_index_ + static_cast<int64_t>(answer_.calls.size());
  // Nine letters and digits, as Mistral's templates demand.
  if (id.empty() || taken(id)) id = format("call{:05}", number);
  while (taken(id)) id = format("call{:05}", ++number);
  ids_.insert(id);
  made.id = std::move(id);
  AnswerEvent event;
  event.part = AnswerPart::call;
  event.index = static_cast<int64_t>(answer_.calls.size());
  event.id = made.id;
  event.name = made.name;
  events_.push_back(std::move(event));
  answer_.calls.push_back(std::move(made));
  call_open_ = call_met_ = true;
  space_.clear();
}

void AnswerReader::arguments(std::string_view json) {
  answer_.calls.back().arguments += json;
  if (!events_.empty() && events_.back().part == AnswerPart::arguments) {
    events_.back().text += json;
    return;
  }
  AnswerEvent event;
  event.part = AnswerPart::arguments;
  event.index = static_cast<int64_t>(answer_.calls.size()) - 1;
  event.text = json;
  events_.push_back(std::move(event));
}

void AnswerReader::end() {
  answer_.calls.back().complete = true;
  call_open_ = false;
  AnswerEvent event;
  event.part = AnswerPart::call_end;
  event.index = static_cast<int64_t>(answer_.calls.size()) - 1;
  events_.push_back(std::move(event));
}

}  // namespace ingle::text
