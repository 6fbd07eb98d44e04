// How models write tool calls: each way is a row of data, read by the reader of its form.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

namespace ingle::text {

enum class Form : uint8_t {
  json,     // {"name": …, "arguments": {…}}, one or a list
  named,    // the name between markers, then the arguments as JSON
  tagged,   // the name, then each argument between tags of its own
  nested,   // the name, then each argument between tags that bear its key, with tags within for structures
  python,   // [name(key=value, …), …], or without the brackets, a call a line
  braces,   // name{key:value,…}, with texts between marks of their own
  harmony,  // messages with channels and recipients (gpt-oss)
};

// Empty texts are absent. White space between the parts is free in all forms.
struct Dialect {
  std::string_view name;
  Form form = Form::json;
  std::string_view section_begin = {}, section_end = {};  // around all calls of an answer, or a run of them
  std::string_view call_begin = {}, call_end = {};        // around each call; of json: another section_begin
  bool plain = false;  // the marker is ordinary text: what does not read as a call behind it stays text
  // json, python: calls may begin at the start of the answer, or behind a call, with neither marker.
  bool anchored = false;
  // json
  std::string_view name_key = "name", arguments_key = "arguments", id_key = "id";
  bool late_id = false;             // the id comes after the arguments: they wait for it
  bool name_is_key = false;         // {"name": {arguments}}
  bool python_too = false;          // after the marker, name.call(key=value) also is a call
  std::string_view separator = {};  // between calls that no list holds
  // json, named: around a call's JSON, left out by some models
  std::string_view lead = {}, tail = {};
  // named, tagged
  std::string_view kind_end = {};       // what stands before it, before the name, says nothing
  std::string_view id_end = {};         // the id comes first, up to this
  std::string_view id_mark = {};        // the id comes after the name, behind this
  std::string_view name_end = {};       // empty: the name ends at white space or '<'
  std::string_view name_rest_end = {};  // what follows name_end up to this says nothing
  std::string_view content_name = {};   // this name's "call" is text for the user
  bool numbered_name = false;           // "functions.NAME:0", which is the id as well
  // tagged; of nested: around a key, with a '/' before it where it ends
  std::string_view key_begin = {}, key_end = {};
  std::string_view type_end = {};  // behind the key up to this: "true" or "string" for texts, else JSON
  std::string_view value_begin = {}, value_end = {};
  bool cdata = false;       // a value may stand in <![CDATA[…]]>
  bool trim_lines = false;  // a line feed on either side of the value is not its own
  // braces
  std::string_view quote = {};
  // How a constrained call is to be written: between the markers and the JSON.
  std::string_view before = {}, after = {};
  std::string_view noise[3] = {};  // markers that may stand in the answer besides and mean nothing
  // A template whose source holds this teaches the dialect, though it may not write calls itself.
  std::string_view hint = {};
  std::string_view checked = {};  // against what

  bool writes_json() const { return form == Form::json || form == Form::named || form == Form::harmony; }
  std::string_view trigger() const { return section_begin.empty() ? call_begin : section_begin; }
};

std::span<const Dialect> dialects();
const Dialect* find_dialect(std::string_view name);  // null: none

// How models write reasoning.
struct ReasoningMarks {
  std::string_view name;
  std::string_view begin, end;
  bool anywhere = false;  // also behind content; else at the start of the answer or after a call only
  std::string_view noise[4] = {};
  std::string_view hint = {};  // in the template's source; empty: `end`
  bool channels = false;       // the answer behind it stands in a channel of its own

  // The answer behind it begins with a mark, which is none of its text.
  bool marks_answer() const { return channels || !noise[0].empty(); }
};

std::span<const ReasoningMarks> reasoning_marks();

}  // namespace ingle::text
