"""Engines: many requests at once, their order, their ends, Ctrl-C."""
import os
import select
import signal
import threading

import pytest

import ingle

TEMPLATE = "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}{% if add_generation_prompt %}>{% endif %}"


@pytest.fixture
def hello(runtime):
    return ingle.Model.scripted("Hello ☃ world", chat_template=TEMPLATE, runtime=runtime)


def collect(engine):
    texts, finishes = {}, {}
    for told in engine:
        texts[told.request] = texts.get(told.request, "") + told.event.text
        if told.event.finish is not None:
            assert told.request not in finishes
            finishes[told.request] = told.event.finish
            assert (told.error is not None) == (told.event.finish == "error")
    return texts, finishes


def test_requests_get_the_answers_that_sessions_get(small):
    prompts = ["Once upon a time", "Hello", "Hello there", [5, 6, 7, 8]]
    options = dict(temperature=0.8, seed=3, max_tokens=16, ignore_end=True)
    with ingle.Engine(small, state_bytes=64 << 20) as engine:
        got = engine.generate(prompts, add_special=False, **options)
        stats = engine.stats
    assert stats["submitted"] == len(prompts) and stats["finished"]["length"] == len(prompts)
    for prompt, text in zip(prompts, got):
        session = small.session()
        if isinstance(prompt, str):
            session.feed_text(prompt, add_special=False)
        else:
            session.feed_tokens(prompt)
        assert session.generate(ingle.Sampler(temperature=0.8, seed=3), max_tokens=16, ignore_end=True) == text


def test_each_prompt_has_its_own_limit(hello):
    with ingle.Engine(hello, state_bytes=1 << 20) as engine:
        assert engine.generate(["a", "b", "c"], limits=[0, 1, 2], temperature=0) == ["", "H", "He"]
        assert engine.generate(["a", "b", "c"], max_tokens=2, temperature=0) == ["He"] * 3
        for limits in [], [1, 2], [1, 2, 3, 4]:
            with pytest.raises(ingle.InvalidArgumentError, match="for 3 prompts"):
                engine.generate(["a", "b", "c"], limits=limits)
        with pytest.raises(ingle.InvalidArgumentError, match="max_tokens"):
            engine.generate(["a"], limits=[1], max_tokens=1)
        assert engine.stats["submitted"] == 6
        assert engine.generate(["a"], stop=["lo"], include_stop=True, temperature=0) == ["Hello"]
        assert engine.generate(["a"], stop_tokens=[ord("o")], temperature=0) == ["Hell"]


def test_kinds_of_prompts_and_events(hello):
    with ingle.Engine(hello, state_bytes=1 << 20) as engine:
        text = engine.submit("hi", temperature=0, top_logprobs=2)
        ids = engine.submit(list(b"hi"), temperature=0, max_tokens=3)
        chat = engine.submit_chat([{"role": "user", "content": "hi"}], temperature=0, band=0, tenant="a")
        texts, finishes = collect(engine)
        assert texts == {text: "Hello ☃ world", ids: "Hel", chat: "Hello ☃ world"}
        assert finishes == {text: "end", ids: "length", chat: "end"}
        assert engine.next() is None and engine.next(0.01) is None
        assert engine.stats["finished"]["end"] == 2
        engine.submit("again", temperature=0)
        first = engine.next()
        assert first.event.id == ord("H") and first.event.finish is None and first.error is None
        assert collect(engine)[0][first.request] == "ello ☃ world"
    with pytest.raises(ingle.InvalidArgumentError, match="the engine: was closed"):
        engine.submit("x")


def test_by_hand(hello):
    engine = ingle.Engine(hello, own_thread=False, state_bytes=1 << 20)
    number = engine.submit("hi", temperature=0)
    assert engine.next(10) is None  # nothing happens by itself
    assert engine.step()
    assert engine.next().request == number
    assert collect(engine)[1] == {number: "end"}
    assert engine.generate(["a", "b"], temperature=0) == ["Hello ☃ world"] * 2


def test_refusals(hello):
    engine = ingle.Engine(hello, own_thread=False, state_bytes=1 << 20, max_queued=1, max_running=1)
    engine.submit("hi", temperature=0)
    with pytest.raises(ingle.BusyError):
        for _ in range(3):
            engine.submit("hi", temperature=0)
    with pytest.raises(ingle.NotFoundError) as e:
        engine.submit("hi", max_token=3)
    assert "max_tokens" in e.value.hint
    for bad in [dict(top_p=2.0), dict(band=9), dict(max_tokens=-3)]:
        with pytest.raises(ingle.InvalidArgumentError):
            engine.submit("hi", **bad)
    with pytest.raises(ingle.InvalidArgumentError):
        engine.submit([300])
    with pytest.raises(ingle.InvalidArgumentError):
        engine.submit([])
    with pytest.raises(ingle.ContextFullError):
        engine.submit("x" * 5000)
    with pytest.raises(ingle.NotFoundError):
        ingle.Engine(hello, max_runing=1)
    with pytest.raises(ingle.InvalidArgumentError):
        ingle.Engine(hello, max_running=0)
    _, finishes = collect(engine)
    assert set(finishes.values()) == {"end"}


def test_cancel_pause_drain(hello):
    with ingle.Engine(hello, state_bytes=1 << 20) as engine:
        engine.pause()
        kept, dropped = engine.submit("a", temperature=0), engine.submit("b", temperature=0)
        assert engine.cancel(dropped)
        assert not engine.cancel(999)
        engine.resume()
        assert collect(engine)[1] == {kept: "end", dropped: "cancelled"}
        assert not engine.cancel(kept)
        engine.pause()
        late = engine.submit("c", temperature=0, deadline_s=0.01)
        threading.Event().wait(0.05)
        engine.resume()
        assert collect(engine)[1] == {late: "deadline"}
        last = engine.submit("d", temperature=0)
        assert engine.drain(30)
        with pytest.raises(ingle.BusyError):
            engine.submit("e")
        assert collect(engine)[1] == {last: "end"}


def test_the_descriptor_tells_of_events(hello):
    with ingle.Engine(hello, state_bytes=1 << 20) as engine:
        assert not select.select([engine], [], [], 0)[0]
        engine.submit("hi", temperature=0)
        assert select.select([engine], [], [], 30)[0]
        assert engine.next(0) is not None


def test_a_request_fails_alone(runtime):
    row = [0.0] * 258
    broken = ingle.Model.scripted(logits=[row, [-float("inf")] * 258], runtime=runtime)
    with ingle.Engine(broken, state_bytes=1 << 20) as engine:
        number = engine.submit("hi", temperature=0)
        events = list(engine)
        assert events[-1].request == number and events[-1].event.finish == "error"
        assert isinstance(events[-1].error, ingle.Error)
        with pytest.raises(ingle.NumericError):
            engine.generate(["hi"], temperature=0)


def test_threads_submit_while_one_listens(hello):
    with ingle.Engine(hello, state_bytes=1 << 20) as engine:
        numbers, lock = [], threading.Lock()

        def submit():
            for _ in range(10):
                number = engine.submit("hi", temperature=0)
                with lock:
                    numbers.append(number)

        threads = [threading.Thread(target=submit) for _ in range(4)]
        for t in threads:
            t.start()
        finished = {}
        while len(finished) < 40:
            told = engine.next(30)
            if told and told.event.finish:
                finished[told.request] = told.event.finish
        for t in threads:
            t.join()
        assert sorted(finished) == sorted(numbers) and set(finished.values()) == {"end"}


def test_ctrl_c_ends_the_wait_and_not_the_request(hello):
    with ingle.Engine(hello, state_bytes=1 << 20) as engine:
        engine.pause()
        number = engine.submit("hi", temperature=0)
        timer = threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            engine.next()
        timer.join()
        engine.resume()
        assert collect(engine)[0] == {number: "Hello ☃ world"}
