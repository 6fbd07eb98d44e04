// beside_llama MODEL.gguf: Ingle's shared library and llama.cpp's in one process. Each first answers alone,
// then both in turns, then on two threads at once: the same ids each time. Prints what it found; 0 when all
// was well.
#include <ingle/ingle.h>
#include <llama.h>

#include <algorithm>
#include <cstdio>
#include <thread>
#include <vector>

namespace {

using Ids = std::vector<int32_t>;
constexpr int kSteps = 12;

struct Ours {
  ingle_runtime* runtime = nullptr;
  ingle_model* model = nullptr;
  ingle_session* session = nullptr;
  ingle_sampler* greedy = nullptr;
  bool good = true;

  void take(ingle_code code) { good = good && code == INGLE_OK; }
  Ours(const char* path, const Ids& prompt) {
    ingle_options* one = nullptr;
    take(ingle_options_create("runtime", &one, nullptr));
    take(ingle_options_set_int(one, "threads", 1, nullptr));
    take(ingle_runtime_create(one, nullptr, nullptr, &runtime, nullptr));
    ingle_options_release(one);
    take(ingle_model_load(runtime, path, nullptr, nullptr, &model, nullptr));
    take(ingle_session_create(model, nullptr, &session, nullptr));
    take(ingle_sampler_greedy(&greedy, nullptr));
    take(ingle_session_feed_tokens(session, prompt.data(), static_cast<int64_t>(prompt.size()), nullptr,
                                   nullptr));
  }
  ~Ours() {
    ingle_sampler_release(greedy);
    ingle_session_release(session);
    ingle_model_release(model);
    ingle_runtime_release(runtime);
  }
  int32_t next() {
    ingle_event event = INGLE_EVENT_INIT;
    take(ingle_session_next(session, greedy, &event, nullptr));
    return event.id;
  }
};

struct Theirs {
  llama_model* model = nullptr;
  llama_context* context = nullptr;
  int32_t n_vocab = 0;
  bool good = true;

  Theirs(const char* path, Ids prompt) {
    llama_model_params of_model = llama_model_default_params();
    of_model.n_gpu_layers = 0;
    model = llama_model_load_from_file(path, of_model);
    if (!model) {
      good = false;
      return;
    }
    llama_context_params of_context = llama_context_default_params();
    of_context.n_ctx = 256;
    of_context.n_threads = of_context.n_threads_batch = 1;
    context = llama_init_from_model(model, of_context);
    n_vocab = llama_vocab_n_tokens(llama_model_get_vocab(model));
    good = context && llama_decode(context, llama_batch_get_one(prompt.data(),
                                                                static_cast<int32_t>(prompt.size()))) == 0;
  }
  ~Theirs() {
    if (context) llama_free(context);
    if (model) llama_model_free(model);
  }
  int32_t next() {
    if (!good) return -1;
    const float* row = llama_get_logits_ith(context, -1);
    int32_t id = static_cast<int32_t>(std::max_element(row, row + n_vocab) - row);
    good = llama_decode(context, llama_batch_get_one(&id, 1)) == 0;
    return id;
  }
};

template <class Engine>
Ids alone(const char* path, const Ids& prompt, bool& good) {
  Engine e(path, prompt);
  Ids ids;
  for (int i = 0; i < kSteps; ++i) ids.push_back(e.next());
  good = good && e.good;
  return ids;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  llama_log_set([](ggml_log_level, const char*, void*) {}, nullptr);
  llama_backend_init();
  const Ids prompt{504, 3575, 282, 4649,
                   314};  // "The capital of France is" to SmolLM2; ids that any model has
  bool good = true;
  const Ids ours = alone<Ours>(argv[1], prompt, good), theirs = alone<Theirs>(argv[1], prompt, good);

  Ids ours_in_turns, theirs_in_turns;
  {
    Ours a(argv[1], prompt);
    Theirs b(argv[1], prompt);
    for (int i = 0; i < kSteps; ++i) {
      ours_in_turns.push_back(a.next());
      theirs_in_turns.push_back(b.next());
    }
    good = good && a.good && b.good;
  }

  Ids ours_at_once, theirs_at_once;
  bool ours_good = true, theirs_good = true;
  std::thread a([&] { ours_at_once = alone<Ours>(argv[1], prompt, ours_good); });
  std::thread b([&] { theirs_at_once = alone<Theirs>(argv[1], prompt, theirs_good); });
  a.join();
  b.join();
  good = good && ours_good && theirs_good;
  llama_backend_free();

  const auto print = [](const char* who, const Ids& ids) {
    std::printf("%s:", who);
    for (const int32_t id : ids) std::printf(" %d", id);
    std::puts("");
  };
  print("Ingle alone", ours);
  print("Ingle in turns", ours_in_turns);
  print("Ingle at once", ours_at_once);
  print("llama.cpp alone", theirs);
  print("llama.cpp in turns", theirs_in_turns);
  print("llama.cpp at once", theirs_at_once);
  good = good && ours == ours_in_turns && ours == ours_at_once && theirs == theirs_in_turns &&
         theirs == theirs_at_once;
  std::puts(good ? "both answer as alone" : "NOT as alone");
  return good ? 0 : 1;
}
