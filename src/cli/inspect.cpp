#include <CLI/CLI.hpp>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "common.h"

namespace ingle::cli {
namespace {

using Json = nlohmann::ordered_json;

struct InspectFlags {
  std::string model;
  bool tensors = false, json = false;
};

std::string shape_text(const std::vector<int64_t>& shape) {
  std::string out;
  for (const int64_t d : shape) out += (out.empty() ? "" : " x ") + std::to_string(d);
  return out.empty() ? "scalar" : out;
}

int inspect_file(const InspectFlags& flags) {
  const FileReport report = inspect(flags.model);
  std::map<std::string, std::pair<int64_t, uint64_t>> types;  // type → tensors, bytes
  for (const FileTensor& t : report.tensors) {
    ++types[t.type].first;
    types[t.type].second += t.bytes;
  }
  if (flags.json) {
    Json out{{"container", report.container}, {"metadata", Json::object()}, {"types", Json::object()}};
    for (const auto& [key, value] : report.metadata) out["metadata"][key] = value;
    for (const auto& [type, n] : types) out["types"][type] = {{"tensors", n.first}, {"bytes", n.second}};
    if (flags.tensors) {
      out["tensors"] = Json::array();
      for (const FileTensor& t : report.tensors)
        out["tensors"].push_back(
            {{"name", t.name}, {"type", t.type}, {"shape", t.shape}, {"bytes", t.bytes}});
    }
    std::puts(out.dump(-1, ' ', false, Json::error_handler_t::replace).c_str());
    return kOk;
  }
  std::printf("%s, %zu tensors\n", report.container.c_str(), report.tensors.size());
  for (const auto& [type, n] : types)
    std::printf("  %-8s %5lld tensors  %10.1f MB\n", type.c_str(), static_cast<long long>(n.first),
                static_cast<double>(n.second) / 1e6);
  for (const auto& [key, value] : report.metadata) {
    const std::string shown = value.size() > 200 ? value.substr(0, 200) + "…" : value;
    std::printf("%s = %s\n", key.c_str(), shown.c_str());
  }
  if (flags.tensors)
    for (const FileTensor& t : report.tensors)
      std::printf("%-40s %-8s %s\n", t.name.c_str(), t.type.c_str(), shape_text(t.shape).c_str());
  return kOk;
}

}  // namespace

void add_inspect(CLI::App& app, std::vector<std::pair<CLI::App*, Command>>& commands) {
  auto flags = std::make_shared<InspectFlags>();
  CLI::App* c = app.add_subcommand("inspect", "What a file holds; nothing is run");
  c->add_option("MODEL", flags->model, "A GGUF file")->required();
  c->add_flag("--tensors", flags->tensors, "List the tensors");
  c->add_flag("--json", flags->json, "One JSON object on stdout");
  commands.emplace_back(c, [flags] { return inspect_file(*flags); });
}

}  // namespace ingle::cli
