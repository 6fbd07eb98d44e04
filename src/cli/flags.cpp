// The options that commands share, and what they become.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>

#include "common.h"

namespace ingle::cli {

void add_threads(Command command, Common& common) {
  add_count(command, "-t,--threads", common.threads, "Threads; 0: one per core", 0, 256, "INGLE_THREADS");
}

void add_common(Command command, Common& common) {
  add_threads(command, common);
  command.option("--kernel", common.kernel, "Force kernels: avx2, plain, …; ref: the float reference")
      .environment("INGLE_KERNEL");
  command.option("--plugins", common.plugins, "The folder of backend plug-ins").environment("INGLE_PLUGINS");
  command.flag("-q,--quiet", common.quiet, "No progress, no talk");
  command.flag("-v,--verbose", common.verbose, "Say what is done, on stderr");
}

void add_cache(Command command, Common& common) {
  command
      .option("--cache", common.cache,
              "The folder of packed weights, \"off\" for none; else ingle in the user's caches")
      .environment("INGLE_CACHE");
  command.flag("--no-cache", common.no_cache, "Pack weights anew and keep none");
}

void add_loading(Command command, Common& common) {
  command.option("--backend", common.backend,
                 "cpu, ref, null, or a plug-in: openblas, onednn, eigen, plugin:/path/to/library.so");
  command.option("--state-type", common.state_type, "Attention state: f32, f16, bf16, q8 or q4");
  command.flag("--no-map", common.no_map, "Read the file instead of mapping it");
  add_cache(command, common);
}

Option add_json(Command command, bool& json) {
  return command.flag("--json", json, "One JSON object on stdout");
}

namespace {

// "8k" → 8192; nothing when it is no such number or does not fit.
bool parse_count(const std::string& text, int64_t& out) {
  const char* end = text.data() + text.size();
  int64_t value = 0;
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc()) return false;
  int64_t unit = 1;
  if (at + 1 == end) {
    const char c = *at;
    unit = c == 'k' || c == 'K'   ? int64_t{1} << 10
           : c == 'm' || c == 'M' ? int64_t{1} << 20
           : c == 'g' || c == 'G' ? int64_t{1} << 30
                                  : 0;
  } else if (at != end) {
    unit = 0;
  }
  return unit != 0 && !__builtin_mul_overflow(value, unit, &out);
}

std::string size_text(int64_t n) {
  constexpr int64_t kGiga = int64_t{1} << 30;
  return n % kGiga == 0 && n != 0 ? std::to_string(n / kGiga) + "G" : std::to_string(n);
}

template <class T>
bool parse_whole(const std::string& text, T& out) {
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, out);
  return error == std::errc() && at == end;
}

}  // namespace

Option add_count(Command command, const std::string& name, int64_t& value, const std::string& help,
                 int64_t low, int64_t high, const char* variable) {
  const Option option =
      command
          .option(
              name,
              [&value, name, low, high, variable](const std::string& text) {
                const char* outside = variable ? std::getenv(variable) : nullptr;
                const std::string where =
                    outside && outside == text ? variable : name.substr(name.rfind(',') + 1);
                int64_t number = 0;
                if (!parse_count(text, number))
                  throw Error(Code::invalid_argument, where,
                              "'" + text + "' is not a whole number, such as 512 or 8k");
                if (number < low || number > high)
                  throw Error(Code::invalid_argument, where,
                              "is " + text + ", expected " + std::to_string(low) + " to " + size_text(high));
                value = number;
              },
              help)
          .type_name("N");
  return variable ? option.environment(variable) : option;
}

void add_session(Command command, int64_t& context, int64_t& chunk) {
  add_count(command, "--context,--ctx", context, "Tokens of context; 0: what the model was trained for", 0);
  add_count(command, "--chunk", chunk, "Prompt tokens of one step, 1 to 8k; never changes results", 1, 8192);
}

namespace {

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  for (size_t at = 0; at <= text.size() && !text.empty();) {
    const size_t end = std::min(text.find(',', at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

std::string flag_of(std::string key) {
  if (key == "temperature") return "--temp";
  std::replace(key.begin(), key.end(), '_', '-');
  return "--" + key;
}

void add_list(Command command, const std::string& flag, const OptionInfo& o, SamplingFlags& f) {
  const std::string key(o.key);
  const bool ids = o.type == "list of ids";
  command
      .option(
          flag,
          [&f, key, ids, flag](const std::string& text) {
            if (ids)
              Sampler::set(f.options, key, parse_ids(text, flag.c_str()));
            else
              Sampler::set(f.options, key, split(text));
          },
          std::string(o.help))
      .type_name(ids ? "ID,ID" : "NAME,NAME");
}

void add_vocabulary(SamplerOptions& options, const SamplingFlags& flags, const Model* model) {
  if (options.min_tokens > 0 && options.end_tokens.empty())
    options.end_tokens = model ? model->tokenizer().end_tokens() : std::vector<TokenId>{0};
  if (options.dry_multiplier == 0 || !options.dry_breakers.empty() || !model) return;
  static const std::vector<std::string> kBreakers = {"\n", ":", "\"", "*"};
  std::vector<TokenId>& ids = options.dry_breakers;
  for (const std::string& text : flags.breakers.empty() ? kBreakers : flags.breakers) {
    try {
      const std::vector<TokenId> found = model->tokenizer().tokens_with(text);
      ids.insert(ids.end(), found.begin(), found.end());
    } catch (const Error& e) {
      if (e.code() != Code::not_found) throw;
      if (flags.breakers.empty()) continue;  // nobody asked for this one
      throw Error(Code::invalid_argument, "--dry-breaker", e.message());
    }
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
}

}  // namespace

void add_sampling(Command command, SamplingFlags& f) {
  add_count(command, "-n,--max-tokens", f.max_tokens, "Tokens at most; -1: until the model ends", -1);
  // The names, ranges and help of the sampler's options come from the library's own table.
  for (const OptionInfo& o : Sampler::options()) {
    const std::string key(o.key);
    const std::string flag = key == "temperature" ? "--temp,--temperature" : flag_of(key);
    if (key == "seed") {  // every 64-bit seed is good, and a double could not hold it
      command
          .option(
              flag,
              [&f](const std::string& text) {
                uint64_t seed = 0;
                if (!parse_whole(text, seed))
                  throw Error(Code::invalid_argument, "--seed",
                              "is '" + text + "', expected a whole number from 0 to 18446744073709551615");
                f.options.seed = seed;
              },
              std::string(o.help))
          .type_name("UINT");
      continue;
    }
    if (o.type.starts_with("list")) {
      add_list(command, flag, o, f);
      continue;
    }
    command
        .option(
            flag,
            [&f, key](const double& v) {
              try {
                Sampler::set(f.options, key, v);
              } catch (const Error& e) {
                throw Error(e.code(), flag_of(key), e.message(), e.hint());
              }
            },
            std::string(o.help))
        .type_name(o.type == "int" ? "INT" : "FLOAT");
  }
  command.option("--logit-bias", f.bias, "ID=VALUE added to an id's logit; -inf bans it; may be repeated")
      .one_value_each();
  command
      .option(
          "--dry-breaker", f.breakers,
          "DRY: a text whose tokens end a repetition, instead of newline, ':', '\"' and '*'; may be repeated")
      .one_value_each();
  command.option("--stop", f.stop, "Text that ends the answer; may be repeated").one_value_each();
  command
      .option("--stop-id", f.stop_ids, "Id of a token that ends the answer, or several: 5,6; may be repeated")
      .one_value_each();
  command.flag("--include-stop", f.include_stop, "Keep what ended the answer as the end of its text");
  const Option schema =
      command.option("--json-schema", f.json_schema, "File with a JSON Schema that the answer must fulfil");
  const Option regex =
      command.option("--regex", f.regex, "Regular expression that the whole answer must match");
  const Option grammar = command.option("--grammar", f.grammar,
                                        "File with a grammar (GBNF, or .lark) that the answer must match");
  schema.excludes(regex);
  grammar.excludes(schema);
  grammar.excludes(regex);
  command
      .option("--stop-pattern", f.stop_patterns, "Regular expression that ends the answer; may be repeated")
      .one_value_each();
  command
      .option("--ban-phrase", f.banned_phrases,
              "Text that never stands in the answer: it goes back and chooses anew; may be repeated")
      .one_value_each();
  command.flag("--jump-ahead", f.jump_ahead, "Take what the grammar leaves no choice about without sampling");
  add_session(command, f.context, f.chunk);
  command.flag("--stats", f.stats, "Timings on stderr at the end");
}

Sampler make_sampler(const SamplingFlags& flags, const Model* model) {
  SamplerOptions options = flags.options;
  for (const std::string& text : flags.bias) {
    const size_t eq = text.find('=');
    char* end = nullptr;
    TokenId id = 0;
    const float bias = eq == std::string::npos ? 0 : std::strtof(text.c_str() + eq + 1, &end);
    if (!parse_whole(text.substr(0, eq), id) || !end || *end || end == text.c_str() + eq + 1)
      throw Error(Code::invalid_argument, "--logit-bias", "'" + text + "' is not of the form ID=VALUE");
    options.logit_bias.emplace_back(id, bias);
  }
  add_vocabulary(options, flags, model);
  try {
    return Sampler(options);
  } catch (const Error& e) {
    if (e.code() == Code::out_of_memory) throw;
    // In the command line's names; and what is not found is no file but a stage.
    std::string where = e.where();
    for (const OptionInfo& o : Sampler::options())
      if (where == o.key) where = flag_of(where);
    throw Error(Code::invalid_argument, where, e.message(), e.hint());
  }
}

void print_chain(const Sampler& sampler, const Common& common) {
  if (common.verbose) std::fprintf(stderr, "sampler: %s\n", sampler.describe().c_str());
}

Grammar load_grammar(const std::string& path) {
  const std::string source = read_text_file(path);
  return path.ends_with(".lark") ? Grammar::lark(source) : Grammar::gbnf(source);
}

GenerateOptions generate_options(const SamplingFlags& flags) {
  GenerateOptions options;
  options.max_tokens = flags.max_tokens;
  options.stop = flags.stop;
  for (const std::string& ids : flags.stop_ids)
    for (const TokenId id : parse_ids(ids, "--stop-id")) options.stop_tokens.push_back(id);
  options.include_stop = flags.include_stop;
  if (!flags.json_schema.empty())
    options.grammar = Grammar::json_schema(read_text_file(flags.json_schema), {/*assert_formats=*/true});
  if (!flags.regex.empty()) options.grammar = Grammar::regex(flags.regex);
  if (!flags.grammar.empty()) options.grammar = load_grammar(flags.grammar);
  options.stop_patterns = flags.stop_patterns;
  options.banned_phrases = flags.banned_phrases;
  options.jump_ahead = flags.jump_ahead;
  return options;
}

namespace {

// By the XDG Base Directory Specification: a relative path there is to be ignored.
std::string cache_folder(const Common& common) {
  if (common.no_cache || common.cache == "off") return {};
  if (!common.cache.empty()) return common.cache;
  const char* caches = std::getenv("XDG_CACHE_HOME");
  if (caches && caches[0] == '/') return std::string(caches) + "/ingle";
  const char* home = std::getenv("HOME");
  return home && home[0] == '/' ? std::string(home) + "/.cache/ingle" : std::string();
}

}  // namespace

std::unique_ptr<Runtime> make_runtime(const Common& common) {
  RuntimeOptions options;
  options.threads = static_cast<int>(common.threads);
  if (common.kernel != "ref") options.kernel = common.kernel;
  options.plugin_folder = common.plugins;
  options.cache_folder = cache_folder(common);
  if (common.verbose)
    options.log = [](LogLevel, std::string_view text) {
      std::fprintf(stderr, "%.*s\n", static_cast<int>(text.size()), text.data());
    };
  try {
    return std::make_unique<Runtime>(options);
  } catch (const Error& e) {
    // A kernel that this machine lacks says nothing about a model: it is the option that is wrong.
    if (e.code() != Code::unsupported) throw;
    throw Error(Code::invalid_argument, e.where(), e.message(), e.hint());
  }
}

ModelOptions model_options(const Common& common) {
  ModelOptions options;
  if (common.kernel == "ref") options.backend = "ref";
  if (!common.backend.empty()) options.backend = common.backend;
  options.state_type = common.state_type;
  options.map = !common.no_map;
  return options;
}

Model load_model(const Runtime& runtime, const std::string& path, const Common& common) {
  ModelOptions options = model_options(common);
  const InterruptScope scope;
  Progress bar("loading", !common.quiet);
  options.progress = [&](float fraction) {
    bar.update(fraction);
    return !InterruptScope::interrupted();
  };
  Model model = Model::load(runtime, path, options);
  InterruptScope::check();
  if (common.verbose) std::fprintf(stderr, "kernels: %s\n", model.info().kernels.c_str());
  return model;
}

void need_chat_template(const Model& model, const std::string& path) {
  if (model.has_chat_template()) return;
  try {
    const Message hello{"user", "hello"};
    model.apply_chat_template({&hello, 1});
  } catch (const Error& e) {
    throw Error(e.code(), path, e.message(), "`ingle run --raw` continues a text as it stands");
  }
}

int report_full(const Session& session, int64_t context) {
  if (context == 0) context = session.model().info().n_context;
  std::fprintf(stderr, "ingle: the context of %lld tokens is full: the answer was cut\n",
               static_cast<long long>(context));
  return kContextFull;
}

std::vector<TokenId> parse_ids(const std::string& text, const char* where) {
  std::vector<TokenId> ids;
  const char *at = text.data(), *end = at + text.size();
  const auto skip = [&] {
    while (at < end && (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r')) ++at;
  };
  for (skip(); at < end;) {
    TokenId id = 0;
    const auto [next, error] = std::from_chars(at, end, id);
    const bool too_large = error == std::errc::result_out_of_range;
    if (error != std::errc())
      throw Error(
          Code::invalid_argument, where,
          "'" + std::string(at, std::min(too_large ? next : end, at + 20)) + "' " +
              (too_large ? "is too large for a token id" : "does not begin with a token id, such as 42") +
              ", after " + std::to_string(ids.size()) + " ids");
    ids.push_back(id);
    at = next;
    skip();
    if (at < end && *at == ',') ++at;
    skip();
  }
  return ids;
}

}  // namespace ingle::cli
