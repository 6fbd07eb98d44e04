// hello MODEL.gguf [QUESTION]: asks a model through its chat template and prints the answer as it comes.
#include <ingle/ingle.hpp>
#include <iostream>

int main(int argc, char** argv) try {
  if (argc < 2) return std::cerr << "usage: " << argv[0] << " MODEL.gguf [QUESTION]\n", 2;
  const ingle::Runtime runtime;
  const auto model = ingle::Model::load(runtime, argv[1]);
  const ingle::Message question{"user", argc > 2 ? argv[2] : "What is the capital of France?"};

  ingle::Session session(model);
  session.feed_chat({&question, 1});
  session.begin({.max_tokens = 256});
  ingle::Sampler sampler({.temperature = 0});  // the likeliest token each time
  for (ingle::TokenEvent event; event.finish == ingle::Finish::none;) {
    event = session.next(sampler);
    std::cout << event.text << std::flush;
  }
  std::cout << "\n";
} catch (const ingle::Error& e) {
  std::cerr << e.what() << "\n";
  return static_cast<int>(e.code());
}
