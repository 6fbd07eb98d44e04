"""Annotations and stubs. Not part of the plain run: mypy reads the package as it is built."""
import os
import subprocess
import sys

import ingle
from conftest import ROOT

PACKAGE = os.path.dirname(ingle.__file__)
GOOD = '''
import ingle
from typing import assert_type

with ingle.Model("m.gguf", threads=2, map=False) as model:
    assert_type(model.chat("hi", temperature=0.2, stop=["x"], max_tokens=4), str)
    session = model.session(context=512)
    session.feed_chat([{"role": "user", "content": "hi"}])
    for event in session.stream(ingle.Sampler(seed=1), top_logprobs=2):
        assert_type(event.top, list[tuple[int, float]])
        if event.finish == "stop":
            break
    row: memoryview = session.logits()
    session.tap(["embedding", 3, "logits"], lambda seen: print(seen.point, seen.values))
    assert_type(session.beam_search(beams=2)[0]["score"], float)
    with ingle.Engine(model, max_running=4) as engine:
        number: int = engine.submit("hi", temperature=0.2, max_tokens=4, band=0, tenant="a")
        for told in engine:
            assert_type(told.event.text, str)
        assert_type(engine.generate(["a", [1, 2]], top_k=4), list[str])
    assert_type(ingle.plan_memory("m.gguf", context=64, state_type="f16")["total_bytes"], int)
    ingle.Sampler(stages={"mine": lambda logits, ids, accepted: None}, temperature=0.1)
'''
BAD = {  # what a checker must refuse, each with a part of what it says
    'ingle.Sampler(temprature=1.0)': "temprature",
    'ingle.Sampler(temperature="warm")': "temperature",
    'ingle.Model("m").chat("hi", max_tokens="4")': "max_tokens",
    'ingle.Model("m").session().feed_chat([{"rol": "user", "content": "x"}])': "rol",
    'ingle.Engine(ingle.Model("m"), max_runing=4)': "max_runing",
    'ingle.Engine(ingle.Model("m")).submit("x", band="first")': "band",
    'ingle.Model("m").session().tap(["nowhere"], print)': "nowhere",
    'next(ingle.Model("m").session().stream()).finish == "ended"': "comparison",
}


def mypy(*arguments, module="mypy"):
    done = subprocess.run([sys.executable, "-m", module, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout.decode(errors="replace")


def test_users_are_checked(tmp_path):
    lines = ["import ingle"] + list(BAD)
    (tmp_path / "good.py").write_text(GOOD)
    (tmp_path / "bad.py").write_text("\n".join(lines) + "\n")
    cache = str(tmp_path / "cache")
    code, out = mypy("--strict", "--cache-dir", cache, "-p", "ingle")
    assert code == 0, out
    code, out = mypy("--strict", "--cache-dir", cache, str(tmp_path / "good.py"))
    assert code == 0, out
    code, out = mypy("--strict", "--cache-dir", cache, str(tmp_path / "bad.py"))
    assert code == 1, out
    for number, (line, says) in enumerate(BAD.items(), 2):
        assert any(f"bad.py:{number}:" in m and says in m for m in out.splitlines()), (line, out)


def test_stubs_are_what_the_module_is():
    allowed = os.path.join(ROOT, "tests", "python", "stubtest_allowed.txt")
    code, out = mypy("ingle._ingle", "--allowlist", allowed, "--ignore-unused-allowlist", module="mypy.stubtest")
    assert code == 0, out


def test_option_types_are_what_the_library_says():
    tool = os.path.join(ROOT, "bindings", "python", "tools", "make_option_types.py")
    done = subprocess.run([sys.executable, tool, "--check"], stdout=subprocess.PIPE)
    assert done.returncode == 0, done.stdout.decode()


def test_everything_public_is_described():
    undocumented = []
    for name in ingle.__all__:
        thing = getattr(ingle, name)
        if callable(thing) and getattr(thing, "__module__", "").startswith("ingle") and not thing.__doc__:
            undocumented.append(name)
    assert not undocumented
    assert os.path.exists(os.path.join(PACKAGE, "py.typed"))
