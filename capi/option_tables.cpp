// The tables of options. A new option is a new row.
#include <charconv>
#include <cmath>
#include <limits>

#include "core/error.h"
#include "options.h"

namespace ingle::capi {
namespace {

constexpr double kMaxInt64 = 9223372036854775807.0;
constexpr int64_t kScriptVocab = 258;

template <class Owner, class T>
Owner owner_of(T Owner::*);
template <class Owner, class T>
T type_of(T Owner::*);

template <auto Member>
auto& field(Target& target) {
  return std::get<decltype(owner_of(Member))>(target).*Member;
}

template <auto Member>
Value initial_of() {
  const decltype(owner_of(Member)) defaults{};
  if constexpr (std::is_same_v<decltype(type_of(Member)), std::string>)
    return defaults.*Member;
  else if constexpr (std::is_same_v<decltype(type_of(Member)), bool>)
    return static_cast<bool>(defaults.*Member);
  else
    return static_cast<int64_t>(defaults.*Member);
}

template <auto Member>
OptionRow int_row(const char* key, double low, double high, const char* help) {
  return {
      key, "int", low, high, initial_of<Member>(), help, [](Target& t, const OptionRow& row, const Value& v) {
        field<Member>(t) = static_cast<decltype(type_of(Member))>(int_value(row, v));
      }};
}

template <auto Member>
OptionRow float_row(const char* key, double low, double high, const char* help) {
  using Owner = decltype(owner_of(Member));
  return {key,
          "float",
          low,
          high,
          static_cast<double>(Owner{}.*Member),
          help,
          [](Target& t, const OptionRow& row, const Value& v) {
            field<Member>(t) = static_cast<decltype(type_of(Member))>(float_value(row, v));
          }};
}

template <auto Member>
OptionRow flag_row(const char* key, const char* help) {
  return {key, "flag", 0, 1, initial_of<Member>(), help, [](Target& t, const OptionRow& row, const Value& v) {
            field<Member>(t) = int_value(row, v) != 0;
          }};
}

template <auto Member>
OptionRow text_row(const char* key, const char* help) {
  return {key, "text", 0, 0, initial_of<Member>(), help, [](Target& t, const OptionRow& row, const Value& v) {
            field<Member>(t) = text_value(row, v);
          }};
}

const List& list_value(const OptionRow& row, const Value& value) {
  if (const auto* list = value.as<List>()) return *list;
  fail(Code::invalid_argument, row.key, format("expected a {}", row.type));
}

std::vector<std::string>& texts_of(GenerateOptions& options, std::string_view key) {
  return key == "stop"            ? options.stop
         : key == "stop_patterns" ? options.stop_patterns
                                  : options.banned_phrases;
}

// A text is one more; a list is all of them.
void set_texts(Target& target, const OptionRow& row, const Value& value) {
  constexpr size_t kMostBytes = 256;
  const size_t kMostStrings = row.key == "banned_phrases" ? 256 : 16;
  auto& stop = texts_of(std::get<GenerateOptions>(target), row.key);
  std::vector<std::string> strings;
  if (value.as<std::string>()) {
    strings = stop;
    strings.push_back(text_value(row, value));
  } else {
    for (const Value& v : list_value(row, value)) strings.push_back(text_value(row, v));
  }
  if (strings.size() > kMostStrings)
    fail(Code::invalid_argument, row.key,
         format("{} strings, expected at most {}", strings.size(), kMostStrings));
  for (const std::string& s : strings)
    if (s.empty() || s.size() > kMostBytes)
      fail(Code::invalid_argument, row.key,
           format("a string of {} bytes, expected 1 to {}", s.size(), kMostBytes));
  stop = std::move(strings);
}

void set_stop_tokens(Target& target, const OptionRow& row, const Value& value) {
  constexpr size_t kMostIds = 256;
  std::vector<TokenId> ids;
  for (const Value& v : list_value(row, value)) ids.push_back(static_cast<TokenId>(int_value(row, v)));
  if (ids.size() > kMostIds)
    fail(Code::invalid_argument, row.key, format("{} ids, expected at most {}", ids.size(), kMostIds));
  std::get<GenerateOptions>(target).stop_tokens = std::move(ids);
}

// null stands for minus infinity, which JSON cannot write.
float logit_value(const OptionRow& row, const Value& value) {
  if (value.as<std::monostate>()) return -std::numeric_limits<float>::infinity();
  OptionRow finite = row;
  finite.low = -std::numeric_limits<float>::max(), finite.high = std::numeric_limits<float>::max();
  return static_cast<float>(float_value(finite, value));
}

void set_logit_bias(Target& target, const OptionRow& row, const Value& value) {
  const auto* fields = value.as<Fields>();
  if (!fields) fail(Code::invalid_argument, row.key, "expected an object of token ids and numbers");
  std::vector<std::pair<TokenId, float>> bias;
  for (const auto& [name, number] : *fields) {
    TokenId id = -1;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), id);
    if (error != std::errc() || end != name.data() + name.size() || id < 0)
      fail(Code::invalid_argument, row.key, format("\"{}\" is not a token id", name.substr(0, 64)));
    bias.emplace_back(id, logit_value(row, number));
  }
  std::get<SamplerOptions>(target).logit_bias = std::move(bias);
}

void set_script_ids(Target& target, const OptionRow& row, const Value& value) {
  std::vector<TokenId> ids;
  for (const Value& v : list_value(row, value)) ids.push_back(static_cast<TokenId>(int_value(row, v)));
  std::get<ScriptedModel>(target).ids = std::move(ids);
}

void set_script_text(Target& target, const OptionRow& row, const Value& value) {
  std::vector<TokenId> ids;
  for (const char c : text_value(row, value)) ids.push_back(static_cast<unsigned char>(c));
  std::get<ScriptedModel>(target).ids = std::move(ids);
}

void set_script_logits(Target& target, const OptionRow& row, const Value& value) {
  std::vector<std::vector<float>> rows;
  for (const Value& numbers : list_value(row, value)) {
    const List& list = list_value(row, numbers);
    if (list.size() != kScriptVocab)
      fail(Code::invalid_argument, row.key,
           format("row {} has {} numbers, expected {}", rows.size(), list.size(), kScriptVocab));
    std::vector<float>& logits = rows.emplace_back();
    for (const Value& v : list) logits.push_back(logit_value(row, v));
  }
  std::get<ScriptedModel>(target).logits = std::move(rows);
}

void set_sampler_ids(Target& target, const OptionRow& row, const Value& value) {
  std::vector<TokenId> ids;
  for (const Value& v : list_value(row, value)) ids.push_back(static_cast<TokenId>(int_value(row, v)));
  Sampler::set(std::get<SamplerOptions>(target), row.key, ids);
}

// A list of texts, or one text with commas.
void set_sampler_names(Target& target, const OptionRow& row, const Value& value) {
  std::vector<std::string> names;
  if (const auto* text = value.as<std::string>()) {
    for (size_t at = 0; at <= text->size() && !text->empty();) {
      const size_t end = std::min(text->find(',', at), text->size());
      names.push_back(text->substr(at, end - at));
      at = end + 1;
    }
  } else {
    for (const Value& v : list_value(row, value)) names.push_back(text_value(row, v));
  }
  Sampler::set(std::get<SamplerOptions>(target), row.key, names);
}

// Seeds are whole up to 2^63, which a double cannot tell apart.
void set_sampler_number(Target& target, const OptionRow& row, const Value& value) {
  auto& options = std::get<SamplerOptions>(target);
  if (row.key == "seed")
    options.seed = static_cast<uint64_t>(int_value(row, value));
  else
    Sampler::set(options, row.key,
                 row.type == "int" ? static_cast<double>(int_value(row, value)) : float_value(row, value));
}

void set_grammar(Target& target, const OptionRow& row, const Value& value) {
  const std::string source = text_value(row, value);
  auto& grammar = std::get<GenerateOptions>(target).grammar;
  if (source.empty())
    grammar.reset();
  else if (row.key == "regex")
    grammar = Grammar::regex(source);
  else if (row.key == "gbnf")
    grammar = Grammar::gbnf(source);
  else
    grammar = Grammar::json_schema(source, {/*assert_formats=*/true});
}

template <auto Member>
OptionRow limit_row(const char* key, const char* help) {
  return {key,
          "int",
          0,
          kMaxInt64,
          static_cast<int64_t>(CompileLimits{}.*Member),
          help,
          [](Target& t, const OptionRow& row, const Value& v) {
            std::get<GrammarOptions>(t).limits.*Member = int_value(row, v);
          }};
}

std::vector<OptionRow> runtime_table() {
  return {
      int_row<&RuntimeOptions::threads>(
          "threads", 0, 256, "Threads to compute with. 0: one for each core that the process may use."),
      text_row<&RuntimeOptions::kernel>(
          "kernel",
          "Forces kernels by instruction set or full name (avx2, plain). Empty: the best there are."),
      text_row<&RuntimeOptions::plugin_folder>("plugin_folder",
                                               "Where backend plug-ins lie. Empty: beside the library."),
      text_row<&RuntimeOptions::cache_folder>(
          "cache_folder", "Where packed weights are kept for the next load of a model. Empty: nowhere."),
      int_row<&RuntimeOptions::cache_bytes>(
          "cache_bytes", 0, kMaxInt64, "Bound on what is in it, in bytes: the least recently used goes."),
      int_row<&RuntimeOptions::cache_least_bytes>(
          "cache_least_bytes", 0, kMaxInt64, "Models whose packed weights take less are not kept in it."),
  };
}

std::vector<OptionRow> model_table() {
  return {
      text_row<&ModelOptions::backend>(
          "backend",
          "cpu, ref (slow, the oracle), null, or a plug-in: openblas, onednn, eigen, plugin:/path."),
      text_row<&ModelOptions::state_type>("state_type",
                                          "Of the attention state: f32, f16, bf16, q8 (a byte each), q4 "
                                          "(half a byte). Empty: the backend's choice."),
      flag_row<&ModelOptions::map>("map",
                                   "1 maps the file; 0 reads it, which is safe against a later truncation."),
  };
}

std::vector<OptionRow> script_table() {
  std::vector<OptionRow> rows = {
      {"ids", "list of ids", 0, kScriptVocab - 1, List{}, "What follows a prompt, in order; then <|end|>.",
       set_script_ids},
      {"text", "text", 0, 0, std::string(), "The same as ids, as a text.", set_script_text},
      {"logits", "list of rows", 0, 0, List{}, "Instead of ids: rows of 258 logits; null is minus infinity.",
       set_script_logits},
      text_row<&ScriptedModel::chat_template>("chat_template", "Jinja. Empty: the model has none."),
      int_row<&ScriptedModel::n_context>("context", 1, 1 << 24, "Tokens that a session may hold."),
  };
  return rows;
}

std::vector<OptionRow> session_table() {
  return {
      int_row<&SessionOptions::context>(
          "context", 0, 1LL << 31, "Tokens that the session may hold. 0: what the model was trained for."),
      int_row<&SessionOptions::prefill_chunk>(
          "prefill_chunk", 1, 8192,
          "Tokens that a step takes of a long prompt. Changes speed, never results."),
      int_row<&SessionOptions::state_bytes>(
          "state_bytes", 0, kMaxInt64, "Bound on the attention state, in bytes. 0: what the context needs."),
  };
}

std::vector<OptionRow> sampler_table() {
  std::vector<OptionRow> rows;
  for (const OptionInfo& info : Sampler::options()) {
    if (info.type.starts_with("list")) {
      rows.push_back({std::string(info.key), std::string(info.type), info.low, info.high, List{},
                      std::string(info.help),
                      info.type == "list of ids" ? set_sampler_ids : set_sampler_names});
      continue;
    }
    const bool whole = info.type == "int", seed = info.key == "seed";
    rows.push_back({std::string(info.key), std::string(info.type), info.low, seed ? kMaxInt64 : info.high,
                    whole ? Value(static_cast<int64_t>(info.initial)) : Value(info.initial),
                    std::string(info.help), set_sampler_number});
  }
  rows.push_back({"logit_bias", "object of ids and numbers", 0, 0, Fields{},
                  "Is added to the logits of these ids; null bans the id.", set_logit_bias});
  return rows;
}

std::vector<OptionRow> generate_table() {
  return {
      int_row<&GenerateOptions::max_tokens>("max_tokens", -1, kMaxInt64,
                                            "-1: until the model ends its answer or the context is full."),
      {"stop", "list of text", 0, 0, List{}, "Texts that end the answer, at most 16 of 1 to 256 bytes.",
       set_texts},
      {"stop_patterns", "list of text", 0, 0, List{},
       "Regular expressions that end the answer where one of them has matched, at most 16 of 1 to 256 bytes.",
       set_texts},
      {"stop_tokens", "list of ids", 0, static_cast<double>(INT32_MAX), List{},
       "Ids that end the answer, at most 256.", set_stop_tokens},
      flag_row<&GenerateOptions::include_stop>(
          "include_stop", "1: the stop is the end of the answer's text, whole. 0: no part of it."),
      {"banned_phrases", "list of text", 0, 0, List{},
       "Texts that never stand in the answer, at most 256 of 1 to 256 bytes: it goes back and chooses anew.",
       set_texts},
      int_row<&GenerateOptions::top_logprobs>("top_logprobs", 0, 64,
                                              "How many of the likeliest tokens each event tells."),
      {"json_schema", "text", 0, 0, std::string(),
       "JSON Schema that the answer must fulfil, \"format\" included. Empty: none.", set_grammar},
      {"regex", "text", 0, 0, std::string(),
       "Regular expression that the whole answer must match. Empty: none.", set_grammar},
      {"gbnf", "text", 0, 0, std::string(), "Grammar in GBNF that the whole answer must match. Empty: none.",
       set_grammar},
      flag_row<&GenerateOptions::jump_ahead>(
          "jump_ahead",
          "1 takes what a grammar leaves no choice about without sampling, in the tokenizer's own tokens."),
      flag_row<&GenerateOptions::ignore_end>("ignore_end", "1 goes on past the ids that end an answer."),
      int_row<&GenerateOptions::reasoning_budget>(
          "reasoning_budget", -1, kMaxInt64,
          "Tokens that the model may reason for; then its reasoning is ended. -1: as many as it likes."),
      flag_row<&GenerateOptions::control_text>(
          "control_text", "1: the text holds the control tokens' too, as ingle_parser_feed needs them."),
  };
}

std::vector<OptionRow> beams_table() {
  return {
      int_row<&BeamOptions::beams>("beams", 1, 64, "How many continuations are followed at once."),
      int_row<&BeamOptions::groups>("groups", 1, 64, "Diverse beams: groups that avoid each other's tokens."),
      float_row<&BeamOptions::diversity>(
          "diversity", 0, 100, "Off a token's score for each beam of an earlier group that takes it now."),
      float_row<&BeamOptions::length_penalty>("length_penalty", -100, 100,
                                              "The score is the log-probability / length^penalty."),
      int_row<&BeamOptions::early_stopping>(
          "early_stopping", 0, 2,
          "0: when no running beam is likely to be better; 1: with enough ended beams; 2: when none can be."),
      int_row<&BeamOptions::max_tokens>("max_tokens", 1, 1 << 20, "Tokens of a continuation, at most."),
      int_row<&BeamOptions::results>("results", 1, 64, "How many continuations are given."),
      flag_row<&BeamOptions::ignore_end>("ignore_end", "1 goes on past the ids that end an answer."),
  };
}

std::vector<OptionRow> engine_table() {
  return {
      int_row<&EngineOptions::max_running>("max_running", 1, 4096, "Requests that are computed at once."),
      int_row<&EngineOptions::max_queued>("max_queued", 1, 1 << 20,
                                          "Requests that wait; one more is refused as busy."),
      int_row<&EngineOptions::max_queued_tokens>("max_queued_tokens", 0, 1LL << 40,
                                                 "Prompt tokens that wait. 0: no bound."),
      float_row<&EngineOptions::max_wait_s>(
          "max_wait_s", 0, 1e9, "A request that would wait longer, as estimated, is refused. 0: no bound."),
      int_row<&EngineOptions::context>("context", 0, 1LL << 31,
                                       "Tokens of one request. 0: what the model was trained for."),
      int_row<&EngineOptions::state_bytes>(
          "state_bytes", 0, kMaxInt64,
          "Bound on the state of all requests, in bytes. 0: 80 % of the memory that is free."),
      float_row<&EngineOptions::target_ms>("target_ms", 0.001, 3.6e6,
                                           "What a step may take while somebody waits for his next token."),
      int_row<&EngineOptions::prefill_chunk>(
          "prefill_chunk", 1, 8192, "Prompt tokens of a step, at most. Changes speed, never results."),
      int_row<&EngineOptions::least_chunk>("least_chunk", 1, 8192,
                                           "Prompt tokens of a step, at least, where there are any."),
      int_row<&EngineOptions::prefills>("prefills", 1, 64, "Prompts that share a step."),
      float_row<&EngineOptions::band_share>(
          "band_share", 0, 0.3,
          "Of the prompt tokens, what each lower band gets at least. 0: bands are strict."),
      flag_row<&EngineOptions::no_evict>(
          "no_evict", "1 sets aside what a request may ever take, so that none is computed twice."),
      flag_row<&EngineOptions::share_prefixes>(
          "share_prefixes",
          "1 keeps what was computed of beginnings, as long as it fits, for requests that begin alike."),
      text_row<&EngineOptions::prefix_folder>(
          "prefix_folder",
          "A folder that exists: what goes for want of memory goes there, and is read again. Empty: none."),
      int_row<&EngineOptions::prefix_folder_bytes>("prefix_folder_bytes", 0, kMaxInt64,
                                                   "Bound on what is in it, in bytes."),
      flag_row<&EngineOptions::own_thread>("own_thread", "0: nothing happens but in ingle_engine_step."),
      int_row<&EngineOptions::schedule_seed>("schedule_seed", 0, kMaxInt64,
                                             "Not 0: free choices of the schedule are random, for tests."),
  };
}

std::vector<OptionRow> request_table() {
  return {
      int_row<&Request::band>("band", 0, 3, "0 is served first."),
      text_row<&Request::tenant>("tenant", "Whose the request is: tenants of a band are served alike."),
      float_row<&Request::deadline_s>("deadline_s", 0, 1e8,
                                      "Seconds after which it ends with the finish \"deadline\". 0: none."),
      float_row<&Request::keep_s>(
          "keep_s", 0, 1e8,
          "Seconds for which what its prompt computed is kept, though others need the memory."),
      text_row<&Request::salt>("salt", "Only requests with the same salt share computed prefixes."),
  };
}

std::vector<OptionRow> grammar_table() {
  return {
      flag_row<&GrammarOptions::formats>("formats", "JSON Schema: \"format\" must hold."),
      flag_row<&GrammarOptions::compact>("compact", "JSON Schema: no white space between tokens."),
      text_row<&GrammarOptions::tool_choice>("tool_choice",
                                             "Tools: auto, required, none, or the name of the one to call."),
      flag_row<&GrammarOptions::parallel_calls>("parallel_calls", "Tools: an answer may hold several calls."),
      limit_row<&CompileLimits::states>("states", "Bound on the automata's states."),
      limit_row<&CompileLimits::steps>("steps", "Bound on the work of compiling; some millions a second."),
      limit_row<&CompileLimits::bytes>("bytes", "Bound on the source."),
  };
}

std::vector<OptionRow> answer_table() {
  return {
      text_row<&AnswerOptions::tools>("tools",
                                      "JSON: the tools that the model was told of, for their types."),
      flag_row<&AnswerOptions::parse_tools>("parse_tools", "0: tool calls stay text."),
      int_row<&AnswerOptions::reasoning>("reasoning", 0, 2,
                                         "0: reasoning is told apart; 1: dropped; 2: left in the content."),
      int_row<&AnswerOptions::first_index>("first_index", 0, 1LL << 31,
                                           "What ids of calls that have none count from."),
  };
}

}  // namespace

const std::vector<OptionRow>& option_table(size_t kind) {
  static const std::vector<OptionRow> kTables[] = {
      runtime_table(), model_table(),  script_table(),  session_table(), sampler_table(), generate_table(),
      beams_table(),   engine_table(), request_table(), grammar_table(), answer_table()};
  static_assert(std::size(kTables) == std::variant_size_v<Target>);
  return kTables[kind];
}

}  // namespace ingle::capi
