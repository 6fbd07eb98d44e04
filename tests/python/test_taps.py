"""Taps, beams, guidance, the memory plan."""
import gc
import weakref

import pytest

import ingle
from conftest import SMALL


def test_taps_tell_every_token_and_change_nothing(small):
    n_layers, width = small.info["n_layers"], small.info["n_embedding"]
    points = ["embedding", *range(n_layers), "final_norm", "logits"]
    ids = small.tokenizer.encode("Looking changes nothing, they say.")
    plain, tapped, rows = small.session(), small.session(), []
    tapped.tap(points, rows.append)
    for session in [plain, tapped]:
        session.feed_tokens(ids)
    options = dict(max_tokens=5, ignore_end=True)
    assert plain.generate(ingle.Sampler.greedy(), **options) == tapped.generate(ingle.Sampler.greedy(), **options)
    assert plain.logits() == tapped.logits()
    assert [row.point for row in rows] == points * (len(ids) + 5)
    assert [row.position for row in rows[::len(points)]] == list(range(len(ids) + 5))
    assert [row.token for row in rows[::len(points)]] == tapped.tokens
    assert {row.values.shape[0] for row in rows if row.point != "logits"} == {width}
    assert rows[-1].values == tapped.logits() and rows[-1].values.readonly
    heard = len(rows)
    tapped.tap([])
    tapped.feed_tokens(ids)
    assert len(rows) == heard


def test_what_a_tap_raises_ends_the_call(small):
    session = small.session()

    def stop(row):
        if row.position == 3:
            raise KeyError("enough")

    session.tap(["logits"], stop)
    with pytest.raises(KeyError, match="enough"):
        session.feed_tokens([1, 2, 3, 4, 5])
    assert session.tokens == []
    session.feed_tokens([1, 2, 3])
    session.begin(ignore_end=True)
    session.next(ingle.Sampler.greedy())  # it is computed when the next one is asked for
    with pytest.raises(KeyError, match="enough"):
        session.next(ingle.Sampler.greedy())
    session.tap([])
    session.truncate(3)
    session.feed_tokens([4])
    fresh = small.session()
    fresh.feed_tokens([1, 2, 3, 4])
    assert session.logits() == fresh.logits()


def test_taps_that_cannot_be(small, runtime):
    session = small.session()
    for points in [[99], ["nowhere"], [-1000]]:
        with pytest.raises(ingle.InvalidArgumentError):
            session.tap(points, print)
    with pytest.raises(ingle.InvalidArgumentError):
        session.tap([0])
    with pytest.raises(ingle.UnsupportedError):
        ingle.Model.scripted("x", runtime=runtime).session().tap([0], print)


def test_a_tap_is_let_go(small):
    class Ear:
        def __call__(self, row):
            pass

    session = small.session()
    first, second = Ear(), Ear()
    gone = [weakref.ref(first), weakref.ref(second)]
    session.tap([0], first)
    session.tap([0], second)
    del first, second
    gc.collect()
    assert gone[0]() is None and gone[1]() is not None
    session.close()
    gc.collect()
    assert gone[1]() is None


def test_beam_search(small):
    session = small.session()
    session.feed_text("Once upon")
    before = session.tokens
    beams = session.beam_search(beams=3, results=3, max_tokens=4)
    assert len(beams) == 3 and session.tokens == before
    assert [b["score"] for b in beams] == sorted((b["score"] for b in beams), reverse=True)
    assert all(1 <= len(b["ids"]) <= 4 and b["finish"] in ("end", "length") for b in beams)
    with pytest.raises(ingle.InvalidArgumentError):
        session.beam_search(beams=0)
    with pytest.raises(ingle.NotFoundError):
        session.beam_search(beam=2)


def test_guidance(small):
    def answer(scale):
        session, negative = small.session(), small.session()
        session.feed_text("The weather is good")
        negative.feed_text("The weather is bad")
        session.begin(ignore_end=True)
        sampler = ingle.Sampler.greedy()
        ids = [session.next_guided(sampler, negative, scale).id for _ in range(6)]
        assert negative.tokens[-6:] == ids
        return ids

    plain = small.session()
    plain.feed_text("The weather is good")
    plain.begin(ignore_end=True)
    sampler = ingle.Sampler.greedy()
    assert answer(1.0) == [plain.next(sampler).id for _ in range(6)]
    assert answer(0.0) != answer(1.0) or answer(5.0) != answer(1.0)
    with pytest.raises(ingle.InvalidArgumentError):
        plain.next_guided(sampler, plain, 1.0)
    with pytest.raises(ingle.InvalidArgumentError):
        plain.next_guided(sampler, small.session(), 1000.0)


def test_memory_plan(runtime):
    plan = ingle.plan_memory(SMALL, runtime=runtime, context=64)
    assert plan["context"] == 64
    assert plan["total_bytes"] == plan["weight_bytes"] + plan["state_bytes"] + plan["workspace_bytes"]
    longer = ingle.plan_memory(SMALL, runtime=runtime, context=128)
    assert longer["state_bytes"] > plan["state_bytes"] and longer["weight_bytes"] == plan["weight_bytes"]
    assert ingle.plan_memory(SMALL, runtime=runtime, context=64, state_type="f32")["state_bytes"] > plan["state_bytes"]
    with pytest.raises(ingle.InvalidArgumentError):
        ingle.plan_memory(SMALL, runtime=runtime, context=1 << 40)
    with pytest.raises(ingle.NotFoundError):
        ingle.plan_memory("nowhere.gguf", runtime=runtime)
    with pytest.raises(ingle.NotFoundError):
        ingle.plan_memory(SMALL, runtime=runtime, contxt=64)
