#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "common.h"

namespace ingle::cli {

void add_doctor(CLI::App& app, std::vector<std::pair<CLI::App*, Command>>& commands) {
  auto common = std::make_shared<Common>();
  CLI::App* c =
      app.add_subcommand("doctor", "The machine, the kernels that run on it, and a self-test of them");
  add_common(*c, *common);
  commands.emplace_back(c, [common] {
    const auto runtime = make_runtime(*common);
    const std::string failure = runtime->self_test();
    if (common->json) {
      nlohmann::ordered_json kernels = nlohmann::ordered_json::array();
      for (const KernelReport& k : runtime->kernels())
        kernels.push_back({{"name", k.name}, {"runs", k.can_run}, {"reason", k.reason}});
      const nlohmann::ordered_json out{{"version", version()},
                                       {"processor", runtime->processor()},
                                       {"threads", runtime->threads()},
                                       {"backends", runtime->backends()},
                                       {"kernels", kernels},
                                       {"self_test", failure.empty() ? "ok" : failure}};
      std::puts(out.dump().c_str());
    } else {
      std::printf("ingle %s\nprocessor: %s\nthreads: %d\nbackends:", version(), runtime->processor().c_str(),
                  runtime->threads());
      for (const std::string& b : runtime->backends()) std::printf(" %s", b.c_str());
      std::puts("");
      for (const KernelReport& k : runtime->kernels())
        std::printf("  %-40s %s\n", k.name.c_str(), k.can_run ? "runs" : k.reason.c_str());
      std::printf("self-test: %s\n", failure.empty() ? "ok" : failure.c_str());
    }
    return static_cast<int>(failure.empty() ? kOk : kCheckFailed);
  });
}

}  // namespace ingle::cli
