"""Grammars: made, judged by, used by answers, cancelled."""
import pytest

import ingle


def test_kinds():
    assert ingle.Grammar.json_schema({"type": "integer"}).accepts("12")
    assert not ingle.Grammar.json_schema('{"type": "integer"}').accepts("1.5")
    assert ingle.Grammar.regex("a+").accepts(b"aa") and not ingle.Grammar.regex("a+").accepts("b")
    assert ingle.Grammar.gbnf('root ::= "(" root ")" | ""').accepts("(())")
    assert ingle.Grammar.lark('start: "a" start | "b"').accepts("aab")
    assert ingle.Grammar.choice(["ja", "nein"]).accepts("nein")
    tags = ingle.Grammar.structural_tags([{"begin": "<n>", "end": "</n>", "json_schema": {"type": "integer"}}])
    assert tags.accepts("so <n>1</n>.") and not tags.accepts("<n>x</n>")
    lazy = ingle.Grammar.lazy(["CALL "], {"regex": "[0-9]+"})
    assert lazy.accepts("hm") and lazy.accepts("CALL 12") and not lazy.accepts("CALL me")


def test_errors():
    with pytest.raises(ingle.InvalidArgumentError, match="line 1, column 10"):
        ingle.Grammar.gbnf("root ::= x")
    with pytest.raises(ingle.UnsupportedError, match="too large"):
        ingle.Grammar.gbnf('root ::= "abcdefghijkl"', states=10)
    with pytest.raises(ingle.NotFoundError, match="gbnff"):
        ingle.Grammar("gbnff", "")


def test_answers(runtime):
    def answer(**options):
        session = ingle.Model.scripted("one 23 two", runtime=runtime).session()
        session.feed_text("hi")
        return session.generate(ingle.Sampler.greedy(), **options)

    assert answer(grammar=ingle.Grammar.gbnf("root ::= [0-9]{2}")) == "00"
    assert answer(gbnf='root ::= "one"') == "one"
    assert answer(stop_patterns=[" [0-9]+"]) == "one"
    assert "23" not in answer(banned_phrases=["23"], max_tokens=8)
    with pytest.raises(ingle.InvalidArgumentError):
        ingle.Model.scripted("x", runtime=runtime).session().begin(stop_patterns=["("])


def test_stops(runtime):
    model = ingle.Model.scripted("ab<END>cd", runtime=runtime)

    def answer(**options):
        texts = []
        for ask in (lambda s: s.generate(ingle.Sampler.greedy(), **options),
                    lambda s: "".join(e.text for e in s.stream(ingle.Sampler.greedy(), **options))):
            session = model.session()
            session.feed_text("hi")
            texts.append(ask(session))
        assert texts[0] == texts[1]
        return texts[0]

    assert answer(stop=["<END>"]) == "ab"
    assert answer(stop=["<END>"], include_stop=True) == "ab<END>"
    assert answer(stop_tokens=[ord("E")]) == "ab<"
    assert answer(stop_tokens=[ord("E")], include_stop=True) == "ab<E"
    assert [answer(max_tokens=n) for n in range(3)] == ["", "a", "ab"]
    assert answer(stop=["a"], top_logprobs=10) == ""
    with pytest.raises(ingle.InvalidArgumentError, match="stop_tokens"):
        answer(stop_tokens=[258])
