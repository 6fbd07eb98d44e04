/* Ingle's C ABI. What is declared here stays: later versions only add. The contract is docs/contracts/abi.md.

   - Handles are opaque and reference-counted. x_create, x_load and the like give one reference; x_retain adds
     one, x_release takes one away. Releasing NULL does nothing, and any order of release is safe.
   - A function that can fail returns an ingle_code, and says more through its last parameter when that is not
     NULL: *err becomes an error that the caller releases, or NULL on success. What other out-parameters point
     to is NULL or zero after a failure. Functions that cannot fail return their value.
   - Strings are UTF-8. Keys and paths end with a NUL. Texts come with a length in bytes; -1 means up to the
     NUL. What is returned as text has a length and a NUL.
   - Structs begin with their size: start from X_INIT, so that a newer library knows what an older program
     meant.
   - Any handle may be used on any thread. Sessions and samplers serve one call at a time: a second one gets
     INGLE_E_BUSY, except for ingle_session_cancel, retain and release. */
#ifndef INGLE_INGLE_H
#define INGLE_INGLE_H

#include <stddef.h>
#include <stdint.h>

#define INGLE_VERSION_MAJOR 0
#define INGLE_VERSION_MINOR 1
#define INGLE_VERSION_PATCH 0

#if defined(_WIN32)
#define INGLE_CALL __cdecl
#if defined(INGLE_BUILD)
#define INGLE_API __declspec(dllexport)
#elif defined(INGLE_STATIC)
#define INGLE_API
#else
#define INGLE_API __declspec(dllimport)
#endif
#else
#define INGLE_CALL
#define INGLE_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Codes, constants ---- */

typedef int32_t ingle_code;
enum {
  INGLE_OK = 0,
  INGLE_E_INVALID_ARGUMENT = 1, /* an argument or option is out of its range, or of the wrong kind */
  INGLE_E_NOT_FOUND = 2,        /* no such file, tensor, option, ... */
  INGLE_E_IO = 3,               /* the operating system, or a reader callback, failed */
  INGLE_E_CORRUPT = 4,          /* a file breaks its own format's rules */
  INGLE_E_UNSUPPORTED = 5,      /* well-formed, but not something this build can hold */
  INGLE_E_OUT_OF_MEMORY = 6,
  INGLE_E_CONTEXT_FULL = 7, /* the prompt or the answer does not fit the session's context */
  INGLE_E_CANCELLED = 8,
  INGLE_E_BUSY = 9,     /* another call is inside this session or sampler; an engine takes no more now */
  INGLE_E_NUMERIC = 10, /* NaN or infinity where a finite number must be */
  INGLE_E_INTERNAL = 11 /* a bug in Ingle; please report it */
};

enum { /* why an answer ended */
       INGLE_FINISH_NONE = 0,
       INGLE_FINISH_END = 1,    /* the model ended its answer */
       INGLE_FINISH_STOP = 2,   /* a stop string */
       INGLE_FINISH_LENGTH = 3, /* max_tokens */
       INGLE_FINISH_CANCELLED = 4,
       INGLE_FINISH_CONTEXT = 5,  /* the session's context is full */
       INGLE_FINISH_DEADLINE = 6, /* the deadline of an engine's request has passed */
       INGLE_FINISH_ERROR = 7     /* an engine's request failed */
};

enum { INGLE_LOG_DEBUG = 0, INGLE_LOG_INFO = 1, INGLE_LOG_WARNING = 2, INGLE_LOG_ERROR = 3 };

enum {                          /* flags of encoding and decoding */
       INGLE_PARSE_SPECIAL = 1, /* control tokens written in the text become control tokens */
       INGLE_ADD_SPECIAL = 2,   /* the model's own BOS / EOS are added */
       INGLE_SKIP_SPECIAL = 4   /* decoding leaves control tokens out */
};

/* ---- Handles ---- */

typedef struct ingle_error ingle_error;
typedef struct ingle_text ingle_text;           /* a string that the library made */
typedef struct ingle_tokens ingle_tokens;       /* an array of token ids that the library made */
typedef struct ingle_options ingle_options;     /* settings of one kind, by key */
typedef struct ingle_runtime ingle_runtime;     /* threads, allocator, log, kernels */
typedef struct ingle_model ingle_model;         /* weights and vocabulary; immutable */
typedef struct ingle_tokenizer ingle_tokenizer; /* a vocabulary; immutable */
typedef struct ingle_template ingle_template;   /* a chat template; immutable */
typedef struct ingle_sampler ingle_sampler;     /* how the next token is chosen */
typedef struct ingle_session ingle_session;     /* one conversation */
typedef struct ingle_engine ingle_engine;       /* many requests at once */
typedef struct ingle_grammar ingle_grammar;     /* what an answer must be; immutable */
typedef struct ingle_parser ingle_parser;       /* of one answer: its text, reasoning and tool calls */

/* ---- Structs ---- */
/* `reserved` is 0 or NULL. Callbacks must not throw or jump out. `close`, where there is one, may be NULL; it
   is called once, when the library will not use the struct's callbacks again, and only if the call that the
   struct was given to succeeded. The structs themselves are copied. */

/* Memory for weights, states and workspaces. Called on any thread; `allocate` may return NULL. */
typedef struct ingle_allocator {
  uint32_t struct_size;
  uint32_t reserved;
  void*(INGLE_CALL* allocate)(uint64_t bytes, uint64_t alignment, void* user);
  void(INGLE_CALL* release)(void* memory, uint64_t bytes, void* user);
  void(INGLE_CALL* close)(void* user);
  void* user;
} ingle_allocator;
#define INGLE_ALLOCATOR_INIT \
  { sizeof(ingle_allocator), 0, NULL, NULL, NULL, NULL }

/* Called on any thread with messages of `level` (INGLE_LOG_...) and above. */
typedef struct ingle_logger {
  uint32_t struct_size;
  int32_t level;
  void(INGLE_CALL* log)(int32_t level, const char* text, uint64_t length, void* user);
  void(INGLE_CALL* close)(void* user);
  void* user;
  void* reserved;
} ingle_logger;
#define INGLE_LOGGER_INIT \
  { sizeof(ingle_logger), INGLE_LOG_INFO, NULL, NULL, NULL, NULL }

/* A file that the host reads itself, for instance out of a game's package. `read_at` fills `out` with `bytes`
   bytes from `offset` and returns 0; anything else is a failure. Called on any thread, also during the
   model's life. */
typedef struct ingle_reader {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t size;    /* of the file, in bytes */
  const char* name; /* for messages; may be NULL */
  int32_t(INGLE_CALL* read_at)(uint64_t offset, void* out, uint64_t bytes, void* user);
  void(INGLE_CALL* close)(void* user);
  void* user;
} ingle_reader;
#define INGLE_READER_INIT \
  { sizeof(ingle_reader), 0, 0, NULL, NULL, NULL, NULL }

/* Hears how far a call is, 0 to 1, on the calling thread. Returns 0 to go on; anything else cancels the call,
   which then returns INGLE_E_CANCELLED. */
typedef struct ingle_progress {
  uint32_t struct_size;
  uint32_t reserved;
  int32_t(INGLE_CALL* report)(double fraction, void* user);
  void* user;
} ingle_progress;
#define INGLE_PROGRESS_INIT \
  { sizeof(ingle_progress), 0, NULL, NULL }

typedef struct ingle_message {
  uint32_t struct_size; /* the same in each element of an array */
  uint32_t reserved;
  int64_t length;      /* of `content`; -1: up to the NUL */
  const char* role;    /* "system", "user", "assistant", ... */
  const char* content; /* text; control tokens in it stay text */
} ingle_message;
#define INGLE_MESSAGE(role, content) \
  { sizeof(ingle_message), 0, -1, (role), (content) }

/* One step of an answer. The pointers are valid until the next call on the session. */
typedef struct ingle_event {
  uint32_t struct_size;
  int32_t id;           /* -1: no new token, but text that was held back, or the finish alone */
  float logprob;        /* natural, of `id` under the model, before sampling */
  int32_t finish;       /* INGLE_FINISH_...; NONE: go on */
  double time_ms;       /* this token's own time */
  uint64_t text_length; /* bytes */
  uint64_t n_top;
  const char* text;          /* whole UTF-8 characters that became certain; may be empty */
  const int32_t* top_ids;    /* [n_top], likeliest first: the option top_logprobs */
  const float* top_logprobs; /* [n_top] */
  const void* reserved;
} ingle_event;
#define INGLE_EVENT_INIT \
  { sizeof(ingle_event), -1, 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL }

typedef struct ingle_stats {
  uint32_t struct_size;
  uint32_t reserved;
  int64_t prompt_tokens;
  int64_t generated_tokens;
  double prefill_ms;
  double decode_ms;
} ingle_stats;
#define INGLE_STATS_INIT \
  { sizeof(ingle_stats), 0, 0, 0, 0, 0 }

/* What an engine is asked for: exactly one of ids, text, messages and chat. Options that are NULL are the
   defaults. */
typedef struct ingle_request {
  uint32_t struct_size;
  int32_t flags; /* of encoding the text: INGLE_PARSE_SPECIAL, INGLE_ADD_SPECIAL */
  int64_t n_ids;
  int64_t text_length; /* bytes, of text or chat; -1: up to the NUL */
  int64_t n_messages;
  const int32_t* ids;
  const char* text;
  const ingle_message* messages;   /* for the model's own template */
  const ingle_options* sampler;    /* kind "sampler" */
  const ingle_options* generate;   /* kind "generate" */
  const ingle_options* scheduling; /* kind "request" */
  const char* chat; /* a conversation in JSON, as ingle_model_apply_chat_template_json takes it */
  const void* reserved;
} ingle_request;
#define INGLE_REQUEST_INIT \
  { sizeof(ingle_request), INGLE_ADD_SPECIAL, 0, -1, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL }

/* Hears an engine's events, on a thread of the engine's own. The event and the failure (NULL but with
   INGLE_FINISH_ERROR) are valid during the call. */
typedef struct ingle_listener {
  uint32_t struct_size;
  uint32_t reserved;
  void(INGLE_CALL* hear)(uint64_t request, const ingle_event* event, const ingle_error* failure, void* user);
  void(INGLE_CALL* close)(void* user);
  void* user;
  void* reserved_pointer;
} ingle_listener;
#define INGLE_LISTENER_INIT \
  { sizeof(ingle_listener), 0, NULL, NULL, NULL, NULL }

/* A sampler's stage of the host's own. `apply` changes the `n` logits in place, those of `ids`; -INFINITY
   removes an id. `accepted` is what the sampler accepted so far. It returns 0, or anything else to fail the
   call with INGLE_E_INVALID_ARGUMENT; NaN and +INFINITY are INGLE_E_NUMERIC. It runs on the thread that
   calls. */
typedef struct ingle_stage {
  uint32_t struct_size;
  uint32_t reserved;
  const char* name; /* 1 to 64 of a-z, 0-9, '_' and '-'; what "order" and ingle_sampler_describe call it */
  int32_t(INGLE_CALL* apply)(const int32_t* accepted, int64_t n_accepted, const int32_t* ids, float* logits,
                             int64_t n, void* user);
  void(INGLE_CALL* close)(void* user); /* when the options and all samplers made of them are gone */
  void* user;
} ingle_stage;
#define INGLE_STAGE_INIT \
  { sizeof(ingle_stage), 0, NULL, NULL, NULL, NULL }

enum { /* where a tap looks: a layer's number from 0 on, for the residual stream behind it, or one of these */
       INGLE_TAP_EMBEDDING = -1,  /* what the first layer reads */
       INGLE_TAP_FINAL_NORM = -2, /* what the logits are made of */
       INGLE_TAP_LOGITS = -3
};

/* Hears what a session computes: the `n` values of the token that was fed at `position`, at one of the points
   that were asked for, valid during the call. Returns 0 to go on; anything else cancels the session's call.
   It runs on the thread that calls the session, and must not call it itself. */
typedef struct ingle_tap {
  uint32_t struct_size;
  uint32_t reserved;
  int32_t(INGLE_CALL* hear)(int32_t point, int64_t position, int32_t token, const float* values, int64_t n,
                            void* user);
  void(INGLE_CALL* close)(void* user); /* when another tap takes its place, or the session is gone */
  void* user;
  void* reserved_pointer;
} ingle_tap;
#define INGLE_TAP_INIT \
  { sizeof(ingle_tap), 0, NULL, NULL, NULL, NULL }

/* Returns 0 to go on; anything else ends the answer there (INGLE_FINISH_CANCELLED), and is not called again.
 */
typedef int32_t(INGLE_CALL* ingle_event_callback)(const ingle_event* event, void* user);
/* The logits [n_vocab] that follow the token at `position`. Returns 0 to go on; anything else cancels. */
typedef int32_t(INGLE_CALL* ingle_score_callback)(int64_t position, const float* logits, int64_t n_vocab,
                                                  void* user);

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

/* ---- Version, errors, text, tokens: these cannot fail; NULL gives "", 0 or NULL ---- */

INGLE_API const char* INGLE_CALL ingle_version(void);    /* "0.1.0", of the library that runs */
INGLE_API int32_t INGLE_CALL ingle_version_number(void); /* major * 1000000 + minor * 1000 + patch */
INGLE_API const char* INGLE_CALL ingle_code_name(ingle_code code); /* "not found" */

INGLE_API ingle_error* INGLE_CALL ingle_error_retain(ingle_error* error);
INGLE_API void INGLE_CALL ingle_error_release(ingle_error* error);
INGLE_API ingle_code INGLE_CALL ingle_error_code(const ingle_error* error);
INGLE_API const char* INGLE_CALL
ingle_error_message(const ingle_error* error); /* what was found and expected */
INGLE_API const char* INGLE_CALL
ingle_error_where(const ingle_error* error);                                 /* argument, file, tensor, ... */
INGLE_API const char* INGLE_CALL ingle_error_hint(const ingle_error* error); /* what to do; may be empty */

INGLE_API ingle_text* INGLE_CALL ingle_text_retain(ingle_text* text);
INGLE_API void INGLE_CALL ingle_text_release(ingle_text* text);
INGLE_API const char* INGLE_CALL ingle_text_data(const ingle_text* text);
INGLE_API uint64_t INGLE_CALL ingle_text_length(const ingle_text* text); /* bytes, without the NUL */

INGLE_API ingle_tokens* INGLE_CALL ingle_tokens_retain(ingle_tokens* tokens);
INGLE_API void INGLE_CALL ingle_tokens_release(ingle_tokens* tokens);
INGLE_API const int32_t* INGLE_CALL ingle_tokens_data(const ingle_tokens* tokens);
INGLE_API uint64_t INGLE_CALL ingle_tokens_length(const ingle_tokens* tokens);

/* ---- Options ---- */
/* `kind` is one of
     runtime   threads, kernel, plugin_folder, cache_folder, ...    for ingle_runtime_create
     model     backend, state_type, map                             for ingle_model_load...
     script    ids, logits, text, chat_template, context            for ingle_model_scripted
     session   context, prefill_chunk, state_bytes                  for ingle_session_create
     sampler   temperature, top_k, top_p, min_p, seed, logit_bias   and the others, for ingle_sampler_create
     generate  max_tokens, stop, reasoning_budget, control_text ... for ingle_session_begin, _generate
     beams     beams, groups, diversity, length_penalty, ...        for ingle_session_beam_search
     engine    max_running, state_bytes, target_ms, own_thread, ... for ingle_engine_create
     request   band, tenant, deadline_s, salt                       for ingle_request
     answer    tools, parse_tools, reasoning, first_index           for ingle_parser_create
     grammar   formats, compact, states, steps, bytes               for ingle_grammar_create
               tool_choice, parallel_calls                          for ingle_model_tool_grammar
   ingle_options_describe tells each key's type, range, default and meaning. Where a function takes options,
   NULL means the defaults. A key that is not set keeps its default; zero is a value. An unknown key is
   INGLE_E_NOT_FOUND, with the nearest one as the hint; a value out of range is INGLE_E_INVALID_ARGUMENT. A
   failed call changes nothing. */

INGLE_API ingle_code INGLE_CALL ingle_options_create(const char* kind, ingle_options** out,
                                                     ingle_error** err);
INGLE_API ingle_options* INGLE_CALL ingle_options_retain(ingle_options* options);
INGLE_API void INGLE_CALL ingle_options_release(ingle_options* options);
/* A whole number; also for keys of type "flag" (0 or 1) and "float". */
INGLE_API ingle_code INGLE_CALL ingle_options_set_int(ingle_options* options, const char* key, int64_t value,
                                                      ingle_error** err);
INGLE_API ingle_code INGLE_CALL ingle_options_set_float(ingle_options* options, const char* key, double value,
                                                        ingle_error** err);
/* Keys of type "list of text" (stop) gain one more. */
INGLE_API ingle_code INGLE_CALL ingle_options_set_string(ingle_options* options, const char* key,
                                                         const char* value, int64_t length,
                                                         ingle_error** err);
/* One JSON object with any of the keys: {"temperature": 0.2, "logit_bias": {"17": -1.5, "18": null}}; null is
   minus infinity. All of them are set, or none. */
INGLE_API ingle_code INGLE_CALL ingle_options_set_json(ingle_options* options, const char* json,
                                                       int64_t length, ingle_error** err);
/* One more stage for the samplers made of sampler options; runs before the first cut, or where "order" names
 * it. */
INGLE_API ingle_code INGLE_CALL ingle_options_add_stage(ingle_options* options, const ingle_stage* stage,
                                                        ingle_error** err);
/* The answers of generate options must be texts of the grammar; NULL: any text. */
INGLE_API ingle_code INGLE_CALL ingle_options_set_grammar(ingle_options* options,
                                                          const ingle_grammar* grammar, ingle_error** err);
/* JSON: [{"key", "type", "low", "high", "default", "help"}, ...] */
INGLE_API ingle_code INGLE_CALL ingle_options_describe(const char* kind, ingle_text** out, ingle_error** err);

/* ---- Runtime ---- */
/* Nothing is process-wide: two runtimes do not know of each other. `allocator` and `logger` may be NULL. */

INGLE_API ingle_code INGLE_CALL ingle_runtime_create(const ingle_options* options,
                                                     const ingle_allocator* allocator,
                                                     const ingle_logger* logger, ingle_runtime** out,
                                                     ingle_error** err);
INGLE_API ingle_runtime* INGLE_CALL ingle_runtime_retain(ingle_runtime* runtime);
INGLE_API void INGLE_CALL ingle_runtime_release(ingle_runtime* runtime);
/* JSON: {"version", "processor", "threads", "backends": [], "kernels": [{"name", "can_run", "reason"}],
   "cache": {"folder", "files", "bytes"}}, the last of packed weights (the option cache_folder). With
   `self_test` 1 each kernel that can run is held against its oracle, and "self_test" says what differed ("":
   nothing); each backend plug-in is loaded, and "plugins": [{"name", "path", "can_run", "about"}] tells of
   them. */
INGLE_API ingle_code INGLE_CALL ingle_runtime_doctor(const ingle_runtime* runtime, int32_t self_test,
                                                     ingle_text** out, ingle_error** err);

/* ---- Model ---- */

INGLE_API ingle_code INGLE_CALL ingle_model_load(const ingle_runtime* runtime, const char* path,
                                                 const ingle_options* options, const ingle_progress* progress,
                                                 ingle_model** out, ingle_error** err);
/* `bytes` are borrowed until the model and all its sessions are gone. */
INGLE_API ingle_code INGLE_CALL ingle_model_load_memory(const ingle_runtime* runtime, const void* bytes,
                                                        uint64_t n_bytes, const ingle_options* options,
                                                        const ingle_progress* progress, ingle_model** out,
                                                        ingle_error** err);
INGLE_API ingle_code INGLE_CALL ingle_model_load_reader(const ingle_runtime* runtime,
                                                        const ingle_reader* reader,
                                                        const ingle_options* options,
                                                        const ingle_progress* progress, ingle_model** out,
                                                        ingle_error** err);
/* A model whose answers are given, for tests of what is built on Ingle. Tokens are the 256 bytes, then
   "<|end|>" (256, ends generation) and "<|start|>" (257, BOS). */
INGLE_API ingle_code INGLE_CALL ingle_model_scripted(const ingle_runtime* runtime,
                                                     const ingle_options* script, ingle_model** out,
                                                     ingle_error** err);
INGLE_API ingle_model* INGLE_CALL ingle_model_retain(ingle_model* model);
INGLE_API void INGLE_CALL ingle_model_release(ingle_model* model);

/* JSON with the keys name, architecture, kernels (text), n_parameters, n_layers, n_embedding, n_vocab,
   n_context, file_bytes, weight_bytes (whole numbers), cached (were the packed weights found in the cache);
   the two below give one of the texts and whole numbers. */
INGLE_API ingle_code INGLE_CALL ingle_model_info(const ingle_model* model, ingle_text** out,
                                                 ingle_error** err);
INGLE_API ingle_code INGLE_CALL ingle_model_info_int(const ingle_model* model, const char* key, int64_t* out,
                                                     ingle_error** err);
INGLE_API ingle_code INGLE_CALL ingle_model_info_text(const ingle_model* model, const char* key,
                                                      ingle_text** out, ingle_error** err);
INGLE_API ingle_code INGLE_CALL ingle_model_tokenizer(const ingle_model* model, ingle_tokenizer** out,
                                                      ingle_error** err);
INGLE_API ingle_code INGLE_CALL ingle_model_has_chat_template(const ingle_model* model, int32_t* out,
                                                              ingle_error** err);
INGLE_API ingle_code INGLE_CALL ingle_model_chat_template(const ingle_model* model, ingle_text** out,
                                                          ingle_error** err); /* Jinja; "": none */
/* Renders the model's own template; INGLE_E_UNSUPPORTED when it has none. */
INGLE_API ingle_code INGLE_CALL ingle_model_apply_chat_template(const ingle_model* model,
                                                                const ingle_message* messages,
                                                                int64_t n_messages,
                                                                int32_t add_generation_prompt,
                                                                ingle_text** out, ingle_error** err);
/* `json`: [{"role": "user", "content": "..."}, ...], or an object {"messages": [...], "tools": [...],
   "documents": [...], "enable_thinking": false, ...}: docs/templates.md tells its members. One of them is
   add_generation_prompt, which then wins over the argument. */
INGLE_API ingle_code INGLE_CALL ingle_model_apply_chat_template_json(const ingle_model* model,
                                                                     const char* json, int64_t length,
                                                                     int32_t add_generation_prompt,
                                                                     ingle_text** out, ingle_error** err);

/* ---- Chat template ---- */

/* Jinja as transformers runs it. `name` stands in errors; NULL: "template". */
INGLE_API ingle_code INGLE_CALL ingle_template_compile(const char* source, int64_t length, const char* name,
                                                       ingle_template** out, ingle_error** err);
/* A model's own, or the source in a file of its own; INGLE_E_UNSUPPORTED when the model has none. */
INGLE_API ingle_code INGLE_CALL ingle_template_load(const char* path, ingle_template** out,
                                                    ingle_error** err);
INGLE_API ingle_template* INGLE_CALL ingle_template_retain(ingle_template* chat_template);
INGLE_API void INGLE_CALL ingle_template_release(ingle_template* chat_template);
/* Renders with the members of one JSON object as variables: messages, tools, documents, bos_token, ...
   `now_unix` is what strftime_now tells, in seconds since 1970, UTC. INGLE_E_INVALID_ARGUMENT with the
   template's own words when it raises; INGLE_E_UNSUPPORTED when a bound on its work is passed. */
INGLE_API ingle_code INGLE_CALL ingle_template_render(const ingle_template* chat_template, const char* json,
                                                      int64_t length, int64_t now_unix, ingle_text** out,
                                                      ingle_error** err);

/* ---- Grammar ---- */

/* `kind` says what the source is:
     json_schema      a schema
     regex            a regular expression of the whole text
     gbnf, lark       a grammar file
     choice           JSON: ["text", ...]
     structural_tags  JSON: {"tags": [{"begin", "end", CONTENT}], "triggers": [], "at_least_one": false,
                      "stop_after_first": false}; CONTENT is one member named like a kind
     lazy             JSON: {"markers": ["text", ...], "with_marker": false, CONTENT}
   `options` are of the kind grammar. `progress` is asked every few thousand steps, on the calling thread, and
   may cancel. INGLE_E_UNSUPPORTED where the source cannot be held exactly or within the limits. */
INGLE_API ingle_code INGLE_CALL ingle_grammar_create(const char* kind, const char* source, int64_t length,
                                                     const ingle_options* options,
                                                     const ingle_progress* progress, ingle_grammar** out,
                                                     ingle_error** err);
INGLE_API ingle_grammar* INGLE_CALL ingle_grammar_retain(ingle_grammar* grammar);
INGLE_API void INGLE_CALL ingle_grammar_release(ingle_grammar* grammar);
/* Judges a whole text: 1 or 0. */
INGLE_API ingle_code INGLE_CALL ingle_grammar_accepts(const ingle_grammar* grammar, const char* text,
                                                      int64_t length, int32_t* out, ingle_error** err);

/* ---- Answers ---- */
/* What a model wrote, told apart as it arrives: text for the user, reasoning, tool calls. The way in which a
   template writes them is found from the template. */

/* JSON: {"dialect", "reasoning", "unknown"}: the names of the ways; "": none. "unknown" is not empty when the
   template writes tool calls in a way that no parser here reads. */
INGLE_API ingle_code INGLE_CALL ingle_model_chat_format(const ingle_model* model, ingle_text** out,
                                                        ingle_error** err);
/* What an answer must be for its calls to be calls of these tools, in the form of the model's own template,
   with arguments that each tool's "parameters", a JSON Schema, allows. `tools` is JSON: [{"type": "function",
   "function": {"name", "parameters"}}, ...]. `options` are of the kind grammar; their tool_choice is "auto" (free
   text, in which the marker of a call must go on as one), "required" (calls at once), "none" (no such marker),
   or the name of the one tool that is called at once. For answers of this model, and of such as share its
   vocabulary. INGLE_E_UNSUPPORTED where the template writes no calls, or in a form that cannot be held, and for
   a schema that cannot be, with the tool's name and the path in it. */
INGLE_API ingle_code INGLE_CALL ingle_model_tool_grammar(const ingle_model* model, const char* tools,
                                                         int64_t length, const ingle_options* options,
                                                         const ingle_progress* progress, ingle_grammar** out,
                                                         ingle_error** err);
INGLE_API ingle_code INGLE_CALL ingle_template_chat_format(const ingle_template* chat_template,
                                                           ingle_text** out, ingle_error** err);
/* `prompt` is what was rendered, or its end; NULL with length 0: not known. INGLE_E_UNSUPPORTED when the
   template writes calls in an unknown way (and the option parse_tools is not 0). */
INGLE_API ingle_code INGLE_CALL ingle_parser_create(const ingle_template* chat_template,
                                                    const ingle_options* options, const char* prompt,
                                                    int64_t length, ingle_parser** out, ingle_error** err);
/* Of the answer to what the session holds now. */
INGLE_API ingle_code INGLE_CALL ingle_session_parser(ingle_session* session, const ingle_options* options,
                                                     ingle_parser** out, ingle_error** err);
INGLE_API ingle_parser* INGLE_CALL ingle_parser_retain(ingle_parser* parser);
INGLE_API void INGLE_CALL ingle_parser_release(ingle_parser* parser);
/* The answer's text in any pieces, control tokens included (the generate option control_text). JSON of what
   became certain: [{"part": "content" or "reasoning", "text"}, {"part": "call", "index", "id", "name"},
   {"part": "arguments", "index", "text"}, {"part": "call_end", "index"}, {"part": "error", "text",
   "message"}, ...]. The texts of one call's arguments join to JSON. */
INGLE_API ingle_code INGLE_CALL ingle_parser_feed(ingle_parser* parser, const char* text, int64_t length,
                                                  ingle_text** events, ingle_error** err);
INGLE_API ingle_code INGLE_CALL ingle_parser_finish(ingle_parser* parser, ingle_text** events,
                                                    ingle_error** err);
/* All so far: {"raw", "content", "reasoning", "calls": [{"id", "name", "arguments", "complete"}], "errors":
   [{"fault": "malformed" or "truncated", "offset", "index", "message", "text"}]}. */
INGLE_API ingle_code INGLE_CALL ingle_parser_answer(ingle_parser* parser, ingle_text** out,
                                                    ingle_error** err);

/* ---- Tokenizer ---- */

/* Of a model file, with weights or vocabulary-only. */
INGLE_API ingle_code INGLE_CALL ingle_tokenizer_load(const char* path, ingle_tokenizer** out,
                                                     ingle_error** err);
INGLE_API ingle_tokenizer* INGLE_CALL ingle_tokenizer_retain(ingle_tokenizer* tokenizer);
INGLE_API void INGLE_CALL ingle_tokenizer_release(ingle_tokenizer* tokenizer);
INGLE_API ingle_code INGLE_CALL ingle_tokenizer_encode(const ingle_tokenizer* tokenizer, const char* text,
                                                       int64_t length, int32_t flags, ingle_tokens** out,
                                                       ingle_error** err);
INGLE_API ingle_code INGLE_CALL ingle_tokenizer_decode(const ingle_tokenizer* tokenizer, const int32_t* ids,
                                                       int64_t n_ids, int32_t flags, ingle_text** out,
                                                       ingle_error** err);
INGLE_API ingle_code INGLE_CALL ingle_tokenizer_token_text(const ingle_tokenizer* tokenizer, int32_t id,
                                                           ingle_text** out, ingle_error** err);
INGLE_API ingle_code INGLE_CALL ingle_tokenizer_size(const ingle_tokenizer* tokenizer, int64_t* out,
                                                     ingle_error** err);
INGLE_API ingle_code INGLE_CALL ingle_tokenizer_bos(const ingle_tokenizer* tokenizer, int32_t* out,
                                                    ingle_error** err); /* -1: none */
INGLE_API ingle_code INGLE_CALL ingle_tokenizer_eos(const ingle_tokenizer* tokenizer, int32_t* out,
                                                    ingle_error** err); /* -1: none */
/* The ids that end an answer: the option end_tokens, which min_tokens needs. */
INGLE_API ingle_code INGLE_CALL ingle_tokenizer_end_tokens(const ingle_tokenizer* tokenizer,
                                                           ingle_tokens** out, ingle_error** err);
/* The ids whose text holds `text`, for bans and dry_breakers; INGLE_E_NOT_FOUND when no single token holds
 * it. */
INGLE_API ingle_code INGLE_CALL ingle_tokenizer_tokens_with(const ingle_tokenizer* tokenizer,
                                                            const char* text, int64_t length,
                                                            ingle_tokens** out, ingle_error** err);
INGLE_API ingle_code INGLE_CALL ingle_tokenizer_ends_generation(const ingle_tokenizer* tokenizer, int32_t id,
                                                                int32_t* out, ingle_error** err);
INGLE_API ingle_code INGLE_CALL ingle_tokenizer_is_control(const ingle_tokenizer* tokenizer, int32_t id,
                                                           int32_t* out, ingle_error** err);

/* ---- Sampler ---- */

INGLE_API ingle_code INGLE_CALL ingle_sampler_create(const ingle_options* options, ingle_sampler** out,
                                                     ingle_error** err);
INGLE_API ingle_code INGLE_CALL ingle_sampler_greedy(ingle_sampler** out, ingle_error** err);
INGLE_API ingle_code INGLE_CALL ingle_sampler_clone(ingle_sampler* sampler, ingle_sampler** out,
                                                    ingle_error** err);
INGLE_API ingle_sampler* INGLE_CALL ingle_sampler_retain(ingle_sampler* sampler);
INGLE_API void INGLE_CALL ingle_sampler_release(ingle_sampler* sampler);
INGLE_API ingle_code INGLE_CALL ingle_sampler_sample(ingle_sampler* sampler, const float* logits,
                                                     int64_t n_logits, int32_t* out, ingle_error** err);
INGLE_API ingle_code INGLE_CALL ingle_sampler_accept(ingle_sampler* sampler, int32_t id, ingle_error** err);
INGLE_API ingle_code INGLE_CALL ingle_sampler_describe(ingle_sampler* sampler, ingle_text** out,
                                                       ingle_error** err); /* the chain, in order */

/* ---- Session ---- */

INGLE_API ingle_code INGLE_CALL ingle_session_create(const ingle_model* model, const ingle_options* options,
                                                     ingle_session** out, ingle_error** err);
INGLE_API ingle_session* INGLE_CALL ingle_session_retain(ingle_session* session);
INGLE_API void INGLE_CALL ingle_session_release(ingle_session* session);

/* Each adds to the context and computes it. What does not fit is INGLE_E_CONTEXT_FULL, with nothing added;
   after a cancel the context is as it was before the call. */
INGLE_API ingle_code INGLE_CALL ingle_session_feed_tokens(ingle_session* session, const int32_t* ids,
                                                          int64_t n_ids, const ingle_progress* progress,
                                                          ingle_error** err);
INGLE_API ingle_code INGLE_CALL ingle_session_feed_text(ingle_session* session, const char* text,
                                                        int64_t length, int32_t flags,
                                                        const ingle_progress* progress, ingle_error** err);
/* The whole conversation so far, through the model's own template. What the context already holds of it is
   not computed again; what it holds beyond that is dropped, also when the call then fails. */
INGLE_API ingle_code INGLE_CALL ingle_session_feed_chat(ingle_session* session, const ingle_message* messages,
                                                        int64_t n_messages, const ingle_progress* progress,
                                                        ingle_error** err);
/* The same of a conversation as ingle_model_apply_chat_template_json takes it. */
INGLE_API ingle_code INGLE_CALL ingle_session_feed_chat_json(ingle_session* session, const char* json,
                                                             int64_t length, const ingle_progress* progress,
                                                             ingle_error** err);

/* Starts an answer; ingle_session_next then gives it event by event, until one has a finish. Without it the
   default options hold. */
INGLE_API ingle_code INGLE_CALL ingle_session_begin(ingle_session* session, const ingle_options* options,
                                                    ingle_error** err);
INGLE_API ingle_code INGLE_CALL ingle_session_next(ingle_session* session, ingle_sampler* sampler,
                                                   ingle_event* event, ingle_error** err);
/* Classifier-free guidance: chooses from negative + scale * (own - negative), scale 0 to 100, and adds the
   token to both sessions. `negative` holds another prompt over the same vocabulary. */
INGLE_API ingle_code INGLE_CALL ingle_session_next_guided(ingle_session* session, ingle_session* negative,
                                                          double scale, ingle_sampler* sampler,
                                                          ingle_event* event, ingle_error** err);
/* The best continuations as wholes, best first; the session stays as it is. JSON: [{"text", "ids", "score",
   "finish"}, ...]. `options` are of the kind beams. */
INGLE_API ingle_code INGLE_CALL ingle_session_beam_search(ingle_session* session,
                                                          const ingle_options* options, ingle_text** out,
                                                          ingle_error** err);
/* begin and next in one. `callback`, `finish` and `out` may be NULL. */
INGLE_API ingle_code INGLE_CALL ingle_session_generate(ingle_session* session, ingle_sampler* sampler,
                                                       const ingle_options* options,
                                                       ingle_event_callback callback, void* user,
                                                       int32_t* finish, ingle_text** out, ingle_error** err);
/* From any thread: the call that runs inside the session ends soon, also in the middle of a prefill. */
INGLE_API ingle_code INGLE_CALL ingle_session_cancel(ingle_session* session, ingle_error** err);

/* Of the last position [n]; valid until the next call on the session. */
INGLE_API ingle_code INGLE_CALL ingle_session_logits(ingle_session* session, const float** out, int64_t* n,
                                                     ingle_error** err);
/* Feeds ids and hands over the logits of every position, in order. */
INGLE_API ingle_code INGLE_CALL ingle_session_score(ingle_session* session, const int32_t* ids, int64_t n_ids,
                                                    ingle_score_callback callback, void* user,
                                                    ingle_error** err);
/* From here on `tap` hears the values at these points (layers, INGLE_TAP_...; in any order) of every token
   that the session computes: by position, then layer by layer, the logits last. A token is computed when the
   next one is asked for, and again after a truncate. It takes the place of the tap before; no points (then
   `tap` may be NULL): none. Forks and saved sessions have none. Results do not change. INGLE_E_UNSUPPORTED
   for points but the logits where the model is scripted, or its backend gives none. */
INGLE_API ingle_code INGLE_CALL ingle_session_tap(ingle_session* session, const int32_t* points,
                                                  int64_t n_points, const ingle_tap* tap, ingle_error** err);
INGLE_API ingle_code INGLE_CALL ingle_session_tokens(ingle_session* session, ingle_tokens** out,
                                                     ingle_error** err); /* all that the context holds */
INGLE_API ingle_code INGLE_CALL ingle_session_truncate(ingle_session* session, int64_t n_tokens,
                                                       ingle_error** err); /* back to the first n_tokens */
/* A second conversation that shares what was computed so far. */
INGLE_API ingle_code INGLE_CALL ingle_session_fork(ingle_session* session, ingle_session** out,
                                                   ingle_error** err);
/* Writes what the session holds: tokens, what was computed of them, the last logits; not an answer that is
   being given. The file appears when it is complete; after an error an older one stands as it was. */
INGLE_API ingle_code INGLE_CALL ingle_session_save(ingle_session* session, const char* path,
                                                   ingle_error** err);
/* A session that goes on with the bits of the saved one. INGLE_E_CORRUPT for a damaged file,
   INGLE_E_UNSUPPORTED for one of another model, backend or state type, INGLE_E_CONTEXT_FULL when it holds
   more than the options' context. */
INGLE_API ingle_code INGLE_CALL ingle_session_load(const ingle_model* model, const char* path,
                                                   const ingle_options* options, ingle_session** out,
                                                   ingle_error** err);
INGLE_API ingle_code INGLE_CALL ingle_session_stats(ingle_session* session, ingle_stats* stats,
                                                    ingle_error** err);

/* ---- Engine ---- */
/* Many requests at once on one model: they share steps, memory and what their prompts have in common, and
   each gets the bytes that it would get alone. Any thread may call, but next and step serve one caller at a
   time. */

/* With a listener, which may be NULL, the events go there, and not to ingle_engine_next. */
INGLE_API ingle_code INGLE_CALL ingle_engine_create(const ingle_model* model, const ingle_options* options,
                                                    const ingle_listener* listener, ingle_engine** out,
                                                    ingle_error** err);
INGLE_API ingle_engine* INGLE_CALL ingle_engine_retain(ingle_engine* engine);
/* With the last reference what runs ends, without a further event. */
INGLE_API void INGLE_CALL ingle_engine_release(ingle_engine* engine);
/* Checks the request, tokenizes it and never waits. *id is never 0. INGLE_E_BUSY, with the reason as the
   message and the time after which to come again as the hint, when the queue is full. */
INGLE_API ingle_code INGLE_CALL ingle_engine_submit(ingle_engine* engine, const ingle_request* request,
                                                    uint64_t* id, ingle_error** err);
/* Takes effect within a step: the request ends with INGLE_FINISH_CANCELLED. *found is 0 when it is not there
   any more; `found` may be NULL. */
INGLE_API ingle_code INGLE_CALL ingle_engine_cancel(ingle_engine* engine, uint64_t id, int32_t* found,
                                                    ingle_error** err);
/* The next event of any request: waits for one up to so many milliseconds, or (-1) until there is one or
   nothing is left that could give one. *request is 0 when there is none. *failure is what a request with
   INGLE_FINISH_ERROR died of, the caller's to release, else NULL; `failure` may be NULL. The event's pointers
   are valid until the next call of this function on the engine. */
INGLE_API ingle_code INGLE_CALL ingle_engine_next(ingle_engine* engine, int64_t timeout_ms, uint64_t* request,
                                                  ingle_event* event, ingle_error** failure,
                                                  ingle_error** err);
/* A file descriptor that polls as readable while ingle_engine_next has an event to give. The engine's; -1
   where there is none. */
INGLE_API ingle_code INGLE_CALL ingle_engine_descriptor(const ingle_engine* engine, int32_t* out,
                                                        ingle_error** err);
/* For an engine without a thread of its own (the option own_thread is 0): works for about so many seconds,
   one step at least. *more is 1 while there is something to do. */
INGLE_API ingle_code INGLE_CALL ingle_engine_step(ingle_engine* engine, double seconds, int32_t* more,
                                                  ingle_error** err);
/* 1: no step begins, but requests are taken; 0: go on, also after a drain. */
INGLE_API ingle_code INGLE_CALL ingle_engine_pause(ingle_engine* engine, int32_t paused, ingle_error** err);
/* Takes no more requests, and waits up to so many milliseconds (-1: without end) for the end of those that
   are there. *done is 1 when none is left. */
INGLE_API ingle_code INGLE_CALL ingle_engine_drain(ingle_engine* engine, int64_t timeout_ms, int32_t* done,
                                                   ingle_error** err);
/* JSON: counters, gauges, and histograms as {"bounds": [], "counts": [], "sum", "count"}, where counts[i]
   values were at most bounds[i] and the last ones above all. docs/contracts/engine.md names them. */
INGLE_API ingle_code INGLE_CALL ingle_engine_stats(const ingle_engine* engine, ingle_text** out,
                                                   ingle_error** err);

/* ---- Files ---- */

/* What a file says about itself, nothing is run. JSON: {"container", "metadata": {}, "tensors": [{"name",
   "type", "shape", "bytes"}]}; shapes are outermost first. */
INGLE_API ingle_code INGLE_CALL ingle_inspect(const char* path, ingle_text** out, ingle_error** err);
/* What a model and one session of it would take of the runtime's allocator, within 5 %; no weight is read.
   The options are of the kinds model and session, or NULL. JSON: {"context", "weight_bytes", "state_bytes",
   "token_bytes", "workspace_bytes", "mapped_bytes", "total_bytes"}; token_bytes: what one more token takes;
   mapped_bytes: of the files, which the system may drop, not in the total. */
INGLE_API ingle_code INGLE_CALL ingle_plan_memory(const ingle_runtime* runtime, const char* path,
                                                  const ingle_options* model, const ingle_options* session,
                                                  ingle_text** out, ingle_error** err);
/* Rewrites a GGUF file with its matrices in another type ("q8_0", "q4_k", ...). */
INGLE_API ingle_code INGLE_CALL ingle_quantize(const ingle_runtime* runtime, const char* from, const char* to,
                                               const char* type, const ingle_progress* progress,
                                               ingle_error** err);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif
#endif
