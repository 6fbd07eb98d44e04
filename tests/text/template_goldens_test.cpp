// Every template and conversation of the shared goldens, rendered as transformers renders them.
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "ingle/error.hpp"
#include "support/catch.h"
#include "support/paths.h"
#include "text/chat_template.h"

using nlohmann::ordered_json;

namespace {

std::string read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

struct Outcome {
  bool ok = false;
  std::string text;  // or the error
};

Outcome render(const std::string& source, const std::string& name, const std::string& context) {
  try {
    // The goldens' clock: 2024-07-26 14:05:09.
    return {true, ingle::text::ChatTemplate::compile(source, name)->render_json(context, 1722002709)};
  } catch (const ingle::Error& e) {
    return {false, e.what()};
  }
}

std::string templates_folder() {
  if (auto named = ingle::tests::environment("INGLE_TEMPLATES")) return *named;
  const auto home = ingle::tests::environment("HOME");
  return home ? *home + "/.cache/ingle-models/templates" : "";
}

}  // namespace

TEST_CASE("chat templates render as their goldens", "[template][goldens]") {
  const auto folder = ingle::tests::shared_path("goldens/chat");
  const std::string templates = templates_folder();
  if (!folder) return;
  if (!std::filesystem::exists(templates)) {
    WARN("skipped: no templates in " << templates << " (INGLE_TEMPLATES names the folder)");
    return;
  }
  const auto contexts = ordered_json::parse(read(*folder + "/contexts.json"));
  std::map<std::string, std::string> sources;
  std::ifstream cases(*folder + "/cases.jsonl");
  int n = 0, same = 0;
  for (std::string line; std::getline(cases, line);) {
    const auto row = ordered_json::parse(line);
    const std::string name = row["template"], label = row["case"];
    if (!sources.count(name)) sources[name] = read(templates + "/" + name);
    REQUIRE(!sources[name].empty());
    ordered_json context = contexts["contexts"][label];
    context["documents"] = nullptr;
    context["bos_token"] = contexts["bos_token"];
    context["eos_token"] = contexts["eos_token"];
    const Outcome got = render(sources[name], name, context.dump());
    const bool wanted = row.contains("output");
    const bool equal = got.ok == wanted && (!wanted || got.text == row["output"].get<std::string>());
    ++n;
    same += equal;
    if (!equal) {
      UNSCOPED_INFO(label);
      CHECK(got.ok == wanted);
      if (wanted) {
        CHECK(got.text == row["output"].get<std::string>());
      } else {
        CHECK(got.text == row["error"]["message"].get<std::string>());
      }
    }
  }
  CHECK(n == 1260);
  CHECK(same == n);
}
