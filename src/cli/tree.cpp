#include "tree.h"

namespace ingle::cli {
namespace {

TreeOption option(const CLI::Option& o) {
  TreeOption out;
  for (const std::string& n : o.get_snames()) out.names.push_back("-" + n);
  for (const std::string& n : o.get_lnames()) out.names.push_back("--" + n);
  out.help = o.get_description();
  if (!o.get_envname().empty()) out.help += " (environment: " + o.get_envname() + ")";
  if (o.get_items_expected_max() == 0) return out;
  const std::string type = o.get_type_name();  // with what it is checked for after a colon
  out.value = o.nonpositional() ? type.substr(0, type.find(':')) : o.get_name();
  if (out.value.empty()) out.value = "TEXT";
  return out;
}

// "{bash,zsh,fish}" of a checked argument.
std::vector<std::string> choices(const std::string& type) {
  std::vector<std::string> out;
  const size_t open = type.find('{'), close = type.find('}');
  if (open == std::string::npos || close == std::string::npos) return out;
  for (size_t at = open + 1; at <= close;) {
    const size_t end = type.find_first_of(",}", at);
    out.push_back(type.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

void add(const CLI::App& app, const std::string& path, std::vector<TreeCommand>& out) {
  TreeCommand command{path, app.get_description(), app.get_footer(), {}, {}, {}};
  for (const CLI::Option* o : app.get_options()) {
    if (o->nonpositional()) {
      command.options.push_back(option(*o));
    } else {
      command.arguments.push_back(option(*o));
      for (std::string& word : choices(o->get_type_name())) command.words.push_back(std::move(word));
    }
  }
  const auto below = app.get_subcommands([](const CLI::App*) { return true; });
  for (const CLI::App* c : below) command.words.push_back(c->get_name());
  out.push_back(std::move(command));
  for (const CLI::App* c : below) add(*c, (path.empty() ? "" : path + " ") + c->get_name(), out);
}

}  // namespace

std::vector<TreeCommand> command_tree(const CLI::App& app) {
  std::vector<TreeCommand> out;
  add(app, "", out);
  out.front().words.push_back("help");  // main.cpp understands it before CLI11 does
  return out;
}

}  // namespace ingle::cli
