// Many requests at once on one model: they share steps, memory and what their prompts have in common, and
// each gets the bytes that it would get alone. docs/contracts/engine.md says what holds.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ingle/session.hpp"

namespace ingle {

using RequestId = uint64_t;  // never 0

struct Request {
  // Token ids, a text, or messages or a conversation for the model's own template.
  std::variant<std::vector<TokenId>, std::string, std::vector<Message>, ChatJson> prompt;
  EncodeOptions encode{false, true};  // of a text
  SamplerOptions sampler;
  GenerateOptions generate;
  int32_t band = 1;       // 0 to 3: 0 is served first
  std::string tenant;     // whose it is: tenants of a band are served alike
  double deadline_s = 0;  // seconds from now after which it ends with Finish::deadline; 0: none
  std::string salt;       // only requests with the same salt share computed prefixes
  double keep_s = 0;      // what its prompt computed is kept for so long, though others need the memory
};

struct EngineEvent {
  RequestId request = 0;
  TokenEvent event;                    // of the request; its last one has a finish
  std::shared_ptr<const Error> error;  // with Finish::error alone
};

struct EngineOptions {
  int32_t max_running = 32;       // requests computed at once, [1, 4096]
  int32_t max_queued = 1024;      // requests that wait, [1, 2^20]
  int64_t max_queued_tokens = 0;  // of their prompts; 0: no bound
  double max_wait_s = 0;          // a request that would wait longer, as estimated, is refused; 0: no bound
  int64_t context = 0;            // tokens of one request; 0: what the model was trained for
  uint64_t state_bytes = 0;       // of the state of all; 0: 80 % of the memory that is free now
  double target_ms = 100;         // what a step may take while somebody waits for his next token
  int64_t prefill_chunk = 512;    // prompt tokens of a step, at most, [1, 8192]; changes speed, never results
  int64_t least_chunk = 16;       // and at least, [1, prefill_chunk]
  int32_t prefills = 4;           // prompts that share a step, [1, 64]
  double band_share = 0;          // of the prompt tokens, what each lower band gets at least, [0, 0.3]
  bool no_evict = false;          // set aside what a request may ever take, so that none is computed twice
  bool share_prefixes = true;  // what was computed of a beginning is not computed again, as long as it fits
  // A folder that exists: what goes for want of memory goes there, up to so many bytes, and is read again
  // where that is quicker than computing. One engine at a time; another model's is not read. Empty: none.
  std::string prefix_folder;
  uint64_t prefix_folder_bytes = uint64_t{1} << 30;
  bool own_thread = true;      // false: nothing happens but in step()
  uint64_t schedule_seed = 0;  // not 0: free choices of the schedule are random; for tests
  // Called with each event on a thread of its own, instead of next(). It must not throw. It may destroy the
  // engine: no other event follows then.
  std::function<void(const EngineEvent&)> on_event;
};

// A histogram with bounds that never change: counts[i] values were <= bounds[i], and the last were above all.
struct Histogram {
  std::vector<double> bounds;
  std::vector<uint64_t> counts;  // one more than bounds
  double sum = 0;
  uint64_t count = 0;
};

struct EngineStats {
  // Since the engine was made.
  int64_t submitted = 0, refused = 0;
  std::array<int64_t, 8> finished{};  // by Finish
  int64_t prompt_tokens = 0;          // of requests that began
  int64_t cached_tokens = 0;          // of them, found computed
  int64_t generated_tokens = 0, recomputed_tokens = 0;
  int64_t preemptions = 0, steps = 0;
  // Now.
  int64_t running = 0, waiting = 0, waiting_tokens = 0;
  uint64_t state_bytes = 0, state_budget_bytes = 0;  // with what is kept of earlier prompts and answers:
  uint64_t prefix_bytes = 0;                         // pages that go as soon as they are needed
  int64_t prefix_spilled = 0, prefix_loaded = 0;     // blocks, to and from prefix_folder
  int64_t prefix_blocks = 0, prefix_evictions = 0;   // of 32 tokens; evictions since the engine was made
  double estimated_wait_s = 0;
  // Seconds.
  Histogram queue, first_token, between_tokens, prefill, decode, end_to_end;
  Histogram step, host;  // a step; what of it was not the model's
  // Tokens.
  Histogram step_tokens, prompt_length, generated_length;
};

// Any thread may call anything, but for next() and step(), which one thread calls at a time (Code::busy).
class Engine {
 public:
  // Throws Code::invalid_argument naming an option that is out of range.
  explicit Engine(const Model& model, const EngineOptions& options = {});
  Engine(Engine&& other) noexcept;
  Engine& operator=(Engine&& other) noexcept;
  ~Engine();  // what runs ends without a further event

  // Tokenizes and checks here, and never waits. Throws Code::busy with the reason when a bound of the queue
  // is reached or the engine drains, Code::context_full, Code::out_of_memory for what the budget can never
  // hold, and what sampler and generate options throw.
  RequestId submit(const Request& request);
  // Takes effect within a step. The request ends with Finish::cancelled. False: it is not there any more.
  bool cancel(RequestId request);

  // The next event; waits up to so many seconds for one, or (negative) until there is one or nothing is left
  // that could give one. Without a thread of its own it does not wait.
  std::optional<EngineEvent> next(double timeout_s = -1);
  // A file descriptor that polls as readable while next() has something to give. The engine's; -1 where there
  // is none, or with on_event.
  int event_descriptor() const;

  // For engines without a thread of their own: works for about so many seconds, one step at least when there
  // is something to do, and says whether there still is.
  bool step(double seconds = 0);

  void pause();   // no step begins; requests are still taken
  void resume();  // after a pause or a drain
  // No more requests (Code::busy); waits until those that are there have ended, or so many seconds (negative:
  // without end). True: all have.
  bool drain(double timeout_s = -1);

  EngineStats stats() const;
  const Model& model() const;

  struct Impl;

 private:
  std::shared_ptr<Impl> impl_;  // its threads' too
};

}  // namespace ingle
