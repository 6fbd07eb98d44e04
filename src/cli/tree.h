// The command line as data, from CLI11's tree: what shell completions and the manual page are made of.
#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace ingle::cli {

struct TreeOption {
  std::vector<std::string> names;  // "-t", "--threads"; empty: an argument by position
  std::string value;               // "N"; empty: a flag
  std::string help;
};
struct TreeCommand {
  std::string path;  // "bench latency"; empty: ingle itself
  std::string help, footer;
  std::vector<TreeOption> options, arguments;
  std::vector<std::string> words;  // that may follow: commands below, or what an argument may be
};

// Commands stand before those below them.
std::vector<TreeCommand> command_tree(const CLI::App& app);

}  // namespace ingle::cli
