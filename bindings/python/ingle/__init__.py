"""Ingle runs language models inside your program.

    import ingle

    with ingle.Model("model.gguf") as model:
        print(model.chat("What is the capital of France?"))

Nothing is global, printed, downloaded or sent anywhere. Failures are exceptions of :mod:`ingle.errors`. Calls release
the GIL; a model may be shared by any number of sessions and threads, a session serves one call at a time. Ctrl-C ends
a load, the reading of a prompt, or an answer.
"""
from __future__ import annotations

from . import _ingle
from ._engine import Engine, EngineEvent
from ._grammar import Grammar
from ._model import (Answer, AnswerError, Beam, ChatFormat, Event, Finish, MemoryPlan, Message, Model, ModelInfo,
                     OptionInfo, Parser, Runtime, Sampler, Session, Stage, Stats, TapPoint, TapRow, Tokenizer, ToolCall,
                     inspect, options, plan_memory, quantize)
from .errors import (BusyError, CancelledError, ContextFullError, CorruptError, Error, FileError, InternalError,
                     InvalidArgumentError, NotFoundError, NumericError, OutOfMemoryError, UnsupportedError)

__version__ = _ingle.version()

__all__ = [
    "Answer", "AnswerError", "Beam", "BusyError", "CancelledError", "ChatFormat", "ContextFullError", "CorruptError",
    "Engine", "EngineEvent", "Error", "Event", "FileError", "Finish", "Grammar", "InternalError", "InvalidArgumentError", "MemoryPlan", "Message", "Model", "ModelInfo",
    "NotFoundError", "NumericError", "OptionInfo", "OutOfMemoryError", "Parser", "Runtime", "Sampler", "Session",
    "Stage", "Stats", "TapPoint", "TapRow", "Tokenizer", "ToolCall", "UnsupportedError", "__version__", "inspect", "options",
    "plan_memory", "quantize",
]
