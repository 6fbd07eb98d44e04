"""The objects of the package, over the extension module."""
from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypedDict, Union, cast

from . import _ingle
from ._grammar import Grammar
from ._options import split
from .errors import InvalidArgumentError

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

    from ._option_types import (AnswerOptions, BeamOptions, GenerateOptions, GrammarOptions, LoadOptions, PlanOptions,
                                RuntimeOptions, SamplerOptions, ScriptOptions, SessionOptions)

Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]
#: Is called with the fraction done, 0 to 1, on the thread of the call. What it raises ends the call.
Progress = Callable[[float], object]
#: A sampler's stage: logits, the ids that they belong to, and the ids that were accepted so far.
Stage = Callable[[memoryview, memoryview, memoryview], object]
#: Why an answer ended: by the model itself, a stop string, ``max_tokens``, ``cancel()``, the end of the context, or as
#: an engine's request does: by its deadline, or since it failed.
Finish = Literal["end", "stop", "length", "cancelled", "context", "deadline", "error"]
#: By the number of the C API (``INGLE_FINISH_…``).
_FINISHES: tuple[Finish | None, ...] = (
    None, "end", "stop", "length", "cancelled", "context", "deadline", "error")
_REASONING = ("apart", "drop", "pass")  # by the number that the option takes


class _MessageFields(TypedDict, total=False):
    tool_calls: Sequence[Mapping[str, Any]]  # of an assistant's message
    tool_call_id: str  # of a tool's
    name: str
    reasoning_content: str


class Message(_MessageFields):
    """One message of a conversation. What users write never becomes a control token."""

    role: str  # "system", "user", "assistant", … as the model's template knows them
    content: Union[str, Sequence[Mapping[str, Any]], None]  # a text, or parts of the type "text"


#: A conversation, or one question of the user.
Messages = Union[str, Sequence[Message]]


class ModelInfo(TypedDict):
    """What is known of a model."""

    name: str
    architecture: str
    kernels: str  # which kernels the weights got
    n_parameters: int
    n_layers: int
    n_embedding: int
    n_vocab: int
    n_context: int  # tokens that it was trained for
    file_bytes: int
    weight_bytes: int  # packed, in memory
    cached: bool  # the packed weights were found in the runtime's cache


class OptionInfo(TypedDict):
    """One option of the library: its key, type, closed range, default and meaning."""

    key: str
    type: str
    low: float
    high: float
    default: Any
    help: str


class Event(NamedTuple):
    """One step of an answer."""

    id: int  #: the token, or -1: text that was held back, or the finish alone
    logprob: float  #: natural, of ``id`` under the model, before sampling
    text: str  #: whole characters that became certain; may be empty
    finish: Finish | None  #: None: the answer goes on
    time_ms: float  #: this token's own time
    top: list[tuple[int, float]]  #: the option ``top_logprobs``: (id, logprob), likeliest first


class ToolCall(TypedDict):
    """A call of a tool that the model asks for."""

    id: str
    name: str
    arguments: str  # JSON, as the model wrote it where it wrote JSON
    complete: bool  # False: the answer was cut, or went wrong, within it


class AnswerError(TypedDict):
    """A call that could not be read."""

    fault: Literal["malformed", "truncated"]
    offset: int  # in the raw text, in bytes
    index: int  # of the call, or -1
    message: str
    text: str


class Answer(TypedDict):
    """An answer, its parts told apart. Nothing that the model wrote is lost: ``raw`` has all of it."""

    raw: str
    content: str
    reasoning: str
    calls: list[ToolCall]
    errors: list[AnswerError]


class ChatFormat(TypedDict):
    """How a model's template writes tool calls and reasoning; "": it does not."""

    dialect: str
    reasoning: str
    unknown: str  # what a call looks like, when it is written in no form that can be read


class Beam(TypedDict):
    """One continuation as a whole, of :meth:`Session.beam_search`."""

    text: str
    ids: list[int]
    score: float  # the sum of the log-probabilities, divided by length ** length_penalty
    finish: Finish


class MemoryPlan(TypedDict):
    """What a model and one session of it would take, in bytes."""

    context: int  # tokens
    weight_bytes: int
    state_bytes: int  # of the whole context
    token_bytes: int  # what one more token of context takes
    workspace_bytes: int
    mapped_bytes: int  # of the files, which the system may drop; not in the total
    total_bytes: int


#: Where a tap looks: a layer's number from 0 on, for the residual stream behind it, or one of these names.
TapPoint = Union[int, Literal["embedding", "final_norm", "logits"]]
#: By the number of the C API (``INGLE_TAP_…``).
_TAPS: dict[str, int] = {"embedding": -1, "final_norm": -2, "logits": -3}
_TAP_NAMES: dict[int, TapPoint] = {-1: "embedding", -2: "final_norm", -3: "logits"}


class TapRow(NamedTuple):
    """What a session computed for one token, at one point."""

    point: TapPoint
    position: int
    token: int  #: the one that was fed at ``position``
    values: memoryview  #: float32, a copy


class Stats(NamedTuple):
    """What a session did so far."""

    prompt_tokens: int
    generated_tokens: int
    prefill_ms: float
    decode_ms: float


class Closing:
    """What holds something of the library, until ``close()``, the end of a ``with`` block, or of the object."""

    _handle: _ingle.Runtime | _ingle.Model | _ingle.Session | _ingle.Engine

    def close(self) -> None:
        """Gives it back; later calls raise :class:`InvalidArgumentError`. Closing twice is fine."""
        self._handle.close()

    @property
    def closed(self) -> bool:
        return self._handle.closed()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()


def _messages_json(messages: Messages, tools: Sequence[Mapping[str, Any]] | None = None,
                   variables: Mapping[str, Any] | None = None) -> str:
    if isinstance(messages, str):
        messages = [{"role": "user", "content": messages}]
    chat: dict[str, Any] = dict(variables or {})
    if tools is not None:
        chat["tools"] = list(tools)
    chat["messages"] = list(messages)
    return json.dumps(chat)


class Runtime(Closing):
    """Threads and kernels, for any number of models. Options: ``threads`` (0: one per core), ``kernel``,
    ``plugin_folder``, and ``cache_folder``: where packed weights are kept, so that the next load of a model is quick.

    A model that is loaded without one makes its own.
    """

    _handle: _ingle.Runtime

    def __init__(self, **options: Unpack[RuntimeOptions]) -> None:
        self._handle = _ingle.Runtime(options)

    def doctor(self, self_test: bool = False) -> dict[str, Any]:
        """What was found out about this machine: version, processor, threads, backends, kernels, cache.

        With ``self_test`` each kernel that can run is held against its oracle; "self_test" then says what differed.
        """
        return cast("dict[str, Any]", json.loads(self._handle.doctor(self_test)))


class Tokenizer:
    """A vocabulary: text to token ids and back. Of a model (``model.tokenizer``), or of a GGUF file alone."""

    def __init__(self, path: Path) -> None:
        """Raises NotFoundError, CorruptError, UnsupportedError."""
        self._handle = _ingle.Tokenizer(os.fsencode(path))

    @classmethod
    def _of(cls, handle: _ingle.Tokenizer) -> Tokenizer:
        self = cls.__new__(cls)
        self._handle = handle
        return self

    def __len__(self) -> int:
        """How many token ids there are."""
        return self._handle.size()

    def encode(self, text: str | bytes, *, parse_special: bool = False, add_special: bool = False) -> list[int]:
        """Token ids of a text; any bytes encode.

        ``parse_special``: control tokens that are written in the text become control tokens.
        ``add_special``: the model's own BOS and EOS are added.
        """
        return self._handle.encode(text, parse_special, add_special)

    def decode(self, ids: Sequence[int], *, skip_special: bool = False) -> str:
        """The text of token ids. Bytes that are no character become U+FFFD; :meth:`decode_bytes` keeps them."""
        return self.decode_bytes(ids, skip_special=skip_special).decode("utf-8", "replace")

    def decode_bytes(self, ids: Sequence[int], *, skip_special: bool = False) -> bytes:
        """Raises InvalidArgumentError naming an id that is not in [0, len(self))."""
        return self._handle.decode(ids, skip_special)

    def token_text(self, id: int) -> str:
        """A token as the vocabulary spells it."""
        return self._handle.token_text(id).decode("utf-8", "replace")

    def ends_generation(self, id: int) -> bool:
        return self._handle.ends_generation(id)

    def is_control(self, id: int) -> bool:
        return self._handle.is_control(id)

    @property
    def bos(self) -> int | None:
        """The token that begins a text, if the model has one."""
        id = self._handle.bos()
        return None if id < 0 else id

    @property
    def eos(self) -> int | None:
        """The token that ends a text, if the model has one."""
        id = self._handle.eos()
        return None if id < 0 else id


class Sampler:
    """How the next token is chosen: a chain of stages with a seed of its own, one for each sequence.

    ``ingle.options("sampler")`` tells the options, their ranges and defaults; ``temperature=0`` is greedy. A value
    out of range is InvalidArgumentError, an unknown key NotFoundError with the nearest one as the hint.

    ``stages`` are stages of your own, by name: ``stage(logits, ids, accepted)`` changes the logits (float32, writable)
    of the ids (int32) that are left, in place; ``-inf`` removes one. They come where ``order`` names them, else
    before the cuts. What a stage raises comes out of the call that chooses.
    """

    def __init__(self, *, stages: Mapping[str, Stage] | None = None, **options: Unpack[SamplerOptions]) -> None:
        self._handle = _ingle.Sampler({"stages": dict(stages or {}), **options})

    @classmethod
    def _of(cls, handle: _ingle.Sampler) -> Sampler:
        self = cls.__new__(cls)
        self._handle = handle
        return self

    @classmethod
    def greedy(cls) -> Sampler:
        """Always the likeliest token; ties go to the lowest id."""
        return cls._of(_ingle.Sampler.greedy())

    def copy(self) -> Sampler:
        """One that goes on as this one would."""
        return self._of(self._handle.copy())

    def sample(self, logits: Any) -> int:
        """Chooses from one row of logits, float32 [n_vocab]: any buffer, or a sequence of numbers."""
        return self._handle.sample(logits)

    def accept(self, id: int) -> None:
        """The sequence grew by this token (:meth:`Session.next` says so itself)."""
        self._handle.accept(id)

    def __str__(self) -> str:
        """The chain, in order."""
        return self._handle.describe()


class Model(Closing):
    """A loaded model: immutable, shared by any number of sessions and threads."""

    _handle: _ingle.Model

    def __init__(self, path: Path, *, runtime: Runtime | None = None, progress: Progress | None = None,
                 **options: Unpack[LoadOptions]) -> None:
        """Loads a GGUF file.

        Options: ``backend``, ``state_type``, ``map``; without a ``runtime``, ``threads``, ``kernel`` and
        ``plugin_folder`` too.
        Raises NotFoundError, CorruptError, UnsupportedError, OutOfMemoryError.
        """
        runtime, left = _runtime_for(runtime, options)
        self._handle = _ingle.Model.load(runtime._handle, os.fsencode(path), left, progress)

    @classmethod
    def _of(cls, handle: _ingle.Model) -> Self:
        self = cls.__new__(cls)
        self._handle = handle
        return self

    @classmethod
    def from_bytes(cls, data: bytes | bytearray | memoryview | Any, *, runtime: Runtime | None = None,
                   progress: Progress | None = None, **options: Unpack[LoadOptions]) -> Self:
        """Loads a file that is in memory already, for instance an ``mmap``. It is borrowed, not copied."""
        runtime, left = _runtime_for(runtime, options)
        return cls._of(_ingle.Model.load_memory(runtime._handle, data, left, progress))

    @classmethod
    def from_reader(cls, read_at: Callable[[int, int], bytes | bytearray | memoryview], size: int, *,
                    name: str = "reader", runtime: Runtime | None = None, progress: Progress | None = None,
                    **options: Unpack[LoadOptions]) -> Self:
        """Loads a file of so many bytes that you read yourself: out of an archive, encrypted, from far away.

        ``read_at(offset, n)`` gives just n bytes; it may be called on any thread. What it raises comes out of here.
        """
        runtime, left = _runtime_for(runtime, options)
        return cls._of(_ingle.Model.load_reader(runtime._handle, read_at, size, name, left, progress))

    @classmethod
    def scripted(cls, text: str | None = None, /, *, runtime: Runtime | None = None,
                 **script: Unpack[ScriptOptions]) -> Self:
        """A model whose answers are given, for tests of what is built on Ingle.

        Tokens are the 256 bytes, then ``<|end|>`` (256) and ``<|start|>`` (257). What follows a prompt is ``text``,
        ``ids`` or rows of ``logits`` [n, 258]; then ``<|end|>``.
        """
        values: dict[str, object] = dict(script)
        if text is not None:
            values["text"] = text
        return cls._of(_ingle.Model.scripted((runtime or Runtime())._handle, values))

    @property
    def info(self) -> ModelInfo:
        return cast(ModelInfo, json.loads(self._handle.info()))

    @property
    def tokenizer(self) -> Tokenizer:
        return Tokenizer._of(self._handle.tokenizer())

    @property
    def chat_template(self) -> str | None:
        """The model's own template, in Jinja, if it has one."""
        return self._handle.chat_template() or None

    @property
    def chat_format(self) -> ChatFormat:
        """How the model's template writes tool calls and reasoning."""
        return cast(ChatFormat, json.loads(self._handle.chat_format()))

    def apply_chat_template(self, messages: Messages, *, tools: Sequence[Mapping[str, Any]] | None = None,
                            variables: Mapping[str, Any] | None = None, add_generation_prompt: bool = True) -> str:
        """Messages as the model's template writes them. Raises UnsupportedError when it has none that can be used.

        ``variables`` are further ones of the template: ``{"enable_thinking": False, "documents": […]}``; among them
        is ``continue_final_message``.
        """
        return self._handle.apply_chat_template(_messages_json(messages, tools, variables), add_generation_prompt)

    def tool_grammar(self, tools: Sequence[Mapping[str, Any]], *, progress: Progress | None = None,
                     **options: Unpack[GrammarOptions]) -> Grammar:
        """What an answer must be for its calls to be calls of these tools, with arguments of their schemas.

        For the option ``grammar`` of answers of this model. ``tool_choice`` is "auto" (free text, in which what begins
        as a call is one), "required" (calls at once), "none" or the name of the one tool to call;
        ``parallel_calls=False`` leaves it at one call. Raises UnsupportedError where the template's calls cannot be held,
        and for a schema that cannot be held, naming the tool and the path.
        """
        return Grammar._of(self._handle.tool_grammar(json.dumps(list(tools)), options, progress))

    def answer(self, messages: Messages, *, tools: Sequence[Mapping[str, Any]] | None = None,
               tool_choice: str | None = None, variables: Mapping[str, Any] | None = None,
               progress: Progress | None = None, **options: Unpack[AnswerOptions]) -> Answer:
        """Answers a conversation in a session of its own, and tells content, reasoning and tool calls apart.

        Options are those of the sampler and of the answer. With a ``tool_choice`` its calls are held to the tools, see
        :meth:`tool_grammar`. Raises UnsupportedError when the model's template writes tool calls in a form that cannot
        be read.
        """
        sampler, generate = split(options, "sampler", "generate")
        if tool_choice is not None:
            if "grammar" in generate:
                raise InvalidArgumentError("tool_choice", "does not go with a grammar")
            generate["grammar"] = self.tool_grammar(tools or [], tool_choice=tool_choice)
        generate["control_text"] = True
        chooser = Sampler(**cast("SamplerOptions", sampler))
        with self.session() as session:
            session.feed_chat(messages, tools=tools, variables=variables, progress=progress)
            parser = session.parser(tools=tools)
            for event in session.stream(chooser, **cast("GenerateOptions", generate)):
                parser.feed(event.text)
            parser.finish()
            return parser.answer

    def session(self, **options: Unpack[SessionOptions]) -> Session:
        """A conversation. Options: ``context`` (tokens; 0: as trained), ``prefill_chunk``, ``state_bytes``."""
        return Session(self, **options)

    def stream_chat(self, messages: Messages, *, progress: Progress | None = None,
                    **options: Unpack[AnswerOptions]) -> Iterator[Event]:
        """Answers a conversation in a session of its own, event by event.

        Options are those of the sampler and of the answer (``temperature=0, max_tokens=64, stop=["\\n"]``).
        Raises ContextFullError when the messages do not fit, UnsupportedError when the model has no template.
        """
        sampler, generate = split(options, "sampler", "generate")
        chooser = Sampler(**cast("SamplerOptions", sampler))
        with self.session() as session:
            session.feed_chat(messages, progress=progress)
            yield from session.stream(chooser, **cast("GenerateOptions", generate))

    def chat(self, messages: Messages, *, progress: Progress | None = None,
             **options: Unpack[AnswerOptions]) -> str:
        """The text of :meth:`stream_chat`."""
        return "".join(event.text for event in self.stream_chat(messages, progress=progress, **options))


def _event(told: tuple[int, float, str, int, float, list[tuple[int, float]]]) -> Event:
    id, logprob, text, finish, time_ms, top = told
    return Event(id, logprob, text, _FINISHES[finish], time_ms, top)


def _tap_number(name: str) -> int:
    if name not in _TAPS:
        raise InvalidArgumentError("points", f'"{name}" is none, expected a layer or one of ' + ", ".join(_TAPS))
    return _TAPS[name]


def _runtime_for(runtime: Runtime | None, options: Mapping[str, object]) -> tuple[Runtime, dict[str, object]]:
    if runtime is not None:
        return runtime, dict(options)
    own, left = split(options, "runtime", "model")
    return Runtime(**cast("RuntimeOptions", own)), left


class Session(Closing):
    """One conversation: feed text, messages or tokens, then pull the answer event by event.

    A session serves one call at a time; a second one on another thread is BusyError. ``cancel`` may come from any
    thread. Each feed stands whole or leaves no trace.
    """

    _handle: _ingle.Session

    def __init__(self, model: Model, **options: Unpack[SessionOptions]) -> None:
        """Options: ``context`` (tokens; 0: what the model was trained for), ``prefill_chunk``, ``state_bytes``."""
        self._model = model
        self._n_vocab = model.info["n_vocab"]
        self._handle = _ingle.Session(model._handle, options)

    @property
    def model(self) -> Model:
        return self._model

    def feed_text(self, text: str | bytes, *, parse_special: bool = False, add_special: bool = True,
                  progress: Progress | None = None) -> None:
        """Adds a text. Control tokens in it stay text unless ``parse_special``; BOS is added by ``add_special``.

        Raises ContextFullError with nothing added when it does not fit.
        """
        self._handle.feed_text(text.encode() if isinstance(text, str) else text, parse_special, add_special, progress)

    def feed_tokens(self, ids: Sequence[int], *, progress: Progress | None = None) -> None:
        """Adds token ids. Raises InvalidArgumentError for an id that the model has not, ContextFullError."""
        self._handle.feed_tokens(ids, progress)

    def feed_chat(self, messages: Messages, *, tools: Sequence[Mapping[str, Any]] | None = None,
                  variables: Mapping[str, Any] | None = None, progress: Progress | None = None) -> None:
        """Adds what is new of the whole conversation so far, through the model's own template.

        What the context already holds of it is not computed again; what it holds beyond that is dropped. ``tools``
        and ``variables`` as in :meth:`Model.apply_chat_template`.
        """
        self._handle.feed_chat(_messages_json(messages, tools, variables), progress)

    def parser(self, *, tools: Sequence[Mapping[str, Any]] | None = None, parse_tools: bool = True,
               reasoning: Literal["apart", "drop", "pass"] = "apart", first_index: int = 0) -> Parser:
        """Tells the parts of the answer to what the session holds now apart.

        Give it the texts of an answer made with ``control_text=True``. Raises UnsupportedError when the model's
        template writes tool calls in a form that cannot be read (unless ``parse_tools`` is false).
        """
        options: dict[str, object] = {
            "parse_tools": parse_tools, "reasoning": _REASONING.index(reasoning),
            "first_index": first_index}
        if tools is not None:
            options["tools"] = json.dumps(list(tools))
        return Parser._of(_ingle.Parser(self._handle, options))

    def begin(self, **options: Unpack[GenerateOptions]) -> None:
        """Starts an answer, for :meth:`next`. Without it the default options hold."""
        self._handle.begin(options)

    def next(self, sampler: Sampler) -> Event:
        """The next event of the answer. After one with a finish, InvalidArgumentError until something is fed."""
        return _event(self._handle.next(sampler._handle))

    def next_guided(self, sampler: Sampler, negative: Session, scale: float) -> Event:
        """Classifier-free guidance: chooses from ``negative + scale * (own - negative)``, scale 0 to 100.

        The token is added to both sessions; ``negative`` holds another prompt over the same vocabulary.
        """
        return _event(self._handle.next_guided(negative._handle, scale, sampler._handle))

    def beam_search(self, **options: Unpack[BeamOptions]) -> list[Beam]:
        """The best continuations as wholes, best first; the session stays as it is.

        Options: ``beams``, ``groups``, ``diversity``, ``length_penalty``, ``early_stopping``, ``max_tokens``,
        ``results``, ``ignore_end``.
        """
        found = json.loads(self._handle.beam_search(options))
        return [cast(Beam, {**beam, "finish": _FINISHES[beam["finish"]]}) for beam in found]

    def tap(self, points: Sequence[TapPoint], hear: Callable[[TapRow], object] | None = None) -> None:
        """From here on ``hear`` is called with the values at these points of every token that is computed.

        By position, then layer by layer, the logits last; on the thread that computes, which may be another one. A
        token is computed when the next one is asked for, and again after a :meth:`truncate`. What ``hear`` raises
        ends the call, which leaves no trace. Results do not change. No points: no tap. Forks have none.
        Raises InvalidArgumentError for a layer that is not there, UnsupportedError for points but the logits where
        the model is scripted, or its backend gives none.
        """
        numbers = [point if isinstance(point, int) else _tap_number(point) for point in points]
        if numbers and hear is None:
            raise InvalidArgumentError("hear", "is None, expected a function")

        def told(point: int, position: int, token: int, values: memoryview) -> None:
            if hear is not None:
                hear(TapRow(_TAP_NAMES.get(point, point), position, token, values))

        self._handle.tap(numbers, told if numbers else None)

    def stream(self, sampler: Sampler | None = None, **options: Unpack[GenerateOptions]) -> Iterator[Event]:
        """An answer, event by event; the last one has a finish.

        Options: ``max_tokens``, ``stop``, ``top_logprobs``, ``ignore_end``. Without a sampler, one with default
        options chooses. Leaving the loop early leaves the session usable.
        """
        self.begin(**options)  # at once, so that wrong options are told here and not at the first step
        return self._events(sampler or Sampler())

    def _events(self, sampler: Sampler) -> Iterator[Event]:
        while True:
            event = self.next(sampler)
            yield event
            if event.finish is not None:
                return

    def generate(self, sampler: Sampler | None = None, **options: Unpack[GenerateOptions]) -> str:
        """The text of :meth:`stream`."""
        return "".join(event.text for event in self.stream(sampler, **options))

    def logits(self) -> memoryview:
        """Of the last position: float32 [n_vocab], a copy. ``numpy.asarray`` takes it as it is.

        Raises InvalidArgumentError when nothing was fed.
        """
        return self._handle.logits()

    def score(self, ids: Sequence[int]) -> memoryview:
        """Feeds token ids, and gives the logits that follow each of them: float32 [len(ids), n_vocab].

        All of them at once: a vocabulary of 150,000 takes 600 KB for each id.
        """
        return self._handle.score(ids, self._n_vocab)

    def logprobs(self, ids: Sequence[int]) -> memoryview:
        """Feeds token ids, and gives the natural log-probability of each after all that stand before it.

        float32 [len(ids)]; the first is NaN in an empty session, where nothing predicts it.
        """
        return self._handle.logprobs(ids)

    @property
    def tokens(self) -> list[int]:
        """All that the context holds."""
        return self._handle.tokens()

    def truncate(self, n_tokens: int) -> None:
        """Back to the first ``n_tokens``."""
        self._handle.truncate(n_tokens)

    def clear(self) -> None:
        self._handle.truncate(0)

    def fork(self) -> Session:
        """A second conversation that shares what was computed so far; cheap."""
        copy = Session.__new__(Session)
        copy._model = self._model
        copy._n_vocab = self._n_vocab
        copy._handle = self._handle.fork()
        return copy

    def save(self, path: Path) -> None:
        """Writes what the session holds; an answer that is being given is not part of it.

        The file appears when it is complete. After an error (FileError: a full disk, …) an older one stands as it was.
        """
        self._handle.save(os.fsencode(path))

    @classmethod
    def load(cls, model: Model, path: Path, **options: Unpack[SessionOptions]) -> Self:
        """A session that goes on with the bits of the saved one.

        Raises CorruptError for a damaged file, UnsupportedError for one of another model, backend or state type,
        ContextFullError when it holds more than the option ``context``.
        """
        self = cls.__new__(cls)
        self._model = model
        self._n_vocab = model.info["n_vocab"]
        self._handle = _ingle.Session.load(model._handle, os.fsencode(path), options)
        return self

    def cancel(self) -> None:
        """From any thread: the call that runs in the session ends soon, also in the middle of a prompt.

        A feed then raises CancelledError, an answer finishes with "cancelled". When no call runs, the next one hears
        of it.
        """
        self._handle.cancel()

    @property
    def stats(self) -> Stats:
        return Stats(*self._handle.stats())


class Parser:
    """Reads one answer as it arrives; the text may be cut anywhere."""

    _handle: _ingle.Parser

    @classmethod
    def _of(cls, handle: _ingle.Parser) -> Parser:
        parser = cls.__new__(cls)
        parser._handle = handle
        return parser

    def feed(self, text: str) -> list[dict[str, Any]]:
        """What became certain: dicts with "part" ("content", "reasoning", "call", "arguments", "call_end", "error").

        Those of a call have its "index", its first one "id" and "name"; the others have "text".
        """
        return cast("list[dict[str, Any]]", json.loads(self._handle.feed(text)))

    def finish(self) -> list[dict[str, Any]]:
        """The same of what was held back; feeding more is an InvalidArgumentError."""
        return cast("list[dict[str, Any]]", json.loads(self._handle.finish()))

    @property
    def answer(self) -> Answer:
        """All so far."""
        return cast(Answer, json.loads(self._handle.answer()))


def options(kind: str) -> list[OptionInfo]:
    """The options of a kind: "runtime", "model", "script", "session", "sampler", "generate", "beams", "engine",
    "request", "grammar" or "answer"."""
    return cast("list[OptionInfo]", json.loads(_ingle.describe_options(kind)))


def inspect(path: Path) -> dict[str, Any]:
    """What a model file says about itself, without running it: "container", "metadata", "tensors"."""
    return cast("dict[str, Any]", json.loads(_ingle.inspect(os.fsencode(path))))


def plan_memory(path: Path, *, runtime: Runtime | None = None, **options: Unpack[PlanOptions]) -> MemoryPlan:
    """What a model and one session of it would take, within 5 %; no weight is read.

    Options are those of the model and of the session (``context=4096``, ``state_type="f16"``).
    """
    model, session = split(options, "model", "session")
    handle = (runtime or Runtime())._handle
    return cast(MemoryPlan, json.loads(_ingle.plan_memory(handle, os.fsencode(path), model, session)))


def quantize(source: Path, target: Path, type: str, *, runtime: Runtime | None = None,
             progress: Progress | None = None) -> None:
    """Rewrites a GGUF file with its matrices in another type ("q8_0", "q4_k", …)."""
    _ingle.quantize((runtime or Runtime())._handle, os.fsencode(source), os.fsencode(target), type, progress)
