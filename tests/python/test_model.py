"""Loading, options, errors, tokenizers, samplers."""
import array
import gc
import json
import math
import os
import pickle
import re
import subprocess
import sys

import pytest

import ingle
from conftest import ROOT, SMALL

TEMPLATE = "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}{% if add_generation_prompt %}>{% endif %}"


def test_two_lines_answer(default_model):
    with ingle.Model(default_model) as model:
        assert "Paris" in model.chat("What is the capital of France?", temperature=0, max_tokens=16)


def test_info_and_closing(runtime):
    model = ingle.Model(SMALL, runtime=runtime)
    assert model.info["architecture"] == "qwen2" and model.info["n_vocab"] == len(model.tokenizer) == 320
    session = model.session()
    model.close()
    model.close()
    assert model.closed
    with pytest.raises(ingle.InvalidArgumentError, match="the model: was closed"):
        model.info
    session.feed_text("goes on")  # a session keeps what it needs
    assert len(session.tokens) > 0


def test_paths_of_all_kinds(runtime, tmp_path):
    ingle.Model(os.fsencode(SMALL), runtime=runtime)
    odd = tmp_path / "na\u00efve \u2603.gguf"
    odd.symlink_to(SMALL)
    ingle.Model(odd, runtime=runtime)
    assert ingle.inspect(odd)["metadata"]["general.architecture"] == "qwen2"


def test_from_bytes_borrows_for_as_long_as_it_is_needed(runtime):
    with open(SMALL, "rb") as f:
        data = bytearray(f.read())
    expected = ingle.Model(SMALL, runtime=runtime).session()
    expected.feed_text("Hello")
    session = ingle.Model.from_bytes(data, runtime=runtime).session()
    with pytest.raises(BufferError):
        data.clear()
    gc.collect()
    session.feed_text("Hello")
    assert session.logits() == expected.logits()
    del session
    gc.collect()
    data.clear()  # nobody borrows it any more
    with pytest.raises(ingle.CorruptError):
        ingle.Model.from_bytes(b"no model", runtime=runtime)
    with pytest.raises(TypeError):
        ingle.Model.from_bytes("a text", runtime=runtime)


def test_errors_are_of_the_right_class_and_say_where(runtime, tmp_path):
    missing = tmp_path / "missing.gguf"
    with pytest.raises(ingle.NotFoundError) as e:
        ingle.Model(missing, runtime=runtime)
    assert "missing.gguf" in str(e.value) and e.value.code == 2 and e.value.where and e.value.message
    assert isinstance(e.value, (ingle.Error, LookupError))
    with pytest.raises(ingle.NotFoundError) as e:
        ingle.Sampler(temprature=1)
    assert 'did you mean "temperature"?' in e.value.hint
    with pytest.raises(ingle.InvalidArgumentError, match="top_p") as e:
        ingle.Sampler(top_p=1.5)
    again = pickle.loads(pickle.dumps(e.value))
    assert (type(again), str(again), again.code) == (type(e.value), str(e.value), 1)
    for base, kind in [(ValueError, "InvalidArgumentError"), (MemoryError, "OutOfMemoryError"),
                       (OSError, "FileError"), (ArithmeticError, "NumericError"), (RuntimeError, "InternalError")]:
        assert issubclass(getattr(ingle, kind), base)


def test_every_code_has_its_class():
    from ingle import _ingle, errors
    code = 1
    while (name := _ingle.code_name(code)) not in ("unknown", "", _ingle.code_name(9999)):
        made = errors.make(code, "here", "what", "")
        assert made.code == code and (type(made) is not ingle.Error), name
        code += 1
    assert code > 11
    assert type(errors.make(9999, "here", "what", "")) is ingle.Error


def test_options_take_what_python_has():
    s = ingle.Sampler(temperature=1, top_k=True, seed=7, top_p=None, logit_bias={65: -math.inf, 66: 2})
    assert str(s).startswith("logit_bias > top_k > ")
    for bad in [float("nan"), float("inf"), "warm", [1], 10**30]:
        with pytest.raises(ingle.InvalidArgumentError):
            ingle.Sampler(temperature=bad)
    with pytest.raises(ingle.InvalidArgumentError):
        ingle.Sampler(logit_bias={-1: 2.0})
    keys = {o["key"] for o in ingle.options("sampler")}
    assert {"temperature", "seed", "logit_bias"} <= keys
    with pytest.raises(ingle.NotFoundError):
        ingle.options("nosuch")


def test_progress_is_called_and_may_end_a_load(runtime):
    heard = []
    ingle.Model(SMALL, runtime=runtime, progress=heard.append)
    assert heard and heard == sorted(heard) and heard[-1] == 1.0

    def stop(fraction):
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        ingle.Model(SMALL, runtime=runtime, progress=stop)


def test_tokenizer(small):
    t = small.tokenizer
    ids = t.encode("naïve ☃")
    assert t.decode(ids) == "naïve ☃" and t.decode_bytes(ids) == "naïve ☃".encode()
    assert t.encode("naïve ☃".encode()) == ids == t.encode(bytearray("naïve ☃".encode()))
    special = t.encode("<|im_start|>", parse_special=True)
    assert len(special) == 1 and t.is_control(special[0]) and len(t.encode("<|im_start|>")) > 1
    assert t.decode(special, skip_special=True) == "" and t.token_text(special[0]) == "<|im_start|>"
    snowman = t.encode("☃")
    assert t.decode(snowman[:1]) == "\ufffd"
    assert t.eos is not None and t.ends_generation(t.eos)
    for bad in [-1, len(t)]:
        with pytest.raises(ingle.InvalidArgumentError):
            t.decode([bad])
        with pytest.raises(ingle.InvalidArgumentError):
            t.token_text(bad)
    with pytest.raises(UnicodeEncodeError):
        t.encode("\ud800")
    alone = ingle.Tokenizer(SMALL)
    assert alone.encode("Hello") == t.encode("Hello")


def test_templates(runtime):
    with ingle.Model.scripted("yes", chat_template=TEMPLATE, runtime=runtime) as model:
        messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "☃?"}]
        assert model.apply_chat_template(messages) == "[system]Be brief.[user]☃?>"
        assert model.apply_chat_template("hi", add_generation_prompt=False) == "[user]hi"
        assert model.chat(messages) == "yes" == "".join(e.text for e in model.stream_chat("hi"))
        with pytest.raises(ingle.UnsupportedError):
            model.chat([{"role": "user", "content": [{"type": "image_url", "image_url": "x"}]}])
        assert model.chat([{"role": "user", "content": [{"type": "text", "text": "x"}]}]) == "yes"
        with pytest.raises(ingle.NotFoundError):
            model.chat("hi", max_token=1)
    plain = ingle.Model.scripted("yes", runtime=runtime)
    assert plain.chat_template is None
    with pytest.raises(ingle.UnsupportedError):
        plain.chat("hi")


def test_sampler_chooses_from_any_row_of_floats():
    greedy = ingle.Sampler.greedy()
    row = array.array("f", [0.0, 3.0, 1.0])
    assert greedy.sample(row) == greedy.sample([0, 3, 1]) == greedy.sample(memoryview(row)) == 1
    with pytest.raises(TypeError):
        greedy.sample(array.array("d", row))
    with pytest.raises(TypeError):
        greedy.sample(memoryview(row)[::2])
    with pytest.raises(ingle.InvalidArgumentError):
        greedy.sample(array.array("f"))
    with pytest.raises(ingle.InvalidArgumentError):
        greedy.accept(-1)
    warm = ingle.Sampler(temperature=1, seed=3)
    copy = warm.copy()
    assert [warm.sample(row) for _ in range(20)] == [copy.sample(row) for _ in range(20)]


def test_doctor(runtime):
    report = runtime.doctor()
    assert report["threads"] == 1 and "cpu" in report["backends"]
    assert report["cache"] == {"folder": "", "files": 0, "bytes": 0}


def test_quantize(runtime, tmp_path):
    target = tmp_path / "q4.gguf"
    ingle.quantize(SMALL, target, "q4_0", runtime=runtime)
    types = {t["type"] for t in ingle.inspect(target)["tensors"]}
    assert "q4_0" in types
    with pytest.raises(ingle.InvalidArgumentError):
        ingle.quantize(SMALL, tmp_path / "x", "nosuch", runtime=runtime)


def test_nothing_is_printed_and_objects_may_outlive_each_other_at_exit():
    code = ("import ingle, sys\n"
            "r = ingle.Runtime(threads=2); m = ingle.Model(sys.argv[1], runtime=r); s = m.session()\n"
            "s.feed_text('x'); it = s.stream(max_tokens=5); next(it)\n"
            "import builtins; builtins.kept = (it, m, r, s)\n")
    done = subprocess.run([sys.executable, "-c", code, SMALL], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_version():
    assert ingle.__version__.count(".") == 2
    assert json.dumps(ingle.__all__)
    for name in ingle.__all__:
        assert getattr(ingle, name) is not None


@pytest.mark.parametrize("document", ["README.md", "bindings/python/README.md"])
def test_documents_hold_code_that_runs(document, runtime, tmp_path, monkeypatch, capsys):
    with open(os.path.join(ROOT, document), encoding="utf-8") as f:
        block = re.search("```python\n(.*?)```", f.read(), re.S).group(1)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.gguf").symlink_to(SMALL)
    exec(compile(block, document, "exec"), {})
    assert capsys.readouterr().out


HERMES = ("{% for m in messages %}[{{ m.role }}]{{ m.content }}{% for t in m.tool_calls %}<tool_call>\n"
          "{\"name\": \"{{ t.function.name }}\", \"arguments\": {{ t.function.arguments|tojson }}}\n</tool_call>"
          "{% endfor %}{% endfor %}{% if add_generation_prompt %}>{% if enable_thinking %}<think>{% endif %}{% endif %}"
          "{# </think> #}")
TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}]


def test_tool_choice_where_arguments_are_no_json(runtime):
    template = ("{% for m in messages %}{{ m.content }}{% for t in m.tool_calls %}<tool_call>\n<function="
                "{{ t.function.name }}>{% for k, v in t.function.arguments|items %}\n<parameter={{ k }}>\n"
                "{{ v if v is string else v|tojson }}\n</parameter>{% endfor %}\n</function>\n</tool_call>"
                "{% endfor %}{% endfor %}")
    model = ingle.Model.scripted("Well.", chat_template=template, runtime=runtime)
    assert model.chat_format["dialect"] == "qwen3-coder"
    tools = [{"type": "function", "function": {"name": "f", "parameters": {
        "type": "object", "required": ["x", "y"],
        "properties": {"x": {"enum": ["a", "5"]}, "y": {"type": "integer", "minimum": 1, "maximum": 9}}}}}]
    answer = model.answer("hi", tools=tools, tool_choice="required", temperature=1, seed=3)
    call = answer["calls"][0]
    arguments = json.loads(call["arguments"])
    assert call["name"] == "f" and arguments["x"] in ("a", "5") and 1 <= arguments["y"] <= 9


def test_tool_choice(runtime):
    tools = [{"type": "function", "function": {"name": "f", "parameters": {
        "type": "object", "properties": {"a": {"enum": [1, 2]}}, "required": ["a"], "additionalProperties": False}}}]
    with ingle.Model.scripted("Well.", chat_template=HERMES, runtime=runtime) as model:
        assert model.answer("hi", tools=tools, tool_choice="auto", temperature=0)["content"] == "Well."
        held = model.tool_grammar(tools, tool_choice="f", parallel_calls=False)
        call = '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>'
        assert held.accepts(call) and not held.accepts(call + "\n" + call) and not held.accepts("Well.")
        answer = model.answer("hi", tools=tools, grammar=held, temperature=0, max_tokens=1000)
        assert [c["name"] for c in answer["calls"]] == ["f"] and answer["errors"] == []
        with pytest.raises(ingle.InvalidArgumentError, match="none of the tools"):
            model.tool_grammar(tools, tool_choice="g")
        with pytest.raises(ingle.InvalidArgumentError, match="tool_choice"):
            model.answer("hi", tools=tools, tool_choice="f", grammar=held)


def test_tool_calls(runtime):
    written = 'Hm.</think>Look.<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>'
    with ingle.Model.scripted(written, chat_template=HERMES, runtime=runtime) as model:
        assert model.chat_format == {"dialect": "hermes", "reasoning": "think", "unknown": ""}
        answer = model.answer("hi", tools=TOOLS, variables={"enable_thinking": True})
        assert answer["raw"] == written
        assert (answer["reasoning"], answer["content"], answer["errors"]) == ("Hm.", "Look.", [])
        call = answer["calls"][0]
        assert (call["name"], call["arguments"], call["complete"]) == ("f", '{"a": 1}', True)
        back = [{"role": "user", "content": "hi"},
                {"role": "assistant", "content": "", "tool_calls": [
                    {"id": call["id"], "type": "function",
                     "function": {"name": call["name"], "arguments": call["arguments"]}}]},
                {"role": "tool", "tool_call_id": call["id"], "content": "4"}]
        assert model.apply_chat_template(back, tools=TOOLS) == (
            '[user]hi[assistant]<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>[tool]4>')
        with model.session() as session:
            session.feed_chat("hi", variables={"enable_thinking": True})
            parser = session.parser(tools=TOOLS, reasoning="drop", first_index=7)
            events = [e for event in session.stream(ingle.Sampler.greedy(), control_text=True)
                      for e in parser.feed(event.text)] + parser.finish()
            assert "".join(e["text"] for e in events if e["part"] == "content") == "Look."
            assert "".join(e["text"] for e in events if e["part"] == "arguments") == '{"a": 1}'
            assert [e["id"] for e in events if e["part"] == "call"] == ["call00007"]
            assert parser.answer["reasoning"] == ""
            session.feed_chat("hi", variables={"enable_thinking": True})
            assert session.generate(ingle.Sampler.greedy(), reasoning_budget=2, max_tokens=12).startswith("Hm</think>")
        with pytest.raises(ingle.InvalidArgumentError):
            model.answer([{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{"}}]}])
