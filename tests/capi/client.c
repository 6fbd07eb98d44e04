/* A program in strict C11: it checks the layout of the structs, and lives through one answer. Built from the
   header of a release and kept, it is what later libraries must still serve. */
#include "abi/layout.h"

#include <stdio.h>
#include <string.h>

static int failures = 0;
static void expect(int good, const char* what) {
  if (!good) {
    fprintf(stderr, "FAILED: %s\n", what);
    ++failures;
  }
}

static ingle_code last(ingle_code code, ingle_error** err, const char* what) {
  expect((code == INGLE_OK) == (*err == NULL), "an error exactly when the code says so");
  if (code != INGLE_OK) {
    fprintf(stderr, "%s: %s: %s\n", what, ingle_error_where(*err), ingle_error_message(*err));
    expect(ingle_error_code(*err) == code, "the error's code is what was returned");
  }
  ingle_error_release(*err);
  *err = NULL;
  return code;
}

int main(void) {
  ingle_error* err = NULL;
  ingle_options* script = NULL;
  ingle_runtime* runtime = NULL;
  ingle_model* model = NULL;
  ingle_session* session = NULL;
  ingle_sampler* sampler = NULL;
  ingle_event event = INGLE_EVENT_INIT;
  char answer[64] = "";

  expect(strcmp(ingle_version(), "0.1.0") == 0 && ingle_version_number() == 1000, "the version");
  expect(last(ingle_options_create("script", &script, &err), &err, "options") == INGLE_OK, "options");
  expect(last(ingle_options_set_string(script, "text", "Hello!", -1, &err), &err, "text") == INGLE_OK,
         "text");
  expect(last(ingle_runtime_create(NULL, NULL, NULL, &runtime, &err), &err, "runtime") == INGLE_OK,
         "runtime");
  expect(last(ingle_model_scripted(runtime, script, &model, &err), &err, "model") == INGLE_OK, "model");
  expect(last(ingle_sampler_greedy(&sampler, &err), &err, "sampler") == INGLE_OK, "sampler");
  expect(last(ingle_session_create(model, NULL, &session, &err), &err, "session") == INGLE_OK, "session");
  expect(last(ingle_session_feed_text(session, "hi", -1, INGLE_ADD_SPECIAL, NULL, &err), &err, "feed") ==
             INGLE_OK,
         "feed");
  while (event.finish == INGLE_FINISH_NONE) {
    if (last(ingle_session_next(session, sampler, &event, &err), &err, "next") != INGLE_OK) break;
    strncat(answer, event.text, event.text_length);
  }
  expect(event.finish == INGLE_FINISH_END, "the answer ends");
  expect(strcmp(answer, "Hello!") == 0, "the answer is the script");
  expect(ingle_session_truncate(session, -1, NULL) == INGLE_E_INVALID_ARGUMENT,
         "no error is wanted, a code comes");

  ingle_runtime_release(runtime); /* any order */
  ingle_options_release(script);
  ingle_model_release(model);
  ingle_sampler_release(sampler);
  ingle_session_release(session);
  ingle_session_release(NULL);
  return failures != 0;
}
