"""Many requests at once on one model."""
from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Union, cast

from . import _ingle
from ._model import Closing, Event, Messages, Model, Stage, _event, _messages_json
from ._options import split
from .errors import Error, InvalidArgumentError

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._option_types import EngineOptions, RequestOptions

#: A text, or token ids.
Prompt = Union[str, bytes, Sequence[int]]


class EngineEvent(NamedTuple):
    """One step of a request's answer. The last one has a finish; with "error" it has the error too."""

    request: int
    event: Event
    error: Error | None


def _milliseconds(timeout: float | None) -> int:
    return -1 if timeout is None else max(0, int(timeout * 1000))


class Engine(Closing):
    """Many requests at once on one model: they share steps, memory and what their prompts have in common.

    Each gets the bytes that it would get alone. Any thread may call anything, but for :meth:`next` (and what iterates
    over it) and :meth:`step`, which one thread calls at a time.
    """

    _handle: _ingle.Engine

    def __init__(self, model: Model, **options: Unpack[EngineOptions]) -> None:
        """Options: ``max_running``, ``max_queued``, ``context``, ``state_bytes``, ``target_ms``, ``own_thread``, …

        ``ingle.options("engine")`` tells all of them.
        """
        self._model = model
        self._handle = _ingle.Engine(model._handle, options)
        self._own_thread = bool(options.get("own_thread", True))
        self._lock = threading.Lock()
        self._open = 0  # requests whose finish was not told

    @property
    def model(self) -> Model:
        return self._model

    def submit(self, prompt: Prompt, *, parse_special: bool = False, add_special: bool = True,
               stages: Mapping[str, Stage] | None = None, **options: Unpack[RequestOptions]) -> int:
        """Takes a request for a text or token ids, and gives its number; never waits.

        Options are those of the sampler, of the answer, and of the schedule: ``band`` (0 to 3: 0 first), ``tenant``,
        ``deadline_s``, ``salt``, ``keep_s``. ``stages`` as a :class:`Sampler` takes them. Raises BusyError when the queue is full, with the time after which to
        come again as its hint; ContextFullError, OutOfMemoryError for what can never be held.
        """
        scheduling, sampler, generate = split(options, "request", "sampler", "generate")
        if stages:
            sampler["stages"] = dict(stages)  # they run on the engine's thread
        if isinstance(prompt, (str, bytes)):
            text = prompt.encode() if isinstance(prompt, str) else prompt
            with _Counted(self):
                return self._handle.submit_text(text, parse_special, add_special, sampler, generate, scheduling)
        with _Counted(self):
            return self._handle.submit_tokens(prompt, sampler, generate, scheduling)

    def submit_chat(self, messages: Messages, *, tools: Sequence[Mapping[str, Any]] | None = None,
                    variables: Mapping[str, Any] | None = None, **options: Unpack[RequestOptions]) -> int:
        """The same for a conversation, through the model's own template."""
        scheduling, sampler, generate = split(options, "request", "sampler", "generate")
        with _Counted(self):
            return self._handle.submit_chat(_messages_json(messages, tools, variables), sampler, generate, scheduling)

    def next(self, timeout: float | None = None) -> EngineEvent | None:
        """The next event of any request.

        Waits up to ``timeout`` seconds, or (None) until there is one; None when nothing came, or when every request
        has ended and no event is left. Without ``own_thread`` it does not wait: :meth:`step` makes the events.
        """
        with self._lock:
            idle = self._open == 0
        told = self._handle.next(0 if idle or not self._own_thread else _milliseconds(timeout))
        if told is None:
            return None
        request, event, error = told
        if event[3] != 0:
            with self._lock:
                self._open -= 1
        return EngineEvent(request, _event(event), error)

    def __iter__(self) -> Iterator[EngineEvent]:
        """Events until every request has ended. Requests may be submitted meanwhile."""
        while True:
            event = self.next()
            if event is not None:
                yield event
            elif self._own_thread or not self.step():
                last = self.next(0)
                if last is None:
                    return
                yield last

    def generate(self, prompts: Sequence[Prompt], *, limits: Sequence[int] | None = None,
                 **options: Unpack[RequestOptions]) -> list[str]:
        """The answers' texts to several prompts, computed together. Raises the error of one that failed.

        ``limits`` holds a ``max_tokens`` for each prompt. For an engine that nobody else submits to or reads events of.
        """
        if limits is not None and len(limits) != len(prompts):
            raise InvalidArgumentError("limits", f"{len(limits)} of them for {len(prompts)} prompts")
        if limits is not None and "max_tokens" in options:
            raise InvalidArgumentError("limits", "do not go with max_tokens")
        numbers = []
        for i, prompt in enumerate(prompts):
            if limits is not None:
                options["max_tokens"] = limits[i]
            numbers.append(self.submit(prompt, **options))
        texts = dict.fromkeys(numbers, "")
        failed: Error | None = None
        for told in self:
            if told.request in texts:
                texts[told.request] += told.event.text
            failed = failed or told.error
        if failed is not None:
            raise failed
        return [texts[number] for number in numbers]

    def cancel(self, request: int) -> bool:
        """Ends a request within a step; it finishes with "cancelled". False: it is not there any more."""
        return self._handle.cancel(request)

    def step(self, seconds: float = 0) -> bool:
        """Without ``own_thread``: works for about so many seconds, one step at least. True while there is more."""
        return self._handle.step(seconds)

    def pause(self) -> None:
        """No step begins, but requests are taken."""
        self._handle.pause(True)

    def resume(self) -> None:
        """Goes on after a pause or a drain."""
        self._handle.pause(False)

    def drain(self, timeout: float | None = None) -> bool:
        """Takes no more requests, and waits for the end of those that are there. True: all have ended."""
        return self._handle.drain(_milliseconds(timeout))

    def fileno(self) -> int:
        """A file descriptor that polls as readable while :meth:`next` has an event to give; the engine's."""
        return self._handle.descriptor()

    @property
    def stats(self) -> dict[str, Any]:
        """Counters, gauges and histograms; docs/contracts/engine.md names them."""
        return cast("dict[str, Any]", json.loads(self._handle.stats()))


class _Counted:
    """Counts a request before it can end, and takes it back when it was refused."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def __enter__(self) -> None:
        with self._engine._lock:
            self._engine._open += 1

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if kind is not None:
            with self._engine._lock:
                self._engine._open -= 1
