// man: the manual page, in man(7)'s macros, from the same tree as the help.
#include <algorithm>
#include <cstdio>

#include "common.h"

namespace ingle::cli {
namespace {

// Text as troff shall show it.
std::string escaped(const std::string& text) {
  std::string out;
  bool line_begins = true;
  for (const char c : text) {
    if (line_begins && (c == '.' || c == '\'')) out += "\\&";
    line_begins = c == '\n';
    out += c == '\\' ? std::string("\\e") : c == '-' ? std::string("\\-") : std::string(1, c);
  }
  return out;
}

std::string paragraph(const CommandInfo::Option& o) {
  std::string head;
  for (const std::string& n : o.names) head += (head.empty() ? "\\fB" : ", \\fB") + escaped(n) + "\\fR";
  if (!o.value.empty()) head += (head.empty() ? "\\fI" : " \\fI") + escaped(o.value) + "\\fR";
  return ".TP\n" + head + "\n" + escaped(o.help) + "\n";
}

std::string as_it_stands(const std::string& text) { return ".PP\n.nf\n" + escaped(text) + "\n.fi\n"; }

std::string page(const std::vector<CommandInfo>& tree) {
  const CommandInfo& top = tree.front();
  std::string out = ".\\\" Made by `ingle man`.\n.TH INGLE 1 \"\" \"ingle " + std::string(version()) +
                    "\" \"User Commands\"\n.SH NAME\ningle \\- run language models on this machine\n"
                    ".SH SYNOPSIS\n.B ingle\n.I COMMAND\n[\\fIOPTION\\fR]... [\\fIARGUMENT\\fR]...\n"
                    ".SH DESCRIPTION\n" +
                    escaped(top.help) +
                    "\nData is written to standard output, everything else to standard error.\n";
  out += ".SH OPTIONS\n";
  for (const CommandInfo::Option& o : top.options) out += paragraph(o);
  out += ".SH COMMANDS\n";
  for (const CommandInfo& c : tree) {
    if (c.path.empty()) continue;
    out += ".SS \"ingle " + escaped(c.path);
    for (const CommandInfo::Option& a : c.arguments) out += " " + escaped(a.value);
    out += "\"\n" + escaped(c.help) + "\n";
    for (const CommandInfo::Option& a : c.arguments) out += paragraph(a);
    for (const CommandInfo::Option& o : c.options) out += paragraph(o);
    if (!c.footer.empty()) out += as_it_stands(c.footer);
  }
  return out + ".SH NOTES\n" + as_it_stands(top.footer);
}

}  // namespace

void add_man(Command app, Commands& commands) {
  Command c = app.command("man", "The manual page");
  c.footer("Examples:\n  ingle man | man -l -\n  ingle man > ingle.1");
  commands.emplace_back(c, [app] {
    const std::string text = page(app.describe());
    std::fwrite(text.data(), 1, text.size(), stdout);
    return static_cast<int>(kOk);
  });
}

}  // namespace ingle::cli
