#include "command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>
#include <utility>

namespace ingle::cli {

Option Option::required() const { return Option(option_->required()); }
Option Option::excludes(Option other) const { return Option(option_->excludes(other.option_)); }
Option Option::needs(Option other) const { return Option(option_->needs(other.option_)); }
Option Option::one_value_each() const { return Option(option_->allow_extra_args(false)); }
Option Option::separator(char c) const { return Option(option_->delimiter(c)); }
Option Option::type_name(const std::string& name) const { return Option(option_->type_name(name)); }
Option Option::environment(const std::string& variable) const { return Option(option_->envname(variable)); }
Option Option::one_of(const std::vector<std::string>& values) const {
  std::string all, words;
  for (const std::string& v : values) {
    all += (all.empty() ? "" : ",") + v;
    words += (words.empty() ? "" : ", ") + v;
  }
  return Option(option_->check(CLI::Validator(
      [values, words](const std::string& text) {
        const bool known = std::find(values.begin(), values.end(), text) != values.end();
        return known ? std::string() : "is '" + text + "', expected one of " + words;
      },
      "{" + all + "}")));
}
Option Option::range(int64_t low, int64_t high) const {
  const std::string ends = std::to_string(low) + " to " + std::to_string(high);
  return Option(option_->check(CLI::Validator(
      [low, high, ends](const std::string& text) {
        int64_t value = 0;
        const bool whole = CLI::detail::lexical_cast(text, value);
        return whole && value >= low && value <= high ? std::string() : "is '" + text + "', expected " + ends;
      },
      ends)));
}
Option Option::not_negative() const {
  return Option(option_->check(CLI::Validator(
      [](const std::string& text) {
        double value = 0;
        const bool good = CLI::detail::lexical_cast(text, value) && value >= 0;
        return good ? std::string() : "is '" + text + "', expected a number, 0 or more";
      },
      "NONNEGATIVE")));
}
size_t Option::count() const { return option_->count(); }

Command Command::command(const std::string& name, const std::string& help) const {
  return Command(app_->add_subcommand(name, help));
}

Option Command::option(const std::string& names, std::string& value, const std::string& help) const {
  return Option(app_->add_option(names, value, help));
}
Option Command::option(const std::string& names, std::vector<std::string>& values,
                       const std::string& help) const {
  return Option(app_->add_option(names, values, help));
}
Option Command::option(const std::string& names, std::vector<int32_t>& values,
                       const std::string& help) const {
  return Option(app_->add_option(names, values, help));
}
Option Command::option(const std::string& names, int32_t& value, const std::string& help) const {
  return Option(app_->add_option(names, value, help));
}
Option Command::option(const std::string& names, int64_t& value, const std::string& help) const {
  return Option(app_->add_option(names, value, help));
}
Option Command::option(const std::string& names, float& value, const std::string& help) const {
  return Option(app_->add_option(names, value, help));
}
Option Command::option(const std::string& names, double& value, const std::string& help) const {
  return Option(app_->add_option(names, value, help));
}
Option Command::option(const std::string& names, const std::function<void(const std::string&)>& set,
                       const std::string& help) const {
  return Option(app_->add_option_function<std::string>(names, set, help));
}
Option Command::option(const std::string& names, const std::function<void(const double&)>& set,
                       const std::string& help) const {
  return Option(app_->add_option_function<double>(names, set, help));
}
Option Command::flag(const std::string& names, bool& value, const std::string& help) const {
  return Option(app_->add_flag(names, value, help));
}

void Command::footer(const std::string& text) const { app_->footer(text); }
std::string Command::footer() const { return app_->get_footer(); }
void Command::require_command() const { app_->require_subcommand(1); }
void Command::require_options(size_t least, size_t most) const { app_->require_option(least, most); }
bool Command::parsed() const { return app_->parsed(); }

namespace {

CommandInfo::Option describe_option(const CLI::Option& o) {
  CommandInfo::Option out;
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

std::string joined(const std::string& path, const std::string& name) {
  return path.empty() ? name : path + " " + name;
}

void describe_command(const CLI::App& app, const std::string& path, std::vector<CommandInfo>& out) {
  CommandInfo command{path, app.get_description(), app.get_footer(), {}, {}, {}, {}};
  for (const CLI::Option* o : app.get_options()) {
    if (o->nonpositional()) {
      command.options.push_back(describe_option(*o));
    } else {
      command.arguments.push_back(describe_option(*o));
      for (std::string& word : choices(o->get_type_name())) command.words.push_back(std::move(word));
    }
  }
  const auto below = app.get_subcommands([](const CLI::App*) { return true; });
  for (const CLI::App* c : below) command.commands.push_back(c->get_name());
  command.words.insert(command.words.end(), command.commands.begin(), command.commands.end());
  out.push_back(std::move(command));
  for (const CLI::App* c : below) describe_command(*c, joined(path, c->get_name()), out);
}

}  // namespace

std::vector<CommandInfo> Command::describe() const {
  std::vector<CommandInfo> out;
  describe_command(*app_, "", out);
  return out;
}

namespace {

// The parser's "Could not convert: --runs = many" in the words of our own errors. Only numbers are converted.
std::string with_expected(const std::string& text) {
  const std::string begin = "Could not convert: ", middle = " = ";
  const size_t at = text.find(middle);
  if (!text.starts_with(begin) || at == std::string::npos) return text;
  return text.substr(begin.size(), at - begin.size()) + ": is '" + text.substr(at + middle.size()) +
         "', expected a number";
}

}  // namespace

CommandLine::CommandLine(const std::string& name, const std::string& help, const std::string& version)
    : app_(std::make_unique<CLI::App>(help, name)) {
  app_->set_version_flag("--version", version);
  app_->get_formatter()->column_width(34);
}
CommandLine::~CommandLine() = default;

Parsed CommandLine::parse(int argc, const char* const* argv) {
  Parsed out;
  try {
    app_->parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) {  // --help, --version
      std::ostringstream text;
      app_->exit(e, text);
      out.kind = Parsed::Kind::text;
      out.text = text.str();
      return out;
    }
    out.kind = Parsed::Kind::wrong;
    out.text = with_expected(e.what());
    out.too_many = dynamic_cast<const CLI::ExtrasError*>(&e) != nullptr;
    out.help = app_->help();  // of the last command that was understood
    const CLI::App* last = app_.get();
    while (!last->get_subcommands().empty()) {
      last = last->get_subcommands().front();
      out.path = joined(out.path, last->get_name());
    }
    out.remaining = last->remaining();
  }
  return out;
}

}  // namespace ingle::cli
