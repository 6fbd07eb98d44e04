// Where the fields of the public structs are, for ever; checked in C and in C++. Nothing is padding: a field
// that a later version appends must change sizeof, by which the library tells old programs from new ones.
#pragma once
#include <assert.h>
#include <ingle/ingle.h>
#include <stddef.h>

#define INGLE_AT(type, field, offset) static_assert(offsetof(type, field) == (offset), #type "." #field)
#define INGLE_SIZE(type, size) static_assert(sizeof(type) == (size), #type)

static_assert(sizeof(ingle_code) == 4, "ingle_code");
static_assert(INGLE_E_INTERNAL == 11 && INGLE_FINISH_ERROR == 7, "pinned numbers");

// The same on each target: the fields of fixed width, then the pointers.
INGLE_SIZE(ingle_allocator, 8 + 4 * sizeof(void*));
INGLE_SIZE(ingle_logger, 8 + 4 * sizeof(void*));
INGLE_SIZE(ingle_reader, 16 + 4 * sizeof(void*));
INGLE_SIZE(ingle_stage, 8 + 4 * sizeof(void*));
INGLE_SIZE(ingle_progress, 8 + 2 * sizeof(void*));
INGLE_SIZE(ingle_message, 16 + 2 * sizeof(void*));
INGLE_SIZE(ingle_event, 40 + 4 * sizeof(void*));
INGLE_SIZE(ingle_request, 32 + 8 * sizeof(void*));
INGLE_SIZE(ingle_listener, 8 + 4 * sizeof(void*));
INGLE_SIZE(ingle_tap, 8 + 4 * sizeof(void*));

#if UINTPTR_MAX == UINT64_MAX
INGLE_AT(ingle_allocator, struct_size, 0);
INGLE_AT(ingle_allocator, reserved, 4);
INGLE_AT(ingle_allocator, allocate, 8);
INGLE_AT(ingle_allocator, release, 16);
INGLE_AT(ingle_allocator, close, 24);
INGLE_AT(ingle_allocator, user, 32);

INGLE_AT(ingle_logger, struct_size, 0);
INGLE_AT(ingle_logger, level, 4);
INGLE_AT(ingle_logger, log, 8);
INGLE_AT(ingle_logger, close, 16);
INGLE_AT(ingle_logger, user, 24);
INGLE_AT(ingle_logger, reserved, 32);

INGLE_AT(ingle_reader, struct_size, 0);
INGLE_AT(ingle_reader, reserved, 4);
INGLE_AT(ingle_reader, size, 8);
INGLE_AT(ingle_reader, name, 16);
INGLE_AT(ingle_reader, read_at, 24);
INGLE_AT(ingle_reader, close, 32);
INGLE_AT(ingle_reader, user, 40);

INGLE_AT(ingle_stage, struct_size, 0);
INGLE_AT(ingle_stage, reserved, 4);
INGLE_AT(ingle_stage, name, 8);
INGLE_AT(ingle_stage, apply, 16);
INGLE_AT(ingle_stage, close, 24);
INGLE_AT(ingle_stage, user, 32);

INGLE_AT(ingle_progress, struct_size, 0);
INGLE_AT(ingle_progress, reserved, 4);
INGLE_AT(ingle_progress, report, 8);
INGLE_AT(ingle_progress, user, 16);

INGLE_AT(ingle_message, struct_size, 0);
INGLE_AT(ingle_message, reserved, 4);
INGLE_AT(ingle_message, length, 8);
INGLE_AT(ingle_message, role, 16);
INGLE_AT(ingle_message, content, 24);

INGLE_AT(ingle_event, struct_size, 0);
INGLE_AT(ingle_event, id, 4);
INGLE_AT(ingle_event, logprob, 8);
INGLE_AT(ingle_event, finish, 12);
INGLE_AT(ingle_event, time_ms, 16);
INGLE_AT(ingle_event, text_length, 24);
INGLE_AT(ingle_event, n_top, 32);
INGLE_AT(ingle_event, text, 40);
INGLE_AT(ingle_event, top_ids, 48);
INGLE_AT(ingle_event, top_logprobs, 56);
INGLE_AT(ingle_event, reserved, 64);

INGLE_AT(ingle_request, struct_size, 0);
INGLE_AT(ingle_request, flags, 4);
INGLE_AT(ingle_request, n_ids, 8);
INGLE_AT(ingle_request, text_length, 16);
INGLE_AT(ingle_request, n_messages, 24);
INGLE_AT(ingle_request, ids, 32);
INGLE_AT(ingle_request, text, 40);
INGLE_AT(ingle_request, messages, 48);
INGLE_AT(ingle_request, sampler, 56);
INGLE_AT(ingle_request, generate, 64);
INGLE_AT(ingle_request, scheduling, 72);
INGLE_AT(ingle_request, chat, 80);
INGLE_AT(ingle_request, reserved, 88);

INGLE_AT(ingle_listener, struct_size, 0);
INGLE_AT(ingle_listener, reserved, 4);
INGLE_AT(ingle_listener, hear, 8);
INGLE_AT(ingle_listener, close, 16);
INGLE_AT(ingle_listener, user, 24);
INGLE_AT(ingle_listener, reserved_pointer, 32);

INGLE_AT(ingle_tap, struct_size, 0);
INGLE_AT(ingle_tap, reserved, 4);
INGLE_AT(ingle_tap, hear, 8);
INGLE_AT(ingle_tap, close, 16);
INGLE_AT(ingle_tap, user, 24);
INGLE_AT(ingle_tap, reserved_pointer, 32);
#endif

INGLE_SIZE(ingle_stats, 40);
INGLE_AT(ingle_stats, struct_size, 0);
INGLE_AT(ingle_stats, reserved, 4);
INGLE_AT(ingle_stats, prompt_tokens, 8);
INGLE_AT(ingle_stats, generated_tokens, 16);
INGLE_AT(ingle_stats, prefill_ms, 24);
INGLE_AT(ingle_stats, decode_ms, 32);

#undef INGLE_AT
#undef INGLE_SIZE
