// Any bytes loaded as a saved session, as they are and with checksums made right: an Error, or a session that
// answers and saves what it loaded.
#include "api/saved_session.h"

using namespace ingle;

namespace {

const Model& model() {
  static const Model made = [] {
    RuntimeOptions options;
    options.threads = 1;
    ScriptedModel script;
    for (const char c : std::string("abcdefgh")) script.ids.push_back(static_cast<unsigned char>(c));
    return Model::scripted(Runtime(options), script);
  }();
  return made;
}

void try_load(const std::string& bytes) {
  try {
    Session session = tests::loaded(model(), bytes);
    // Not what was read: a state's positions past its length are not kept.
    const std::string again = tests::saved(session);
    if (tests::saved(tests::loaded(model(), again)) != again) __builtin_trap();
    Sampler greedy = Sampler::greedy();
    session.feed_text("x");
    for (int i = 0; i < 3; ++i) session.next(greedy);
  } catch (const Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  try_load(bytes);
  tests::seal(bytes);
  try_load(bytes);
  return 0;
}
