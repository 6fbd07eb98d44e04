#include "backends/plugin/find.h"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "backends/plugin/plugin.h"
#include "core/error.h"

#ifndef INGLE_PLUGINS_FROM_BIN
#define INGLE_PLUGINS_FROM_BIN "../lib"
#endif

namespace ingle::backends {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view kPrefix = "libingle_backend_", kSuffix = ".so", kPathPrefix = "plugin:";

std::string file_name(std::string_view name) { return format("{}{}{}", kPrefix, name, kSuffix); }

// The folder of the library or program that holds this function; empty when it cannot be told.
fs::path own_folder() {
  Dl_info info{};
  std::error_code failed;
  fs::path file;
  if (dladdr(reinterpret_cast<const void*>(&own_folder), &info) && info.dli_fname) file = info.dli_fname;
  // Programs go by the name that they were called by, which may be one without a folder.
  if (!file.has_parent_path() || !fs::exists(file, failed)) file = "/proc/self/exe";
  file = fs::canonical(file, failed);
  return failed ? fs::path() : file.parent_path();
}

bool is_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

std::string join(const std::vector<std::string>& parts) {
  std::string all;
  for (const std::string& p : parts) all += (all.empty() ? "" : ", ") + p;
  return all.empty() ? "no folder" : all;
}

// The file of a name, or an empty text.
std::string look(std::string_view name, const std::vector<std::string>& folders) {
  std::error_code none;
  for (const std::string& folder : folders)
    if (const fs::path path = fs::path(folder) / file_name(name); fs::is_regular_file(path, none))
      return path.string();
  return {};
}

}  // namespace

std::vector<std::string> plugin_folders(const std::string& given) {
  if (!given.empty()) return {given};
  const fs::path own = own_folder();
  if (own.empty()) return {};
  std::vector<std::string> folders = {own.string()};
  std::error_code failed;
  const fs::path installed = fs::canonical(own / INGLE_PLUGINS_FROM_BIN, failed);
  if (!failed && installed != own) folders.push_back(installed.string());
  return folders;
}

std::string find_plugin(std::string_view backend, const std::vector<std::string>& folders) {
  if (backend.substr(0, kPathPrefix.size()) == kPathPrefix) {
    std::string path(backend.substr(kPathPrefix.size()));
    // Without a folder the loader would look along paths of its own.
    if (path.find('/') == std::string::npos)
      fail(Code::invalid_argument, "backend",
           format("'{}' names no path, expected one with a folder, as in plugin:./lib.so", backend));
    return path;
  }
  const char* hint =
      "name the library itself by plugin:/path/to/library.so, or its folder by the option plugin_folder";
  if (is_name(backend))
    if (std::string path = look(backend, folders); !path.empty()) return path;
  fail(Code::not_found, "backend",
       is_name(backend) ? format("'{}' is none of cpu, ref, null, and there is no plug-in {} in {}", backend,
                                 file_name(backend), join(folders))
                        : format("'{}' is not known; known: cpu, ref, null, and plug-ins by name (a-z, 0-9, "
                                 "_) or plugin:/path",
                                 backend),
       hint);
}

std::vector<PluginReport> report_plugins(const std::vector<std::string>& folders) {
  std::map<std::string, PluginReport> all;  // in the order of their names
  for (const std::string_view name : kKnownPlugins)
    all[std::string(name)] = {
        std::string(name), {}, false, format("there is no {} in {}", file_name(name), join(folders))};
  for (auto folder = folders.rbegin(); folder != folders.rend(); ++folder) {  // the first one wins
    std::error_code failed;
    for (fs::directory_iterator it(*folder, failed), end; !failed && it != end; it.increment(failed)) {
      const std::string file = it->path().filename().string();
      if (file.size() <= kPrefix.size() + kSuffix.size() || file.compare(0, kPrefix.size(), kPrefix) != 0 ||
          file.compare(file.size() - kSuffix.size(), kSuffix.size(), kSuffix) != 0)
        continue;
      const std::string name = file.substr(kPrefix.size(), file.size() - kPrefix.size() - kSuffix.size());
      if (is_name(name)) all[name] = {name, it->path().string(), false, {}};
    }
  }
  std::vector<PluginReport> out;
  for (auto& [name, report] : all) {
    if (!report.path.empty()) try {
        report.about = std::string(Plugin::load(report.path, 1, {})->about());
        report.runs = true;
      } catch (const Error& e) {
        report.about = e.message();
      }
    out.push_back(std::move(report));
  }
  return out;
}

}  // namespace ingle::backends
