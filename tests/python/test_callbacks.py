"""Python inside the library's calls: stages of a sampler, files that Python reads."""
import gc
import math
import weakref

import pytest

import ingle
from conftest import SMALL


@pytest.fixture
def hello(runtime):
    return ingle.Model.scripted("Hello world", runtime=runtime)


def ask(model, sampler, **options):
    session = model.session()
    session.feed_text("hi")
    return session.generate(sampler, **options)


def without_o(logits, ids, accepted):
    for i, id in enumerate(ids):
        if id == ord("o"):
            logits[i] = -math.inf


def test_a_stage_changes_what_is_chosen(hello):
    assert ask(hello, ingle.Sampler(temperature=0)) == "Hello world"
    assert "o" not in ask(hello, ingle.Sampler(temperature=0, stages={"vowels": without_o}), max_tokens=20)
    seen = []

    def look(logits, ids, accepted):
        assert (logits.format, ids.format, accepted.format) == ("f", "i", "i")
        assert len(logits) == len(ids) == 258 and not logits.readonly and ids.readonly
        seen.append((logits, list(accepted)))

    sampler = ingle.Sampler(temperature=0, stages={"look": look})
    assert "look" in str(sampler)
    assert ask(hello, sampler, max_tokens=3) == "Hel"
    assert [accepted for _, accepted in seen] == [[], [ord("H")], [ord("H"), ord("e")]]
    seen[0][0][0] = 1.0  # what is kept of a call is a copy, and harms nothing
    order = ingle.Sampler(temperature=0, stages={"look": look}, order=["look", "temperature"])
    assert str(order).startswith("look > ")


def test_what_a_stage_raises_comes_out(hello):
    def broken(logits, ids, accepted):
        if len(accepted) == 2:
            raise KeyError("no more")

    sampler = ingle.Sampler(temperature=0, stages={"broken": broken})
    session = hello.session()
    session.feed_text("hi")
    assert [session.next(sampler).id for _ in range(2)] == list(b"He")
    for s in [sampler, sampler.copy()]:
        with pytest.raises(KeyError, match="no more"):
            session.next(s)
    assert session.next(ingle.Sampler.greedy()).id == ord("l")  # the session stands as before
    with pytest.raises(KeyError):
        sampler.sample([0.0] * 258)
    with pytest.raises(TypeError):
        ask(hello, ingle.Sampler(stages={"few": lambda logits: None}))
    with pytest.raises(ingle.NumericError):
        ask(hello, ingle.Sampler(stages={"nan": lambda logits, ids, accepted: logits.__setitem__(0, math.nan)}))
    with pytest.raises(ingle.InvalidArgumentError):
        ingle.Sampler(stages={"Not A Name": broken})


def test_stages_in_an_engine(hello):
    with ingle.Engine(hello, state_bytes=1 << 20) as engine:
        assert "o" not in engine.generate(["hi"], temperature=0, max_tokens=20, stages={"vowels": without_o})[0]

        def broken(logits, ids, accepted):
            raise KeyError("no more")

        number = engine.submit("hi", stages={"broken": broken})
        events = list(engine)
        assert events[-1].request == number and events[-1].event.finish == "error"
        assert isinstance(events[-1].error.__cause__, KeyError)


def test_stages_are_let_go(hello):
    class Stage:
        def __call__(self, logits, ids, accepted):
            pass

    stage = Stage()
    gone = weakref.ref(stage)
    sampler = ingle.Sampler(stages={"mine": stage})
    copy = sampler.copy()
    del stage, sampler
    gc.collect()
    assert gone() is not None
    assert ask(hello, copy)
    del copy
    gc.collect()
    assert gone() is None


def test_a_file_that_python_reads(runtime):
    with open(SMALL, "rb") as file:
        data = file.read()
    calls = []

    def read_at(offset, n):
        calls.append((offset, n))
        return memoryview(data)[offset:offset + n]

    expected = ingle.Model(SMALL, runtime=runtime).session()
    expected.feed_text("Hello")
    for backend in ["cpu", "ref"]:
        model = ingle.Model.from_reader(read_at, len(data), name="archive", runtime=runtime, backend=backend)
        session = model.session()
        session.feed_text("Hello")
        if backend == "cpu":
            assert session.logits() == expected.logits()
    assert calls and all(offset + n <= len(data) for offset, n in calls)
    gone = weakref.ref(read_at)
    del read_at, model, session
    gc.collect()
    assert gone() is None


def test_readers_that_fail(runtime):
    with open(SMALL, "rb") as file:
        data = file.read()

    def raises(offset, n):
        raise KeyError("not there")

    with pytest.raises(KeyError, match="not there"):
        ingle.Model.from_reader(raises, len(data), runtime=runtime)
    with pytest.raises(TypeError, match="expected"):
        ingle.Model.from_reader(lambda offset, n: b"x", len(data), runtime=runtime)
    with pytest.raises(TypeError):
        ingle.Model.from_reader(lambda offset, n: 7, len(data), runtime=runtime)
    with pytest.raises(ingle.CorruptError, match="archive"):
        ingle.Model.from_reader(lambda offset, n: b"\0" * n, 1000, name="archive", runtime=runtime)
