// What is wrong with a command line, and what was probably meant.
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
    const size_t dashes = std::min(word.find_first_not_of('-'), word.size());
    const bool part =
        word.size() >= 4 && (name.starts_with(word) || name.ends_with("-" + word.substr(dashes)));
    const size_t n = part ? 1 : edits(word, name);
    if (n < fewest) fewest = n, best = name;
  }
  return best.empty() ? "" : "; did you mean " + best + "?";
}

// An option's long names first: of those that are as near, the first is taken.
std::vector<std::string> flags_of(const CommandInfo& command) {
  std::vector<std::string> names;
  for (const CommandInfo::Option& o : command.options) {
    std::vector<std::string> own = o.names;
    std::stable_partition(own.begin(), own.end(), [](const std::string& n) { return n.starts_with("--"); });
    names.insert(names.end(), own.begin(), own.end());
  }
  return names;
}

int complain(const std::string& command, const std::string& what) {
  std::fprintf(stderr, "ingle: %s\nTry '%s --help'.\n", printable(what).c_str(), command.c_str());
  return kUsage;
}

// No command was given, or one that does not exist: the first word after those that were understood.
int unknown_command(const CommandInfo& group, const Parsed& wrong, const std::string& name,
                    const std::vector<std::string>& words) {
  if (words.empty()) {
    std::fputs(wrong.help.c_str(), stderr);
    return kUsage;
  }
  const std::string& word = words.front();
  if (word.starts_with('-'))
    return complain(name, "there is no option '" + word + "'" + near_miss(word, flags_of(group)));
  return complain(name, "there is no command '" + word + "'" + near_miss(word, group.commands));
}

}  // namespace

int report_usage(Command app, const Parsed& wrong, int argc, const char* const* argv) {
  const std::vector<CommandInfo> all = app.describe();
  const CommandInfo& command =
      *std::find_if(all.begin(), all.end(), [&](const CommandInfo& c) { return c.path == wrong.path; });
  const std::string name = wrong.path.empty() ? "ingle" : "ingle " + wrong.path;
  const auto depth = static_cast<int>(std::count(name.begin(), name.end(), ' ')) + 1;
  if (!command.commands.empty())
    return unknown_command(command, wrong, name, {argv + std::min(depth, argc), argv + argc});
  for (const std::string& word : wrong.remaining)
    if (word.size() > 1 && word.starts_with('-')) {
      const std::string flag = word.substr(0, word.find('='));
      return complain(name, "there is no option '" + flag + "'" + near_miss(flag, flags_of(command)));
    }
  if (wrong.too_many)
    return complain(name, "'" + (wrong.remaining.empty() ? std::string() : wrong.remaining.front()) +
                              "' is one argument too many; put a text of several words in quotes");
  return complain(name, wrong.text);
}

}  // namespace ingle::cli
