// One JSON object a line on stdin, one answer a line on stdout.
#pragma once
#include <string>

#include "common.h"
#include "json_out.h"

namespace ingle::cli {

// Thrown by what reads a line's fields: says what is wrong with the line.
struct Wrong {
  std::string what;
};

// `f` takes the line's object and the line itself, and returns what is printed.
template <class F>
int each_line(F f) {
  int64_t number = 0;
  for (std::string line; read_line(line);) {
    ++number;
    if (line.empty()) continue;
    const Json in = Json::parse(line, nullptr, false);
    const std::string where = "stdin, line " + std::to_string(number);
    if (!in.is_object()) throw Error(Code::invalid_argument, where, "is not a JSON object in UTF-8");
    try {
      print_json(f(in, line));
    } catch (const Wrong& wrong) {
      throw Error(Code::invalid_argument, where, wrong.what);
    } catch (const Error& e) {
      throw Error(e.code(), where + ", " + e.where(), e.message(), e.hint());
    }
    check_stdout();
  }
  return kOk;
}

}  // namespace ingle::cli
