// Where plug-in libraries lie.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace ingle::backends {

// Names that have a plug-in in this tree.
inline constexpr std::string_view kKnownPlugins[] = {"eigen", "onednn", "openblas"};

// The given folder alone; or where none is given, the one that holds this code (the shared library, or the
// program it is linked into) and that of the libraries installed with it.
std::vector<std::string> plugin_folders(const std::string& given);

// "openblas" or "plugin:/path/to/library.so" → the library's path, which is a file. Throws
// Code::invalid_argument (no path, or a name that cannot be one) or Code::not_found, naming what was looked
// for and where.
std::string find_plugin(std::string_view backend, const std::vector<std::string>& folders);

// What there is: every name of ours, and every libingle_backend_*.so in the folders; each is loaded.
struct PluginReport {
  std::string name, path;  // of the file; empty when there is none
  bool runs = false;
  std::string about;  // the plug-in's own line, or why it does not run
};
std::vector<PluginReport> report_plugins(const std::vector<std::string>& folders);

}  // namespace ingle::backends
