// Hostile templates end in an error within their budget, on a thread with a stack of 256 KiB.
#include <pthread.h>

#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "ingle/error.hpp"
#include "support/catch.h"
#include "support/errors.h"
#include "support/paths.h"
#include "text/template/compile.h"

using ingle::Code;
using ingle::Error;
using ingle::tests::contains;
using ingle::tests::error_of;
using ingle::text::ChatTemplate;
using ingle::text::TemplateContext;

namespace {

// Sanitizers' frames are several times as large.
constexpr size_t kStack = (ingle::tests::kSanitized ? 1024 : 256) * 1024;

void on_small_stack(const std::function<void()>& body) {
  pthread_attr_t attr;
  REQUIRE(pthread_attr_init(&attr) == 0);
  REQUIRE(pthread_attr_setstacksize(&attr, kStack) == 0);
  pthread_t thread;
  const auto enter = [](void* arg) -> void* {
    (*static_cast<const std::function<void()>*>(arg))();
    return nullptr;
  };
  REQUIRE(pthread_create(&thread, &attr, enter, const_cast<std::function<void()>*>(&body)) == 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attr);
}

std::string times(const std::string& piece, size_t n) {
  std::string out;
  for (size_t i = 0; i < n; ++i) out += piece;
  return out;
}

// The error that compiling and rendering ends in; Code::ok when there was none.
Error outcome(const std::string& source, const std::string& context = "{}") {
  Error error(Code::ok, "", "");
  on_small_stack(
      [&] { error = error_of([&] { ChatTemplate::compile(source, "t")->render_json(context); }); });
  return error;
}

// Fails with a place, and not by running out of real memory. Few steps, so that the test is quick; what the
// full number bounds is the same.
void check_fails(const std::string& source) {
  ingle::text::jinja::Limits limits;
  limits.steps = 200'000;
  limits.live_bytes = 32u << 20;
  Error error(Code::ok, "", "");
  on_small_stack([&] {
    error = error_of([&] { ingle::text::jinja::compile(source, "t", limits)->render_json("{}"); });
  });
  INFO(source.substr(0, 200) << " gives " << error.what());
  CHECK(error.code() != Code::ok);
  CHECK(error.code() != Code::out_of_memory);
  CHECK(error.where().starts_with("t:"));
}

std::vector<std::string> lines_of(const std::string& relative) {
  std::ifstream in(ingle::tests::data_path(relative));
  std::vector<std::string> out;
  for (std::string line; std::getline(in, line);) out.push_back(line);
  REQUIRE(out.size() > 20);
  return out;
}

std::string rendered(const std::string& source, const std::string& context = "{}") {
  std::string out;
  on_small_stack([&] {
    try {
      out = ChatTemplate::compile(source, "t")->render_json(context);
    } catch (const Error& e) {
      out = e.what();
    }
  });
  return out;
}

}  // namespace

TEST_CASE("deeply nested sources are refused when compiled", "[template][limits]") {
  constexpr size_t kDeep = 40'000;
  struct Nesting {
    const char *before, *piece, *after;
  };
  static constexpr Nesting kNestings[] = {
      {"{{ ", "(", ""},
      {"{{ ", "[", ""},
      {"{{ ", "{'a':", ""},
      {"{{ ", "f(", ""},
      {"{{ ", "x[", ""},
      {"{{ ", "1 + (", ""},
      {"{{ ", "not (", ""},
      {"{{ ", "1 if 1 else (", ""},
      {"{{ x", ".a", " }}"},
      {"{{ x", "[0]", " }}"},
      {"{{ x", "()", " }}"},
      {"{{ x", "|upper", " }}"},
      {"{% set ", "(", ""},
      {"{% for ", "(", ""},
      {"", "{% if 1 %}", ""},
      {"", "{% for x in y %}", ""},
      {"", "{% set x %}", ""},
      {"", "{% macro m() %}", ""},
      {"", "{% filter upper %}", ""},
      {"{{ x", " is eq x.y", " }}"},
  };
  for (const Nesting& nesting : kNestings) {
    const std::string source = nesting.before + times(nesting.piece, kDeep) + nesting.after;
    const Error e = outcome(source);
    INFO(source.substr(0, 60) << " gives " << e.what());
    CHECK(e.code() == Code::unsupported);
    CHECK(e.where().starts_with("t:1:"));
  }
}

TEST_CASE("long flat sources are not deep", "[template][limits]") {
  constexpr size_t kLong = 20'000;
  CHECK(rendered("{{ 1" + times(" + 1", kLong) + " }}") == std::to_string(kLong + 1));
  CHECK(rendered("{{ 1" + times(" ~ ''", kLong) + " }}") == "1");
  CHECK(rendered("{{ 0" + times(" or 0", kLong) + " or 7 }}") == "7");
  CHECK(rendered("{{ " + times("-", kLong) + "1 }}") == "1");
  CHECK(rendered("{{ " + times("not ", kLong) + "1 }}") == "True");
  CHECK(rendered("{% if 0 %}" + times("{% elif 0 %}", kLong) + "{% else %}x{% endif %}") == "x");
  CHECK(rendered("{{ " + times("1 if 0 else ", kLong) + "2 }}") == "2");
  CHECK(rendered("{{ [" + times("1,", kLong) + "]|length }}") == std::to_string(kLong));
  CHECK(rendered("{{ " + times("'a' ", kLong) + "|length }}") == std::to_string(kLong));
}

TEST_CASE("endless and huge work is cut off", "[template][limits]") {
  for (const std::string& source : lines_of("text/template_hostile.txt")) check_fails(source);
  check_fails(times("{% set x %}" + times("{{ 'a' * 999999 }}", 16), 150) + times("{% endset %}", 150));
}

TEST_CASE("values that grow in a loop are cut off", "[template][limits]") {
  const std::string head =
      "{% set ns = namespace(s='aaaaaaaaaaaaaaaa', l=[1]) %}{% for i in range(99999) %}{% for j in range(9) "
      "%}";
  for (const std::string& body : lines_of("text/template_growing.txt")) {
    check_fails(head + body + "{% endfor %}{% endfor %}");
  }
}

TEST_CASE("values that share parts are not walked for ever", "[template][limits]") {
  // 2^60 paths through 60 lists.
  const std::string shared =
      "{% set ns = namespace(l=[], m=[]) %}{% for i in range(60) %}{% set ns.l = [ns.l, ns.l] %}"
      "{% set ns.m = [ns.m, ns.m] %}{% endfor %}";
  for (const char* use : {"{{ ns.l }}", "{{ ns.l == ns.m }}", "{{ ns.l|tojson }}", "{{ ns.l in [ns.m] }}",
                          "{{ ns.l < ns.m }}", "{{ ns.l|string|length }}", "{{ [ns.l, ns.m]|sort }}"}) {
    const Error e = outcome(shared + use);
    INFO(use << " gives " << e.what());
    CHECK(e.code() == Code::unsupported);
  }
}

TEST_CASE("a namespace may contain itself", "[template][limits]") {
  CHECK(rendered("{% set ns = namespace() %}{% set ns.a = ns %}{% set ns.b = [ns, [ns]] %}{{ ns.a.a.a is "
                 "sameas ns }}") == "True");
  CHECK(rendered("{% for x in [1] %}{% set ns = namespace(l=loop) %}{% set ns.m = loop.cycle %}{{ ns.l.index "
                 "}}{% endfor %}") == "1");
  CHECK(outcome("{% for x in [1] %}{{ loop.changed(loop) }}{% endfor %}").code() == Code::unsupported);
  // Chained, and freed without recursion.
  CHECK(rendered("{% set a = namespace(n=namespace()) %}{% for i in range(99999) %}{% set a.n = "
                 "namespace(n=a.n) %}{% endfor %}x") == "x");
  // Closures outlive the loop that made them.
  CHECK(rendered("{% set ns = namespace() %}{% for x in [1, 2] %}{% macro m() %}{{ x }}{% endmacro %}{% set "
                 "ns.m = m %}{% endfor %}{{ ns.m() }}") == "2");
  CHECK(rendered("{% set ns = namespace() %}{% for x in [[7], 2] recursive %}{% if loop.first and loop.depth "
                 "== 1 %}{% set ns.l = loop %}{% endif %}{% endfor %}{{ ns.l([]) }}ok") == "ok");
}

TEST_CASE("real recursion fits the small stack", "[template][limits]") {
  const std::string walk =
      "{% macro walk(t) %}{% if t is mapping %}{% for k, v in t.items() %}{{ k }}{{ walk(v) }}{% endfor %}{% "
      "else %}.{% endif %}{% endmacro %}{{ walk(tree) }}";
  const size_t depth = 24;
  CHECK(rendered(walk, R"({"tree": )" + times(R"({"a": )", depth) + "1" + times("}", depth) + "}") ==
        times("a", depth) + ".");
  CHECK(rendered("{% macro f(n) %}{% if n > 0 %}{{ n }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(40) }}")
            .size() == 71);
}

TEST_CASE("the variables are checked", "[template][limits]") {
  CHECK(outcome("x", "").code() == Code::ok);
  for (const char* json : {"{", "[]", "1", "{\"a\": 99999999999999999999}", "{\"a\": \"\xff\"}",
                           "{\"a\": \"\\ud800\"}", "{} x"}) {
    INFO(json);
    CHECK(outcome("x", json).code() != Code::ok);
  }
  const Error deep = outcome("x", "{\"a\": " + times("[", 100'000) + times("]", 100'000) + "}");
  CHECK(deep.code() == Code::unsupported);
  CHECK(contains(deep.message(), "deep"));
}

TEST_CASE("a template that is too long is refused", "[template][limits]") {
  CHECK(outcome(std::string(2u << 20, 'x')).code() == Code::unsupported);
}

TEST_CASE("limits can be set", "[template][limits]") {
  ingle::text::jinja::Limits limits;
  limits.steps = 100;
  const auto compiled =
      ingle::text::jinja::compile("{% for x in range(99) %}{{ x }}{% endfor %}", "few", limits);
  const Error e = error_of([&] { compiled->render_json("{}"); });
  CHECK(e.code() == Code::unsupported);
  CHECK(contains(e.message(), "100 steps"));
}
