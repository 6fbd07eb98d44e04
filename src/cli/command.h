// What the commands say of themselves: their options, checks and examples. Handles over the parser's own
// objects, so that its header, slow to compile, is command.cpp's alone.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace ingle::cli {

// One option, flag or argument; copies mean the same one. Each call gives itself back, to be chained.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option required() const;
  Option excludes(Option other) const;  // not both
  Option needs(Option other) const;     // not without it
  Option one_value_each() const;        // of a list: may be repeated, and takes no second value
  Option separator(char c) const;       // of a list: between the values of one argument
  Option type_name(const std::string& name) const;
  Option environment(const std::string& variable) const;  // where the command line does not say it

  // What is checked when the value is read.
  Option one_of(const std::vector<std::string>& values) const;
  Option range(int64_t low, int64_t high) const;
  Option not_negative() const;

  size_t count() const;  // after parsing: how often it was given

 private:
  CLI::Option* option_;
};

// A command as data: what help, completions and near misses are made of.
struct CommandInfo {
  struct Option {
    std::vector<std::string> names;  // "-t", "--threads"; empty: an argument by position
    std::string value;               // "N"; empty: a flag
    std::string help;
  };
  std::string path;  // "bench latency"; empty: ingle itself
  std::string help, footer;
  std::vector<Option> options, arguments;
  std::vector<std::string> commands;  // the names of those below
  std::vector<std::string> words;     // that may follow: commands below, or what an argument may be
};

// The program or a command below it; copies mean the same one. What is bound to an option must live until the
// command line is parsed, which writes it.
class Command {
 public:
  explicit Command(CLI::App* app) : app_(app) {}

  Command command(const std::string& name, const std::string& help) const;  // below this one

  // A name without dashes is an argument by position.
  Option option(const std::string& names, std::string& value, const std::string& help) const;
  Option option(const std::string& names, std::vector<std::string>& values, const std::string& help) const;
  Option option(const std::string& names, std::vector<int32_t>& values, const std::string& help) const;
  Option option(const std::string& names, int32_t& value, const std::string& help) const;
  Option option(const std::string& names, int64_t& value, const std::string& help) const;
  Option option(const std::string& names, float& value, const std::string& help) const;
  Option option(const std::string& names, double& value, const std::string& help) const;
  // Called with the value; what it throws ends the parsing.
  Option option(const std::string& names, const std::function<void(const std::string&)>& set,
                const std::string& help) const;
  Option option(const std::string& names, const std::function<void(const double&)>& set,
                const std::string& help) const;
  Option flag(const std::string& names, bool& value, const std::string& help) const;

  void footer(const std::string& text) const;
  std::string footer() const;
  void require_command() const;                           // exactly one of those below
  void require_options(size_t least, size_t most) const;  // most 0: any number
  bool parsed() const;                                    // whether the command line names it
  std::vector<CommandInfo> describe() const;              // this first, then all below, depth first

 private:
  CLI::App* app_;
};

// What came of a command line.
struct Parsed {
  enum class Kind { command, text, wrong };
  Kind kind = Kind::command;
  std::string text;  // of Kind::text: what was asked for, to be printed; of Kind::wrong: the parser's words

  // Of Kind::wrong alone:
  std::string path;                    // the last command that was understood: "bench latency"
  std::string help;                    // its help
  std::vector<std::string> remaining;  // the words that it did not understand
  bool too_many = false;               // nothing else is wrong than that they are there
};

// The program's command line, which owns all that commands add to it.
class CommandLine {
 public:
  CommandLine(const std::string& name, const std::string& help, const std::string& version);
  ~CommandLine();
  Command top() const { return Command(app_.get()); }
  Parsed parse(int argc, const char* const* argv);

 private:
  std::unique_ptr<CLI::App> app_;
};

}  // namespace ingle::cli
