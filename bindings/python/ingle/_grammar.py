"""What answers must be."""
from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Union

from . import _ingle

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._option_types import GrammarOptions

#: A JSON Schema, as JSON text or as what ``json.loads`` makes of it.
Schema = Union[str, bool, Mapping[str, Any]]
#: Is asked now and then while a grammar compiles. What it raises ends the call.
Progress = Callable[[float], object]


def _schema_text(schema: Schema) -> str:
    return schema if isinstance(schema, str) else json.dumps(schema)


def _content(part: Mapping[str, Any]) -> dict[str, Any]:
    """A part of another grammar, with its schema as text."""
    return {key: _schema_text(value) if key == "json_schema" else value for key, value in part.items()}


class Grammar:
    """What an answer must be: the option ``grammar`` of an answer. Immutable, shared by any number of answers.

    Options of each constructor: ``states``, ``steps``, ``bytes`` (bounds on compiling), and for JSON Schema ``formats``
    ("format" must hold; True when not given) and ``compact``. Raises InvalidArgumentError for what is no grammar,
    UnsupportedError for what cannot be held exactly or within the bounds, each naming where.
    """

    def __init__(self, kind: str, source: str, *, progress: Progress | None = None,
                 **options: Unpack[GrammarOptions]) -> None:
        """`kind` is "json_schema", "regex", "gbnf", "lark", "choice", "structural_tags" or "lazy"; see the class methods."""
        self._handle = _ingle.Grammar(kind, source, options, progress)

    @classmethod
    def _of(cls, handle: _ingle.Grammar) -> Grammar:
        grammar = cls.__new__(cls)
        grammar._handle = handle
        return grammar

    @classmethod
    def json_schema(cls, schema: Schema, **options: Unpack[GrammarOptions]) -> Grammar:
        """JSON that fulfils a schema of draft 2020-12, 7, 6 or 4."""
        return cls("json_schema", _schema_text(schema), **options)

    @classmethod
    def regex(cls, pattern: str, **options: Unpack[GrammarOptions]) -> Grammar:
        """A regular expression of the whole text, as ECMA-262 has them."""
        return cls("regex", pattern, **options)

    @classmethod
    def gbnf(cls, source: str, **options: Unpack[GrammarOptions]) -> Grammar:
        """A context-free grammar in GBNF, from the rule "root" on."""
        return cls("gbnf", source, **options)

    @classmethod
    def lark(cls, source: str, **options: Unpack[GrammarOptions]) -> Grammar:
        """A context-free grammar in Lark's notation, from the rule "start" on."""
        return cls("lark", source, **options)

    @classmethod
    def choice(cls, texts: Sequence[str], **options: Unpack[GrammarOptions]) -> Grammar:
        """One of these texts."""
        return cls("choice", json.dumps(list(texts)), **options)

    @classmethod
    def structural_tags(cls, tags: Sequence[Mapping[str, Any]], *, triggers: Sequence[str] = (),
                        at_least_one: bool = False, stop_after_first: bool = False,
                        **options: Unpack[GrammarOptions]) -> Grammar:
        """Free text with spans that are held: each tag is {"begin", "end", and one of json_schema, regex, gbnf, …}."""
        source = {"tags": [_content(tag) for tag in tags], "triggers": list(triggers), "at_least_one": at_least_one,
                  "stop_after_first": stop_after_first}
        return cls("structural_tags", json.dumps(source), **options)

    @classmethod
    def lazy(cls, markers: Sequence[str], content: Mapping[str, Any], *, with_marker: bool = False,
             **options: Unpack[GrammarOptions]) -> Grammar:
        """Free text until a marker stands in it; from there on `content`, for instance {"regex": "[0-9]+"}."""
        source = {"markers": list(markers), "with_marker": with_marker, **_content(content)}
        return cls("lazy", json.dumps(source), **options)

    def accepts(self, text: str | bytes) -> bool:
        """Judges a whole text."""
        return self._handle.accepts(text.encode() if isinstance(text, str) else text)
