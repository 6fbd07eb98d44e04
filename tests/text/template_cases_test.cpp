// Small templates against what jinja2 made of them: tests/data/text/template_cases.py.
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "ingle/error.hpp"
#include "support/catch.h"
#include "support/paths.h"
#include "text/chat_template.h"

using nlohmann::ordered_json;

namespace {

// Refused on purpose, though jinja2 prints something; a row that starts to work must leave this list.
const std::set<std::string> kRefused = {"{{ d.items }}", "{{ xs|reverse }}"};

}  // namespace

TEST_CASE("small templates agree with jinja2", "[template]") {
  std::ifstream in(ingle::tests::data_path("text/template_cases.jsonl"));
  std::string context, line;
  REQUIRE(std::getline(in, context));
  int n = 0;
  for (; std::getline(in, line); ++n) {
    const auto row = ordered_json::parse(line);
    const std::string source = row["source"];
    std::string got;
    bool ok = false;
    try {
      got = ingle::text::ChatTemplate::compile(source, "t")->render_json(context, 1722002709);
      ok = true;
    } catch (const ingle::Error& e) {
      got = e.what();
    }
    INFO(source << "  gives  " << got);
    if (kRefused.count(source)) {
      CHECK_FALSE(ok);
    } else if (row.contains("error")) {
      INFO("jinja2 raises " << row["error"]);
      CHECK_FALSE(ok);
    } else {
      CHECK(got == row["output"].get<std::string>());
      CHECK(ok);
    }
  }
  CHECK(n > 600);
}
