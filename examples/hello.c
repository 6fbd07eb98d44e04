/* hello MODEL.gguf [QUESTION]: asks a model through its chat template and prints the answer as it comes. */
#include <ingle/ingle.h>
#include <stdio.h>

static int32_t print(const ingle_event* event, void* user) {
  (void)user;
  fwrite(event->text, 1, (size_t)event->text_length, stdout);
  fflush(stdout);
  return 0;
}

int main(int argc, char** argv) {
  ingle_error* err = NULL;
  ingle_runtime* runtime = NULL;
  ingle_model* model = NULL;
  ingle_session* session = NULL;
  ingle_sampler* sampler = NULL;
  ingle_options *choice = NULL, *options = NULL;
  const ingle_message question = INGLE_MESSAGE("user", argc > 2 ? argv[2] : "What is the capital of France?");
  if (argc < 2) return fprintf(stderr, "usage: %s MODEL.gguf [QUESTION]\n", argv[0]), 2;

  if (ingle_runtime_create(NULL, NULL, NULL, &runtime, &err) ||
      ingle_model_load(runtime, argv[1], NULL, NULL, &model, &err) ||
      ingle_session_create(model, NULL, &session, &err) ||
      ingle_options_create("sampler", &choice, &err) ||
      ingle_options_set_float(choice, "temperature", 0, &err) || /* the likeliest token each time */
      ingle_sampler_create(choice, &sampler, &err) ||
      ingle_session_feed_chat(session, &question, 1, NULL, &err) ||
      ingle_options_create("generate", &options, &err) ||
      ingle_options_set_int(options, "max_tokens", 256, &err) ||
      ingle_session_generate(session, sampler, options, print, NULL, NULL, NULL, &err))
    fprintf(stderr, "%s: %s\n%s\n", ingle_error_where(err), ingle_error_message(err), ingle_error_hint(err));
  puts("");
  const ingle_code code = ingle_error_code(err); /* 0 where there is none */
  ingle_error_release(err);
  ingle_options_release(options);
  ingle_options_release(choice);
  ingle_sampler_release(sampler);
  ingle_session_release(session);
  ingle_model_release(model);
  ingle_runtime_release(runtime);
  return code;
}
