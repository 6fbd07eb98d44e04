"""Feeding, answers, arrays, threads, Ctrl-C."""
import math
import os
import signal
import threading

import pytest

import ingle
from conftest import SMALL

START = 257


@pytest.fixture
def hello(runtime):
    return ingle.Model.scripted("Hello ☃ world", runtime=runtime)


def test_events(hello):
    session = hello.session()
    session.feed_text("hi")
    events = list(session.stream(top_logprobs=2))
    assert "".join(e.text for e in events) == "Hello ☃ world"
    assert [e.finish for e in events] == [None] * (len(events) - 1) + ["end"]
    assert events[0].id == ord("H") and events[0].top[0][0] == ord("H") and len(events[0].top) == 2
    assert events[0].logprob == pytest.approx(events[0].top[0][1])
    with pytest.raises(ingle.InvalidArgumentError, match="ended"):
        session.next(ingle.Sampler())
    assert session.stats.generated_tokens == len("Hello ☃ world".encode()) + 1  # <|end|> too, which is not kept
    assert session.stats.prompt_tokens == 3 and session.tokens == [START, *"hiHello ☃ world".encode()]


def test_stop_length_and_context(hello):
    def answer(context=4096, **options):
        session = hello.session(context=context)
        session.feed_text("hi", add_special=False)
        events = list(session.stream(**options))
        return "".join(e.text for e in events), events[-1].finish

    assert answer(stop=["☃"]) == ("Hello ", "stop")
    assert answer(max_tokens=4) == ("Hell", "length")
    assert answer(context=5)[1] == "context"
    with pytest.raises(ingle.InvalidArgumentError):
        answer(max_tokens=-5)
    with pytest.raises(ingle.NotFoundError):
        hello.session().stream(max_tokns=4)  # at once, not at the first step


def test_a_prompt_that_does_not_fit(hello):
    session = hello.session(context=8)
    session.feed_text("1234", add_special=False)
    with pytest.raises(ingle.ContextFullError, match="5 tokens do not fit"):
        session.feed_text("56789", add_special=False)
    assert session.tokens == list(b"1234")
    with pytest.raises(ingle.InvalidArgumentError):
        session.feed_tokens([300])
    with pytest.raises(TypeError):
        session.feed_tokens(["a"])


def test_leaving_an_answer_early_leaves_the_session_usable(hello):
    session = hello.session()
    session.feed_text("hi", add_special=False)
    for event in session.stream():
        if event.text == "l":
            break
    assert session.tokens == list(b"hiHel")
    session.truncate(2)
    assert session.tokens == list(b"hi")
    session.clear()
    session.feed_text("again", add_special=False)
    assert session.generate() == "Hello ☃ world"


def test_closed(hello):
    with hello.session() as session:
        session.feed_text("hi")
    for use in [lambda: session.tokens, lambda: session.logits(), lambda: session.fork(), session.cancel,
                lambda: session.feed_text("x"), lambda: session.generate()]:
        with pytest.raises(ingle.InvalidArgumentError, match="the session: was closed"):
            use()


def test_logits_are_an_array(small):
    session = small.session()
    with pytest.raises(ingle.InvalidArgumentError, match="nothing was fed"):
        session.logits()
    ids = small.tokenizer.encode("Hello there")
    session.feed_tokens(ids)
    row = session.logits()
    assert (row.format, row.shape, row.readonly) == ("f", (320,), True)
    best = max(range(320), key=row.__getitem__)
    assert ingle.Sampler.greedy().sample(row) == best
    kept = list(row)
    session.feed_tokens([5])
    assert list(row) == kept  # a copy, which later calls leave alone


def test_score_and_logprobs_agree(small):
    ids = small.tokenizer.encode("The same bits, whatever the chunk.")
    scored = small.session()
    rows = scored.score(ids)
    assert rows.shape == (len(ids), 320) and scored.tokens == ids
    fed = small.session(prefill_chunk=1)
    fed.feed_tokens(ids)
    assert rows[len(ids) - 1, 7] == fed.logits()[7]
    logprobs = small.session().logprobs(ids)
    assert math.isnan(logprobs[0]) and logprobs.shape == (len(ids),)
    for i in range(1, len(ids)):
        row = [rows[i - 1, k] for k in range(320)]
        expected = row[ids[i]] - max(row) - math.log(sum(math.exp(v - max(row)) for v in row))
        assert logprobs[i] == pytest.approx(expected, abs=1e-5)
    later = small.session()
    later.feed_tokens(ids[:3])
    assert list(later.logprobs(ids[3:])) == list(logprobs[3:])
    assert small.session().score([]).shape == (0,) and len(small.session().logprobs([])) == 0
    with pytest.raises(ingle.InvalidArgumentError):
        small.session().logprobs([1, 1000])


def test_numpy_takes_them_without_a_copy(small):
    numpy = pytest.importorskip("numpy")
    session = small.session()
    rows = session.score([1, 2, 3])
    array = numpy.asarray(rows)
    assert array.dtype == numpy.float32 and array.shape == (3, 320) and array.base is not None
    assert numpy.array_equal(array[-1], numpy.asarray(session.logits()))
    assert ingle.Sampler.greedy().sample(array[0]) == int(array[0].argmax())
    session.feed_tokens(numpy.array([4, 5]))
    assert session.tokens == [1, 2, 3, 4, 5]
    ingle.Sampler(temperature=numpy.float32(0.5), top_k=numpy.int64(3), logit_bias={numpy.int32(4): numpy.float32(1)})


def test_fork(small):
    session = small.session()
    session.feed_text("Hello")
    other = session.fork()
    a = session.generate(ingle.Sampler(seed=4), max_tokens=12, ignore_end=True)
    assert a == other.generate(ingle.Sampler(seed=4), max_tokens=12, ignore_end=True)
    assert session.tokens == other.tokens


def test_save_and_load(small, tmp_path):
    session = small.session()
    session.feed_text("Hello")
    session.save(tmp_path / "saved")
    other = ingle.Session.load(small, tmp_path / "saved", context=100)
    assert bytes(session.logits()) == bytes(other.logits())
    options = dict(max_tokens=12, ignore_end=True)
    assert session.generate(ingle.Sampler.greedy(), **options) == other.generate(ingle.Sampler.greedy(), **options)
    assert session.tokens == other.tokens
    (tmp_path / "torn").write_bytes((tmp_path / "saved").read_bytes()[:-1])
    with pytest.raises(ingle.CorruptError, match="end before"):
        ingle.Session.load(small, tmp_path / "torn")
    with pytest.raises(ingle.UnsupportedError, match="another model"):
        ingle.Session.load(ingle.Model.scripted("x"), tmp_path / "saved")
    with pytest.raises(ingle.FileError):
        session.save(tmp_path / "none" / "saved")


def test_seeds(small):
    def answer(seed):
        session = small.session()
        session.feed_text("Once")
        return session.generate(ingle.Sampler(temperature=1.5, seed=seed), max_tokens=24, ignore_end=True)

    assert answer(1) == answer(1) != answer(2)


def test_feed_chat_computes_what_is_new(small):
    session = small.session()
    chat = [{"role": "user", "content": "Hello"}]
    session.feed_chat(chat)
    first = session.stats.prompt_tokens
    chat.append({"role": "assistant", "content": session.generate(ingle.Sampler.greedy(), max_tokens=3)})
    chat.append({"role": "user", "content": "Again"})
    heard = []
    session.feed_chat(chat, progress=heard.append)
    assert heard[-1] == 1.0
    assert first < session.stats.prompt_tokens < len(session.tokens) + first


def test_threads_share_a_model():
    with ingle.Model(SMALL, threads=2) as model:
        texts = [None] * 4

        def work(i):
            session = model.session()
            session.feed_text("Hello")
            texts[i] = session.generate(ingle.Sampler(seed=1), max_tokens=30, ignore_end=True)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(len(texts))]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert texts[0] and texts == [texts[0]] * len(texts)


# A prompt that takes long: each of its tokens is a step of its own.
LONG = "x" * (4 << 20)


@pytest.fixture
def patient(runtime):
    return ingle.Model.scripted("yes", context=1 << 23, runtime=runtime).session(prefill_chunk=1)


def when_running(session, action):
    """Runs an action on another thread once the session is inside a call."""
    def wait():
        while True:
            try:
                session.tokens
            except ingle.BusyError:
                return action()

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    return thread


def feed_long(session):
    """Feeds what takes long; once more where the other thread was just looking."""
    while True:
        try:
            return session.feed_text(LONG)
        except ingle.BusyError:
            pass


def test_cancel_from_another_thread_ends_a_prompt(patient):
    thread = when_running(patient, patient.cancel)
    with pytest.raises(ingle.CancelledError):
        feed_long(patient)
    thread.join()
    assert patient.tokens == []
    patient.feed_text("hi")
    assert patient.generate() == "yes"


def test_cancel_ends_an_answer(hello):
    session = hello.session()
    session.feed_text("hi")
    finishes = []
    for event in session.stream():
        finishes.append(event.finish)
        session.cancel()
    assert finishes == [None, "cancelled"]


def test_ctrl_c_ends_a_prompt(patient):
    thread = when_running(patient, lambda: os.kill(os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        feed_long(patient)
    thread.join()
    assert patient.tokens == []
    patient.feed_text("hi")
    assert patient.generate() == "yes"


def test_ctrl_c_ends_an_answer(hello):
    session = hello.session()
    session.feed_text("hi")
    with pytest.raises(KeyboardInterrupt):
        for event in session.stream():
            os.kill(os.getpid(), signal.SIGINT)
    session.clear()
    session.feed_text("hi")
    assert session.generate() == "Hello ☃ world"


def test_a_call_that_ends_before_its_cancel_leaves_nothing_behind(patient):
    def late(fraction):
        if fraction == 1.0:
            raise KeyError("late")

    with pytest.raises(KeyError):
        patient.feed_text("hi", progress=late)
    patient.clear()
    patient.feed_text("hi")
    assert patient.generate() == "yes"


def test_close_during_a_call_on_another_thread(patient):
    thread = when_running(patient, lambda: (patient.cancel(), patient.close()))
    with pytest.raises(ingle.CancelledError):
        feed_long(patient)
    thread.join()
    assert patient.closed


def test_options_that_are_lists(hello):
    keys = {o["key"] for o in ingle.options("sampler")}
    if "banned_tokens" in keys:
        session = hello.session()
        session.feed_text("hi")
        event = session.next(ingle.Sampler(temperature=0, banned_tokens=[ord("H")]))
        assert event.id != ord("H")
