"""Options on their way into the library."""
from __future__ import annotations

import functools
import json
import math
from collections.abc import Mapping
from typing import Any

from . import _ingle


def _plain(value: object) -> object:
    """What JSON can write: minus infinity is null there, arrays are lists."""
    if isinstance(value, float):
        return None if value == -math.inf else value
    if isinstance(value, Mapping):
        return {str(_number(k)): _plain(_number(v)) for k, v in value.items()}
    tolist = getattr(value, "tolist", None)
    if tolist is not None:
        return _plain(tolist())
    if isinstance(value, (list, tuple)):
        return [_plain(_number(v)) for v in value]
    return value


def _number(value: Any) -> Any:
    """Numbers of other libraries as Python's own."""
    item = getattr(value, "item", None)
    return item() if item is not None and getattr(value, "ndim", 1) == 0 else value


def to_json(options: Mapping[str, object]) -> str:
    return json.dumps(_plain(options), allow_nan=True)


@functools.lru_cache(maxsize=None)
def keys(kind: str) -> frozenset[str]:
    """The keys that options of a kind have: "runtime", "model", "script", "session", "sampler", "generate"."""
    return frozenset(row["key"] for row in json.loads(_ingle.describe_options(kind)))


def split(options: Mapping[str, object], *kinds: str) -> list[dict[str, object]]:
    """Options by the kinds that know them. A key that none of them knows stays with the last, which refuses it."""
    out: list[dict[str, object]] = [{} for _ in kinds]
    for key, value in options.items():
        at = next((i for i, kind in enumerate(kinds) if key in keys(kind)), len(kinds) - 1)
        out[at][key] = value
    return out
