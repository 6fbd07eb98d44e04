// What is wrong with a command line, and what was probably meant.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <numeric>
#include <utility>

#include "common.h"

namespace ingle::cli {
namespace {

// Typing errors between two words: letters added, left out, replaced, or swapped with their neighbour
// (Damerau's distance, each place edited once).
size_t edits(const std::string& a, const std::string& b) {
  std::vector<size_t> before, last, row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    before = std::exchange(last, row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j - 1] + (a[i - 1] != b[j - 1]), last[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row.back();
}

// "; did you mean --threads?", or nothing when no name is near.
std::string near_miss(const std::string& word, const std::vector<std::string>& names) {
  std::string best;
  size_t fewest = std::max<size_t>(1, word.size() / 3) + 1;
  for (const std::string& name : names) {
    const bool begun = word.size() >= 4 && name.starts_with(word);
    const size_t n = begun ? 1 : edits(word, name);
    if (n < fewest) fewest = n, best = name;
  }
  return best.empty() ? "" : "; did you mean " + best + "?";
}

std::vector<std::string> flags_of(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* o : command.get_options()) {
    for (const std::string& n : o->get_lnames()) names.push_back("--" + n);
    for (const std::string& n : o->get_snames()) names.push_back("-" + n);
  }
  return names;
}

int complain(const std::string& command, const std::string& what) {
  std::fprintf(stderr, "ingle: %s\nTry '%s --help'.\n", printable(what).c_str(), command.c_str());
  return kUsage;
}

// No command was given, or one that does not exist: the first word after those that were understood.
int unknown_command(const CLI::App& app, const std::string& name, const std::vector<std::string>& words) {
  if (words.empty()) {
    const size_t space = name.rfind(' ');  // the help says the last word itself
    const std::string before = space == std::string::npos ? "" : name.substr(0, space);
    std::fputs(app.help(before).c_str(), stderr);
    return kUsage;
  }
  const std::string& word = words.front();
  if (word.starts_with('-'))
    return complain(name, "there is no option '" + word + "'" + near_miss(word, flags_of(app)));
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  return complain(name, "there is no command '" + word + "'" + near_miss(word, names));
}

}  // namespace

int report_usage(const CLI::App& app, const std::exception& error, int argc, const char* const* argv) {
  const CLI::App* found = &app;
  std::string name = "ingle";
  int depth = 1;
  for (; !found->get_subcommands().empty(); ++depth) {
    found = found->get_subcommands().front();
    name += " " + found->get_name();
  }
  const CLI::App& command = *found;
  if (!command.get_subcommands({}).empty())
    return unknown_command(command, name, {argv + std::min(depth, argc), argv + argc});
  for (const std::string& word : command.remaining())
    if (word.size() > 1 && word.starts_with('-')) {
      const std::string flag = word.substr(0, word.find('='));
      return complain(name, "there is no option '" + flag + "'" + near_miss(flag, flags_of(command)));
    }
  if (dynamic_cast<const CLI::ExtrasError*>(&error)) {
    const auto extra = command.remaining();
    return complain(name, "'" + (extra.empty() ? std::string() : extra.front()) +
                              "' is one argument too many; put a text of several words in quotes");
  }
  return complain(name, error.what());
}

}  // namespace ingle::cli
