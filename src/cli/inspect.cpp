#include <cstdio>
#include <map>

#include "common.h"
#include "json_out.h"

namespace ingle::cli {
namespace {

struct InspectFlags {
  std::string model;
  bool tensors = false, json = false, memory = false;
  Common common;
  SessionOptions session;
};

void print_memory(const InspectFlags& flags) {
  const MemoryPlan plan =
      plan_memory(*make_runtime(flags.common), flags.model, model_options(flags.common), flags.session);
  if (flags.json)
    return print_json({{"context", plan.context},
                       {"weight_bytes", plan.weight_bytes},
                       {"state_bytes", plan.state_bytes},
                       {"token_bytes", plan.token_bytes},
                       {"workspace_bytes", plan.workspace_bytes},
                       {"mapped_bytes", plan.mapped_bytes},
                       {"total_bytes", plan.total()}});
  const auto line = [](const char* what, uint64_t bytes, const std::string& note) {
    std::printf("%-10s %10.1f MB  %s\n", what, static_cast<double>(bytes) / 1e6, note.c_str());
  };
  line("weights", plan.weight_bytes, "packed");
  line("state", plan.state_bytes,
       "of " + std::to_string(plan.context) + " tokens; " + std::to_string(plan.token_bytes) +
           " bytes for one more");
  line("workspace", plan.workspace_bytes, "of a step");
  line("total", plan.total(), "from the allocator");
  line("mapped", plan.mapped_bytes, "of the file, dropped when memory is short");
}

struct TypeUse {
  int64_t tensors = 0;
  uint64_t bytes = 0;
};
struct Summary {
  std::map<std::string, TypeUse> types;
  int64_t parameters = 0;
  uint64_t bytes = 0;
};

Summary summarise(const FileReport& report) {
  Summary s;
  for (const FileTensor& t : report.tensors) {
    TypeUse& use = s.types[t.type];
    ++use.tensors;
    use.bytes += t.bytes;
    int64_t elements = 1;
    for (const int64_t d : t.shape) elements *= d;  // the reader has checked that it fits
    s.parameters += elements;
    s.bytes += t.bytes;
  }
  return s;
}

std::string shape_text(const std::vector<int64_t>& shape) {
  std::string out;
  for (const int64_t d : shape) out += (out.empty() ? "" : " x ") + std::to_string(d);
  return out.empty() ? "scalar" : out;
}

// The first bytes of a long value, whole characters only.
std::string abridged(const std::string& value) {
  constexpr size_t kShown = 200;
  if (value.size() <= kShown) return value;
  size_t n = kShown;
  while (n > 0 && (static_cast<unsigned char>(value[n]) & 0xC0) == 0x80) --n;
  return value.substr(0, n) + "…";
}

void print_as_json(const FileReport& report, const Summary& summary, bool tensors) {
  Json out{{"container", report.container},    {"n_tensors", report.tensors.size()},
           {"parameters", summary.parameters}, {"bytes", summary.bytes},
           {"metadata", Json::object()},       {"types", Json::object()}};
  for (const auto& [key, value] : report.metadata) out["metadata"][key] = value;
  for (const auto& [type, use] : summary.types)
    out["types"][type] = {{"tensors", use.tensors}, {"bytes", use.bytes}};
  if (tensors) {
    out["tensors"] = Json::array();
    for (const FileTensor& t : report.tensors)
      out["tensors"].push_back({{"name", t.name}, {"type", t.type}, {"shape", t.shape}, {"bytes", t.bytes}});
  }
  print_json(out);
}

void print_text(const FileReport& report, const Summary& summary, bool tensors) {
  std::printf("%s, %zu tensors, %lld parameters, %.1f MB\n", report.container.c_str(), report.tensors.size(),
              static_cast<long long>(summary.parameters), static_cast<double>(summary.bytes) / 1e6);
  for (const auto& [type, use] : summary.types)
    std::printf("  %-8s %5lld tensors  %10.1f MB\n", type.c_str(), static_cast<long long>(use.tensors),
                static_cast<double>(use.bytes) / 1e6);
  for (const auto& [key, value] : report.metadata)
    std::printf("%s = %s\n", printable(key).c_str(), printable(abridged(value)).c_str());
  if (!tensors) return;
  for (const FileTensor& t : report.tensors)
    std::printf("%-40s %-8s %s\n", printable(t.name).c_str(), t.type.c_str(), shape_text(t.shape).c_str());
}

int inspect_file(const InspectFlags& flags) {
  if (flags.memory) {
    print_memory(flags);
    return kOk;
  }
  const FileReport report = inspect(flags.model);
  const Summary summary = summarise(report);
  if (flags.json)
    print_as_json(report, summary, flags.tensors);
  else
    print_text(report, summary, flags.tensors);
  return kOk;
}

}  // namespace

void add_inspect(Command app, Commands& commands) {
  auto flags = std::make_shared<InspectFlags>();
  Command c = app.command("inspect", "What a file holds; nothing is run");
  c.option("MODEL", flags->model, kModelHelp).required();
  c.flag("--tensors", flags->tensors, "List the tensors");
  c.flag("--memory", flags->memory, "What the model and a session would take of memory, before it is loaded");
  c.option("--ctx", flags->session.context,
           "With --memory: tokens of the session; 0 is what the model was trained for")
      .type_name("INT");
  add_json(c, flags->json);
  add_loading(c, flags->common);
  c.footer(
      "Examples:\n  ingle inspect model.gguf\n  ingle inspect model.gguf --tensors\n"
      "  ingle inspect model.gguf --memory --ctx 4096\n"
      "  ingle inspect model.gguf --json | jq .types");
  commands.emplace_back(c, [flags] { return inspect_file(*flags); });
}

}  // namespace ingle::cli
