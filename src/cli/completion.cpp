// completion SHELL: what makes bash, zsh or fish complete commands, options and files.
#include <algorithm>
#include <cstdio>

#include "common.h"

namespace ingle::cli {
namespace {

using Tree = std::vector<CommandInfo>;

std::string replaced(std::string text, const std::string& characters, const std::string& before) {
  for (size_t at = 0; (at = text.find_first_of(characters, at)) != std::string::npos; at += before.size() + 1)
    text.insert(at, before);
  return text;
}

// In single quotes for a POSIX shell.
std::string shell_quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string names(const CommandInfo& command) {
  std::string out;
  for (const std::string& w : command.words) out += w + " ";
  for (const CommandInfo::Option& o : command.options)
    for (const std::string& n : o.names) out += n + " ";
  if (!out.empty()) out.pop_back();
  return out;
}

std::string bash(const Tree& tree) {
  std::string paths, lists, groups = "\"\"";
  for (const CommandInfo& c : tree) {
    lists += "    " + shell_quoted(c.path) + ") words=" + shell_quoted(names(c)) + " ;;\n";
    if (c.path.empty()) continue;
    paths += (paths.empty() ? "" : " | ") + shell_quoted(c.path);
    if (!c.words.empty()) groups += " | " + shell_quoted(c.path);
  }
  return "# bash completion for ingle. Load it with: source <(ingle completion bash)\n"
         "_ingle() {\n"
         "  local current=\"${COMP_WORDS[COMP_CWORD]}\" path=\"\" words=\"\" i word\n"
         "  COMPREPLY=()\n"
         "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
         "    word=\"${COMP_WORDS[i]}\"\n"
         "    [[ $i == 1 && $word == help ]] && continue\n"
         "    case \"${path:+$path }$word\" in\n      " +
         paths +
         ") path=\"${path:+$path }$word\" ;;\n    esac\n  done\n"
         "  case \"$path\" in\n" +
         lists +
         "  esac\n"
         "  # Anything else is a file, which bash completes by itself.\n"
         "  case \"$path\" in\n    " +
         groups +
         ") ;;\n    *) [[ $current == -* ]] || return 0 ;;\n  esac\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
         "}\n"
         "complete -o default -F _ingle ingle\n";
}

std::string zsh_options(const CommandInfo& command) {
  std::string out;
  for (const CommandInfo::Option& o : command.options)
    for (const std::string& n : o.names) {
      std::string spec = n;
      if (!o.value.empty()) spec += n.starts_with("--") ? "=" : "+";
      spec += "[" + replaced(o.help, "[]:\\", "\\") + "]";
      if (!o.value.empty()) spec += ":" + replaced(o.value, ":\\", "\\") + ":_files";
      out += " \\\n        " + shell_quoted(spec);
    }
  return out;
}

std::string zsh_words(const Tree& tree, const CommandInfo& command) {
  std::string out;
  for (const std::string& w : command.words) {
    const std::string path = (command.path.empty() ? "" : command.path + " ") + w;
    const auto found =
        std::find_if(tree.begin(), tree.end(), [&](const CommandInfo& c) { return c.path == path; });
    out += " " + shell_quoted(w + ":" + (found == tree.end() ? w : replaced(found->help, ":\\", "\\")));
  }
  return out;
}

std::string zsh(const Tree& tree) {
  std::string cases;
  for (const CommandInfo& c : tree) {
    if (c.path.empty()) continue;
    cases += "    " + shell_quoted(c.path) + ")\n      ";
    if (!c.words.empty()) cases += "words_below=(" + zsh_words(tree, c) + " )\n      ";
    cases += "_arguments" + zsh_options(c) + " \\\n        " +
             (c.words.empty() ? "'*:file:_files'" : "'1:what:{_describe what words_below}' '*:file:_files'") +
             "\n      ;;\n";
  }
  return "#compdef ingle\n"
         "# zsh completion for ingle. Put it into a folder of $fpath as _ingle.\n"
         "_ingle() {\n"
         "  local -a words_below\n"
         "  local command_path=\"${words[2]}\"\n"
         "  if ((CURRENT == 2)); then\n"
         "    words_below=(" +
         zsh_words(tree, tree.front()) +
         " )\n"
         "    _describe command words_below\n"
         "    _arguments" +
         zsh_options(tree.front()) +
         "\n    return\n"
         "  fi\n"
         "  shift words\n"
         "  ((CURRENT--))\n"
         "  case \"$command_path ${words[2]}\" in  # commands of two words\n" +
         [&] {
           std::string two;
           for (const CommandInfo& c : tree)
             if (c.path.find(' ') != std::string::npos)
               two += "    " + shell_quoted(c.path) +
                      ") ((CURRENT > 2)) && command_path=" + shell_quoted(c.path) +
                      " && shift words && ((CURRENT--)) ;;\n";
           return two;
         }() +
         "  esac\n"
         "  case \"$command_path\" in\n" +
         cases +
         "  esac\n"
         "}\n"
         "_ingle \"$@\"\n";
}

std::string fish(const Tree& tree) {
  std::string out = "# fish completion for ingle. Load it with: ingle completion fish | source\n";
  const auto fish_quoted = [](const std::string& text) { return "'" + replaced(text, "'\\", "\\") + "'"; };
  for (const CommandInfo& c : tree) {
    std::string when = "__fish_use_subcommand";
    if (!c.path.empty()) {
      when.clear();
      for (size_t at = 0; at < c.path.size();) {
        const size_t end = std::min(c.path.find(' ', at), c.path.size());
        when +=
            (when.empty() ? "" : "; and ") + ("__fish_seen_subcommand_from " + c.path.substr(at, end - at));
        at = end + 1;
      }
    }
    const std::string line = "complete -c ingle -n " + fish_quoted(when);
    for (const std::string& w : c.words) {
      const std::string path = (c.path.empty() ? "" : c.path + " ") + w;
      const auto found =
          std::find_if(tree.begin(), tree.end(), [&](const CommandInfo& t) { return t.path == path; });
      out += line + (c.path.empty() ? " -f" : "") + " -a " + fish_quoted(w) +
             (found == tree.end() ? "" : " -d " + fish_quoted(found->help)) + "\n";
    }
    for (const CommandInfo::Option& o : c.options) {
      out += line;
      for (const std::string& n : o.names)
        out += n.starts_with("--") ? " -l " + n.substr(2) : " -s " + n.substr(1);
      out += (o.value.empty() ? "" : " -r") + (" -d " + fish_quoted(o.help)) + "\n";
    }
  }
  return out;
}

Tree tree_of(Command app) {
  Tree tree = app.describe();
  tree.front().words.push_back("help");  // main.cpp understands it before the parser does
  return tree;
}

}  // namespace

void add_completion(Command app, Commands& commands) {
  auto shell = std::make_shared<std::string>();
  Command c = app.command("completion", "What makes a shell complete commands, options and files");
  c.option("SHELL", *shell, "bash, zsh or fish").required().one_of({"bash", "zsh", "fish"});
  c.footer(
      "Examples:\n  source <(ingle completion bash)\n"
      "  ingle completion zsh > ~/.zfunc/_ingle\n  ingle completion fish | source");
  commands.emplace_back(c, [shell, app] {
    const Tree tree = tree_of(app);
    const std::string text = *shell == "bash" ? bash(tree) : *shell == "zsh" ? zsh(tree) : fish(tree);
    std::fwrite(text.data(), 1, text.size(), stdout);
    return static_cast<int>(kOk);
  });
}

}  // namespace ingle::cli
